"""TOML and JSON files into the types of ``model/``, with every problem named."""

from __future__ import annotations

import difflib
import json
import re
import stat
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from vvbuild.errors import ManifestError, VvbuildError, from_os_error
from vvbuild.manifest.positions import Path as KeyPath
from vvbuild.manifest.positions import key_lines, line_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RowT = TypeVar("RowT", bound=msgspec.Struct)
Problem = tuple[KeyPath, str]
ErrorKind = type[VvbuildError]

# A manifest is written by people; one of many megabytes is a mistake or an attack.
_MAX_BYTES = 4 << 20
_SHOWN = 12
_WORD = 80
# msgspec's names for types, and what people who write TOML call them.
_TYPE = re.compile(r"`(\w+)(?: \| null)?`")
_WORDS = {
    "object": "a table", "array": "an array", "str": "a string", "bool": "a boolean",
    "int": "a whole number", "float": "a number", "datetime": "a date with a time",
    "date": "a date", "time": "a time of day",
}  # fmt: skip
_BARE = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Document:
    """A file of ours with its text, so that later checks can point at a line of it."""

    def __init__(self, path: Path, text: str, data: dict[str, Any]) -> None:
        self.path = path
        self.data = data
        self._text = text
        self._parents: tuple[Document, ...] = ()
        self._lines: dict[KeyPath, int] | None = None

    def inheriting(self, data: dict[str, Any], parents: list[Document]) -> Document:
        """This document with what it inherits; ``parents`` stand from the nearest up."""
        merged = Document(self.path, self._text, data)
        merged._parents = tuple(parents)
        return merged

    def where(self, path: KeyPath) -> str:
        """``file:line`` of a key: in the document that says it, else where it should stand."""
        for document in (self, *self._parents):
            if path in document.key_lines:
                return f"{document.path}:{document.key_lines[path]}"
        if path and self._parents and path[:-1]:
            return self.where(path[:-1])
        return f"{self.path}:{line_of(self.key_lines, path)}"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that it was read from, its own first."""
        return (self.path, *(parent.path for parent in self._parents))

    @property
    def key_lines(self) -> dict[KeyPath, int]:
        """Each key of this file alone, with its line."""
        if self._lines is None:
            is_toml = self.path.suffix == ".toml"
            self._lines = key_lines(self._text) if is_toml else {(): 1}
        return self._lines

    def error(
        self, problems: list[Problem], kind: type[VvbuildError] = ManifestError
    ) -> VvbuildError:
        """One error that lists where each problem stands."""
        shown = [
            f"{self.where(path)}: {dotted(path)}{message}" for path, message in problems[:_SHOWN]
        ]
        if len(problems) > _SHOWN:
            shown.append(f"… and {len(problems) - _SHOWN} more")
        return kind("\n".join(shown), context={"file": self.path})


def dotted(path: KeyPath) -> str:
    """``("artifacts", 2, "name")`` as people write it: ``artifacts[2].name: ``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _BARE.fullmatch(part):
            text += f".{part}"
        else:
            text += f".{json.dumps(part[:_WORD], ensure_ascii=False)}"
    return f"{text.lstrip('.')}: " if text else ""


def read_document(path: Path, kind: ErrorKind = ManifestError) -> Document:
    """Parse a ``.toml`` or ``.json`` file; ``kind`` tells line and column if it is neither."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise kind(f"{path}: expected a file.")
        if facts.st_size > _MAX_BYTES:
            raise kind(f"{path}: {facts.st_size} bytes; a manifest is at most {_MAX_BYTES}.")
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise kind(f"{path}: there is no such file.") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise kind(
            f"{path}:{line}: expected UTF-8, got byte {error.object[error.start]:#04x}."
        ) from error
    except OSError as error:
        raise from_os_error(error, f"read {path}") from error
    try:
        data = tomllib.loads(text) if path.suffix == ".toml" else msgspec.json.decode(text)
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        # ValueError: TOMLDecodeError is one, and a number of thousands of digits another.
        raise kind(_located(path, text, str(error))) from error
    if not isinstance(data, dict):
        raise kind(f"{path}: expected a table, got {_kind(data)}.")
    return Document(path, text, data)


def _located(path: Path, text: str, complaint: str) -> str:
    """A parser's complaint, with its place in front, where editors look for it."""
    if found := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", complaint, re.DOTALL):
        return f"{path}:{found[2]}:{found[3]}: {found[1]}"
    data = text.encode()
    if found := re.search(r"\(byte (\d+)\)", complaint):
        data = data[: int(found[1])]
    line = data.count(b"\n") + 1
    return f"{path}:{line}: {complaint}"


