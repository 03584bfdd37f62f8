"""Archives, judged as they are: with the modes and links that they tell of."""

from __future__ import annotations

import shutil
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bundle.archive.conftest import seven_zip  # noqa: F401 - a fixture
from tests.fetch.test_unpack_7z import zst
from tests.verify.test_verify import LINUX, TODAY, found, judged, pack
from vvbuild.errors import HostileArchiveError, HostToolMissingError, IntegrityError, UsageError
from vvbuild.model.target import Target
from vvbuild.runtime.cancel import Cancel
from vvbuild.verify.listing import list_members
from vvbuild.verify.opened import opened, target_in
from vvbuild.verify.run import Question, Verdict, no_seven_zip, verify_path

Tweak = Callable[[zipfile.ZipInfo], None]


def packed(bundle: Path, archive: Path, tweak: Tweak) -> Path:
    """A .vvpp whose members' headers were changed."""
    pack(bundle, archive)
    with zipfile.ZipFile(archive) as source:
        members = [(info, source.read(info)) for info in source.infolist()]
    with zipfile.ZipFile(archive, "w") as out:
        for info, data in members:
            tweak(info)
            out.writestr(info, data)
    return archive


def mode(bits: int, *names: str) -> Tweak:
    """Give members those permission bits, all files without names."""

    def tweak(info: zipfile.ZipInfo) -> None:
        form = stat.S_IFMT(info.external_attr >> 16)
        if form == stat.S_IFREG and (info.filename in names or not names):
            info.external_attr = (form | bits) << 16

    return tweak


def test_b037_modes_are_those_of_the_archive(bundle: Path, tmp_path: Path) -> None:
    """Unpacking gives every file a mode of its own, so that a look at the disk shows nothing."""
    archive = packed(bundle, tmp_path / "x.vvpp", mode(0o777))

    finding = next(each for each in judged(archive).findings if each.rule == "mode-unsafe")

    assert "files have mode 0777" in finding.message
    assert found(packed(bundle, archive, lambda info: None)) == []


def test_b038_an_execute_bit_that_was_lost_on_the_way_is_found(
    bundle: Path, tmp_path: Path
) -> None:
    archive = packed(bundle, tmp_path / "x.vvpp", mode(0o644))
    (bundle / "vvbuild.json").unlink()
    bare = packed(bundle, tmp_path / "y.vvpp", mode(0o644))

    assert ("exec-bit-missing", "run") in found(archive)
    assert ("exec-bit-missing", "run") in found(bare)


def test_b038_an_archive_that_tells_no_modes_is_found(bundle: Path, tmp_path: Path) -> None:
    def forget(info: zipfile.ZipInfo) -> None:
        info.external_attr = 0x20  # Windows' archive bit

    (bundle / "link").unlink()
    (bundle / "vvbuild.json").unlink()
    archive = packed(bundle, tmp_path / "x.vvpp", forget)
    (finding,) = [each for each in judged(archive).findings if each.rule == "exec-bit-missing"]

    assert "tells no modes" in finding.message


@pytest.mark.parametrize("target", ["/home/runner/x/libcublas.so.11", "../../x", "../x"])
def test_b036_a_link_out_of_an_archive_is_a_finding(
    bundle: Path, tmp_path: Path, target: str
) -> None:
    """It is not unpacked, so that it cannot do harm, and judged all the same."""
    (bundle / "libcublas.so.11").symlink_to(target)
    archive = pack(bundle, tmp_path / "x.vvpp")

    assert set(found(archive)) == {
        ("link-escapes", "libcublas.so.11"), ("file-extra", "libcublas.so.11"),
    }  # fmt: skip


def test_b036_a_link_to_nothing_in_an_archive_is_a_finding(bundle: Path, tmp_path: Path) -> None:
    (bundle / "a").symlink_to("b")

    assert ("link-dangling", "a") in found(pack(bundle, tmp_path / "x.vvpp"))


def test_b041_a_packer_that_followed_links_is_found(bundle: Path, tmp_path: Path) -> None:
    (bundle / "link2").symlink_to("model/声.vvm")
    from tests.verify.conftest import describe

    describe(bundle)
    assert found(pack(bundle, tmp_path / "good.vvpp")) == []
    (bundle / "link2").unlink()
    shutil.copy(bundle / "model/声.vvm", bundle / "link2")

    assert found(pack(bundle, tmp_path / "x.vvpp")) == [("content-differs", "link2")]


def test_b053_a_name_that_is_not_marked_as_utf_8_is_found(bundle: Path, tmp_path: Path) -> None:
    archive = pack(bundle, tmp_path / "x.vvpp")
    data = bytearray(archive.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset + 1] &= ~0x08
            at = data.find(signature, at + 1)
    archive.write_bytes(data)

    assert found(archive) == [("name-encoding", "model/声.vvm")]


