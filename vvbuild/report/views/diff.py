"""The view of ``diff``: `-` is what only the first has, `+` what only the second has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from vvbuild.compare.differences import Change, Comparison, File, FileChange, WaiverText
from vvbuild.model.digest import Digest
from vvbuild.model.finding import Finding
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target
from vvbuild.report.document import Line, Style, View
from vvbuild.verify.report import finding_as_json

_GONE, _NEW, _OTHER = "-", "+", "~"
_STYLES: dict[str, Style] = {_GONE: "bad", _NEW: "good", _OTHER: ""}
_NOT_LOCKED = "not locked"


def diff_view(result: Comparison) -> View:
    """What differs; that something does is no failure."""
    blocks = [Line(f"{result.before} → {result.after}", "bold"), *_sections(result)]
    for name, problem in result.problems:
        blocks.append(
            Line(f"{name}: its files are those that the manifest names. {problem}", "warn", hang=2)
        )
    blocks.append(Line(_summary(result), "bold"))
    return View(_data(result), tuple(blocks))


def _sections(result: Comparison) -> Iterator[Line]:
    yield from _section("targets", (_change(each, result) for each in result.targets))
    yield from _section("engine, Python and packing", (_change(e, result) for e in result.settings))
    yield from _section("pins", (_change(each, result) for each in result.pins))
    yield from _section("CI", (_change(each, result) for each in result.jobs))
    yield from _section(
        "waivers",
        (
            *(_line(_GONE, _waiver(each)) for each in result.waivers_gone),
            *(_line(_NEW, _waiver(each)) for each in result.waivers_new),
        ),
    )
    yield from _section("files", (line for each in result.files for line in _file(each)))
    yield from _section(
        "findings",
        (
            *_findings(_GONE, result.findings_gone, result),
            *_findings(_NEW, result.findings_new, result),
        ),
    )


def _section(title: str, lines: Iterator[Line] | Sequence[Line]) -> Iterator[Line]:
    found = tuple(lines)
    if found:
        yield Line("")
        yield Line(title, "bold")
        yield from found


def _line(sign: str, text: str) -> Line:
    return Line(f"  {sign} {text}", _STYLES[sign], hang=6)


def _change(change: Change, result: Comparison) -> Line:
    key = change.key.removesuffix(".version") if change.key != "engine.version" else change.key
    where = _where(change.targets, result)
    before, after = _short(change.before), _short(change.after)
    if change.key == "target":
        return _line(_GONE if after is None else _NEW, str(before or after))
    if before is None or after is None:
        return _line(_GONE if after is None else _NEW, f"{key} {before or after}{where}")
    return _line(_OTHER, f"{key} {before} → {after}{where}")


def _where(targets: Sequence[Target], result: Comparison) -> str:
    if not targets or tuple(targets) == result.common:
        return ""
    return f" ({', '.join(map(str, targets))})"


def _short(value: str | None) -> str | None:
    """A commit by its first digits."""
    is_commit = value is not None and len(value) == 40 and not value.strip("0123456789abcdef")
    return value[:12] if value is not None and is_commit else value


def _waiver(waiver: WaiverText) -> str:
    until = f" until {waiver.until}" if waiver.until else ""
    return f"{waiver.rule} for {', '.join(waiver.targets)}{until}: {waiver.reason}"


def _file(change: FileChange) -> Iterator[Line]:
    before, after = change.before, change.after
    if before is None or after is None:
        only = before or after
        if only is not None:
            yield _line(_GONE if after is None else _NEW, f"{only.name} ({_bytes(only)})")
        return
    yield _line(_OTHER, _names(before, after))
    pairs = (
        # Where the name is another one, it tells the version.
        ("version", before.version, after.version if before.name == after.name else before.version),
        ("size", before.size, after.size),
        ("sha256", before.sha256, after.sha256),
        ("into", before.into or ".", after.into or "."),
        ("unpack", before.unpack, after.unpack),
        ("terms", before.terms, after.terms),
        ("for", ", ".join(before.targets), ", ".join(after.targets)),
        ("from", " ".join(before.references), " ".join(after.references)),
    )
    told = [
        f"{name} {_value(old)} → {_value(new)}"
        for name, old, new in pairs
        # A new version moves its address along, as anybody would guess.
        if old != new and (name != "from" or before.version == after.version)
    ]
    if told:
        yield Line(f"      {'; '.join(told)}", "dim", hang=6)


def _names(before: File, after: File) -> str:
    """Both names in one: ``core-{0.16.2 → 0.17.0}.zip`` where only the version differs."""
    if before.name == after.name:
        return before.name
    head, found, tail = before.name.partition(before.version)
    if found and f"{head}{after.version}{tail}" == after.name:
        return f"{head}{{{before.version} → {after.version}}}{tail}"
    return f"{before.name} → {after.name}"


def _bytes(file: File) -> str:
    if file.sha256 is None:
        return _NOT_LOCKED
    size = f"{file.size}, " if file.size is not None else ""
    return f"{size}{file.sha256.short}"


def _value(value: str | Digest | ByteSize | None) -> str:
    if value is None:
        return "unknown"
    return value.short if isinstance(value, Digest) else str(value)


def _findings(sign: str, findings: Sequence[Finding], result: Comparison) -> Iterator[Line]:
    same: dict[tuple[str, str, str, bool], list[str]] = {}
    for each in findings:
        key = (each.severity, each.rule, each.message, each.waived is not None)
        same.setdefault(key, []).append(each.target or "*")
    for (severity, rule, message, waived), targets in same.items():
        words = "every target" if targets == list(map(str, result.common)) else ", ".join(targets)
        yield _line(sign, f"{severity}[{rule}]{' (waived)' if waived else ''} {message} ({words})")


def _summary(result: Comparison) -> str:
    if result.identical:
        return f"Nothing differs between {result.before} and {result.after}."
    counts = (
        (len(result.targets), "target"),
        (len(result.settings), "setting"),
        (len(result.pins), "pin"),
        (len(result.jobs), "CI value"),
        (len(result.waivers_gone) + len(result.waivers_new), "waiver"),
        (len(result.files), "file"),
        (len(result.findings_gone) + len(result.findings_new), "finding"),
    )
    words = [f"{number} {word}{'s' if number > 1 else ''}" for number, word in counts if number]
    return f"{', '.join(words)} differ{'s' if sum(n for n, _ in counts) == 1 else ''}"


def _data(result: Comparison) -> dict[str, object]:
    return {
        "before": result.before,
        "after": result.after,
        "identical": result.identical,
        "common_targets": list(map(str, result.common)),
        "targets": {
            "gone": [each.before for each in result.targets if each.after is None],
            "new": [each.after for each in result.targets if each.before is None],
        },
        "settings": list(map(_change_data, result.settings)),
        "pins": list(map(_change_data, result.pins)),
        "jobs": list(map(_change_data, result.jobs)),
        "waivers": {
            "gone": list(map(_waiver_data, result.waivers_gone)),
            "new": list(map(_waiver_data, result.waivers_new)),
        },
        "artifacts": [
            {"before": _file_data(each.before), "after": _file_data(each.after)}
            for each in result.files
        ],
        "findings": {
            "gone": list(map(finding_as_json, result.findings_gone)),
            "new": list(map(finding_as_json, result.findings_new)),
        },
        "problems": [{"release": name, "message": text} for name, text in result.problems],
    }


def _change_data(change: Change) -> dict[str, object]:
    return {
        "key": change.key,
        "before": change.before,
        "after": change.after,
        "targets": list(map(str, change.targets)),
    }


def _waiver_data(waiver: WaiverText) -> dict[str, object]:
    return asdict(waiver) | {"until": waiver.until.isoformat() if waiver.until else None}


def _file_data(file: File | None) -> dict[str, object] | None:
    if file is None:
        return None
    digests = {"sha256": file.sha256, "terms": file.terms}
    return asdict(file) | {key: each.hex if each else None for key, each in digests.items()}
