"""Speed of reading bytes: GPU code beside NVIDIA's own tool, and `verify` of a CUDA bundle.

Needs the wheels of ``real_trees.py`` (2 GB, fetched once) and, for the first, NVIDIA's
``nvidia-cuda-cuobjdump`` from PyPI in this environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests import real_trees

_READ = """
import sys, time
from pathlib import Path
from vvbuild.binary.gpu_code import read_gpu_code
started = time.perf_counter()
code = read_gpu_code(Path(sys.argv[1]))
print(time.perf_counter() - started)
"""


def bench(rounds: int) -> None:
    """Print both tables."""
    provider = real_trees.unpacked("ort1.31") / "libonnxruntime_providers_cuda.so"
    tool = _cuobjdump()
    ours = min(_reader(provider) for _ in range(rounds))
    size = provider.stat().st_size >> 20
    print(f"GPU code of {provider.name} ({size} MiB)")
    print(f"  ours                      {ours[0] * 1000:9.1f} ms {ours[1]:6.0f} MiB   bar: 40 MiB")
    if tool is None:
        print("  cuobjdump                 not here: pip install nvidia-cuda-cuobjdump")
    else:
        theirs = min(_tool(tool, provider) for _ in range(rounds))
        factor = theirs[0] / ours[0]
        print(f"  cuobjdump                 {theirs[0] * 1000:9.1f} ms {theirs[1]:6.0f} MiB")
        print(f"  ratio                     {factor:9.1f}             at least 20")
    _verify(rounds)


def _verify(rounds: int) -> None:
    case = next(iter(real_trees.CASES.values()))
    for each in case.of:
        real_trees.unpacked(each)
    with tempfile.TemporaryDirectory(dir=real_trees.cache()) as folder:
        tree = real_trees.lay_out(case, Path(folder))
        files = [path for path in tree.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        command = [sys.executable, "-m", "vvbuild", "verify", tree, "--target", case.target, "-q"]
        runs = [_measured(command) for _ in range(rounds)]
        read = min(_measured(["sha256sum", *files]) for _ in range(rounds))
    seconds, memory = min(runs)
    print(f"\nverify of a CUDA bundle of real libraries ({size / 1e9:.1f} GB)")
    print(f"  ours                      {seconds:9.2f} s  {memory:6.0f} MiB   at most 4 s, 400 MiB")
    print(f"  sha256sum of its files    {read[0]:9.2f} s")
    print(f"  ratio                     {seconds / read[0]:9.2f}\n")


def _reader(library: Path) -> tuple[float, float]:
    """Seconds of the reading alone, and the peak of the process in MiB."""
    command = [sys.executable, "-c", _READ, str(library)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        seconds = float(child.stdout.read())
        memory = _peak(child)
    return seconds, memory


def _tool(tool: Path, library: Path) -> tuple[float, float]:
    """NVIDIA's tool, which lists machine code and PTX in two runs."""
    elf, ptx = (_measured([tool, option, library]) for option in ("--list-elf", "--list-ptx"))
    return elf[0] + ptx[0], max(elf[1], ptx[1])


def _measured(command: Sequence[str | Path]) -> tuple[float, float]:
    started = time.perf_counter()
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as child:
        memory = _peak(child)
    return time.perf_counter() - started, memory


def _peak(child: subprocess.Popen[str] | subprocess.Popen[bytes]) -> float:
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    return usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _cuobjdump() -> Path | None:
    try:
        files = metadata.files("nvidia-cuda-cuobjdump") or ()
    except metadata.PackageNotFoundError:
        found = shutil.which("cuobjdump")
        return Path(found) if found else None
    for file in files:
        if file.name in ("cuobjdump", "cuobjdump.exe"):
            path = Path(str(file.locate()))
            path.chmod(0o755)
            return path
    return None


if __name__ == "__main__":
    bench(3)
