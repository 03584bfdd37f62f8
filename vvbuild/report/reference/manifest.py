"""The page of the files below ``manifests/``: every key, from the types that load them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import inspect as types

from vvbuild.model.compat import (
    CoreTable,
    GpuTable,
    LibrariesTable,
    ModelsTable,
    OnnxRuntimeTable,
    PyInstallerTable,
    TroublesTable,
)
from vvbuild.model.locked import LockFile
from vvbuild.model.policy import Policy
from vvbuild.model.recipe import Recipe
from vvbuild.model.release import COMPONENTS, Release
from vvbuild.model.tables import HostTable, Targets, Tools
from vvbuild.report.reference.markdown import anchor, code, page, plain, prose, table

_INTRO = (
    "Releases, recipes, tables and the policy of updates are TOML, written by "
    "people; locks are JSON, written by `vvbuild lock`. A key that is not on this page is refused; "
    "a problem in TOML is shown with its line. Sizes are written `512`, `200MiB` or `2GiB`."
)
_REFERENCES = (
    "A *reference* says where a file is served: `pypi:project/version/file`, "
    "`npm:[@scope/]package/version`, `github:owner/repo@tag/asset` or `https://host/path/file`. "
    "PyPI and npm are resolved through the index that pip, uv and npm are configured with."
)
_COMPONENTS = f"A *component* is one of {', '.join(map(code, COMPONENTS))}."


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A kind of file: what it is called, where it lies, and the type that loads it."""

    title: str
    path: str
    row: type[msgspec.Struct]


MANIFEST_FILES = (
    ManifestFile("Release", "manifests/releases/NAME.toml", Release),
    ManifestFile("Lock", "manifests/locks/NAME.lock.json", LockFile),
    ManifestFile("Recipe", "manifests/recipes/NAME.toml", Recipe),
    ManifestFile("Tools", "manifests/tools.toml", Tools),
    ManifestFile("Host needs", "manifests/host.toml", HostTable),
    ManifestFile("ONNX Runtime", "manifests/compat/onnxruntime.toml", OnnxRuntimeTable),
    ManifestFile("Core", "manifests/compat/core.toml", CoreTable),
    ManifestFile(
        "Additional libraries", "manifests/compat/additional-libraries.toml", LibrariesTable
    ),
    ManifestFile("Voice models", "manifests/compat/models.toml", ModelsTable),
    ManifestFile("PyInstaller", "manifests/compat/pyinstaller.toml", PyInstallerTable),
    ManifestFile("GPUs", "manifests/compat/gpu.toml", GpuTable),
    ManifestFile("Known troubles", "manifests/compat/troubles.toml", TroublesTable),
    ManifestFile("Policy of updates", "manifests/policy.toml", Policy),
    ManifestFile("Targets", "manifests/targets.toml", Targets),
)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a file: its heading, and its type."""

    heading: str
    struct: types.StructType


def manifest_page(files: Sequence[ManifestFile] = MANIFEST_FILES) -> str:
    """The keys of every kind of file, table by table."""
    links = [f"- [{each.title}](#{anchor(each.title)}): {code(each.path)}" for each in files]
    sections = (text for each in files for text in _file(each))
    return page(
        "Files below manifests/", [_INTRO, _REFERENCES, _COMPONENTS, "\n".join(links), *sections]
    )


def _file(file: ManifestFile) -> Iterator[str]:
    root = _struct(types.type_info(file.row))
    assert root is not None
    yield f"## {file.title}"
    words = prose(file.row.__doc__)
    yield words if words.startswith("`manifests/") else f"{code(file.path)}: {words}"
    is_json = file.path.endswith(".json")
    queue = [_Table("", root)]
    while queue:
        current = queue.pop(0)
        below = {
            field.name: found
            for field in current.struct.fields
            if (found := _below(current.heading, field, is_json=is_json)) is not None
        }
        if current.heading:
            yield f"### {file.title}: {code(current.heading)}"
            yield prose(current.struct.cls.__doc__)
        yield _keys(file, current.struct, below)
        queue = [*below.values(), *queue]


def _keys(file: ManifestFile, struct: types.StructType, below: dict[str, _Table]) -> str:
    rows = []
    for field in struct.fields:
        meaning = _description(field.type)
        if opened := below.get(field.name):
            takes = f"[{code(opened.heading)}](#{anchor(f'{file.title}: {opened.heading}')})"
            meaning = meaning or prose(opened.struct.cls.__doc__)
        else:
            takes = _in_words(field.type)
        rows.append((code(field.name), takes, _default(field), meaning))
    return table(("key", "takes", "default", "meaning"), rows)


def _below(parent: str, field: types.Field, *, is_json: bool) -> _Table | None:
    """The table that a key opens, if it does, under the heading that people write it with."""
    inner = _bare(field.type)
    name = ".".join(filter(None, (parent.strip("[]"), field.name)))
    many = isinstance(inner, (types.ListType, types.VarTupleType))
    if isinstance(inner, (types.ListType, types.VarTupleType)):
        inner = _bare(inner.item_type)
    while isinstance(inner, types.DictType):
        name, inner = f"{name}.*", _bare(inner.value_type)
    struct = _struct(inner)
    if struct is None:
        return None
    if is_json:
        return _Table(f"{name}[]" if many else name, struct)
    return _Table(f"[[{name}]]" if many else f"[{name}]", struct)


def _struct(kind: types.Type) -> types.StructType | None:
    bare = _bare(kind)
    return bare if isinstance(bare, types.StructType) else None


def _bare(kind: types.Type) -> types.Type:
    """A type without its description and without "or nothing"."""
    while True:
        if isinstance(kind, types.Metadata):
            kind = kind.type
        elif isinstance(kind, types.UnionType):
            (kind,) = (each for each in kind.types if not isinstance(each, types.NoneType))
        else:
            return kind


def _description(kind: types.Type) -> str:
    if not isinstance(kind, types.Metadata):
        literal = isinstance(kind, types.LiteralType) and len(kind.values) == 1
        return "The format of the file, always this." if literal else ""
    return plain(str((kind.extra_json_schema or {}).get("description", "")))


def _in_words(kind: types.Type) -> str:
    bare = _bare(kind)
    if isinstance(bare, types.LiteralType):
        if set(bare.values) == set(COMPONENTS):
            return "component"
        return ", ".join(code(str(value)) for value in bare.values)
    if isinstance(bare, (types.ListType, types.VarTupleType)):
        least = ", at least one" if bare.min_length else ""
        return f"list of {_in_words(bare.item_type)}{least}"
    if isinstance(bare, types.DictType):
        return f"table: name → {_in_words(bare.value_type)}"
    if isinstance(bare, types.StrType):
        pattern = f" like {code(bare.pattern)}" if bare.pattern else ""
        return f"text{pattern}{', not empty' if bare.min_length else ''}"
    if isinstance(bare, types.IntType):
        return f"whole number{_range(bare.ge, bare.le)}"
    words: dict[type, str] = {
        types.BoolType: "`true` or `false`",
        types.DateTimeType: "date and time",
        types.DateType: "date",
    }
    return words[type(bare)]


def _range(least: int | None, most: int | None) -> str:
    if least is None:
        return "" if most is None else f", at most {most}"
    return f", at least {least}" if most is None else f", {least} to {most}"


def _default(field: types.Field) -> str:
    if field.required:
        return "required"
    value = field.default
    if value is msgspec.NODEFAULT:
        value = field.default_factory()
    return code(json.dumps(value)) if value or value in (0, False) else ""
