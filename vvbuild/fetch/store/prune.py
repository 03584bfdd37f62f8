"""Delete from a store what was not used for long, or least lately."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal

import msgspec

from vvbuild.fetch.housekeeping import measure
from vvbuild.fetch.store.core import Store
from vvbuild.fetch.store.place import named, require_store
from vvbuild.fetch.store.presence import alone
from vvbuild.fetch.store.stamps import Stamps, last_use
from vvbuild.model.digest import Digest
from vvbuild.model.size import ByteSize
from vvbuild.model.tree import EntryKind
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import remove_tree

PrunedKind = Literal["tree", "file", "partial"]
_DECIMAL = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,3})?)\s*([kMGT])B")
_POWERS = {"k": 3, "M": 6, "G": 9, "T": 12}


@dataclass(frozen=True, slots=True)
class Unit:
    """What is kept or deleted as one.

    ``last_use`` is in seconds since 1970. ``steps`` made a tree. ``size`` is what only this unit
    holds by itself, without the files that it shares with others.
    """

    kind: PrunedKind
    name: str
    last_use: float
    size: int
    files: tuple[Path, ...]
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted (or would be, in a dry run); ``size`` is what is left."""

    root: Path
    units: tuple[Unit, ...]
    freed: ByteSize
    size: ByteSize
    dry_run: bool


@dataclass(slots=True)
class _Content:
    """Everything that can be deleted, and the sizes of shared files."""

    units: list[Unit] = field(default_factory=list)
    sizes: dict[Path, int] = field(default_factory=dict)
    records: dict[str, list[Path]] = field(default_factory=dict)


def parse_size(text: str) -> ByteSize:
    """Read ``20GB`` (thousands), ``20GiB`` (1024s) or a number of bytes; raises ``ValueError``."""
    decimal = _DECIMAL.fullmatch(text.strip())
    if decimal is None:
        return ByteSize.parse(text)
    whole, _, fraction = decimal[1].partition(".")
    digits = int(whole + fraction.ljust(3, "0"))
    return ByteSize(digits * 10 ** (_POWERS[decimal[2]] - 3))


def prune(
    store: Store,
    *,
    older_than: timedelta | None = None,
    max_size: int | None = None,
    dry_run: bool = False,
    now: float | None = None,
    cancel: Cancel | None = None,
) -> Pruned:
    """Delete what was not used for ``older_than``; then what was, least lately first.

    The latter ends where the whole store takes no more than ``max_size`` bytes; uv's own cache
    counts, and is left alone. A file goes with the last tree that needs it. What a killed run
    left behind, and records of what is gone, go as well.

    Raises :class:`UsageError` for a directory that is no store, and while another vvbuild works.
    """
    cancel = Cancel() if cancel is None else cancel
    now = time.time() if now is None else now
    if not store.root.exists():
        return Pruned(store.root, (), ByteSize(0), ByteSize(0), dry_run)
    require_store(store.root, "nothing was deleted")
    with named("prune the store"):
        if dry_run:
            return _prune(store, older_than, max_size, now, cancel, dry_run=True)
        store.prepare()
        with alone(store.base, cancel):
            return _prune(store, older_than, max_size, now, cancel, dry_run=False)


def _prune(
    store: Store,
    older_than: timedelta | None,
    max_size: int | None,
    now: float,
    cancel: Cancel,
    *,
    dry_run: bool,
) -> Pruned:
    content = _look_around(store, now, cancel)
    oldest = now - older_than.total_seconds() if older_than is not None else float("-inf")
    size = before = int(measure(store).size)
    needed = Counter(path for unit in content.units for path in unit.files)
    doomed: list[Unit] = []
    freed: list[Path] = []
    for unit in sorted(content.units, key=lambda unit: unit.last_use):
        if unit.last_use >= oldest and (max_size is None or size <= max_size):
            break
        doomed.append(unit)
        size -= unit.size
        for path in unit.files:
            needed[path] -= 1
            if not needed[path]:
                freed.append(path)
                size -= content.sizes[path]
    if not dry_run:
        _delete(store, doomed, freed, content)
    return Pruned(store.root, tuple(doomed), ByteSize(before - size), ByteSize(size), dry_run)


# What is there


def _look_around(store: Store, now: float, cancel: Cancel) -> _Content:
    content = _Content()
    for path in _below(store.base / "files"):
        content.sizes[path] = path.lstat().st_size
    steps = _read_records(store, content)
    in_trees: set[Path] = set()
    for path in _below(store.base / "trees"):
        cancel.check()
        unit = _tree_unit(store, path, content, steps, now)
        in_trees.update(unit.files)
        content.units.append(unit)
    content.units += _file_units(store, content, in_trees, now)
    content.units += _partial_units(store, now)
    return content