def test_b046_a_7z_in_a_vvpp_has_no_folder_at_the_top(bundle: Path, tmp_path: Path) -> None:
    """The editor takes both formats by their first bytes, and wants the manifest at the root."""
    (tmp_path / "deep").mkdir()
    bundle.rename(tmp_path / "deep/engine")

    assert found(pack(tmp_path / "deep", tmp_path / "x.vvpp")) == [
        ("manifest-invalid", "engine_manifest.json")
    ]
    assert found(pack(tmp_path / "deep", tmp_path / "x.zip")) == []


# Parts


def cut(archive: Path, size: int) -> list[Path]:
    """Cut a .vvpp into parts, and remove it."""
    data = archive.read_bytes()
    parts = []
    for number, at in enumerate(range(0, len(data), size), start=1):
        parts.append(archive.with_name(f"{archive.stem}.{number:03}.vvppp"))
        parts[-1].write_bytes(data[at : at + size])
    archive.unlink()
    return parts


def test_parts_are_judged_as_a_whole_whichever_is_named(bundle: Path, tmp_path: Path) -> None:
    parts = cut(pack(bundle, tmp_path / "x.vvpp"), 5000)
    listed = tmp_path / "x.vvpp.txt"
    listed.write_text("".join(f"{part.name}\n" for part in parts))

    assert len(parts) > 2
    assert found(parts[0]) == found(parts[-1]) == []


def test_b044_a_list_that_lacks_a_part_is_found(bundle: Path, tmp_path: Path) -> None:
    parts = cut(pack(bundle, tmp_path / "x.vvpp"), 5000)
    (tmp_path / "x.vvpp.txt").write_text(f"{parts[0].name}\n{parts[2].name}\n")

    (finding,) = judged(parts[0]).findings
    assert finding.rule == "list-file-wrong"
    assert parts[1].name in finding.message


def test_b044_an_empty_list_is_found(bundle: Path, tmp_path: Path) -> None:
    archive = pack(bundle, tmp_path / "x.vvpp")
    (tmp_path / "x.vvpp.txt").write_text("\n")

    assert found(archive) == [("list-file-wrong", None)]


def test_b044_two_forms_of_one_archive_are_found(bundle: Path, tmp_path: Path) -> None:
    archive = pack(bundle, tmp_path / "x.vvpp")
    (tmp_path / "x.001.vvppp").write_bytes(b"old")

    assert found(archive) == [("list-file-wrong", "x.001.vvppp")]


def test_b044_the_numbers_of_a_version_are_no_part_numbers(bundle: Path, tmp_path: Path) -> None:
    archive = pack(bundle, tmp_path / "e-1.0.vvpp")
    (tmp_path / "e-1.1.vvpp").write_bytes(b"another version")
    (tmp_path / "e-1.0.vvpp.txt").write_text("e-1.0.vvpp\n")
    assert found(archive) == []

    (tmp_path / "e-1.0.vvpp.txt").write_text("e-1.1.vvpp\n")
    assert found(archive) == [("list-file-wrong", None)]


def test_b047_a_part_that_is_missing_is_said(bundle: Path, tmp_path: Path) -> None:
    parts = cut(pack(bundle, tmp_path / "x.vvpp"), 5000)
    parts[1].unlink()

    with pytest.raises(IntegrityError, match="Part 2 of x is missing"):
        judged(parts[0])


