"""The closure of a CUDA bundle of real libraries, beside auditwheel's reading of the same tree.

Needs the wheels of ``real_trees.py`` and ``pip install auditwheel``. Both are told that the loader
looks into the bundle's folder, as PyInstaller's bootloader tells it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests import real_trees

# Each prints seconds and MiB, and for each library where each of its needs ends.
_OURS = """
import json, resource, sys, time
from pathlib import Path
started = time.perf_counter()
from vvbuild.binary.elf import is_elf
from vvbuild.binary.identify import read_binary
from vvbuild.linking.closure import close
from vvbuild.linking.linkage import linkage_of
from vvbuild.linking.search import Layout
from vvbuild.manifest.bytes import bytes_tables
folder = Path(sys.argv[1])
paths = [path for path in sorted(folder.iterdir()) if path.is_file()]
linkages = [linkage_of(path.name, read_binary(path)) for path in paths if is_elf(path)]
layout = Layout(frozenset(path.name for path in paths), {}, "run", "")
found = close(linkages, layout, bytes_tables().loading)
edges = [edge for edge in found.edges if edge.need.how == "load"]
ends = {f"{edge.user} {edge.need.name}": edge.path for edge in edges}
"""
_THEIRS = """
import json, resource, sys, time
from pathlib import Path
started = time.perf_counter()
from auditwheel.lddtree import ldd, load_ld_paths
folder = Path(sys.argv[1])
ends = {}
for path in sorted(folder.iterdir()):
    if path.is_file() and path.open("rb").read(4) == b"\\x7fELF":
        tree = ldd(path, ldpaths=None)
        for name in tree.needed:
            end = tree.libraries[name].realpath
            inside = end is not None and Path(end).parent == folder
            ends[f"{path.name} {name}"] = Path(end).name if inside else None
"""
_TOLD = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
print(json.dumps([time.perf_counter() - started, peak / unit, ends]))
"""


def bench(rounds: int) -> None:
    """Print the table."""
    case = next(iter(real_trees.CASES.values()))
    for each in case.of:
        real_trees.unpacked(each)
    with tempfile.TemporaryDirectory(dir=real_trees.cache()) as folder:
        tree = real_trees.lay_out(case, Path(folder).resolve())
        ours = [_run(_OURS, tree) for _ in range(rounds)]
        theirs = [_run(_THEIRS, tree) for _ in range(rounds)] if find_spec("auditwheel") else []
    print("The closure of a CUDA bundle of real libraries")
    print(f"  ours                      {_best(ours)}")
    if not theirs:
        print("  auditwheel                not here: pip install auditwheel\n")
        return
    print(f"  auditwheel                {_best(theirs)}")
    mine, other = ours[0][2], theirs[0][2]
    same = sum(mine.get(need) == end for need, end in other.items())
    print(f"  the same end for          {same} of {len(other)} needs\n")
    for need, end in other.items():
        if mine.get(need) != end:
            print(f"    {need}: {mine.get(need)}, auditwheel {end}")


def _run(code: str, tree: Path) -> tuple[float, float, dict[str, str | None]]:
    done = subprocess.run(
        [sys.executable, "-c", code + _TOLD, tree],
        check=True, capture_output=True, text=True,
        env={"LD_LIBRARY_PATH": str(tree), "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    seconds, memory, ends = json.loads(done.stdout)
    return seconds, memory, ends


def _best(runs: list[tuple[float, float, dict[str, str | None]]]) -> str:
    seconds, memory, _ = min(runs, key=lambda each: each[0])
    return f"{seconds * 1000:9.1f} ms {memory:6.0f} MiB"


if __name__ == "__main__":
    bench(3)
