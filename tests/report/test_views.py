"""What people read: changes of it are looked at, not stumbled over."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from vvbuild.errors import DigestMismatchError, InternalError, ManifestError, VvbuildError
from vvbuild.fetch.housekeeping import Part, Usage
from vvbuild.host.doctor import Check, Diagnosis
from vvbuild.locking.run import Change, LockResult
from vvbuild.manifest.release import find_release, release_names
from vvbuild.manifest.targets import official_targets
from vvbuild.model.finding import Finding
from vvbuild.model.locked import LockedArtifact
from vvbuild.model.size import ByteSize
from vvbuild.model.target import Target
from vvbuild.report.document import View
from vvbuild.report.errors import error_blocks
from vvbuild.report.plain import display_width, render
from vvbuild.report.views.findings import verdict_view
from vvbuild.report.views.host import doctor_view
from vvbuild.report.views.listings import releases_view, targets_view
from vvbuild.report.views.lock import lock_view
from vvbuild.report.views.store import cleaned_view, usage_view
from vvbuild.verify.run import Verdict

LINUX = Target.parse("linux-x64-cpu")


def text(view: View, width: int = 80) -> str:
    return render(view.blocks, width)


def test_targets(snapshot: SnapshotAssertion) -> None:
    here = {target for target in official_targets() if str(target.platform) == "linux-x64"}
    view = targets_view(official_targets(), here)

    assert text(view) == snapshot
    assert all(display_width(line) <= 80 for line in text(view).splitlines())
    assert [row["name"] for row in view.data["targets"]] == [
        str(each) for each in official_targets()
    ]
    assert view.data["targets"][0] == {
        "name": "win-x64-cpu",
        "os": "win",
        "arch": "x64",
        "device": "cpu",
        "upstream": "windows-cpu",
        "aliases": ["windows-cpu"],
        "runner": "windows-2022",
        "freezes_here": False,
    }


def test_releases(snapshot: SnapshotAssertion) -> None:
    view = releases_view([find_release("sample")])

    assert text(view) == snapshot
    (row,) = view.data["releases"]
    assert row["name"] == "sample"
    assert row["components"]["onnxruntime"] == "1.23.2"
    assert row["flavour"] == "pypi"


def test_all_releases_fit_a_terminal() -> None:
    view = releases_view([find_release(name) for name in release_names()])
    lines = text(view).splitlines()

    assert all(display_width(line) <= 80 for line in lines)
    for name in release_names():
        assert sum(line.split()[:1] == [name] for line in lines) == 1
    row = next(row for row in view.data["releases"] if row["name"] == "0.25.2")
    assert row["commit"] == "f2a20b1d4d2613851daffdd1de2217a472d89c48"
    assert row["source"] == "github"
    assert row["flavour"] == "voicevox"
    assert row["components"]["additional-libraries"] == "0.2.0"


ERRORS: dict[str, VvbuildError] = {
    "with context and hint": DigestMismatchError(
        "onnxruntime.whl is not what the lock promises.",
        context={
            "file": "/tmp/store/onnxruntime.whl",
            "expected": "a" * 64,
            "attempts": "first: 404\nsecond: 503",
        },
        hint="Somebody changed the file after it was locked.",
    ),
    "alone": ManifestError("/x/tiny.toml:3: summary: expected a string, got a number"),
    "of several lines": ManifestError("/x/tiny.toml:3: one\n/x/tiny.toml:4: two"),
    "of our own": InternalError(
        "ZeroDivisionError: division by zero",
        context={"version": "0.1.0", "traceback": "Traceback …\n  File …"},
    ),
    "from a hostile place": DigestMismatchError(
        "::error::x\x1b[2J", context={"na\nme": "::warning::\u202e"}, hint="\n::notice::"
    ),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_errors(error: VvbuildError, snapshot: SnapshotAssertion) -> None:
    shown = render(error_blocks(error), 80)

    assert shown == snapshot
    assert not any(line.lstrip().startswith("::") for line in shown.splitlines())


def finding(number: int, **changes: object) -> Finding:
    facts: dict[str, object] = {
        "rule": "wrong-arch",
        "severity": "error",
        "message": "is for arm64, the target is x64",
        "target": "linux-x64-cpu",
        "path": f"lib{number}.so",
        "evidence": {"machine": "arm64"},
        "why": "A library for another processor cannot be loaded.",
        "source": "VOICEVOX/onnxruntime-builder#29",
        "fix": "Fetch the artifact for this target.",
    }
    return Finding(**{**facts, **changes})


def verdict(*findings: Finding) -> View:
    return verdict_view(Verdict(Path("/out/bundle"), LINUX, 12, findings))


def test_findings_of_one_rule_are_one_paragraph(snapshot: SnapshotAssertion) -> None:
    """One wrong processor is one thing to mend, however many files it shows in."""
    warning = finding(
        0, rule="description-missing", severity="warning", path="vvbuild.json",
        message="is missing", why="Nobody can tell.", source="docs", fix="Build it.",
    )  # fmt: skip
    view = verdict(warning, *(finding(number) for number in range(11)))

    assert text(view) == snapshot
    assert view.status == 1
    assert len(view.data["findings"]) == 12
    assert {"rule", "severity", "target", "path", "message", "evidence", "why", "source", "fix",
            "waived"} == set(view.data["findings"][0])  # fmt: skip


def test_a_name_cannot_forge_a_finding() -> None:
    name = "a\n  → All is well.\x1b[2K\n::error::x"
    shown = text(verdict(finding(1, path=name, message="links to 'x\ny'")))

    begun = [line for line in shown.splitlines() if line.startswith(("error", "::", "  →"))]
    assert begun == ["error[wrong-arch]", "  → Fetch the artifact for this target."]
    assert "\\x0a  → All is well.\\x1b[2K\\x0a::error::x: links to 'x\\x0ay'" in shown


@pytest.mark.parametrize(
    ("findings", "status", "summary"),
    [
        ((), 0, "12 files, no findings"),
        ((finding(1, severity="warning"),), 0, "12 files, 1 warning"),
        ((finding(1), finding(2, severity="info")), 1, "12 files, 1 error, 1 info"),
        ((finding(1, waived="known"),), 0, "12 files, 1 waived"),
    ],
)
def test_only_errors_that_nobody_waived_fail(
    findings: tuple[Finding, ...], status: int, summary: str
) -> None:
    view = verdict(*findings)

    assert view.status == status
    assert text(view).splitlines()[-1] == f"/out/bundle: {summary}"


def test_doctor(snapshot: SnapshotAssertion) -> None:
    checks = (
        Check("machine", "good", "linux-x64"),
        Check("binutils", "bad", "missing: objcopy", "As root: apt-get install -y binutils"),
        Check("store", "warn", "/cache, 1.0 GiB free", "A first bundle needs about 2 GiB."),
    )
    view = doctor_view(Diagnosis(checks, ()))

    assert text(view) == snapshot
    assert view.status == 5
    assert doctor_view(Diagnosis(checks[:1], ("linux-x64-cpu",))).status == 0


def test_store(snapshot: SnapshotAssertion) -> None:
    parts = (
        Part("files", 12_345, ByteSize(1 << 30)),
        Part("checkouts", 99, ByteSize(0)),
        Part("strange", 1, ByteSize(1)),
    )
    usage = Usage(Path("/cache/vvbuild"), parts, ByteSize((1 << 30) + 1))

    assert text(usage_view(usage)) == snapshot
    assert text(cleaned_view(usage)) == "Deleted 1.0 GiB from /cache/vvbuild.\n"
    assert usage_view(usage).data["parts"][0] == {
        "name": "files", "files": 12_345, "size": 1 << 30,
    }  # fmt: skip
    assert text(usage_view(Usage(Path("/x"), (), ByteSize(0)))) == "/x: 0 B\n"


def test_lock(snapshot: SnapshotAssertion) -> None:
    row = LockedArtifact(
        name="onnxruntime-1.23.2-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
        component="onnxruntime", version="1.23.2", references=["pypi:a/1/b"], sha256="0" * 64,
        targets=["linux-x64-cpu"], size=17_000_000,
    )  # fmt: skip

    change = Change(row.name, None, row)

    assert text(lock_view(LockResult(Path("/x/sample.lock.json"), (change,)))) == snapshot
