"""What the bundle's ONNX Runtime says about itself, asked in a process of its own."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from vvbuild import resources
from vvbuild.errors import ExternalError
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.process import run
from vvbuild.smoke.checks import CheckFailedError, NotOfferedError, Passed
from vvbuild.smoke.subject import Subject

# As the engine looks for it: core's own build before Microsoft's, never by a versioned name.
_NAME = re.compile(r"(lib)?(voicevox_)?onnxruntime\.(so|dylib|dll)")
_TIMEOUT = 60.0
_MARK = "vvbuild-onnxruntime:"
# The library may crash, so it is never loaded into this process.
_PROBE = f"""
import json, sys
from vvbuild.ort import Library, OrtError
try:
    library = Library(sys.argv[1])
    found = {{"version": library.version, "providers": library.available_providers()}}
except OrtError as error:
    found = {{"problem": str(error)}}
print({_MARK!r} + json.dumps(found), flush=True)
"""


def find_library(bundle: Path) -> Path | None:
    """The library that the engine would load."""
    found = [path for path in bundle.iterdir() if _NAME.fullmatch(path.name)]
    return min(found, key=lambda path: ("voicevox" not in path.name, path.name), default=None)


def check_onnxruntime(subject: Subject, cancel: Cancel) -> Passed[str]:
    """The library loads, answers, and is the version that the bundle was built with."""
    library = find_library(subject.directory)
    if library is None:
        raise NotOfferedError("there is no ONNX Runtime library in the bundle's root")
    found = _probe(library, cancel)
    if "problem" in found:
        raise CheckFailedError(str(found["problem"]))
    version = str(found["version"])
    if subject.promised_ort not in (None, version):
        raise CheckFailedError(f"it is {version}, vvbuild.json says {subject.promised_ort}")
    providers = found["providers"]
    assert isinstance(providers, list)
    return Passed(f"{version}, {library.name}, {', '.join(map(str, providers))}", version)


def _probe(library: Path, cancel: Cancel) -> dict[str, object]:
    try:
        result = run(
            [sys.executable, "-c", _PROBE, library.resolve()],
            cancel=cancel,
            environment={"PYTHONPATH": str(resources.package_dir().parent)},
            timeout=_TIMEOUT,
        )
    except ExternalError as error:
        last = error.context.get("last lines", "").splitlines()[-1:]
        raise CheckFailedError(f"{library.name}: {error} {''.join(last)}".strip()) from error
    for line in result.output.splitlines():
        if line.startswith(_MARK):
            found: dict[str, object] = json.loads(line[len(_MARK) :])
            return found
    raise CheckFailedError(f"{library.name} ended the process that loaded it")
