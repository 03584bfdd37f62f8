"""What is to be started: a bundle in a directory, and what its manifest says."""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from vvbuild.errors import EngineError, UsageError
from vvbuild.runtime.cancel import Cancel

# A user's folder may well be called so, and programs stumble over it.
AWKWARD_NAME = "声 ボイス"

_MANIFEST = "engine_manifest.json"
_DESCRIPTION = "vvbuild.json"
_SEVEN_ZIP = re.compile(r".+\.7z(\.[0-9]+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Subject:
    """A bundle that can be started. ``promised_ort`` is vvbuild.json's, if it has one."""

    directory: Path
    command: tuple[str, ...]
    name: str
    uuid: str
    version: str
    promised_ort: str | None


def prepare(path: Path, scratch: Path, cancel: Cancel) -> Subject:
    """Unpack ``path`` below ``scratch`` unless it is a directory, and read its manifest.

    Raises :class:`UsageError` for what is no bundle, :class:`EngineError` for one that nobody
    could start, and what unpacking raises.
    """
    if not path.exists():
        raise UsageError(f"There is nothing at {path}.")
    if path.is_dir():
        return _read(path.resolve())
    if _SEVEN_ZIP.fullmatch(path.name):
        raise UsageError(
            f"{path.name} is a 7-Zip archive, and these are not unpacked here.",
            hint="Unpack it with 7-Zip and give the directory, or give the .vvpp.",
        )
    if path.suffix.lower() not in (".vvpp", ".vvppp"):
        raise UsageError(
            f"{path.name} is no bundle.",
            hint="Give a bundle's directory, a .vvpp, or the first of its parts (.001.vvppp).",
        )
    from vvbuild.bundle.archive.read import unpack_bundle

    directory = scratch / AWKWARD_NAME
    unpack_bundle(path, directory, cancel=cancel)
    return _read(directory)


def _read(directory: Path) -> Subject:
    path = directory / _MANIFEST
    if not path.is_file():
        raise UsageError(f"{directory} is no bundle: it has no {_MANIFEST}.")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        name, uuid, version, command = (
            manifest[key] for key in ("name", "uuid", "version", "command")
        )
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(
            f"{_MANIFEST} cannot be read, so that neither engine nor editor would start: "
            f"{error!r}.",
            context={"bundle": directory},
        ) from error
    words = _split(str(command), directory)
    return Subject(directory, words, str(name), str(uuid), str(version), _promised_ort(directory))


def _split(command: str, directory: Path) -> tuple[str, ...]:
    """The program's full path and its arguments, as the editor takes them apart."""
    try:
        first, *rest = shlex.split(command, posix=os.name == "posix")
    except ValueError as error:
        raise EngineError(f"{_MANIFEST}: the command {command!r} names no program.") from error
    program = directory / first
    inside = directory.resolve() in program.resolve().parents
    if not inside or not program.is_file():
        raise EngineError(
            f"{_MANIFEST} starts {first!r}, and there is no such program in the bundle.",
            context={"bundle": directory},
        )
    return (str(program), *rest)


def _promised_ort(directory: Path) -> str | None:
    try:
        promised = json.loads((directory / _DESCRIPTION).read_bytes())["components"]["onnxruntime"]
    except (OSError, ValueError, KeyError, TypeError):
        # No vvbuild.json, or one that `vvbuild verify` complains about.
        return None
    return promised if isinstance(promised, str) else None
