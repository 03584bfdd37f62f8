from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.workshop import write_sdist
from vvbuild.bootloader import source as bootloader_source
from vvbuild.bootloader.source import unpack_bootloader_source
from vvbuild.errors import BootloaderError, HostileArchiveError, VvbuildError
from vvbuild.runtime.cancel import Cancel

_ROOT = "pyinstaller-6.22.3"
_GOOD: dict[str, bytes | tarfile.TarInfo] = {
    f"{_ROOT}/PKG-INFO": b"Name: pyinstaller",
    f"{_ROOT}/bootloader/waf": b"#!/usr/bin/env python",
    f"{_ROOT}/bootloader/src/main.c": b"int main;",
    f"{_ROOT}/PyInstaller/_shared_with_waf.py": b"shared",
    f"{_ROOT}/PyInstaller/__init__.py": b"not needed",
}


def _unpack(tmp_path: Path, members: dict[str, bytes | tarfile.TarInfo]) -> str:
    archive = write_sdist(tmp_path / "pyinstaller.tar.gz", members)
    return unpack_bootloader_source(archive, tmp_path / "out", Cancel())


def _outside(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir() if path.name != "out")


def test_only_what_the_build_reads_is_unpacked(tmp_path: Path) -> None:
    assert _unpack(tmp_path, dict(_GOOD)) == "6.22.3"
    found = {p.relative_to(tmp_path / "out").as_posix() for p in tmp_path.rglob("out/**/*")}
    assert {name for name in found if (tmp_path / "out" / name).is_file()} == {
        "bootloader/waf",
        "bootloader/src/main.c",
        "PyInstaller/_shared_with_waf.py",
    }


def test_unpacked_files_have_plain_modes(tmp_path: Path) -> None:
    member = tarfile.TarInfo(f"{_ROOT}/bootloader/build.sh")
    member.mode = 0o6777
    _unpack(tmp_path, _GOOD | {member.name: member})
    assert (tmp_path / "out" / "bootloader" / "build.sh").stat().st_mode & 0o7777 == 0o644


def _special(kind: bytes, name: str, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.linkname = target
    return member


@pytest.mark.parametrize(
    "member",
    [
        tarfile.TarInfo(f"{_ROOT}/bootloader/../../evil.c"),
        tarfile.TarInfo("/tmp/evil.c"),
        tarfile.TarInfo("../evil.c"),
        tarfile.TarInfo(f"{_ROOT}/docs/../../../evil.c"),
        tarfile.TarInfo(f"{_ROOT}/bootloader/src\\..\\..\\evil.c"),
        tarfile.TarInfo("C:/evil.c"),
        tarfile.TarInfo(f"{_ROOT}//bootloader/evil.c"),
        _special(tarfile.SYMTYPE, f"{_ROOT}/bootloader/src/link.c", "/etc/passwd"),
        _special(tarfile.LNKTYPE, f"{_ROOT}/bootloader/src/hard.c", f"{_ROOT}/PKG-INFO"),
        _special(tarfile.FIFOTYPE, f"{_ROOT}/bootloader/pipe"),
        _special(tarfile.CHRTYPE, f"{_ROOT}/bootloader/device"),
        tarfile.TarInfo(f"{_ROOT}/bootloader/WAF"),
        tarfile.TarInfo(f"{_ROOT}/bootloader/waf/inside_a_file"),
        tarfile.TarInfo(f"{_ROOT}/bootloader/src"),
    ],
    ids=lambda member: member.name,
)
def test_a_hostile_member_refuses_the_archive_and_writes_nothing_outside(
    tmp_path: Path, member: tarfile.TarInfo
) -> None:
    with pytest.raises(HostileArchiveError) as caught:
        _unpack(tmp_path, _GOOD | {"the evil one": member})
    assert repr(member.name) == caught.value.context["member"]
    assert _outside(tmp_path) == ["pyinstaller.tar.gz"]


def test_a_link_that_the_build_does_not_read_is_passed_over(tmp_path: Path) -> None:
    """PyInstaller's own archives have some, among its tests."""
    link = _special(tarfile.SYMTYPE, f"{_ROOT}/tests/icon.png", "../icon.png")
    assert _unpack(tmp_path, _GOOD | {link.name: link}) == "6.22.3"


def test_an_archive_that_claims_too_much_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootloader_source, "_MOST_BYTES", 1000)
    with pytest.raises(HostileArchiveError, match="far larger"):
        _unpack(tmp_path, _GOOD | {f"{_ROOT}/bootloader/big": bytes(2000)})
    assert not (tmp_path / "out" / "bootloader" / "big").exists()


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({f"{_ROOT}/PKG-INFO": b"no sources"}, BootloaderError),
        ({"numpy-2.0.2/bootloader/waf": b""}, BootloaderError),
        (_GOOD | {"pyinstaller-5.3/PKG-INFO": b""}, BootloaderError),
        ({}, BootloaderError),
    ],
)
def test_another_archive_is_called_what_it_is(
    tmp_path: Path, members: dict[str, bytes | tarfile.TarInfo], problem: type[VvbuildError]
) -> None:
    with pytest.raises(problem, match="not a source archive of PyInstaller"):
        _unpack(tmp_path, members)


@pytest.mark.parametrize("keep", [0, 10, 100])
def test_an_archive_that_was_cut_off_is_refused(tmp_path: Path, keep: int) -> None:
    archive = write_sdist(tmp_path / "pyinstaller.tar.gz", _GOOD)
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(HostileArchiveError, match=r"not a whole \.tar\.gz"):
        unpack_bootloader_source(archive, tmp_path / "out", Cancel())
