"""Views of the store."""

from __future__ import annotations

from datetime import datetime, timezone

from vvbuild.fetch.housekeeping import Usage
from vvbuild.fetch.store.prune import Pruned, Unit
from vvbuild.fetch.store.verify import Verified
from vvbuild.report.document import Block, Line, Table, View

_MEANING = {
    "files": "files by SHA-256",
    "checkouts": "trees laid out for use, links to files",
    "trees": "lists of files",
    "records": "what each step made",
    "seen": "inodes and last uses",
    "partial": "unfinished downloads",
    "uv": "uv's own cache of Python packages",
    "pythons": "identities of Pythons",
    "locks": "locks",
    "users": "who works with the store",
    "work": "scratch of running builds",
}
_ROWS = 30


def usage_view(usage: Usage) -> View:
    """Where the store lies and what fills it."""
    rows = tuple(
        (part.name, f"{part.files:,}", str(part.size), _MEANING.get(part.name, ""))
        for part in usage.parts
    )
    table = Table(("part", "files", "own size", "what"), rows, right=(1, 2), shrink=3)
    blocks: list[Block] = [Line(f"{usage.root}: {usage.size}", "bold")]
    blocks += [table] if rows else []
    if usage.free is not None:
        blocks.append(Line(f"Its disk has {usage.free} free."))
    if usage.users:
        blocks.append(Line(f"Other processes that work with it now: {usage.users}."))
    return View(_data(usage), tuple(blocks))


def cleaned_view(usage: Usage) -> View:
    """What was deleted."""
    return View(_data(usage), (Line(f"Deleted {usage.size} from {usage.root}.", "good"),))


def verified_view(result: Verified) -> View:
    """What was read, and what is broken. The status is 1 if something broken is still there."""
    left = any(not fault.removed for fault in result.faults)
    rows = tuple((fault.path, fault.why) for fault in result.faults)
    read = (
        f"{result.root}: read {result.files:,} files ({result.size}), {result.trees:,} trees, "
        f"{result.records:,} records, {result.checkouts:,} checkouts."
    )
    blocks: list[Block] = [Line(read)]
    if not rows:
        blocks.append(Line("Everything is what its name says.", "good"))
    else:
        blocks.append(Table(("entry", "what is wrong"), rows, shrink=1))
        count = f"{len(rows)} {'entries' if len(rows) > 1 else 'entry'}"
        if left:
            blocks.append(
                Line(f"{count} broken. `vvbuild cache verify --fix` removes them.", "bad")
            )
        else:
            blocks.append(Line(f"Removed {count}; the next run makes or fetches them.", "warn"))
    data: dict[str, object] = {
        "root": str(result.root),
        "files": result.files,
        "size": result.size,
        "trees": result.trees,
        "records": result.records,
        "checkouts": result.checkouts,
        "faults": [
            {"kind": it.kind, "path": it.path, "why": it.why, "removed": it.removed}
            for it in result.faults
        ],
    }
    return View(data, tuple(blocks), status=1 if left else 0)


def pruned_view(result: Pruned) -> View:
    """What was deleted, or would be."""
    rows = tuple((_name(unit), unit.kind, _day(unit.last_use)) for unit in result.units[:_ROWS])
    done = "Would delete" if result.dry_run else "Deleted"
    rest = "would be" if result.dry_run else "is"
    blocks: list[Block] = []
    if rows:
        blocks.append(Table(("what", "kind", "last used"), rows, shrink=0))
    if len(result.units) > _ROWS:
        blocks.append(Line(f"… and {len(result.units) - _ROWS} more", "dim"))
    blocks.append(
        Line(f"{done} {result.freed} from {result.root}; {result.size} {rest} left.", "good")
    )
    data: dict[str, object] = {
        "root": str(result.root),
        "dry_run": result.dry_run,
        "freed": result.freed,
        "size": result.size,
        "removed": [
            {
                "kind": unit.kind,
                "name": unit.name,
                "steps": list(unit.steps),
                "last_use": _moment(unit.last_use),
            }
            for unit in result.units
        ],
    }
    return View(data, tuple(blocks))


def _name(unit: Unit) -> str:
    return ", ".join(sorted(set(unit.steps))) or unit.name[:12]


def _day(seconds: float) -> str:
    moment = _moment(seconds)
    return moment[:10] if moment is not None else "damaged"


def _moment(seconds: float) -> str | None:
    """A time as ISO 8601 in UTC; ``None`` for what has none because it is damaged."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return None


def _data(usage: Usage) -> dict[str, object]:
    return {
        "root": str(usage.root),
        "size": usage.size,
        "free": usage.free,
        "users": usage.users,
        "parts": [{"name": it.name, "files": it.files, "size": it.size} for it in usage.parts],
    }