def decode(document: Document, row: type[RowT], kind: ErrorKind = ManifestError) -> RowT:
    """Convert a document to ``row``, or raise ``kind`` that lists every problem."""
    try:
        return msgspec.convert(document.data, row)
    except msgspec.ValidationError as error:
        # msgspec stops at the first; only a file that is wrong pays for the search of all.
        problems = list(find_problems(document.data, row, ())) or [((), str(error))]
        raise document.error(problems, kind) from error


def find_problems(value: object, expected: Any, path: KeyPath) -> Iterator[Problem]:
    """Yield where ``value`` is not of type ``expected``, and why, deepest first."""
    plain = _strip(expected)
    if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
        yield from _struct_problems(value, plain, path)
    elif get_origin(plain) in (list, tuple) and isinstance(value, list):
        item = get_args(plain)[0]
        for index, member in enumerate(value):
            yield from find_problems(member, item, (*path, index))
        if not value:
            yield from _leaf_problems(value, expected, path)
    elif get_origin(plain) is dict and isinstance(value, dict):
        name, item = get_args(plain)
        for key, member in value.items():
            yield from _key_problems(key, name, path)
            yield from find_problems(member, item, (*path, key))
    else:
        yield from _leaf_problems(value, expected, path)


def _struct_problems(value: object, row: type[msgspec.Struct], path: KeyPath) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield path, f"expected a table, got {_kind(value)}"
        return
    fields = {field.name: field for field in msgspec.structs.fields(row)}
    hints = get_type_hints(row, include_extras=True)
    for key in value:
        if key not in fields:
            yield (*path, key), f"unknown key{nearest(key, fields)}"
    for name, field in fields.items():
        if name in value:
            yield from find_problems(value[name], hints[name], (*path, name))
        elif field.required:
            yield path, f"the key {name!r} is missing"


def _key_problems(key: str, expected: Any, path: KeyPath) -> Iterator[Problem]:
    choices = get_args(_strip(expected))
    if choices and key not in choices:
        yield (*path, key), f"unknown name{nearest(key, choices)}"


def _leaf_problems(value: object, expected: Any, path: KeyPath) -> Iterator[Problem]:
    try:
        msgspec.convert(value, expected)
    except msgspec.ValidationError as error:
        choices = get_args(_strip(expected))
        message = _TYPE.sub(_in_words, str(error).partition(" - at ")[0])
        if isinstance(value, str) and choices and all(isinstance(item, str) for item in choices):
            message = f"unknown value{nearest(value, choices)}"
        yield path, message[0].lower() + message[1:]


def _in_words(match: re.Match[str]) -> str:
    return _WORDS.get(match[1], match[0])


def nearest(word: str, choices: Any) -> str:
    """The end of a sentence that names what was probably meant, and what is possible."""
    names = [str(choice) for choice in choices]
    word = word if len(word) <= _WORD else f"{word[:_WORD]}…"
    close = difflib.get_close_matches(word, names, n=3, cutoff=0.6)
    if close:
        return f" {word!r}; did you mean {' or '.join(close)}?"
    return f" {word!r}; expected one of {', '.join(names)}"


def no_such(kind: str, word: str, choices: Any) -> str:
    """The sentence for a name that no table knows."""
    text = f"There is no {kind}{nearest(word, choices)}"
    return text if text.endswith("?") else f"{text}."


def _strip(expected: Any) -> Any:
    """The type behind ``Annotated`` and ``… | None``."""
    while hasattr(expected, "__metadata__"):
        expected = expected.__origin__
    if get_origin(expected) in (Union, types.UnionType):
        members = [item for item in get_args(expected) if item is not type(None)]
        if len(members) == 1:
            return _strip(members[0])
    return expected


def _kind(value: object) -> str:
    names: dict[type, str] = {dict: "object", list: "array"}
    kind = names.get(type(value), type(value).__name__)
    return _WORDS.get(kind, kind)
