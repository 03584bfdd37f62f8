"""What `explain` tells of rules, error codes and components."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from functools import cache
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from vvbuild.errors import ExitStatus, UnknownNameError, UsageError, VvbuildError
from vvbuild.explain.errors import _NEXT, known_errors
from vvbuild.explain.explanation import Explanation, Relation
from vvbuild.explain.rules import known_rules
from vvbuild.explain.run import explain, topics
from vvbuild.manifest.release import find_release, release_names
from vvbuild.model.release import COMPONENTS
from vvbuild.report.plain import display_width, render
from vvbuild.report.reference.markdown import anchor
from vvbuild.report.views.explain import explain_view, topics_view

TODAY = date(2026, 12, 1)
ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def meanings(*words: str) -> tuple[Explanation, ...]:
    return explain(words, TODAY)


def told(*words: str) -> Explanation:
    (only,) = meanings(*words)
    return only


def shown(explanations: Sequence[Explanation], width: int = 80) -> str:
    return render(explain_view(explanations, release_names(), base=ROOT).blocks, width)


def facts(explanation: Explanation, of: str = "") -> dict[str, str]:
    return {each.name: each.value for each in explanation.facts if each.of == of}


def needs(explanation: Explanation, component: str, of: str = "") -> list[str]:
    return [each.what for each in explanation.needs if (each.component, each.of) == (component, of)]


def verdicts(relations: Sequence[Relation], component: str, of: str = "") -> dict[str, str]:
    return {
        each.what: each.verdict
        for each in relations
        if (each.component, each.of) == (component, of)
    }


# Everything can be explained


def pinned_versions() -> list[tuple[str, str]]:
    """Every component with every version that a release pins, each once."""
    found: dict[tuple[str, str], None] = {}
    for name in release_names():
        row = find_release(name).row
        found["engine", row.engine.version] = None
        for component, pin in row.components.items():
            for version in (pin.version, *pin.versions.values()):
                found[component, version] = None
                if pin.flavour:
                    found[component, f"{pin.flavour}:{version}"] = None
    return list(found)


@pytest.mark.parametrize(("component", "version"), pinned_versions())
def test_every_pin_of_every_release_is_explained(component: str, version: str) -> None:
    explanation = told(component, version)

    assert explanation.kind == "component"
    assert explanation.releases, "its own release pins it"
    for each in (*explanation.facts, *explanation.needs, *explanation.needed_by):
        assert each.source, each
    assert shown([explanation])


@pytest.mark.parametrize("name", [each.name for each in topics()])
def test_every_name_is_explained_and_fits_a_terminal(name: str) -> None:
    explanations = meanings(name)
    text = shown(explanations)
    unbroken = " ".join(text.split())

    # What has no blanks cannot be broken, an address for example.
    assert all(display_width(each) <= 80 or len(each.split()) == 1 for each in text.splitlines())
    assert all(each.summary for each in explanations)
    for each in explanations:
        for fact in each.facts:
            assert fact.source, fact
            assert fact.source in unbroken
    json.dumps(explain_view(explanations, release_names(), base=ROOT).data)


def test_the_list_names_all_that_there_is() -> None:
    listed = topics()
    names = {(each.kind, each.name) for each in listed}

    assert {name for kind, name in names if kind == "rule"} == set(known_rules())
    assert {name for kind, name in names if kind == "error"} == set(known_errors())
    assert {name for kind, name in names if kind == "component"} == set(COMPONENTS)
    text = render(topics_view(listed).blocks, 80)
    assert all(any(line.split()[:1] == [name] for line in text.splitlines()) for _, name in names)


# Rules


def test_a_rule_that_speaks_up_names_the_releases() -> None:
    rule = told("cudnn-below-recommended")

    assert {place.release for place in rule.releases} == {f"0.14.{n}" for n in range(8)}
    assert {place.targets for place in rule.releases} == {("win-x64-cuda",)}
    assert all("8.5.0.96" in place.text for place in rule.releases)
    assert all((place.path or "").rpartition(":")[2].isdigit() for place in rule.releases)
    assert "--release 0.14.7`" in facts(rule)["bad example"]


def test_a_finding_that_is_waived_says_so() -> None:
    rule = told("cudnn-major")

    assert all(place.waived for place in rule.releases)
    assert "waived: " in shown([rule])


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("cuda-major", "vvbuild check --release "),
        ("core-ort-filename", "vvbuild check --release "),
        ("models-format", "--set "),
        ("target-unavailable", "--target "),
    ],
)
def test_a_rule_that_is_silent_has_an_example_that_runs(name: str, command: str) -> None:
    from vvbuild.cli.main import main

    rule = told(name)
    assert rule.releases == ()
    line, _, message = facts(rule)["bad example"].removeprefix("`").partition("`: ")
    assert command in line
    assert message
    assert main([*line.split()[1:], "--json"]) == 1
    good = facts(rule)["good example"].split("`")[1]
    assert main([*good.split()[1:], "--json"]) == 0


def test_an_example_finds_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    from vvbuild.cli.main import main

    line, _, message = facts(told("cuda-major"))["bad example"].removeprefix("`").partition("`: ")
    main([*line.split()[1:], "--json"])

    found = json.loads(capsys.readouterr().out)["findings"]
    assert ("cuda-major", message) in [(each["rule"], each["message"]) for each in found]


@pytest.mark.parametrize("name", sorted(known_rules()))
def test_the_page_of_a_rule_is_where_it_says(name: str) -> None:
    rule = next(each for each in meanings(name) if each.kind == "rule")

    assert facts(rule)["page"] == f"docs/reference/rules.md#{name}"
    assert facts(rule)["why"] == known_rules()[name].about.why
    assert facts(rule)["fix"] == known_rules()[name].about.fix


# Errors


@pytest.mark.parametrize("code", sorted(known_errors()))
def test_an_error_code_says_how_it_ends_and_what_to_do(code: str) -> None:
    error = next(each for each in meanings(code) if each.kind == "error")
    status = known_errors()[code].exit_status

    assert facts(error)["exit status"].startswith(f"{int(status)} (")
    assert facts(error)["what next"].endswith(".")
    heading = f"{int(status)}: {status.name.lower()}"
    assert facts(error)["page"] == f"docs/reference/errors.md#{anchor(heading)}"


def test_no_advice_is_about_a_code_that_there_is_not() -> None:
    assert set(_NEXT) <= {VvbuildError.code, *known_errors()}
    families = {each.__mro__[1] for each in known_errors().values()}
    assert {each.code for each in families} <= set(_NEXT)


def test_a_family_names_its_kinds_and_a_kind_its_family() -> None:
    assert "digest-mismatch" in facts(told("integrity"))["has the kinds"]
    assert facts(told("digest-mismatch"))["is a kind of"] == "integrity"
    assert int(ExitStatus.INTEGRITY) == 4


# Components


def test_what_onnx_runtime_1_17_3_needs_depends_on_whose_it_is() -> None:
    runtime = told("onnxruntime", "1.17.3")

    assert needs(runtime, "cuda", "voicevox") == ["12"]
    assert needs(runtime, "cuda", "pypi") == ["11"]
    assert needs(runtime, "cudnn", "voicevox") == ["8"]
    assert needs(runtime, "driver", "voicevox") == ["NVIDIA 525 or newer"]
    assert needs(runtime, "directml") == ["1.8.0 or newer; 1.13.1 ships with it"]
    assert facts(runtime)["loads models up to"] == "IR 9, opset 20, ai.onnx.ml 4"
    voicevox = facts(runtime, "voicevox")
    assert voicevox["built with"] == "CUDA 12.4.1, cuDNN 8.9.7.29"
    assert voicevox["not published for"] == "linux-arm64-cuda"
    assert "RTX 5080" in voicevox["no code for"]
    cores = verdicts(runtime.needed_by, "core", "voicevox")
    assert cores[">=0.16,<0.17"] == "fits"
    assert ">=0.14,<0.16" not in cores
    libraries = verdicts(runtime.needs, "additional-libraries", "voicevox")
    assert [name.split()[0] for name in libraries] == ["0.2.0", "0.2.1"]
    assert [place.release for place in runtime.releases] == [
        "0.25.0", "0.25.1", "0.25.2", "nemo-0.26.0-preview.0",
    ]  # fmt: skip
    assert any("microsoft" in remark and ">=1.15,<1.17" in remark for remark in runtime.remarks)


def test_b003_core_0_16_opens_1_23_2_on_windows_alone() -> None:
    cores = verdicts(told("onnxruntime", "1.23.2").needed_by, "core", "voicevox")

    assert cores[">=0.16,<0.17"].startswith("does not fit: core-ort-filename; on Windows fits")
    assert cores[">=0.17,<0.18"] == "fits"


def test_one_flavour_alone() -> None:
    runtime = told("onnxruntime", "pypi:1.27.0")

    assert (runtime.version, runtime.flavour) == ("1.27.0", "pypi")
    assert needs(runtime, "cuda", "pypi") == ["13"]
    assert {each.of for each in runtime.needs} == {"", "pypi"}
    assert "Pascal 6.1" in facts(runtime, "pypi")["no code for"]
    assert verdicts(runtime.needed_by, "downloader") == {
        ">=0.17,<0.18 takes >=1.17.3,<1.24": "does not fit"
    }


def test_what_core_0_16_2_opens_and_loads() -> None:
    core = told("core", "0.16.2")

    assert facts(core)["opens"].startswith("voicevox_onnxruntime 1.17.3")
    assert facts(core)["loads voice models"] == "of format 1"
    assert needs(core, "onnxruntime") == ["1.17.3"]
    assert needs(core, "cuda")[0].startswith("12")
    assert "its downloader takes >=0.16,<0.17" in needs(core, "models")
    assert {place.release for place in core.releases} >= {"0.25.0", "0.25.2"}


def test_additional_libraries_say_whom_they_serve() -> None:
    libraries = told("additional-libraries", "0.2.0")

    assert facts(libraries)["packs cuda"] == "12.2.2"
    users = verdicts(libraries.needed_by, "onnxruntime")
    assert users["voicevox ==1.17.3: CUDA 12, cuDNN 8, driver 525"].startswith("fits, but")
    assert users["microsoft >=1.13,<1.15: CUDA 11, cuDNN 8"] == "does not fit: cuda-major"
    assert verdicts(libraries.needed_by, "downloader") == {
        ">=0.17,<0.18 takes >=0.2.1,<0.4": "does not fit"
    }


def test_b002_models_of_0_17_are_refused_by_core_0_16() -> None:
    cores = verdicts(told("models", "0.17.0").needed_by, "core")

    assert cores[">=0.16,<0.17 loads format 1"] == "does not fit: models-format"
    assert cores[">=0.17,<0.18 loads format 1, 2"] == "fits"


def test_a_part_of_a_version_stands_for_all_that_begin_with_it() -> None:
    assert [place.text for place in told("cuda", "12.8").releases] == ["12.8.1"]
    assert {place.text for place in told("cudnn", "8.9.2").releases} == {"8.9.2.26"}
    assert told("core", "0.1").releases == ()


def test_python_names_the_pyinstallers_that_take_it() -> None:
    python = told("python", "3.14.6")
    users = verdicts(python.needed_by, "pyinstaller")

    assert users[">=6.21,<=6.22.3 takes >=3.8,<3.16"] == "fits"
    assert users["==5.13.2 takes >=3.7,<3.13"] == "does not fit: python-pyinstaller"
    assert [place.release for place in python.releases] == ["main"]


@pytest.mark.parametrize(
    ("words", "remark"),
    [
        (("core", "0.18.0"), ">=0.17,<0.18"),
        (("core", "0.1.0"), ">=0.14,<0.16"),
        (("models", "0.18.0"), ">=0.17,<0.18"),
        (("pyinstaller", "5.5"), "==5.3 and "),
        (("additional-libraries", "0.9"), "0.3.0"),
        (("onnxruntime", "voicevox:1.20.0"), "==1.17.3 and ==1.23.2"),
        (("onnxruntime", "microsoft:99"), ">=1.15,<1.17"),
        (("resource", "0.25.2"), "No table is about resource"),
        (("engine", "9.9.9"), "No release is of engine 9.9.9"),
    ],
)
def test_what_no_table_knows_is_said_with_the_nearest(words: tuple[str, str], remark: str) -> None:
    assert any(remark in each for each in told(*words).remarks)


# Names


@pytest.mark.parametrize(
    "words", [("core=0.16.2",), ("core 0.16.2",), ("core", "0.16.2"), ("core", "=0.16.2")]
)
def test_a_version_may_stand_behind_a_blank_or_an_equals_sign(words: tuple[str, ...]) -> None:
    assert told(*words) == told("core", "0.16.2")


@pytest.mark.parametrize("name", ["manifest-invalid", "binary-malformed"])
def test_a_name_of_two_things_means_both_the_rule_first(name: str) -> None:
    found = meanings(name)

    assert [each.kind for each in found] == ["rule", "error"]
    data = explain_view(found, release_names(), base=ROOT).data
    assert data["kind"] == "rule"
    assert [each["kind"] for each in data["also"]] == ["error"]


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("cuda-majr", "cuda-major"),
        ("onnx", "onnxruntime"),
        ("Core", "core"),
        ("filename", "core-ort-filename"),
        ("lock", "lock-invalid"),
    ],
)
def test_an_unknown_name_names_the_nearest(word: str, near: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        explain([word], TODAY)

    assert near in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("words", [[""], ["  "], ["="], ["xyzzy"], ["xyzzy", "1.0"]])
def test_what_is_near_nothing_is_still_told_kindly(words: list[str]) -> None:
    with pytest.raises(UnknownNameError, match="There is no rule, error code or component"):
        explain(words, TODAY)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["core", "latest"], "Expected a version"),
        (["core", ">=1"], "Expected a version"),
        (["core", "1.0", "2.0"], "Expected a version"),
        (["core", "=>1"], "Expected a version"),
        (["onnxruntime", "intel:1.0"], "no flavour 'intel'"),
        (["onnxruntime", ":1.0"], "no flavour ''"),
        (["core", "pypi:0.16.2"], "Only onnxruntime has flavours"),
        (["cuda-major", "12"], "Only components have versions"),
    ],
)
def test_what_is_no_version_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        explain(words, TODAY)


# What people read


@pytest.mark.parametrize(
    "words",
    [
        ("cuda-major",),
        ("cudnn-major",),
        ("lock-invalid",),
        ("manifest-invalid",),
        ("onnxruntime", "1.17.3"),
        ("core", "0.16.2"),
        ("additional-libraries", "0.2.0"),
        ("cuda", "12.8"),
        ("models",),
        ("python", "3.11.9"),
        ("resource", "0.25.2"),
    ],
    ids=" ".join,
)
def test_what_people_read(words: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    assert shown(meanings(*words)) == snapshot
