"""What the policy lets a pin become."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.outdated.conftest import NOW, days_ago
from vvbuild.fetch.published import Published
from vvbuild.model.policy import ComponentPolicy, DefaultPolicy, Held
from vvbuild.outdated.choose import Candidate, Choice, Terms, candidates, choose, withdrawn
from vvbuild.outdated.follow import Follow, Need, Place
from vvbuild.outdated.order import Ranked, rank

OLD = days_ago(50)
DEFAULT = DefaultPolicy(series="minor", prereleases=False, min_age="7d")
PYPI, GPU = Place("pypi", "onnxruntime"), Place("pypi", "onnxruntime-gpu")


def ranked(text: str) -> Ranked:
    found = rank(text, "plain")
    assert found is not None
    return found


def candidate(version: str, at: datetime | None = OLD, lacks: str = "") -> Candidate:
    found = ranked(version)
    return Candidate(found, at, found.prerelease, lacks)


def terms(now: datetime = NOW, *, prereleases: bool = False, **row: object) -> Terms:
    return Terms.of(DEFAULT, ComponentPolicy(**row), now, prereleases=prereleases)


def versions(choice: Choice) -> tuple[str | None, str | None]:
    return (
        choice.allowed.version if choice.allowed else None,
        choice.newest.version if choice.newest else None,
    )


def test_the_newest_that_the_series_allows_is_proposed() -> None:
    found = [candidate(each) for each in ("1.23.3", "1.30.0", "2.0.0", "1.4.0", "0.9")]
    expected = {"patch": "1.23.3", "minor": "1.30.0", "major": "2.0.0"}
    for series, version in expected.items():
        choice = choose(ranked("1.23.2"), found, terms(series=series))
        assert versions(choice) == (version, "2.0.0")
        assert (choice.obstacle is None) == (series == "major")
    assert choose(ranked("1.23.2"), found, terms()).why == "The policy keeps it within 1."
    patch = choose(ranked("1.23.2"), found, terms(series="patch"))
    assert (patch.obstacle, patch.why) == ("series", "The policy keeps it within 1.23.")


def test_nothing_newer_is_nothing_to_propose() -> None:
    found = [candidate("1.23.2"), candidate("1.22.0")]

    assert choose(ranked("1.23.2"), found, terms()) == Choice(None, None)
    assert choose(ranked("1.23.2.0"), [], terms()) == Choice(None, None)


def test_a_pre_release_is_proposed_only_where_it_is_wanted() -> None:
    found = [candidate("0.17.0-preview.1"), candidate("0.16.3")]

    assert versions(choose(ranked("0.16.2"), found, terms())) == ("0.16.3", "0.16.3")
    wanted = terms(prereleases=True)
    assert versions(choose(ranked("0.16.2"), found, wanted)) == ("0.17.0-preview.1",) * 2
    by_row = Terms.of(DEFAULT, ComponentPolicy(prereleases=True), NOW)
    assert versions(choose(ranked("0.16.2"), found, by_row)) == ("0.17.0-preview.1",) * 2


def test_a_young_version_waits_and_the_day_is_told() -> None:
    found = [candidate("1.1", days_ago(6.9)), candidate("1.2", days_ago(1))]

    young = choose(ranked("1.0"), found, terms())
    later = choose(ranked("1.0"), found, terms(NOW + timedelta(days=1)))

    assert versions(young) == (None, "1.2")
    assert (young.obstacle, young.why) == ("age", "Too young, until 2026-12-07.")
    assert versions(later) == ("1.1", "1.2")


def test_the_age_of_the_command_line_wins() -> None:
    found = [candidate("1.2", days_ago(1))]
    row = ComponentPolicy(min_age="2w")

    for age, expected in ((None, None), (timedelta(hours=12), "1.2"), (timedelta(0), "1.2")):
        asked = Terms.of(DEFAULT, row, NOW, min_age=age)
        assert versions(choose(ranked("1.0"), found, asked))[0] == expected


def test_a_version_without_a_date_is_proposed_and_that_is_said() -> None:
    choice = choose(ranked("1.0"), [candidate("1.1", None)], terms())

    assert versions(choice) == ("1.1", "1.1")
    assert choice.notes == ("1.1 has no date at its source: its age is not known.",)
    assert choose(ranked("1.0"), [candidate("1.1", None)], terms(min_age="0d")).notes == ()


def test_a_hold_is_told_with_its_reason_until_its_last_day() -> None:
    held = Held(version="<=1.17.3", reason="1.18 is slow", until=date(2026, 12, 1))
    found = [candidate("1.17.3"), candidate("1.23.2")]

    holding = choose(ranked("1.17.1"), found, terms(held=held))
    over = choose(ranked("1.17.1"), found, terms(NOW + timedelta(days=1), held=held))

    assert versions(holding) == ("1.17.3", "1.23.2")
    assert holding.why == "Held at <=1.17.3 until 2026-12-01: 1.18 is slow"
    assert holding.obstacle == "held"
    assert versions(over) == ("1.23.2", "1.23.2")
    assert over.notes == ("Was held until 2026-12-01 (1.18 is slow); that is over.",)


def test_a_version_that_lacks_a_file_is_passed_over() -> None:
    found = [candidate("1.2", lacks="pypi:x has no x-1.2.whl for win-x64-cpu."), candidate("1.1")]

    choice = choose(ranked("1.0"), found, terms())

    assert versions(choice) == ("1.1", "1.2")
    assert (choice.obstacle, choice.why) == ("files", "pypi:x has no x-1.2.whl for win-x64-cpu.")


NUMBERS = st.lists(st.integers(0, 3), min_size=1, max_size=3)
ANY = st.builds(
    lambda numbers, marker: ".".join(map(str, numbers)) + marker,
    NUMBERS,
    st.sampled_from(["", "", "-rc.1"]),
)
DATES = st.one_of(st.none(), st.integers(0, 30).map(days_ago))
FOUND = st.lists(st.builds(candidate, ANY, DATES, st.sampled_from(["", "", "lacks"])), max_size=12)


@given(
    ANY, FOUND, st.sampled_from(["patch", "minor", "major"]), st.booleans(),
    st.sampled_from(["0d", "7d", "2w"]),
)  # fmt: skip
def test_what_is_proposed_keeps_to_the_policy(
    pin: str, found: list[Candidate], series: str, prereleases: bool, age: str
) -> None:
    pinned = ranked(pin)
    wanted = terms(prereleases=prereleases, series=series, min_age=age)

    choice = choose(pinned, found, wanted)

    chosen = choice.allowed
    if chosen is not None:
        assert chosen.rank.newer_than(pinned)
        assert chosen.rank.within(series, pinned)
        assert prereleases or not chosen.prerelease
        assert not chosen.lacks
        assert chosen.at is None or NOW - chosen.at >= wanted.min_age
        assert choice.newest is not None
        assert not chosen.rank.newer_than(choice.newest.rank)
    assert (choice.obstacle is None) == (choice.why == "")
    assert (choice.obstacle is None) == (choice.allowed == choice.newest)
    # A wider policy never proposes an older version.
    wider = choose(pinned, found, terms(prereleases=True, series="major", min_age="0d"))
    if chosen is not None:
        assert wider.allowed is not None
        assert not chosen.rank.newer_than(wider.allowed.rank)


# Versions from several projects


def need(place: Place, *targets: str) -> Need:
    return Need(place, f"{place.project}-{{version}}.whl", targets)


def row(place: Place, version: str, at: datetime | None = OLD, **more) -> Published:
    return Published(version, at, files={f"{place.project}-{version}.whl": at}, **more)


BOTH = Follow((need(PYPI, "linux-x64-cpu"), need(GPU, "linux-x64-cuda")))


def test_a_version_counts_only_where_every_project_has_it() -> None:
    listed = {
        PYPI: [row(PYPI, "1.1"), row(PYPI, "1.2"), row(PYPI, "1.3")],
        GPU: [
            row(GPU, "1.1", days_ago(3)),
            Published("1.2", files={"other.whl": None}),
            row(GPU, "1.4"),
        ],
    }  # fmt: skip

    found = {each.version: each for each in candidates(BOTH, listed)}

    assert {version: each.lacks for version, each in found.items()} == {
        "1.1": "",
        "1.2": "pypi:onnxruntime-gpu has no onnxruntime-gpu-1.2.whl for linux-x64-cuda.",
        "1.3": "pypi:onnxruntime-gpu has no 1.3 for linux-x64-cuda.",
        "1.4": "pypi:onnxruntime has no 1.4 for linux-x64-cpu.",
    }
    # As young as the youngest of its files.
    assert found["1.1"].at == days_ago(3)


def test_a_file_that_was_replaced_makes_its_version_young_again() -> None:
    files = {"onnxruntime-1.1.whl": days_ago(2), "another.txt": days_ago(1)}
    listed = {PYPI: [Published("1.1", days_ago(50), files=files)]}

    (found,) = candidates(Follow((need(PYPI),)), listed)

    assert found.at == days_ago(2)


def test_a_glob_needs_one_file_or_more_and_all_of_them_are_looked_at() -> None:
    models = Follow((Need(PYPI, "[!n]*.vvm", ("linux-x64-cpu",), is_glob=True),))
    files = {"0.vvm": days_ago(9), "1.vvm": days_ago(8), "n0.vvm": days_ago(1)}
    listed = {PYPI: [Published("1.1", OLD, files=files), Published("1.2", files={"n0.vvm": OLD})]}

    found = {each.version: each for each in candidates(models, listed)}

    assert (found["1.1"].lacks, found["1.1"].at) == ("", days_ago(8))
    assert found["1.2"].lacks == "pypi:onnxruntime has no [!n]*.vvm for linux-x64-cpu."


def test_what_is_withdrawn_is_no_candidate_and_a_withdrawn_pin_is_told() -> None:
    listed = {
        PYPI: [row(PYPI, "1.1", withdrawn="yanked: bad"), row(PYPI, "1.2")],
        GPU: [row(GPU, "1.1"), row(GPU, "1.2")],
    }

    found = {each.version: each.lacks for each in candidates(BOTH, listed)}

    assert found == {"1.1": "pypi:onnxruntime has no 1.1 for linux-x64-cpu.", "1.2": ""}
    assert withdrawn("1.1", BOTH, listed) == "1.1 is yanked: bad at pypi:onnxruntime."
    assert withdrawn("1.2", BOTH, listed) is None
    assert withdrawn("1.0", BOTH, listed) == "pypi:onnxruntime has no 1.0 (any more)."


def test_tags_become_versions_and_other_tags_are_ignored() -> None:
    place = Place("github", "VOICEVOX/onnxruntime-builder", "voicevox_onnxruntime-{version}")
    tags = ["voicevox_onnxruntime-1.23.2", "voicevox_onnxruntime-", "1.13.1", "main",
            "voicevox_onnxruntime-main", "xvoicevox_onnxruntime-1.0",
            "voicevox_onnxruntime-1.24.0-rc.1"]  # fmt: skip
    listed = {place: [Published(tag, days_ago(50)) for tag in tags]}

    found = candidates(Follow((Need(place, "", ()),)), listed)

    assert [(each.version, each.prerelease) for each in found] == [
        ("1.23.2", False), ("1.24.0-rc.1", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "tag", "version"),
    [("v{version}", "v1.0", "1.0"), ("v{version}", "1.0", None), ("{version}", "1.0", "1.0"),
     ("a{version}a", "a", None), ("a{version}b", "a1b", "1"), ("aa{version}aa", "aaa", None)],
)  # fmt: skip
def test_a_tag_is_read_by_its_form(form: str, tag: str, version: str | None) -> None:
    assert Place("github", "o/r", form).version(tag) == version
