"""The view of ``explain``: names on the left, what they are on the right, sources below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vvbuild.explain.explanation import Explanation, Place, Relation, Topic
from vvbuild.explain.judging import REFUSED
from vvbuild.report.document import Block, Line, Style, View
from vvbuild.report.plain import display_width, fit
from vvbuild.report.wording import short_path, spans

_WIDEST = 26
_KINDS = {"rule": "rule", "error": "error code", "component": "component"}


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the page: ``of`` is the heading that it stands under."""

    of: str
    name: str
    text: str
    source: str
    style: Style = ""


def explain_view(explanations: Sequence[Explanation], names: Sequence[str], *, base: Path) -> View:
    """What a name means. ``names`` are all releases in their order; paths are shown from ``base``.

    The data of the first meaning stand at the top, others in ``also``.
    """
    data, *also = (_data(each, base) for each in explanations)
    blocks: list[Block] = []
    for each in explanations:
        blocks += [Line("")] if blocks else []
        blocks += _blocks(each, names)
    return View({**data, "also": also}, tuple(blocks))


def topics_view(topics: Sequence[Topic]) -> View:
    """What can be explained."""
    blocks: list[Block] = []
    for kind, title in (
        ("rule", "Rules"),
        ("error", "Error codes"),
        ("component", "Components, also with a version"),
    ):
        chosen = [each for each in topics if each.kind == kind]
        width = max(display_width(each.name) for each in chosen) + 2
        blocks += [Line("")] if blocks else []
        blocks.append(Line(title, "bold"))
        blocks += [
            Line(f"  {fit(each.name, width)}{each.summary}", hang=width + 2) for each in chosen
        ]
    return View({"topics": [asdict(each) for each in topics]}, tuple(blocks))


def _blocks(explanation: Explanation, names: Sequence[str]) -> Iterator[Line]:
    about = ":".join(filter(None, (explanation.flavour, explanation.version)))
    title = f"{explanation.name} {about}".rstrip()
    yield Line(f"{title} ({_KINDS[explanation.kind]})", "bold")
    yield Line(explanation.summary, hang=0)
    for remark in explanation.remarks:
        yield Line(remark, "warn", hang=2)
    rows = _ordered([*_rows(explanation)])
    width = min(_WIDEST, max((display_width(row.name) for row in rows), default=0)) + 2
    sources = {source: n for n, source in enumerate(dict.fromkeys(row.source for row in rows), 1)}
    for of in dict.fromkeys(row.of for row in rows):
        yield Line("")
        if of:
            yield Line(of, "bold")
        yield from _told([row for row in rows if row.of == of], width, sources)
    yield from _releases(explanation, names)
    yield from _sources(sources)


def _rows(explanation: Explanation) -> Iterator[_Row]:
    for fact in explanation.facts:
        text = _ranged(explanation, fact.versions, fact.value)
        yield _Row(fact.of, fact.name, text, fact.source)
    for prefix, relations in (
        ("needs", explanation.needs),
        ("for", explanation.needed_by),
    ):
        # What does not fit is told last: it is rarely what was asked for.
        for each in sorted(relations, key=_refused):
            text = _ranged(explanation, each.versions, _relation(each))
            yield _Row(each.of, f"{prefix} {each.component}", text, each.source, _style(each))


def _ordered(rows: Sequence[_Row]) -> list[_Row]:
    """What holds for all first, then build by build; rows of one name stand together."""
    builds = ["", *dict.fromkeys(row.of for row in rows if row.of)]
    names = list(dict.fromkeys(row.name for row in rows))
    return sorted(rows, key=lambda row: (builds.index(row.of), names.index(row.name)))


def _ranged(explanation: Explanation, versions: str, text: str) -> str:
    """With the range that it is about, where no version was asked for."""
    return f"{versions}: {text}" if versions and explanation.version is None else text


def _relation(relation: Relation) -> str:
    return f"{relation.what} — {relation.verdict}" if relation.verdict else relation.what


def _refused(relation: Relation) -> bool:
    return relation.verdict.startswith(REFUSED)


def _style(relation: Relation) -> Style:
    return "dim" if _refused(relation) else ""


def _told(rows: Sequence[_Row], width: int, sources: Mapping[str, int]) -> Iterator[Line]:
    """Rows with the number of their source; a name that was just told is not told again."""
    previous = ""
    for row in rows:
        name = "" if row.name == previous else row.name
        previous = row.name
        text = f"{row.text} [{sources[row.source]}]" if len(sources) > 1 else row.text
        yield Line(f"  {fit(name, width)}{text}", row.style, hang=width + 4)


def _sources(sources: Mapping[str, int]) -> Iterator[Line]:
    if sources:
        yield Line("")
        yield Line("Sources" if len(sources) > 1 else "Source", "bold")
    for source, number in sources.items():
        mark = f"[{number}] " if len(sources) > 1 else ""
        yield Line(f"  {mark}{source}", "dim", hang=4)


def _releases(explanation: Explanation, names: Sequence[str]) -> Iterator[Line]:
    if explanation.kind == "error" or (explanation.kind == "rule" and not explanation.releases):
        return
    yield Line("")
    if not explanation.releases:
        yield Line("No release pins it.")
        return
    yield Line("Found in" if explanation.kind == "rule" else "Pinned by", "bold")
    groups: dict[tuple[str, str, str | None], list[str]] = {}
    for place in explanation.releases:
        groups.setdefault((place.text, _where(place), place.waived), []).append(place.release)
    for (text, where, waived), releases in groups.items():
        yield Line(f"  {spans(releases, names)}: {text}{where}", hang=4)
        if waived:
            yield Line(f"    waived: {waived}", "dim", hang=4)


def _where(place: Place) -> str:
    return "" if place.every_target else f" ({', '.join(place.targets)})"


def _data(explanation: Explanation, base: Path) -> dict[str, object]:
    return {
        "kind": explanation.kind,
        "name": explanation.name,
        "version": explanation.version,
        "flavour": explanation.flavour,
        "summary": explanation.summary,
        "remarks": list(explanation.remarks),
        "facts": [
            {
                "fact": each.name,
                "value": each.value,
                "source": each.source,
                "of": each.of or None,
                "versions": each.versions or None,
            }
            for each in explanation.facts
        ],
        "needs": list(map(_relation_data, explanation.needs)),
        "needed_by": list(map(_relation_data, explanation.needed_by)),
        "releases": [_place_data(each, base) for each in explanation.releases],
    }


def _relation_data(relation: Relation) -> dict[str, object]:
    return {key: value or None for key, value in asdict(relation).items()}


def _place_data(place: Place, base: Path) -> dict[str, object]:
    return asdict(place) | {"path": short_path(place.path, base)}