@pytest.mark.parametrize("name", ["x.7z.002", "x.7z.004"])
def test_b047_a_lone_last_part_is_no_archive(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x" * 100)

    with pytest.raises(IntegrityError, match=r"Part 1 of x\.7z is missing"):
        judged(tmp_path / name)


def test_b047_the_last_disk_of_a_zip_is_no_archive(bundle: Path, tmp_path: Path) -> None:
    archive = pack(bundle, tmp_path / "x.zip")
    data = bytearray(archive.read_bytes())
    data[data.rfind(b"PK\x05\x06") + 4] = 49
    archive.write_bytes(data)

    with pytest.raises(HostileArchiveError, match="split into several files"):
        judged(archive)


# Tars


def tarred(bundle: Path, archive: Path, change: Callable[[tarfile.TarInfo], Any]) -> Path:
    kind: Any = "w:gz" if archive.suffix == ".gz" else "w"
    with tarfile.open(archive, kind) as out:
        out.add(bundle, "linux-cpu-x64", filter=lambda info: change(info) or info)
    return archive


@pytest.mark.parametrize("name", ["x.tar", "x.tar.gz"])
def test_a_tar_with_a_folder_at_its_top_is_judged(bundle: Path, tmp_path: Path, name: str) -> None:
    assert found(tarred(bundle, tmp_path / name, lambda info: None)) == []


def test_b037_a_tar_of_files_that_all_may_write_to_is_found(bundle: Path, tmp_path: Path) -> None:
    def open_up(info: tarfile.TarInfo) -> None:
        if info.isreg():
            info.mode = 0o777

    assert "mode-unsafe" in dict(found(tarred(bundle, tmp_path / "x.tar.gz", open_up)))


def test_a_tar_that_is_cut_off_is_refused(bundle: Path, tmp_path: Path) -> None:
    archive = tarred(bundle, tmp_path / "x.tar", lambda info: None)
    archive.write_bytes(archive.read_bytes()[:5000])

    with pytest.raises(HostileArchiveError):
        judged(archive)


# 7-Zip


@pytest.mark.network
@pytest.mark.parametrize("volume", [[], ["-v6k"]])
def test_a_7z_is_judged_with_its_modes_and_links(
    bundle: Path,
    tmp_path: Path,
    seven_zip: Path,  # noqa: F811
    volume: list[str],
) -> None:
    (tmp_path / "top").mkdir()
    bundle.rename(tmp_path / "top/linux-cpu-x64")
    inside = tmp_path / "top/linux-cpu-x64"

    def judge_7z(name: str) -> Verdict:
        archive = tmp_path / f"{name}.7z"
        command = [seven_zip, "a", "-snl", *volume, archive, "linux-cpu-x64"]
        subprocess.run(command, cwd=tmp_path / "top", check=True, capture_output=True)
        first = archive.with_name(f"{archive.name}.001") if volume else archive
        return verify_path(first, Question(TODAY), cancel=Cancel(), seven_zip=lambda: seven_zip)

    assert judge_7z("good").findings == ()
    (inside / "link2").symlink_to("/etc/passwd")
    (inside / "run").chmod(0o4777)

    assert {(each.rule, each.path) for each in judge_7z("bad").findings} == {
        ("link-escapes", "link2"), ("file-extra", "link2"), ("mode-unsafe", "run"),
    }  # fmt: skip


@pytest.mark.network
def test_a_tar_in_zstandard_is_judged(
    bundle: Path,
    tmp_path: Path,
    seven_zip: Path,  # noqa: F811
) -> None:
    plain = tarred(bundle, tmp_path / "x.tar", lambda info: None)
    archive = tmp_path / "y.tar.zst"
    archive.write_bytes(zst(plain.read_bytes()))

    verdict = verify_path(archive, Question(TODAY), cancel=Cancel(), seven_zip=lambda: seven_zip)
    assert verdict.findings == ()
    assert verdict.files > 8


def test_a_7z_without_7_zip_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(26))

    with pytest.raises(HostToolMissingError):
        judged(tmp_path / "x.7z")
    with pytest.raises(HostToolMissingError):
        list_members(tmp_path / "x.7z", seven_zip=None, cancel=Cancel())


# What is left, and what it is called after


def test_nothing_is_left_of_an_archive(bundle: Path, tmp_path: Path) -> None:
    archive = pack(bundle, tmp_path / "x.vvpp")
    (tmp_path / "scratch").mkdir()

    with opened(
        archive, cancel=Cancel(), seven_zip=no_seven_zip, scratch=tmp_path / "scratch"
    ) as there:
        assert (there.directory / "run").is_file()
        assert not (there.directory / "link").exists()
        assert there.members is not None
        assert there.members["link"].link == "model"
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("voicevox_engine-windows-nvidia-0.25.2.7z.001", "win-x64-cuda"),
        ("voicevox_engine-linux-cpu-x64-0.25.2.vvpp", "linux-x64-cpu"),
        ("voicevox_engine-linux-cpu-arm64-0.25.2.001.vvppp", "linux-arm64-cpu"),
        ("x-macos-arm64-1.0.vvpp", "macos-arm64-cpu"),
        ("vvbuild_sample-linux-x64-cpu-0.1.0.vvpp", "linux-x64-cpu"),
        ("engine.vvpp", None),
        ("xmacos-x64x.vvpp", None),
    ],
)
def test_an_archive_is_called_after_its_target(name: str, target: str | None) -> None:
    assert target_in(name) == (Target.parse(target) if target else None)


def test_b055_a_bundle_of_nobody_is_for_what_its_archive_is_called(
    bundle: Path, tmp_path: Path
) -> None:
    (bundle / "vvbuild.json").unlink()
    archive = pack(bundle, tmp_path / "engine-linux-cpu-arm64-1.0.0.vvpp")

    verdict = judged(archive)
    assert verdict.target == Target.parse("linux-arm64-cpu")
    pairs = [(each.rule, each.path) for each in verdict.findings]
    assert ("wrong-arch", "libonnxruntime.so") in pairs
    assert judged(archive, LINUX).target == LINUX


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is nothing"):
        judged(tmp_path / "nowhere.vvpp")
