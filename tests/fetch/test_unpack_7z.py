"""What only a 7z can say, and what only the program that reads it can do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.bundle.archive.conftest import seven_zip  # noqa: F401 - a fixture
from tests.fetch.archives import FOLDER, Sevened, Tarred, seven_bytes, tar_bytes
from vvbuild.binary.archives.limits import UnpackLimits as Limits
from vvbuild.errors import CancelledError, HostileArchiveError, HostToolMissingError
from vvbuild.fetch.unpack import UnpackLimits, unpack
from vvbuild.runtime.cancel import Cancel

pytestmark = pytest.mark.network


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def packed(tmp_path, seven_zip):  # noqa: F811 - pytest's way of asking for a fixture
    """Pack a directory with the real program and some switches."""

    def packed(name, *switches, **members):
        source = tmp_path / f"source of {name}"
        source.mkdir()
        for member, data in members.items():
            (source / member).write_bytes(data)
        subprocess.run(
            [seven_zip, "a", *switches, tmp_path / name, "."], cwd=source, check=True,
            capture_output=True,
        )  # fmt: skip
        return tmp_path / name

    return packed


@pytest.fixture
def put(tmp_path):
    def put(data):
        (tmp_path / "a.7z").write_bytes(data)
        return tmp_path / "a.7z"

    return put


def read(out):
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    "switches",
    [("-m0=lzma2",), ("-m0=lzma",), ("-m0=ppmd",), ("-m0=bzip2",), ("-m0=copy",), ("-ms=off",),
     ("-mhc=off",), ("-m0=bcj", "-m1=lzma2"), ("-mx=9",)],
    ids=" ".join,
)  # fmt: skip
def test_what_the_program_packs_comes_out_as_it_went_in(packed, out, seven_zip, switches):  # noqa: F811
    members = {"音声": "四国".encode() * 9999, "zero": b"", "z": bytes(range(256)) * 99}
    assert unpack(packed("x.7z", *switches, **members), out, seven_zip=seven_zip) == 3
    assert read(out) == members


def test_volumes_are_read_from_their_first(packed, out, seven_zip):  # noqa: F811
    data = bytes(range(256)) * 2000
    packed("x.7z", "-v100k", "-mx=0", a=data, b=data[::-1])
    first = out.parent / "x.7z.001"
    assert unpack(first, out, seven_zip=seven_zip) == 2
    assert read(out) == {"a": data, "b": data[::-1]}


def test_a_missing_volume_is_a_damage(packed, out, seven_zip):  # noqa: F811
    packed("x.7z", "-v100k", "-mx=0", a=bytes(500_000))
    (out.parent / "x.7z.003").unlink()
    with pytest.raises(HostileArchiveError):
        unpack(out.parent / "x.7z.001", out, seven_zip=seven_zip)
    assert not out.exists()


@pytest.mark.parametrize("switch", ["-mhe=off", "-mhe=on"], ids=["contents", "names too"])
def test_an_encrypted_archive_is_refused(packed, out, seven_zip, switch):  # noqa: F811
    archive = packed("x.7z", "-psecret", switch, a=b"x")
    with pytest.raises(HostileArchiveError, match="encrypted"):
        unpack(archive, out, seven_zip=seven_zip)
    assert not out.exists()


def test_without_a_program_there_is_a_typed_error(put, out):
    with pytest.raises(HostToolMissingError, match="7z archive") as caught:
        unpack(put(seven_bytes(Sevened("a", b"x"))), out)
    assert "7zz x" in caught.value.hint
    assert not out.exists()


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (Sevened("a", b"x", crc=1), "checksum differs|damaged"),
        (Sevened("a", b"x", attributes=0x420), "link of Windows"),
        (Sevened("d", b"x", mode=FOLDER | 0o755), "directory with contents"),
        (Sevened("a", anti=True), "shall be deleted"),
        (Sevened("a\ud800".encode("utf-16-le", "surrogatepass"), b"x"), "Unicode|system|damaged"),
    ],
    ids=["a wrong checksum", "a junction", "a folder with contents", "a deletion",
         "half a character"],
)  # fmt: skip
def test_what_a_member_may_say_is_judged(put, out, seven_zip, member, words):  # noqa: F811
    archive = put(seven_bytes(member))
    with pytest.raises(HostileArchiveError, match=words):
        unpack(archive, out, seven_zip=seven_zip)
    assert not out.exists()


def test_a_line_break_in_a_name_adds_nothing_to_the_listing(put, out, seven_zip):  # noqa: F811
    name = "a\nSize = 0\n\nPath = ../evil\nSize = 1\nCRC = 00000000\nAttributes = A"
    with pytest.raises(HostileArchiveError, match="not every system"):
        unpack(put(seven_bytes(Sevened(name, b"x"))), out, seven_zip=seven_zip)
    assert unpack(put(seven_bytes(Sevened("a\nb", b"x"))), out, seven_zip=seven_zip) == 1
    assert read(out) == {"a_b": b"x"}


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_an_archive_that_ends_early_is_refused(put, out, seven_zip, cut):  # noqa: F811
    with pytest.raises(HostileArchiveError):
        unpack(put(seven_bytes(Sevened("a", b"x" * 99), cut=cut)), out, seven_zip=seven_zip)


def test_a_dictionary_that_takes_all_memory_is_refused(put, out, seven_zip):  # noqa: F811
    """LZMA with a dictionary of 4 GiB: refused by the listing, before anything is unpacked."""
    lzma = b"\x23\x03\x01\x01\x05\x5d\xff\xff\xff\xff"
    with pytest.raises(HostileArchiveError, match="too much memory"):
        unpack(put(seven_bytes(Sevened("a", b"x"), coder=lzma)), out, seven_zip=seven_zip)


def test_a_bomb_is_refused_by_its_ratio_before_it_goes_off(packed, out, seven_zip, monkeypatch):  # noqa: F811
    monkeypatch.setattr("vvbuild.binary.archives.limits._HARMLESS", 1 << 20)
    archive = packed("x.7z", bomb=bytes(4 << 20))
    with pytest.raises(HostileArchiveError, match="from each packed byte"):
        unpack(archive, out, seven_zip=seven_zip)
    assert unpack(archive, out, seven_zip=seven_zip, limits=UnpackLimits(ratio=1e6)) == 1


def test_cancelling_ends_the_program(packed, out, seven_zip):  # noqa: F811
    archive = packed("x.7z", "-mx=0", a=bytes(20 << 20))
    cancel = Cancel()
    checks = iter(range(100))

    def only(name):
        next(checks)
        cancel.set()
        return True

    with pytest.raises(CancelledError):
        unpack(archive, out, seven_zip=seven_zip, only=only, cancel=cancel)
    assert not out.exists()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard itself")
def test_a_tar_in_zstandard_is_read_with_the_program(out, tmp_path, seven_zip):  # noqa: F811
    archive = tmp_path / "a.tar.zst"
    archive.write_bytes(zst(tar_bytes(Tarred("d/a", b"x" * 9999), packed=False)))
    assert unpack(archive, out, seven_zip=seven_zip, limits=Limits(bytes=1 << 20)) == 1
    assert (out / "d/a").read_bytes() == b"x" * 9999


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard itself")
def test_a_damaged_tar_in_zstandard_is_refused(out, tmp_path, seven_zip):  # noqa: F811
    archive = tmp_path / "a.tar.zst"
    archive.write_bytes(zst(tar_bytes(Tarred("d/a", b"x" * 9999), packed=False))[:-900])
    with pytest.raises(HostileArchiveError):
        unpack(archive, out, seven_zip=seven_zip)
    assert not out.exists()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard itself")
def test_zstandard_without_a_program_is_a_typed_error(out, tmp_path):
    archive = tmp_path / "a.tar.zst"
    archive.write_bytes(zst(b"x"))
    with pytest.raises(HostToolMissingError, match="Zstandard"):
        unpack(archive, out)


def zst(data: bytes) -> bytes:
    """A frame of raw blocks (RFC 8878): enough to be Zstandard, though nothing is packed."""
    frame = b"\x28\xb5\x2f\xfd\xa0" + len(data).to_bytes(4, "little")
    blocks = [data[at : at + 60_000] for at in range(0, len(data), 60_000)]
    for index, block in enumerate(blocks):
        last = index == len(blocks) - 1
        frame += (len(block) << 3 | last).to_bytes(3, "little") + block
    return frame
