"""Run as a program: answers inferences with ONNX Runtime's own Python package.

Reads pickled (model, feeds, outputs) from stdin, writes pickled results or an error's text.
"""

import pickle
import struct
import sys


def main():
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    sessions = {}
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while header := source.read(8):
        model, feeds, outputs = pickle.loads(source.read(struct.unpack("<Q", header)[0]))
        if model not in sessions:
            sessions[model] = onnxruntime.InferenceSession(model)
        arrays = {name: make_array(*tensor) for name, tensor in feeds.items()}
        found = sessions[model].run(outputs, arrays)
        answer = [(str(a.dtype), list(a.shape), a.tobytes()) for a in found]
        data = pickle.dumps(answer)
        sink.write(struct.pack("<Q", len(data)) + data)
        sink.flush()


def make_array(dtype, shape, data):
    import numpy as np

    return np.frombuffer(data, dtype=dtype).reshape(shape)


if __name__ == "__main__":
    main()