def _read_records(store: Store, content: _Content) -> dict[str, list[str]]:
    """Which steps made a tree; the records themselves go with the tree that they name."""
    steps: dict[str, list[str]] = {}
    for path in _below(store.base / "records"):
        try:
            record = msgspec.json.decode(path.read_bytes(), type=dict[str, object])
        except (msgspec.DecodeError, RecursionError):
            record = {}
        tree = str(record.get("tree"))
        content.records.setdefault(tree, []).append(path)
        if isinstance(step := record.get("step"), str):
            steps.setdefault(tree, []).append(step)
    return steps


def _tree_unit(
    store: Store, path: Path, content: _Content, steps: dict[str, list[str]], now: float
) -> Unit:
    try:
        tree = store.read_tree(Digest(path.stem))
    except ValueError:
        tree = None
    if tree is None:
        # Nobody would trust it: as if it had never been used.
        return Unit("tree", path.stem, float("-inf"), 0, ())
    files = {
        store.file_path(entry.digest, entry.kind)
        for entry in tree.entries
        if entry.digest is not None
    }
    copies = sum(
        facts.st_size
        for facts in (member.lstat() for member in _below(store.base / "checkouts" / path.stem))
        if facts.st_nlink == 1
    )
    used = last_use(path, now) or now
    known = tuple(sorted(files & content.sizes.keys()))
    return Unit("tree", path.stem, used, copies, known, tuple(steps.get(path.stem, ())))


def _file_units(store: Store, content: _Content, in_trees: set[Path], now: float) -> Iterator[Unit]:
    """Files that were used by themselves, and those that no tree needs."""
    stamps = Stamps(store.base)
    for path in content.sizes:
        used = None
        kind: EntryKind = "program" if path.suffix == ".x" else "file"
        try:
            used = last_use(stamps.use_of(Digest(path.stem), kind), now)
        except ValueError:
            # No file of ours has such a name.
            yield Unit("file", path.name, float("-inf"), 0, (path,))
            continue
        if used is not None or path not in in_trees:
            # Without a stamp, the last change is when it came.
            came = min(path.lstat().st_ctime, now)
            yield Unit("file", path.name, came if used is None else used, 0, (path,))


def _partial_units(store: Store, now: float) -> Iterator[Unit]:
    for path in _below(store.base / "partial"):
        if path.suffix == ".part":
            yield Unit("partial", path.name, last_use(path, now) or now, path.lstat().st_size, ())


# What goes


def _delete(store: Store, doomed: list[Unit], freed: list[Path], content: _Content) -> None:
    """First what refers, then what is referred to: a killed pruning leaves nothing dangling."""
    for unit in doomed:
        if unit.kind == "partial":
            for suffix in (".part", ".map"):
                (store.base / "partial" / unit.name).with_suffix(suffix).unlink(missing_ok=True)
        if unit.kind == "file":
            (store.base / "seen" / unit.name[:2] / unit.name).unlink(missing_ok=True)
        if unit.kind == "tree":
            for path in content.records.get(unit.name, ()):
                path.unlink(missing_ok=True)
            (store.base / "trees" / unit.name[:2] / f"{unit.name}.json").unlink(missing_ok=True)
    kept = {path.stem for path in _below(store.base / "trees")}
    for path in _dangling(store, kept, content):
        remove_tree(path)
    for path in freed:
        path.unlink(missing_ok=True)


def _dangling(store: Store, kept: set[str], content: _Content) -> Iterator[Path]:
    """Records and checkouts of trees that are gone, leftovers, and locks that nobody can hold."""
    for name, paths in content.records.items():
        if name not in kept:
            yield from paths
    for path in (store.base / "checkouts").iterdir():
        if path.name not in kept:
            yield path
    for path in _below(store.base / "seen"):
        if path.suffix in (".files", ".checkout") and path.stem not in kept:
            yield path
    for part in ("trees", "records", "seen"):
        yield from (path for path in _below(store.base / part, hidden=True) if _is_half(path))
    for path in (store.base / "locks").iterdir():
        if path.name != "gate.lock":
            yield path


def _is_half(path: Path) -> bool:
    """Whether a killed process was writing it."""
    return path.name.startswith(".")


def _below(directory: Path, *, hidden: bool = False) -> list[Path]:
    """Files and links below; hidden ones are what a killed process left half written."""
    if not directory.is_dir():
        return []
    found = (path for path in directory.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(path for path in found if hidden or not _is_half(path))
