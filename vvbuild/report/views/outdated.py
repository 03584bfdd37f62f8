"""The view of ``outdated``: what could move, the edit, what moves along, what would be found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from vvbuild import resources
from vvbuild.check.run import CheckedRelease, CheckResult
from vvbuild.errors import NetworkError
from vvbuild.outdated.checklist import Group, Member
from vvbuild.outdated.edit import unified
from vvbuild.outdated.run import OutdatedResult, Row
from vvbuild.report.document import Block, Line, Style, Table, View
from vvbuild.report.places import in_manifests
from vvbuild.report.sanitize import clean
from vvbuild.report.views.check import check_view
from vvbuild.report.wording import short_path
from vvbuild.verify.report import finding_as_json

_WHY = {
    "pre-release": "pre-release",
    "series": "other series",
    "held": "held",
    "files": "lacks files",
    "age": "too young",
}
_STATUS = {"not-followed": "not followed", "unknown": "NO ANSWER", "provided": "provided"}
_DIFF_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "dim"}


def outdated_view(result: OutdatedResult, *, base: Path) -> View:
    """What ``outdated`` found; paths below ``base`` are shown relative to it.

    The status is 0 also where something is outdated, and 3 if not one source answered.
    """
    name = _short(result.release.path, base)
    edit = result.edit
    diff = unified(edit.before, edit.after, name) if edit else ""
    data: dict[str, object] = {
        "release": result.release.name,
        "components": [_row_as_json(row) for row in result.rows],
        "diff": diff,
        "checklist": [_group_as_json(group) for group in result.groups],
        "findings": [
            finding_as_json(each) | {"path": short_path(each.path, base), "new": each in result.new}
            for each in result.findings
        ],
        "heirs": list(result.heirs),
        "lock_stale": result.lock_stale,
        "written": name if result.written else None,
    }
    blocks = [_table(result), *_reasons(result)]
    if diff:
        blocks += [*_diff(diff), *_groups(result), *_found(result, base)]
    blocks += _summary(result, name)
    found = in_manifests(((result.release.name, each) for each in result.new), base)
    if not result.nobody_answered:
        return View(data, tuple(blocks), findings=found)
    data["error"] = {
        "code": NetworkError.code,
        "exit": int(NetworkError.exit_status),
        "message": "Not one source answered.",
        "context": {row.component: row.reason for row in result.rows if row.status == "unknown"},
        "hint": _TRY_AGAIN,
    }
    return View(data, tuple(blocks), status=int(NetworkError.exit_status), findings=found)


_TRY_AGAIN = "Check the connection and the configured indexes, then run the same command again."


def _row_as_json(row: Row) -> dict[str, object]:
    return {
        "component": row.component,
        "pinned": row.pinned,
        "allowed": row.allowed,
        "newest": row.newest,
        "status": row.status,
        "obstacle": row.obstacle,
        "reason": row.reason,
        "published_at": row.published_at.isoformat() if row.published_at else None,
        "source": list(row.source),
        "notes": list(row.notes),
    }


def _group_as_json(group: Group) -> dict[str, object]:
    members = [asdict(member) for member in group.members]
    return {"why": group.why, "members": members, "steps": list(group.steps)}


def _table(result: OutdatedResult) -> Block:
    rows = tuple(
        (row.component, row.pinned, _allowed(row), row.newest or "", _word(row))
        for row in result.rows
    )
    return Table(("component", "pinned", "allowed", "newest", "why not newest"), rows, shrink=1)


def _allowed(row: Row) -> str:
    return row.proposed or ("=" if row.allowed else "")


def _word(row: Row) -> str:
    return _WHY[row.obstacle] if row.obstacle else _STATUS.get(row.status, "")


def _reasons(result: OutdatedResult) -> Iterator[Block]:
    """One line a component and thing that should be known; the same reason once."""
    told: dict[str, list[str]] = {}
    for row in result.rows:
        if row.reason:
            version = f" {row.newest}" if row.obstacle else ""
            told.setdefault(row.reason, []).append(row.component + version)
        for note in row.notes:
            told.setdefault(note, []).append(row.component)
    unknown = {row.component for row in result.rows if row.status == "unknown"}
    if told:
        yield Line("")
    for text, names in told.items():
        style: Style = "warn" if unknown & set(names) else ""
        yield Line(clean(f"{', '.join(dict.fromkeys(names))}: {text}"), style, hang=2)


def _diff(diff: str) -> Iterator[Block]:
    yield Line("")
    for line in diff.split("\n")[:-1]:
        head = line.startswith(("+++", "---"))
        yield Line(clean(line.rstrip("\r")), "bold" if head else _DIFF_STYLES.get(line[:1], ""))


def _groups(result: OutdatedResult) -> Iterator[Block]:
    for group in result.groups:
        yield from (Line(""), Line(f"Moves together: {group.why}", "bold", hang=2))
        yield from (_member(member) for member in group.members)
        yield from (Line(f"  - {step}", "dim", hang=4) for step in group.steps)


def _member(member: Member) -> Line:
    provided = f", with {member.provided_by}" if member.provided_by else ""
    if member.proposed is None:
        return Line(f"  [ ] {member.component} {member.pinned} stays{provided}", "warn")
    return Line(
        clean(f"  [x] {member.component} {member.pinned} → {member.proposed}{provided}"), "good"
    )


def _found(result: OutdatedResult, base: Path) -> Iterator[Block]:
    """The findings that the release does not have now, as `check` would show them."""
    assert result.edit is not None
    stay = len(result.findings) - len(result.new)
    yield Line("")
    if not result.new:
        others = f"; {stay} that it finds now would stay" if stay else ""
        yield Line(f"With these pins `vvbuild check` would find nothing new{others}.", "good")
        return
    others = f", besides {stay} that it finds now" if stay else ""
    yield Line(f"With these pins `vvbuild check` would find{others}:", "bold")
    checked = CheckedRelease(result.release.name, result.edit.release.targets, result.new)
    yield from check_view(CheckResult((checked,)), base=base).blocks


def _summary(result: OutdatedResult, name: str) -> Iterator[Block]:
    release = result.release.name
    moving = sum(row.proposed is not None for row in result.rows)
    unknown = sum(row.status == "unknown" for row in result.rows)
    yield Line("")
    if result.heirs:
        heirs = ", ".join(result.heirs)
        verb = "inherits" if len(result.heirs) == 1 else "inherit"
        moves = ("moves" if len(result.heirs) == 1 else "move") if result.written else "would move"
        yield Line(f"{heirs} {verb} from {name} and {moves} along.", "warn")
    if result.written:
        yield Line(f"Wrote {name}.", "good")
        if result.lock_stale:
            yield Line(
                f"The lock is out of date now: `vvbuild lock --release {_called(result, name)}` "
                "renews it.",
                "warn",
            )
    parts = [f"{moving} could move" if not result.written else f"{moving} moved"]
    parts += [f"{unknown} without an answer"] if unknown else []
    hint = "; --write edits the file" if moving and not result.written else ""
    style: Style = "bad" if result.nobody_answered else "good"
    count = f"{len(result.rows)} component{'s' if len(result.rows) > 1 else ''}"
    yield Line(f"{release}, {count}: {', '.join(parts)}{hint}", style)


def _called(result: OutdatedResult, name: str) -> str:
    """What ``--release`` takes for it: its name where that is known, else its file."""
    release = result.release
    known = resources.manifest_file(f"releases/{release.name}.toml")
    return release.name if known.resolve() == release.path.resolve() else name


def _short(path: Path, base: Path) -> str:
    return (path.relative_to(base) if path.is_relative_to(base) else path).as_posix()
