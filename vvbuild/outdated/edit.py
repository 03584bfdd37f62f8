"""Pins changed in the text of a manifest: every other byte stays."""

from __future__ import annotations

import difflib
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vvbuild.errors import ManifestError, PermissionDeniedError, from_os_error
from vvbuild.manifest.decode import Document, decode
from vvbuild.manifest.inherit import merge
from vvbuild.manifest.meaning import meaning_problems
from vvbuild.manifest.positions import Path as KeyPath
from vvbuild.manifest.positions import key_lines, line_of
from vvbuild.manifest.release import LoadedRelease
from vvbuild.model.release import COMPONENTS, Release
from vvbuild.runtime.files import write_atomically

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Tried one after the other, and judged by what the file says then.
_STRING = re.compile(r'"""[^"]*"""|"(?:\\.|[^"\\])*"|' + r"'''[^']*'''|'[^']*'")
_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_DOTTED = re.compile(rf"(\s*(?:{_NAME}\s*\.\s*)+){_NAME}\s*=")
_BLANK_OR_COMMENT = re.compile(r"[ \t]*(?:#.*)?\r?\n?")


def read_text(path: Path) -> str:
    """A manifest's text with its line ends as they are."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise from_os_error(error, f"read {path}") from error


def says(text: str, component: str) -> bool:
    """Whether this file itself holds the component's version, so that nothing is inherited."""
    return "version" in tomllib.loads(text).get("components", {}).get(component, {})


def edit_pins(document: Document, text: str, pins: Mapping[str, str]) -> str:
    """The text of a manifest with other versions of components; every other byte stays.

    A version that stands there is replaced inside its quotes; one that is inherited is added,
    in the component's table or in a new one behind the other components. ``document`` is whose
    text it is, for the errors: :class:`~vvbuild.errors.ManifestError` where the pin is written
    in a way that cannot be edited.
    """
    for component in sorted(pins, key=COMPONENTS.index):
        edited = _edit(text, component, pins[component])
        if edited is None:
            raise document.error(
                [(("components", component), f"cannot be edited; pin {pins[component]} by hand")]
            )
        text = edited
    return text


def _edit(text: str, component: str, version: str) -> str | None:
    """The first way of writing the pin after which the file says that, and all else as before."""
    wanted: dict[str, Any] = tomllib.loads(text)
    present = says(text, component)
    wanted.setdefault("components", {}).setdefault(component, {})["version"] = version
    ways = _replacements if present else _additions
    return next((way for way in ways(text, component, version) if _parsed(way) == wanted), None)


def edited_release(loaded: LoadedRelease, text: str) -> LoadedRelease:
    """The release as it would be with this text in its own file, checked like any other.

    ``text`` must say all that the file says now, so that what it inherits stays the same.
    Raises :class:`~vvbuild.errors.ManifestError` where the result could not be loaded.
    """
    own = tomllib.loads(text)
    document = Document(loaded.path, text, own)
    document = document.inheriting(merge(loaded.document.data, own), [])
    release = decode(document, Release)
    problems = list(meaning_problems(release, document, allow_local=False))
    if problems:
        raise document.error(problems)
    return LoadedRelease(document, release)


def unified(before: str, after: str, name: str) -> str:
    """A diff that `git apply` and `patch` take, line ends included; empty if nothing differs."""
    lines = difflib.unified_diff(
        _lines(before), _lines(after), f"a/{name}", f"b/{name}", lineterm="\n"
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def write_text(path: Path, before: str, after: str) -> None:
    """Put ``after`` where ``before`` stands, in one move, with the same permissions.

    Raises :class:`~vvbuild.errors.PermissionDeniedError` for a file that is read-only, also
    where a move could replace it, and :class:`~vvbuild.errors.ManifestError` if somebody else
    changed it since it was read.
    """
    # A link stays one; what it points to is edited.
    real = path.resolve()
    mode = stat.S_IMODE(real.stat().st_mode)
    if not mode & 0o222 or not os.access(real, os.W_OK):
        raise PermissionDeniedError(
            f"Could not write {path}: it is read-only.",
            context={"path": path},
            hint="Give this user the right to write it, or apply the diff to a copy of your own.",
        )
    if read_text(real) != before:
        raise ManifestError(f"{path}: changed while versions were looked up; nothing was written.")
    try:
        write_atomically(real, after.encode())
        if stat.S_IMODE(real.stat().st_mode) != mode:
            real.chmod(mode)
    except OSError as error:
        raise from_os_error(error, f"write {path}") from error


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _replacements(text: str, component: str, version: str) -> Iterator[str]:
    """The version in place of each string of the line that holds the pin."""
    lines = _lines(text)
    number = line_of(key_lines(text), ("components", component, "version")) - 1
    for found in _STRING.finditer(lines[number]):
        quote = found[0][0]
        line = (
            f"{found.string[: found.start()]}{quote}{version}{quote}{found.string[found.end() :]}"
        )
        yield "".join((*lines[:number], line, *lines[number + 1 :]))


def _additions(text: str, component: str, version: str) -> Iterator[str]:
    """A version where the file has none yet, as its neighbours are written."""
    lines, places = _lines(text), key_lines(text)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    pin = f'version = "{version}"'
    number = places.get(("components", component))
    if number is not None:
        line = lines[number - 1]
        before, after = lines[: number - 1], lines[number:]
        # A table, an inline table, dotted keys.
        whole = line if line.endswith("\n") else f"{line}{end}"
        yield "".join((*before, whole, f"{pin}{end}", *after))
        yield "".join((*before, line.replace("{", f"{{ {pin},", 1), *after))
        if dotted := _DOTTED.match(line):
            yield "".join((*before, f"{dotted[1]}{pin}{end}", line, *after))
        return
    at = _place_for_table(lines, places)
    if at and not lines[at - 1].endswith("\n"):
        lines[at - 1] += end
    blank = [end] if at else []
    follows = [end] if at < len(lines) and lines[at].strip() else []
    header = f"[components.{component}]{end}"
    yield "".join((*lines[:at], *blank, header, f"{pin}{end}", *follows, *lines[at:]))


def _place_for_table(lines: list[str], places: Mapping[KeyPath, int]) -> int:
    """Behind the last component's table, else behind the last table that is no list."""
    headers: dict[int, KeyPath] = {}
    for path, line in places.items():
        if path and lines[line - 1].lstrip().startswith("["):
            # Of the keys that a header implies, its own is the longest.
            headers[line] = max(path, headers.get(line, ()), key=len)
    plain = [line for line in headers if not any(isinstance(part, int) for part in headers[line])]
    tables = [line for line in plain if headers[line][0] == "components"] or plain
    start = max(tables, default=0)
    stop = min((line - 1 for line in headers if line > start), default=len(lines))
    while stop > start and _BLANK_OR_COMMENT.fullmatch(lines[stop - 1]):
        stop -= 1
    return stop


def _lines(text: str) -> list[str]:
    """Lines with their ends; not splitlines(), which knows more line ends than TOML does."""
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)
