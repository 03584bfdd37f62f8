"""View of a smoke test."""

from __future__ import annotations

from vvbuild.report.document import Block, Line, Pairs, Table, View
from vvbuild.smoke.result import SmokeResult

_LINES = 20


def smoke_view(result: SmokeResult) -> View:
    """What was checked, and what came out; status 1 if a check failed."""
    rows = tuple(
        (check.name, check.state, f"{check.seconds:.2f}", check.detail) for check in result.checks
    )
    blocks: list[Block] = [
        Table(("check", "ok", "seconds", "detail"), rows, right=(2,), shrink=3),
        Line(""),
    ]
    if result.failed:
        blocks += _failures(result)
    if result.wav is not None:
        blocks.append(Line(f"what it said is in {result.wav}"))
    if result.kept is not None:
        blocks.append(Line(f"kept: {result.kept}"))
    blocks.append(Line(_summary(result), "bad" if result.failed else "good"))
    return View(_data(result), tuple(blocks), status=1 if result.failed else 0)


def _data(result: SmokeResult) -> dict[str, object]:
    cancel = result.cancel
    return {
        "path": str(result.path),
        "engine": result.engine,
        "checks": [
            {
                "name": check.name,
                "ok": check.ok,
                "state": check.state,
                "seconds": check.seconds,
                "detail": check.detail,
            }
            for check in result.checks
        ],
        "ort_version": result.ort_version,
        "first_answer_s": result.first_answer,
        "speech_bytes": len(result.speech),
        "cancel": {
            "trials": len(cancel.milliseconds),
            "p50_ms": cancel.percentile(50),
            "p95_ms": cancel.percentile(95),
            "max_ms": cancel.percentile(100),
        },
        "wav": str(result.wav) if result.wav else None,
        "kept": str(result.kept) if result.kept else None,
        "last_lines": result.last_lines,
    }


def _failures(result: SmokeResult) -> list[Block]:
    # The table may have cut what matters most.
    failed = tuple((c.name, c.detail) for c in result.checks if c.state == "failed")
    blocks: list[Block] = [Pairs(failed), Line("")]
    lines = result.last_lines.splitlines()[-_LINES:]
    if lines:
        blocks.append(Line("the engine's last lines:", "bold"))
        blocks += [Line(f"  {line}", "dim") for line in lines]
        blocks.append(Line(""))
    return blocks


def _summary(result: SmokeResult) -> str:
    failed = sum(check.state == "failed" for check in result.checks)
    good = sum(check.state == "ok" for check in result.checks)
    counts = f"{good} of {len(result.checks)} checks passed"
    if failed:
        counts += f", {failed} failed"
    return f"{result.engine}: {counts}; first answer after {result.first_answer:.2f} s"
