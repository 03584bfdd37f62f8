# /// script
# requires-python = ">=3.10"
# ///
"""Make ``resources/engine_manifest_assets/dependency_licenses.json``.

The licences of what a bundle of the sample engine holds: Python itself, the bootloader, the
packages of ``requirements.txt`` that are frozen, and ONNX Runtime. Give the directories in
which these are installed (``site-packages``)::

    python tools/make_licenses.py DIRECTORY...
"""

from __future__ import annotations

import json
import platform
import re
import sys
import sysconfig
from importlib.metadata import Distribution, distributions
from pathlib import Path

ENGINE_ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ENGINE_ROOT / "resources" / "engine_manifest_assets" / "dependency_licenses.json"

# Locked because they freeze the engine; nothing of them is in the bundle.
BUILD_ONLY = frozenset(
    {
        *("altgraph", "macholib", "packaging", "pefile", "pyinstaller-hooks-contrib"),
        *("pywin32-ctypes", "setuptools"),
    }
)
NOT_PACKAGES_OF_THE_LOCK = frozenset({"onnxruntime"})
_LICENCE_FILE = re.compile(r"(^|/)(licen[cs]e|copying|notice)[^/]*$", re.IGNORECASE)


def bundled_names() -> set[str]:
    """The packages whose code, or part of it, is in a bundle."""
    text = (ENGINE_ROOT / "requirements.txt").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE))
    return (locked - BUILD_ONLY) | NOT_PACKAGES_OF_THE_LOCK


def collect(directories: list[str]) -> list[dict[str, str]]:
    """One entry a package, by name; raises ``SystemExit`` for what is not installed."""
    found = {_normal(dist.metadata["Name"]): dist for dist in distributions(path=directories)}
    missing = bundled_names() - found.keys()
    if missing:
        raise SystemExit(f"not installed in {', '.join(directories)}: {', '.join(sorted(missing))}")
    return [_python(), *(_entry(name, found[name]) for name in sorted(bundled_names()))]


def _entry(name: str, dist: Distribution) -> dict[str, str]:
    texts = [
        file.read_text(encoding="utf-8").strip()
        for file in sorted(dist.files or [], key=str)
        if _LICENCE_FILE.search(file.as_posix()) and file.suffix != ".py"
    ]
    if not texts:
        raise SystemExit(f"{name} has no licence file")
    # The same text can lie in the package and in its metadata.
    unique = list(dict.fromkeys(texts))
    return {
        "name": name,
        "version": dist.version,
        "license": _identifier(dist),
        "text": "\n\n".join(unique) + "\n",
    }


def _identifier(dist: Distribution) -> str:
    expression = _fields(dist, "License-Expression")
    classes = [c for c in _fields(dist, "Classifier") if c.startswith("License ::")]
    named = [c.rsplit(" :: ", 1)[-1] for c in classes]
    return (expression + named + _fields(dist, "License") + ["see text"])[0].splitlines()[0]


def _fields(dist: Distribution, name: str) -> list[str]:
    return [str(value) for value in dist.metadata.get_all(name) or []]


def _python() -> dict[str, str]:
    library = Path(sysconfig.get_path("stdlib"))
    return {
        "name": "Python",
        "version": platform.python_version(),
        "license": "PSF-2.0",
        "text": (library / "LICENSE.txt").read_text(encoding="utf-8"),
    }


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    entries = collect(sys.argv[1:])
    OUTPUT.write_text(
        json.dumps(entries, ensure_ascii=False, indent=2) + "\n", encoding="utf-8", newline="\n"
    )
