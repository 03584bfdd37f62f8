"""Views of locks: what was locked, and what ``lock --check`` found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from vvbuild.errors import LockDriftError, LockError, VvbuildError
from vvbuild.locking.check import DRIFTS, LockCheck, Problem
from vvbuild.locking.read import Learned
from vvbuild.locking.rows import UPLOAD
from vvbuild.locking.run import Change, ChangeKind, LockResult
from vvbuild.model.locked import LockedArtifact
from vvbuild.model.size import ByteSize
from vvbuild.report.document import Block, Line, Style, Table, View

_KINDS = get_args(ChangeKind)
_NAMES_SHOWN = 4
_STYLES: dict[str, Style] = {"changed": "warn", "removed": "warn"}


def lock_view(result: LockResult) -> View:
    """What was locked, and what changed."""
    unlocked = [row for row in result.artifacts if row.unlocked is not None]
    data: dict[str, object] = {
        "path": str(result.path),
        "artifacts": [
            {
                "name": it.name,
                "component": it.component,
                "size": it.size,
                "sha256": it.sha256,
                "unlocked": it.unlocked,
            }
            for it in result.artifacts
        ],
        "changed": [
            change.name
            for change in result.changes
            if change.after is not None and _digest(change.before) != change.after.sha256
        ],
        "changes": [
            {
                "name": change.name,
                "kind": change.kind,
                "before": _row_as_json(change.before),
                "after": _row_as_json(change.after),
            }
            for change in result.changes
            if change.kind != "unchanged"
        ],
        "terms": {digest: str(path) for digest, path in result.texts.items()},
    }
    blocks = [*_change_table(result.changes), *_not_locked(unlocked, result.failures)]
    blocks += [Line(f"to be accepted: {path}", hang=2) for path in result.texts.values()]
    counts = Counter(change.kind for change in result.changes)
    parts = [f"{counts[kind]} {kind}" for kind in _KINDS if counts[kind]]
    parts += [f"{len(unlocked)} not locked"] if unlocked else []
    summary = f"{result.path}: {len(result.artifacts)} artifacts" + "".join(f", {p}" for p in parts)
    if not unlocked and not result.failures:
        blocks.append(Line(summary, "good"))
        return View(data, tuple(blocks))
    blocks.append(Line(summary, "warn"))
    reasons = {row.name: row.unlocked or "" for row in unlocked}
    told = {name: error.message for name, error in result.failures.items()}
    data["error"] = _error(
        LockError.code,
        f"{len(unlocked)} artifacts are not locked, {len(told)} could not be asked for now.",
        reasons | told,
        f"`{result.command}` tries again.",
    )
    return View(data, tuple(blocks), status=int(LockError.exit_status))


def lock_check_view(checks: Sequence[LockCheck]) -> View:
    """What is wrong with locks; status 4 if anything is."""
    found = [(check, problem) for check in checks for problem in check.problems]
    data: dict[str, object] = {
        "locks": [
            {
                "name": check.name,
                "path": str(check.path),
                "compared": list(check.compared),
                "not_compared": list(check.not_compared),
            }
            for check in checks
        ],
        "problems": [
            {
                "release": check.name,
                "kind": problem.kind,
                "artifact": problem.artifact,
                "message": problem.message,
                "fix": problem.fix,
                "locked": _row_as_json(problem.locked),
                "server": _learned_as_json(problem.now),
            }
            for check, problem in found
        ],
    }
    blocks: list[Block] = [block for check in checks for block in _check_blocks(check)]
    blocks.append(Line(_summary(checks, len(found)), "bad" if found else "good"))
    if found:
        drifted = any(problem.kind in DRIFTS for _, problem in found)
        kind = LockDriftError if drifted else LockError
        data["error"] = _error(
            kind.code,
            _summary(checks, len(found)) + ".",
            {
                ": ".join(filter(None, (check.name, problem.artifact))): problem.message
                for check, problem in found
            },
            found[0][1].fix,
        )
    return View(data, tuple(blocks), status=int(LockError.exit_status) if found else 0)


def _error(code: str, message: str, context: dict[str, str], hint: str) -> dict[str, object]:
    """The document's ``error``, as a command that fails with one has it."""
    exit_status = int(LockError.exit_status)
    return {
        "code": code, "exit": exit_status, "message": message, "context": context, "hint": hint,
    }  # fmt: skip


