from __future__ import annotations

import json
import os
import platform
import shutil
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.makers.vvm import vvm_bytes
from vvbuild.errors import CancelledError, HostileArchiveError, UsageError
from vvbuild.model.finding import Finding
from vvbuild.model.target import Target
from vvbuild.runtime.cancel import Cancel
from vvbuild.verify.facts import gather_facts
from vvbuild.verify.report import finding_as_json, finding_from_json
from vvbuild.verify.run import Question, Verdict, verify_path

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the bundle is for x64"
)
LINUX = Target.parse("linux-x64-cpu")


TODAY = date(2026, 1, 1)


def judged(path: Path, target: Target | None = None, **asked: Any) -> Verdict:
    return verify_path(path, Question(TODAY, target, **asked), cancel=Cancel())


def found(path: Path, target: Target | None = None, **asked: Any) -> list[tuple[str, str | None]]:
    return [(finding.rule, finding.path) for finding in judged(path, target, **asked).findings]


def test_a_good_bundle_passes(bundle: Path) -> None:
    verdict = judged(bundle)

    assert verdict.findings == ()
    assert verdict.target == LINUX
    assert judged(bundle, LINUX).findings == ()


def test_facts_are_read_from_the_bytes(bundle: Path) -> None:
    facts = gather_facts(bundle, None, Cancel())

    assert facts.program == "run"
    assert facts.files["run"].elf.machine == "x64"
    assert facts.files["run"].text is not None
    assert facts.files["libonnxruntime.so"].elf.soname == "libonnxruntime.so.1.23.2"
    assert facts.files["libonnxruntime.so"].text is None
    assert facts.files["link"].link == "model"
    assert facts.files["empty"].kind == "directory"
    assert facts.files["model/声.vvm"].size == len(vvm_bytes())
    assert facts.models["model/声.vvm"].format == 1
    assert facts.manifest.data["command"] == "run"


