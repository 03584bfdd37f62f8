"""``vvbuild verify`` as people and programs see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import alone, say  # noqa: F401 - fixtures
from tests.verify.conftest import describe
from tests.verify.test_verify import judged, pack
from vvbuild.report.plain import display_width, render
from vvbuild.report.views.findings import verdict_view

FIELDS = {
    "rule", "severity", "target", "path", "message", "evidence", "why", "source", "fix", "waived",
}  # fmt: skip


def test_a_good_bundle_is_one_line(bundle: Path, say) -> None:  # noqa: F811
    said = say("verify", str(bundle))

    assert (said.status, said.err) == (0, "")
    assert said.out.endswith("files, no findings\n")


def test_b016_what_is_expected_is_held_against_the_bytes(bundle: Path, say) -> None:  # noqa: F811
    assert say("verify", str(bundle), "--expect", "engine=1.0").status == 0
    said = say("verify", str(bundle), "--expect", "engine=0.21.0", "--json")

    assert said.status == 1
    document = said.document
    assert document["ok"] is False
    (finding,) = document["findings"]
    assert finding["rule"] == "version-disagrees"
    assert finding["message"] == "engine 0.21.0 is expected, but engine_manifest.json says 1.0"
    assert set(finding) == FIELDS


@pytest.mark.parametrize("words", [["--expect", "engine"], ["--expect", "moon=1"], ["-r", "nope"]])
def test_what_cannot_be_asked_is_wrong_use(bundle: Path, say, words: list[str]) -> None:  # noqa: F811
    assert say("verify", str(bundle), *words).status == 2


def test_findings_fit_into_eighty_columns(bundle: Path) -> None:
    (bundle / "empty.txt").write_bytes(b"")
    (bundle / "some" / "声").mkdir(parents=True)
    for number in range(20):
        (bundle / f"some/声/name-of-a-file-{number:02}.wav").write_bytes(b"")
    describe(bundle)
    view = verdict_view(judged(bundle, expected={"engine": "2.0"}))

    lines = render(view.blocks, 80).splitlines()

    assert max(map(display_width, lines[:-1])) <= 80
    assert [line for line in lines if line.startswith("error[")] == [
        "error[version-disagrees]", "error[zero-byte-data]",
    ]  # fmt: skip
    assert any("and 15 more" in line for line in lines)
    assert lines[-1].endswith("2 error")


def test_a_waiver_is_shown(bundle: Path, say) -> None:  # noqa: F811
    (bundle / "empty.txt").write_bytes(b"")
    describe(bundle)
    path = bundle / "vvbuild.json"
    about = json.loads(path.read_bytes())
    waiver = {"rule": "zero-byte-data", "reason": "upstream mends it", "until": None}
    path.write_text(json.dumps({**about, "overrides": {"waivers": [waiver]}}))

    said = say("verify", str(bundle))

    assert said.status == 0
    assert said.out.splitlines()[:3] == [
        "error[zero-byte-data] (waived)", "  empty.txt: is empty", "    waived: upstream mends it",
    ]  # fmt: skip
    assert said.out.endswith("1 waived\n")


def test_several_bundles_are_judged_one_after_the_other(
    make_bundle: Callable[[], Path],
    tmp_path: Path,
    say,  # noqa: F811
) -> None:
    one = make_bundle()
    other = pack(make_bundle(), tmp_path / "x.vvpp")

    document = say("verify", str(one), str(other), "--json").document
    assert [each["path"] for each in document["bundles"]] == [str(one), str(other)]
    assert document["findings"] == []

    (one / "new").write_bytes(b"x")
    said = say("verify", str(one), str(other), "--json")
    assert said.status == 1
    assert [each["bundle"] for each in said.document["findings"]] == [str(one)]
    assert say("verify", str(one), str(other)).out.count("files, ") == 2
