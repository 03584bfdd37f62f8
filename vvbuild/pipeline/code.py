"""The digest of the code that does a step's work.

A result made by yesterday's code must not be taken for today's: whoever changes how something
is built would otherwise look at the old one.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from vvbuild import resources

_IMPORT = re.compile(
    r"^[ \t]*from (vvbuild[\w.]*) import (\([^)]*\)|[^\n#]*)|^[ \t]*import (vvbuild[\w.]*)",
    re.MULTILINE,
)
# They carry words and signals, never bytes of a result.
_NEUTRAL = {"vvbuild.errors", "vvbuild.model.events", "vvbuild.runtime.cancel", "vvbuild.resources"}


def code_digest(modules: tuple[str, ...]) -> str:
    """SHA-256 over the sources of ``modules`` and of all of vvbuild that they import."""
    reached: set[str] = set()
    queue = list(modules)
    while queue:
        module = queue.pop()
        if module not in reached:
            reached.add(module)
            queue.extend(_imports(module) - _NEUTRAL)
    digest = hashlib.sha256()
    for module in sorted(reached):
        digest.update(f"{module}\0{_source_digest(module)}\n".encode())
    return digest.hexdigest()


@cache
def _imports(module: str) -> frozenset[str]:
    found = set()
    for package, names, plain in _IMPORT.findall(_source(module)):
        if plain:
            found.add(plain)
            continue
        words = re.findall(r"(\w+)(?: as \w+)?", re.sub(r"#[^\n]*", "", names))
        inner = {f"{package}.{word}" for word in words}
        submodules = {each for each in inner if _path(each) is not None}
        found |= submodules or {package}
    return frozenset(found)


@cache
def _source_digest(module: str) -> str:
    return hashlib.sha256(_source(module).encode()).hexdigest()


@cache
def _source(module: str) -> str:
    path = _path(module)
    if path is None:
        raise ModuleNotFoundError(module)
    return path.read_text(encoding="utf-8")


def _path(module: str) -> Path | None:
    parts = module.split(".")[1:]
    base = resources.package_dir().joinpath(*parts)
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None