DAMAGE: dict[str, tuple[Callable[[Path], object], set[tuple[str, str | None]]]] = {
    "a file lost": (lambda b: (b / "model/声.vvm").unlink(), {
        ("file-missing", "model/声.vvm"), ("models-missing", None),
    }),
    "a file added": (lambda b: (b / "new.txt").write_text("x"), {("file-extra", "new.txt")}),
    "a file changed": (
        lambda b: (b / "model/声.vvm").write_bytes(vvm_bytes(x_onnx=b"1")),
        {("content-differs", "model/声.vvm")},
    ),
    "a library cut off": (
        lambda b: os.truncate(b / "libonnxruntime.so", 1000),
        {("content-differs", "libonnxruntime.so"), ("binary-malformed", "libonnxruntime.so")},
    ),
    "a library that is an error page": (
        lambda b: (b / "libonnxruntime.so").write_bytes(b"Not Found"),
        {("content-differs", "libonnxruntime.so"), ("binary-malformed", "libonnxruntime.so")},
    ),
    "another program": (
        lambda b: shutil.copyfile("/bin/true", b / "run"),
        {("content-differs", "run"), ("bootloader-not-ours", "run")},
    ),
    "an execute bit lost": (
        lambda b: (b / "run").chmod(0o644),
        {("content-differs", "run"), ("exec-bit-missing", "run")},
    ),
    "a link out": (
        lambda b: (b / "out").symlink_to("/etc/passwd"),
        {("link-escapes", "out"), ("file-extra", "out")},
    ),
    "an empty folder lost": (lambda b: (b / "empty").rmdir(), {("file-missing", "empty")}),
    "no description": (
        lambda b: (b / "vvbuild.json").unlink(), {("description-missing", "vvbuild.json")}
    ),
    "a description that is no JSON": (
        lambda b: (b / "vvbuild.json").write_text("{"), {("description-missing", "vvbuild.json")}
    ),
    "a description of the wrong shape": (
        lambda b: (b / "vvbuild.json").write_text("[]"), {("description-missing", "vvbuild.json")}
    ),
    "a description nested without end": (
        lambda b: (b / "vvbuild.json").write_text("[" * 100_000),
        {("description-missing", "vvbuild.json")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGE.values(), ids=DAMAGE)
def test_what_was_done_to_a_bundle_is_found(
    case: tuple[Callable[[Path], object], set[tuple[str, str | None]]], bundle: Path
) -> None:
    damage, expected = case
    damage(bundle)

    assert set(found(bundle, LINUX)) == expected


def test_a_manifest_with_a_byte_order_mark_is_found(bundle: Path) -> None:
    path = bundle / "engine_manifest.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())

    assert ("manifest-invalid", "engine_manifest.json") in found(bundle)


def test_a_manifest_that_is_a_link_is_not_followed(bundle: Path) -> None:
    """In a hostile bundle it could lead to a device that never ends."""
    path = bundle / "engine_manifest.json"
    path.unlink()
    path.symlink_to("/dev/zero")

    assert ("manifest-invalid", "engine_manifest.json") in found(bundle)


def test_a_manifest_that_is_a_folder_is_found(bundle: Path) -> None:
    path = bundle / "engine_manifest.json"
    path.unlink()
    path.mkdir()

    assert ("manifest-invalid", "engine_manifest.json") in found(bundle)


def test_the_target_can_be_named(bundle: Path) -> None:
    arm = Target.parse("linux-arm64-cpu")

    assert ("wrong-arch", "libonnxruntime.so") in found(bundle, arm)


def test_a_bundle_of_nobody_knows_what_is_judged_as_far_as_it_goes(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()

    assert found(tmp_path / "x") == [
        ("manifest-invalid", "engine_manifest.json"), ("models-missing", None),
        ("program-missing", None), ("description-missing", "vvbuild.json"),
    ]  # fmt: skip


def test_what_no_bundle_can_hold_is_refused(bundle: Path) -> None:
    os.mkfifo(bundle / "pipe")

    with pytest.raises(UsageError, match="neither a file nor a directory"):
        found(bundle)


def test_nothing_is_judged_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is nothing at"):
        found(tmp_path / "nowhere")


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.vvpp").write_bytes(b"Not Found")

    with pytest.raises(HostileArchiveError):
        found(tmp_path / "x.vvpp")


def pack(bundle: Path, archive: Path) -> Path:
    """A zip as any program would write it, with modes and links."""
    with zipfile.ZipFile(archive, "w") as out:
        for path in sorted(bundle.rglob("*")):
            is_folder = path.is_dir() and not path.is_symlink()
            info = zipfile.ZipInfo(f"{path.relative_to(bundle)}{'/' * is_folder}")
            info.external_attr = path.lstat().st_mode << 16
            if path.is_symlink():
                out.writestr(info, str(path.readlink()))
            elif path.is_dir():
                out.writestr(info, b"")
            else:
                out.writestr(info, path.read_bytes())
    return archive


def test_an_archive_is_judged_like_its_directory(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    archive = pack(bundle, tmp_path / "x.vvpp")
    assert found(archive) == []

    (bundle / "model/声.vvm").write_bytes(vvm_bytes(x_onnx=b"1"))
    pack(bundle, archive)

    assert found(archive) == [("content-differs", "model/声.vvm")]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_b046_an_archive_packed_one_level_too_deep_is_found(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    bundle.rename(tmp_path / "deep/engine")
    archive = pack(tmp_path / "deep", tmp_path / "x.vvpp")

    assert found(archive) == [("manifest-invalid", "engine_manifest.json")]
    (finding,) = judged(archive).findings
    assert finding.message == "lies one level too deep, in engine/"


def test_judging_can_be_interrupted(bundle: Path) -> None:
    cancel = Cancel()
    cancel.set()

    with pytest.raises(CancelledError):
        verify_path(bundle, Question(TODAY), cancel=cancel)


def test_findings_are_kept_as_json() -> None:
    finding = Finding("r", "error", "m", "t", "p", {"a": "b"}, "why", "source", "fix", None)

    assert finding_from_json(json.loads(json.dumps(finding_as_json(finding)))) == finding
