"""What ``check`` makes of findings: by target, waived or not, with the line of the pin."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.check.conftest import TODAY, checked, errors, of
from tests.manifest.conftest import line_of
from vvbuild.check.run import check, pin_evidence
from vvbuild.manifest.release import LoadedRelease, find_release, load_release, release_names
from vvbuild.manifest.targets import official_targets
from vvbuild.model.finding import SEVERITIES
from vvbuild.model.target import ARCHES, DEVICES, OSES, Target
from vvbuild.rules.registry import RULES

Make = Callable[..., LoadedRelease]
CUDNN = '[[waivers]]\nrule = "cudnn-major"\ntargets = [{targets}]\nreason = "Tried."\n{until}'


def waiver(*targets: str, until: date | None = None, rule: str = "cudnn-major") -> str:
    named = ", ".join(f'"{each}"' for each in targets)
    end = f"until = {until}\n" if until else ""
    return CUDNN.format(targets=named, until=end).replace("cudnn-major", rule)


def test_a_finding_is_told_for_each_target_that_has_it() -> None:
    found = of(checked("0.25.2"), "gpu-arch-uncovered")

    assert [finding.target for finding in found] == ["win-x64-cuda", "linux-x64-cuda"]


def test_only_the_targets_that_are_asked_for_are_judged() -> None:
    judged = checked("0.25.2", targets=["linux-x64-cpu", "linux-x64-cuda"])

    assert [str(each) for each in judged.targets] == ["linux-x64-cpu", "linux-x64-cuda"]
    assert {finding.target for finding in judged.findings} == {"linux-x64-cuda"}


def test_a_waiver_waives_and_is_shown(release: Make) -> None:
    judged = checked(release(waiver("*-cuda")))

    assert {finding.waived for finding in of(judged, "cudnn-major")} == {"Tried."}
    assert errors(judged) == set()
    assert len(of(judged, "cudnn-major")) == 2


def test_a_waiver_waives_its_targets_only(release: Make) -> None:
    judged = checked(release(waiver("win-x64-cuda")))

    waived = {finding.target: finding.waived for finding in of(judged, "cudnn-major")}
    assert waived == {"win-x64-cuda": "Tried.", "linux-x64-cuda": None}
    assert of(judged, "waiver-unused") == []


def test_a_waiver_of_one_rule_waives_no_other(release: Make) -> None:
    judged = checked(release(waiver("*", rule="models-lockstep")))

    assert errors(judged) == {"cudnn-major"}


@pytest.mark.parametrize(
    ("days", "counts"), [(-400, False), (-1, False), (0, True), (1, True), (400, True)]
)
def test_a_waiver_counts_up_to_and_with_its_last_day(
    release: Make, days: int, counts: bool
) -> None:
    judged = checked(release(waiver("*-cuda", until=TODAY + timedelta(days))))

    assert (errors(judged) == set()) is counts
    assert (of(judged, "waiver-expired") == []) is counts


def test_an_expired_waiver_is_told_with_its_day_and_line(release: Make) -> None:
    loaded = release(waiver("*-cuda", until=date(2026, 1, 31)))

    (expired,) = of(checked(loaded), "waiver-expired")

    assert expired.message == "the waiver of cudnn-major ended on 2026-01-31"
    assert expired.target == "*-cuda"
    line = line_of(loaded.path.read_text(encoding="utf-8"), "until")
    assert expired.path == f"{loaded.path}:{line}"
    assert of(checked(loaded), "waiver-unused") == []


def test_a_waiver_that_nothing_needs_is_told(release: Make) -> None:
    judged = checked(release(waiver("*-cuda", rule="cuda-major")))

    (unused,) = of(judged, "waiver-unused")
    assert unused.severity == "warning"
    assert unused.message == "the waiver of cuda-major for *-cuda waives nothing"


def test_a_waiver_may_be_needed_by_what_was_not_looked_at(release: Make) -> None:
    loaded = release(waiver("*-cuda", rule="cuda-major"))

    assert of(checked(loaded, targets=["linux-x64-cuda"]), "waiver-unused") == []
    assert of(checked(loaded, set=["core=0.17.0"]), "waiver-unused") == []
    assert of(checked(loaded, targets=loaded.row.targets), "waiver-unused") != []


@pytest.mark.parametrize(
    ("written", "meant"),
    [("cudnn-mayor", "cudnn-major"), ("soname-wrong", "soname-"), ("", "expected one of")],
)
def test_a_waiver_of_a_rule_that_there_is_not_names_the_nearest(
    release: Make, written: str, meant: str
) -> None:
    loaded = release(waiver("*-cuda", rule=written or "qqqqqqqqqqqqqqq"))

    (unknown,) = of(checked(loaded), "waiver-unknown")

    assert unknown.severity == "error"
    assert meant in unknown.message
    assert unknown.path == f"{loaded.path}:{line_of(loaded.path.read_text(), 'rule = ')}"
    assert of(checked(loaded), "waiver-unused") == []
    assert errors(checked(loaded)) == {"cudnn-major", "waiver-unknown"}


def test_a_waiver_of_a_rule_over_bytes_is_for_verify(release: Make) -> None:
    judged = checked(release(waiver("*", rule="exec-bit-missing")))

    assert [each.rule for each in judged.findings if each.rule.startswith("waiver-")] == []
    assert "exec-bit-missing" in RULES


def test_a_path_is_the_line_of_the_pin_in_the_file_that_says_it(release: Make) -> None:
    loaded = release('[components.onnxruntime]\nversion = "1.17.3"\n', extends="0.24.1")
    own, below = of(checked(loaded), "core-ort-filename")[0], checked("0.14.0")

    assert own.path == f"{loaded.path}:6"
    (recommended,) = of(below, "cudnn-below-recommended")
    path, _, line = (recommended.path or "").rpartition(":")
    assert path.endswith("_core-direct-0.14.toml")
    text = Path(path).read_text(encoding="utf-8").splitlines()
    assert text[int(line) - 1] == 'version = "8.4.1.50"'


def test_a_version_for_some_targets_is_judged_for_those(release: Make) -> None:
    loaded = release(
        '[components.cudnn]\nversion = "8.9.2.26"\n'
        'versions = {"win-*" = "9.8.0.87"}\n[components.zlibwapi]\nversion = "1.2.3"\n',
        extends="0.24.1",
    )

    (finding,) = of(checked(loaded), "cudnn-major")

    assert finding.target == "win-x64-cuda"
    assert finding.path == f"{loaded.path}:7"


def test_a_path_with_spaces_and_line_ends_of_windows(tmp_path: Path) -> None:
    folder = tmp_path / "with spaces ボイス"
    folder.mkdir()
    path = folder / "mine.toml"
    lines = [
        'schema = "vvbuild.release/1"', 'name = "mine"', 'summary = "One"', 'extends = "0.25.2"',
        "[components.onnxruntime]", 'version = "1.23.2"', "",
    ]  # fmt: skip
    path.write_bytes("\r\n".join(lines).encode())

    judged = checked(load_release(path))

    assert {finding.path for finding in of(judged, "core-ort-filename")} == {f"{path}:6"}


@pytest.mark.parametrize("name", release_names())
def test_every_finding_says_what_it_is_and_where(name: str) -> None:
    for finding in checked(name).findings:
        assert finding.rule in RULES
        assert finding.severity in SEVERITIES
        assert finding.target
        assert finding.message
        assert finding.why
        assert finding.source
        assert finding.fix
        path, _, line = (finding.path or "").rpartition(":")
        assert Path(path).is_file()
        assert int(line) >= 1


@pytest.mark.parametrize("name", release_names())
def test_every_packaged_release_is_told_all_it_pins(name: str) -> None:
    """No table lacks a row for what is packaged, and no waiver is idle."""
    rules = {finding.rule for finding in checked(name).findings}

    assert not rules & {"no-compat-row", "waiver-unused", "waiver-expired", "waiver-unknown"}
    assert errors(checked(name)) == set()


def test_evidence_names_the_runner_and_the_references_of_the_target() -> None:
    row = find_release("0.25.2").row
    windows = pin_evidence(row, Target.parse("win-x64-cuda"))

    assert windows.runner == "windows-2022"
    assert pin_evidence(row, Target.parse("macos-x64-cpu")).runner == "macos-15-intel"
    fetched = [each.component for each in windows.references]
    assert "zlibwapi" in fetched
    assert "zlibwapi" not in [
        each.component for each in pin_evidence(row, Target.parse("linux-x64-cpu")).references
    ]


@pytest.mark.parametrize("name", ["0.24.1", "main", "sample"])
def test_any_target_is_judged_whether_it_is_official_or_not(name: str) -> None:
    targets = tuple(
        Target(os, arch, device) for os in OSES for arch in ARCHES for device in DEVICES
    )

    (judged,) = check([find_release(name)], today=TODAY, targets=targets).releases

    unofficial = {str(target) for target in targets if target not in official_targets()}
    refused = {finding.target for finding in of(judged, "target-unavailable")}
    assert unofficial <= refused


VERSIONS = st.one_of(
    st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,3}", fullmatch=True),
    st.text(min_size=1, max_size=12),
    st.sampled_from(["latest", ">=1", "0.17.0-preview.1", "1e9", "٣.١"]),
)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.dictionaries(
        st.sampled_from(["core", "onnxruntime", "cuda", "cudnn", "directml", "models"]),
        VERSIONS,
        max_size=4,
    )
)
def test_whatever_is_pinned_is_judged(versions: dict[str, str]) -> None:
    import msgspec

    row = find_release("main").row
    components = dict(row.components)
    for name, version in versions.items():
        components[name] = msgspec.structs.replace(components[name], version=version)  # type: ignore[index]
    odd = msgspec.structs.replace(row, components=components)
    loaded = LoadedRelease(find_release("main").document, odd)

    result = check([loaded], today=TODAY)

    assert all(finding.path for finding in result.findings)
