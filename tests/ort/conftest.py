import importlib.util
import pickle
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from vvbuild.ort import (
    Environment,
    GraphOptimization,
    Library,
    LogSeverity,
    Session,
    SessionOptions,
)

ORACLE = Path(__file__).with_name("oracle.py")


def wheel_directory():
    """Where the onnxruntime wheel keeps its libraries; found without importing it."""
    spec = importlib.util.find_spec("onnxruntime")
    return Path(spec.submodule_search_locations[0]) / "capi"


@pytest.fixture(scope="session")
def ort_path():
    for pattern in ("libonnxruntime.so.*", "libonnxruntime.*.dylib", "onnxruntime.dll"):
        for path in wheel_directory().glob(pattern):
            return path
    raise AssertionError("the onnxruntime wheel holds no library")


@pytest.fixture(scope="session")
def provider_bridge():
    """A shared library from the same wheel that is not ONNX Runtime itself."""
    return next(wheel_directory().glob("*onnxruntime_providers_shared*"))


@pytest.fixture(scope="session")
def library(ort_path):
    return Library(ort_path)


@pytest.fixture(scope="session")
def environment(library):
    with Environment(library, log_severity=LogSeverity.FATAL) as environment:
        yield environment


@pytest.fixture
def open_session(environment):
    """Make sessions that are closed after the test; the graph runs as it is written."""
    opened = []

    def make(model, **options):
        options.setdefault("graph_optimization", GraphOptimization.NONE)
        options.setdefault("intra_op_threads", 1)
        session = Session(environment, model, SessionOptions(**options))
        opened.append(session)
        return session

    yield make
    for session in opened:
        session.close()


class Oracle:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(ORACLE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(self, model, feeds, outputs):
        data = pickle.dumps((model, feeds, outputs))
        self.process.stdin.write(struct.pack("<Q", len(data)) + data)
        self.process.stdin.flush()
        size = struct.unpack("<Q", self.process.stdout.read(8))[0]
        return pickle.loads(self.process.stdout.read(size))


@pytest.fixture(scope="session")
def oracle():
    oracle = Oracle()
    yield oracle
    oracle.process.stdin.close()
    oracle.process.wait(30)
    oracle.process.stdout.close()


class Running:
    """A run in a thread of its own, and how it ended."""

    def __init__(self, session, feeds, options):
        self.result = self.error = None
        self.options = options
        self._thread = threading.Thread(target=self._run, args=(session, feeds))
        self._thread.start()

    def _run(self, session, feeds):
        try:
            self.result = self.session_result(session, feeds)
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.error = error

    def session_result(self, session, feeds):
        return session.run(feeds, run_options=self.options)

    def wait_until_inside(self, settle=0.05):
        """Until the options are in use, and then a little more, so that nodes are running."""
        while not self.options._handle._users and self._thread.is_alive():
            time.sleep(0.001)
        time.sleep(settle)
        return self

    def join(self):
        self._thread.join(120)
        assert not self._thread.is_alive()
        return self


@pytest.fixture
def start_run():
    return Running