def _digest(row: LockedArtifact | None) -> str | None:
    return None if row is None else row.sha256


def _row_as_json(row: LockedArtifact | None) -> dict[str, object] | None:
    if row is None:
        return None
    return {
        "version": row.version,
        "sha256": row.sha256,
        "size": row.size,
        "unlocked": row.unlocked,
        "upload": row.provenance.get(UPLOAD),
        "terms": row.terms,
        "members": len(row.members),
    }


def _learned_as_json(now: Learned | None) -> dict[str, object] | None:
    if now is None:
        return None
    found: dict[str, object] = {
        "sha256": now.sha256, "size": now.size, "upload": now.upload, "source": now.how,
    }  # fmt: skip
    if now.terms is not None:
        found["terms"] = now.terms.sha256
    if now.members is not None:
        found["members"] = len(now.members)
    return found


def _change_table(changes: Sequence[Change]) -> Iterator[Block]:
    rows = tuple(
        (
            change.kind,
            row.component,
            row.name,
            "" if row.size is None else str(ByteSize(row.size)),
            "; ".join((_digests(change), *_beside(change))),
        )
        for change in changes
        if change.kind != "unchanged" and (row := change.after or change.before) is not None
    )
    if rows:
        yield Table(("", "component", "artifact", "size", "SHA-256"), rows, right=(3,), shrink=2)
        yield Line("")


def _digests(change: Change) -> str:
    old, new = _digest(change.before), _digest(change.after)
    if change.before is None or change.after is None or old == new:
        return (new or old or "not known")[:12]
    return f"{(old or 'not known')[:12]} → {(new or 'not known')[:12]}"


def _beside(change: Change) -> Iterator[str]:
    """What else is new in a row."""
    old, new = change.before, change.after
    if new is not None and new.members != (old.members if old else {}):
        yield f"{len(new.members)} members" if new.members else "no members"
    if new is not None and new.terms != (old.terms if old else None):
        yield f"terms {(new.terms or 'none')[:12]}"


def _not_locked(
    unlocked: Sequence[LockedArtifact], failures: Mapping[str, VvbuildError]
) -> Iterator[Block]:
    for row in unlocked:
        yield Line(f"{row.name} is not locked: {row.unlocked}", "warn", hang=2)
    names = {row.name for row in unlocked}
    for name, error in failures.items():
        if name not in names:
            yield Line(f"{name} stays as it was: {error.message}", "warn", hang=2)


def _check_blocks(check: LockCheck) -> Iterator[Block]:
    """Each drift by itself; gaps of one kind on one line, since there may be hundreds."""
    gaps: dict[str, list[Problem]] = {}
    for problem in check.problems:
        if problem.kind in DRIFTS or problem.artifact is None:
            what = f"{check.name}: {problem.artifact or 'lock'} [{problem.kind}]"
            yield Line(what, "bad")
            yield Line(f"  {problem.message}", hang=2)
            yield Line(f"  → {problem.fix}", hang=4)
        else:
            gaps.setdefault(problem.kind, []).append(problem)
    for kind, same in gaps.items():
        yield Line(f"{check.name}: {_names(same)} [{kind}]", "bad", hang=2)
        for fix in dict.fromkeys(problem.fix for problem in same):
            yield Line(f"  → {fix}", hang=4)


def _names(problems: Sequence[Problem]) -> str:
    names = [problem.artifact or "" for problem in problems]
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return ", ".join(names[:_NAMES_SHOWN]) + more


def _summary(checks: Sequence[LockCheck], problems: int) -> str:
    what = checks[0].name if len(checks) == 1 else f"{len(checks)} locks"
    compared = sum(len(check.compared) for check in checks)
    silent = sum(len(check.not_compared) for check in checks)
    parts = [f"{problems} problem{'' if problems == 1 else 's'}"]
    parts += [f"{compared} artifacts compared with their servers"] if compared else []
    parts += [f"{silent} not, since no server tells a digest (--download reads)"] if silent else []
    return f"{what}: {', '.join(parts)}"
