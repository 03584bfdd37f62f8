"""What only shows where bundles of a release lie side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.makers.vvm import vvm_bytes
from tests.verify.conftest import describe
from tests.verify.test_verify import TODAY
from vvbuild.runtime.cancel import Cancel
from vvbuild.verify.run import Question, Verdict, verify_paths


def together(*paths: Path) -> tuple[Verdict, ...]:
    return verify_paths(paths, Question(TODAY), cancel=Cancel())


def rules(verdicts: tuple[Verdict, ...]) -> list[str]:
    return [each.rule for verdict in verdicts for each in verdict.findings]


@pytest.mark.parametrize("change", ["bytes", "one more", "one less"])
def test_b104_models_that_differ_between_targets_are_one_finding(
    make_bundle: Callable[[], Path], change: str
) -> None:
    one, other = make_bundle(), make_bundle()
    assert rules(together(one, other)) == []

    model = other / "model/声.vvm"
    (one / "model/1.vvm").write_bytes(vvm_bytes())
    if change == "bytes":
        (other / "model/1.vvm").write_bytes(vvm_bytes(x_onnx=b"1"))
    elif change == "one more":
        (other / "model/2.vvm").write_bytes(vvm_bytes())
        (other / "model/1.vvm").write_bytes(vvm_bytes())
    else:
        model.rename(other / "model/1.vvm")
    for bundle in (one, other):
        describe(bundle)

    verdicts = together(one, other)
    assert rules(verdicts) == ["models-differ-between-targets"]
    (finding,) = verdicts[0].findings
    assert finding.evidence["bundles"] == "bundle1, bundle2"


def test_bundles_of_two_versions_may_have_other_models(make_bundle: Callable[[], Path]) -> None:
    one, other = make_bundle(), make_bundle()
    (other / "model/1.vvm").write_bytes(vvm_bytes())
    manifest = other / "engine_manifest.json"
    manifest.write_text(manifest.read_text().replace('"version": "1.0"', '"version": "2.0"'))
    describe(other)

    assert "models-differ-between-targets" not in rules(together(one, other))
