"""``--set``: what can be written, and what becomes of the pins."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vvbuild.check.overrides import Override, parse_override, with_overrides
from vvbuild.errors import UnknownNameError, UsageError
from vvbuild.manifest.release import find_release
from vvbuild.model.release import COMPONENTS

NAMES = st.one_of(st.sampled_from(COMPONENTS), st.text(max_size=20))
TEXTS = st.one_of(
    st.text(max_size=60),
    st.tuples(NAMES, st.sampled_from(["=", "==", ":", ""]), st.text(max_size=20)).map("".join),
    st.tuples(
        NAMES, st.just("="), st.from_regex(r"[a-z:]{0,12}[0-9.+_-]{0,12}", fullmatch=True)
    ).map("".join),
)


def outcome_of(text: str) -> Override | UsageError:
    try:
        return parse_override(text)
    except UsageError as error:
        return error


@settings(max_examples=300, deadline=None, derandomize=True)
@given(TEXTS)
@example("")
@example("=")
@example("onnxruntime=:")
@example("onnxruntime=pypi:voicevox:1.0")
@example("core=" + "9" * 5000)
@example("x" * 5000)
@example("core=１.２")
@example("core=0.16\n")
def test_any_text_is_an_override_or_is_refused_in_words(text: str) -> None:
    outcome = outcome_of(text)

    if isinstance(outcome, UsageError):
        assert outcome.exit_status == 2
        assert len(outcome.message) < 1000
        assert outcome.hint
    else:
        assert outcome.component in COMPONENTS
        assert outcome.version in text
        assert outcome.version.isascii()


@pytest.mark.parametrize("flavour", ["voicevox", "microsoft", "pypi"])
def test_onnxruntime_is_of_a_flavour_where_one_is_named(flavour: str) -> None:
    override = parse_override(f"onnxruntime={flavour}:1.27.0")

    assert override == Override("onnxruntime", "1.27.0", flavour)  # type: ignore[arg-type]


def test_onnxruntime_keeps_its_flavour_where_none_is_named() -> None:
    row = find_release("0.25.2").row
    kept = with_overrides(row, [parse_override("onnxruntime=1.23.2")])
    other = with_overrides(row, [parse_override("onnxruntime=pypi:1.23.2")])

    assert (kept.components["onnxruntime"].flavour, kept.components["onnxruntime"].version) == (
        "voicevox",
        "1.23.2",
    )
    assert other.components["onnxruntime"].flavour == "pypi"


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("core", UsageError, "Expected component=version"),
        ("cores=0.16.2", UnknownNameError, "did you mean core"),
        ("onnxrutime=1.23.2", UnknownNameError, "did you mean onnxruntime"),
        ("onnxruntime=microsft:1.23.2", UnknownNameError, "did you mean microsoft"),
        ("onnxruntime=:1.23.2", UnknownNameError, "voicevox, microsoft, pypi"),
        ("cuda=pypi:12.8", UsageError, "Only onnxruntime has flavours"),
        ("core=latest", UsageError, "Expected a version"),
        ("core=>=0.16", UsageError, "Expected a version"),
        ("core=", UsageError, "Expected a version"),
        ("core= 0.16.2", UsageError, "Expected a version"),
        ("core=0.16.2,0.17.0", UsageError, "Expected a version"),
    ],
)
def test_a_slip_is_told_with_what_was_expected(
    text: str, kind: type[UsageError], words: str
) -> None:
    with pytest.raises(kind) as caught:
        parse_override(text)

    assert words in caught.value.message


def test_what_another_component_provides_is_refused_with_the_providers_name() -> None:
    row = find_release("0.25.2").row

    for name in ("cuda", "cudnn", "directml"):
        with pytest.raises(UsageError, match="provided by additional-libraries") as caught:
            with_overrides(row, [parse_override(f"{name}=12.8.1")])
        assert "--set additional-libraries=VERSION (now 0.2.0)" in (caught.value.hint or "")


def test_what_a_component_provides_moves_with_it() -> None:
    row = find_release("0.25.2").row

    moved = with_overrides(row, [parse_override("additional-libraries=0.3.0")]).components

    assert (moved["cuda"].version, moved["cudnn"].version) == ("12.8.1", "9.8.0.87")
    assert moved["directml"].version == "1.15.4"
    unknown = with_overrides(row, [parse_override("additional-libraries=9.9.9")]).components
    assert unknown["cuda"].version == "12.2.2"


def test_python_and_the_engine_are_set_where_they_stand() -> None:
    row = find_release("0.25.2").row

    changed = with_overrides(
        row, [parse_override("python=3.14.6"), parse_override("engine=0.26.0")]
    )

    assert changed.python.requires == "==3.14.6"
    assert changed.engine.version == "0.26.0"


def test_a_component_that_the_release_has_not_is_refused_with_those_it_has() -> None:
    with pytest.raises(UsageError, match=r"0\.24\.1 has no component 'models'") as caught:
        with_overrides(find_release("0.24.1").row, [parse_override("models=0.16.4")])

    assert "onnxruntime" in str(caught.value.context["components"])


def test_one_component_is_set_once() -> None:
    twice = [parse_override("core=0.16.2"), parse_override("core=0.17.0")]

    with pytest.raises(UsageError, match=r"core is set twice, to 0\.16\.2 and to 0\.17\.0"):
        with_overrides(find_release("0.25.2").row, twice)


def test_extra_cores_are_set_one_by_one_beside_the_core() -> None:
    row = find_release("main").row
    extra = [parse_override("extra-cores=0.16.2"), parse_override("extra-cores=0.15.9")]

    component = with_overrides(row, extra).components["extra-cores"]

    assert (component.version, component.also) == ("0.16.2", ["0.15.9"])
    assert component.source == row.components["core"].source
    with pytest.raises(UsageError, match="has no component 'core'"):
        with_overrides(find_release("sample").row, extra)


def test_versions_for_some_targets_give_way() -> None:
    import msgspec

    row = find_release("0.24.1").row
    component = msgspec.structs.replace(row.components["cuda"], versions={"win-*": "11.6.2"})
    uneven = msgspec.structs.replace(row, components={**row.components, "cuda": component})

    changed = with_overrides(uneven, [parse_override("cuda=11.8.0")]).components["cuda"]

    assert changed.version_for("win-x64-cuda") == "11.8.0"


def test_the_release_itself_stays_as_it_was() -> None:
    row = find_release("0.25.2").row

    with_overrides(row, [parse_override("core=0.17.0")])

    assert row.components["core"].version == "0.16.2"
