"""What unpacking promises: the same tree everywhere, and nothing outside of it."""

from __future__ import annotations

import os
import stat
import sys
import unicodedata
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fetch.archives import FILE, LINK, Tarred, Zipped, tar_bytes, zip_bytes
from vvbuild.errors import (
    CancelledError,
    DiskFullError,
    HostileArchiveError,
    HostToolMissingError,
    OutputNotOursError,
)
from vvbuild.fetch.store import FIXED_TIME
from vvbuild.fetch.unpack import UnpackLimits, unpack
from vvbuild.runtime.cancel import Cancel

ANY_TREE = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def as_zip(*names_and_data):
    return zip_bytes(*(Zipped(name, data) for name, data in names_and_data))


def as_tgz(*names_and_data):
    return tar_bytes(*(Tarred(name, data) for name, data in names_and_data))


def as_tar(*names_and_data):
    return tar_bytes(*(Tarred(name, data) for name, data in names_and_data), packed=False)


BOTH = pytest.mark.parametrize("make", [as_zip, as_tgz, as_tar], ids=["zip", "tgz", "tar"])


@pytest.fixture
def put(tmp_path):
    """Write an archive and tell where it is."""

    def put(data, name="archive.bin"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return put


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def tree(root):
    """Everything below: contents, or where a link leads, or None for a directory."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


# What is written


@BOTH
def test_files_are_unpacked_with_their_directories(put, out, make):
    large = os.urandom(5 << 20)
    archive = put(make(("a.txt", b"a"), ("d/e/b.bin", large), ("d/empty", b"")))
    assert unpack(archive, out) == 3
    assert tree(out) == {
        "a.txt": b"a", "d": None, "d/e": None, "d/e/b.bin": large, "d/empty": b""
    }  # fmt: skip


@pytest.mark.parametrize("make", [as_zip, as_tgz], ids=["zip", "tgz"])
def test_an_empty_archive_makes_an_empty_directory(put, out, make):
    assert unpack(put(make()), out) == 0
    assert tree(out) == {}


def test_stored_and_streamed_members_are_read(put, out):
    large = os.urandom(5 << 20)
    archive = put(
        zip_bytes(
            Zipped("stored", b"abc", method=0),
            Zipped("large", large, method=0),
            Zipped("streamed", b"text" * 999, trailer=True),
        )
    )
    unpack(archive, out)
    assert tree(out) == {"stored": b"abc", "large": large, "streamed": b"text" * 999}


def test_a_zip_of_the_standard_library_is_read_with_64_bit_sizes_and_a_comment(tmp_path, out):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("streamed/ü.txt", "w", force_zip64=True) as stream:
            stream.write(b"text" * 999)
        archive.writestr("dir/", b"")
        archive.writestr("plain.txt", b"plain")
        archive.comment = b"PK\x05\x06 is no end"
    unpack(path, out)
    assert tree(out) == {
        "dir": None, "plain.txt": b"plain", "streamed": None, "streamed/ü.txt": b"text" * 999
    }  # fmt: skip


def test_64_bit_end_records_are_read(put, out):
    assert unpack(put(zip_bytes(Zipped("a", b"x"), Zipped("b", b"y"), wide={})), out) == 2


@pytest.mark.parametrize(
    ("wide", "end"),
    [
        ({"count": 2, "here": 2}, {}),
        ({"here": 2}, {}),
        ({"length": 1}, {}),
        ({"offset": 1}, {}),
        ({"at": 1}, {}),
        ({"at": 1 << 60}, {}),
        ({"disk": 1}, {}),
        ({"disks": 2}, {}),
        ({}, {"count": 2, "here": 2}),
        ({}, {"length": 3}),
        ({}, {"offset": 3}),
    ],
)
def test_wrong_64_bit_end_records_are_refused(put, out, wide, end):
    with pytest.raises(HostileArchiveError):
        unpack(put(zip_bytes(Zipped("a", b"x"), wide=wide, **end)), out)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no execute bits")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_modes_are_755_or_644_whatever_the_umask_and_the_archive_say(put, out, mask, kind):
    modes = {"a": 0o600, "d/b": 0o4755, "c": 0o001, "e": 0o000, "f": 0o666}
    if kind == "zip":
        data = zip_bytes(*(Zipped(name, b"x", mode=FILE | mode) for name, mode in modes.items()))
    else:
        data = tar_bytes(*(Tarred(name, b"x", mode=mode) for name, mode in modes.items()))
    old = os.umask(mask)
    try:
        unpack(put(data), out, executables={"e", "not there"})
    finally:
        os.umask(old)
    found = {name: stat.S_IMODE((out / name).stat().st_mode) for name in (*modes, "d", ".")}
    assert found == {
        "a": 0o644, "d/b": 0o755, "c": 0o755, "e": 0o755, "f": 0o644, "d": 0o755, ".": 0o755
    }  # fmt: skip


@pytest.mark.parametrize("mtime", [FIXED_TIME, 1_700_000_000])
@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_everything_has_one_time(put, out, mtime, kind):
    if kind == "zip":
        data = zip_bytes(Zipped("d/a", b"x"), Zipped("l", b"d/a", mode=LINK | 0o777))
    else:
        data = tar_bytes(Tarred("d/a", b"x"), Tarred("l", kind=b"2", link="d/a"))
    unpack(put(data), out, mtime=mtime)
    assert {path.lstat().st_mtime for path in [out, *out.rglob("*")]} == {mtime}


@BOTH
def test_the_one_folder_at_the_top_can_be_left_out(put, out, make):
    archive = put(make(("top/a", b"a"), ("top/d/b", b"b")))
    assert unpack(archive, out, strip=True, executables={"d/b"}) == 2
    assert tree(out) == {"a": b"a", "d": None, "d/b": b"b"}
    if sys.platform != "win32":
        assert (out / "d/b").stat().st_mode & 0o111


@BOTH
def test_members_can_be_chosen_by_the_name_that_is_left(put, out, make):
    archive = put(make(("top/a", b"a"), ("top/d/b", b"b"), ("top/d/c", b"c")))
    assert unpack(archive, out, strip=True, only=lambda name: name.startswith("d/")) == 2
    assert tree(out) == {"d": None, "d/b": b"b", "d/c": b"c"}


def test_directories_are_chosen_by_their_name_with_a_slash(put, out):
    archive = put(zip_bytes(Zipped("a/"), Zipped("b/"), Zipped("b/c", b"c")))
    asked = []
    unpack(archive, out, only=lambda name: asked.append(name) or name.startswith("a"))
    assert asked == ["a/", "b/", "b/c"]
    assert tree(out) == {"a": None}


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_links_that_stay_inside_are_kept_as_links(put, out, kind):
    links = {"lib.so": "lib.so.1", "a/b/up": "../../lib.so", "a/here": "./b", "later": "a/b/up"}
    if kind == "zip":
        members = [Zipped(name, to.encode(), mode=LINK | 0o777) for name, to in links.items()]
        data = zip_bytes(*members, Zipped("lib.so.1", b"x"))
    else:
        members = [Tarred(name, kind=b"2", link=to) for name, to in links.items()]
        data = tar_bytes(*members, Tarred("lib.so.1", b"x"))
    assert unpack(put(data), out) == 5
    # Path.readlink would tidy what it reads.
    assert {name: os.readlink(out / name) for name in links} == links  # noqa: PTH115


def test_a_hard_link_to_an_earlier_file_is_that_file(put, out):
    archive = put(tar_bytes(Tarred("./a", b"x", mode=0o755), Tarred("d/b", kind=b"1", link="./a")))
    assert unpack(archive, out) == 2
    assert (out / "d/b").read_bytes() == b"x"
    assert os.access(out / "d/b", os.X_OK)


def test_dots_and_double_slashes_in_names_mean_nothing(put, out):
    archive = put(tar_bytes(Tarred("./", kind=b"5"), Tarred("./a//./b", b"x")))
    unpack(archive, out)
    assert tree(out) == {"a": None, "a/b": b"x"}


def test_pax_and_gnu_names_are_read(put, out):
    import tarfile

    long = "d" * 120 + "/" + "あ" * 60
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        archive = put(tar_bytes(Tarred(long, b"x"), format=form))
        unpack(archive, out / str(form))
        assert (out / str(form) / long).read_bytes() == b"x"


def test_decomposed_names_are_kept_as_they_are(put, out):
    name = unicodedata.normalize("NFD", "ずんだもん.png")
    unpack(put(as_zip((name, b"x"))), out)
    assert os.listdir(out) == [name]


def test_names_in_utf8_need_no_flag_and_others_are_not_guessed(put, out):
    unpack(put(zip_bytes(Zipped("四国.txt", b"x", flags=0))), out)
    assert list(tree(out)) == ["四国.txt"]
    with pytest.raises(HostileArchiveError, match="unknown encoding"):
        unpack(put(zip_bytes(Zipped("四国.txt".encode("cp932"), flags=0))), out / "2")


# What is refused: names


@BOTH
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/etc/passwd", "absolute"),
        ("//server/share", "absolute"),
        ("../evil", "climbs out"),
        ("a/../../evil", "climbs out"),
        ("a/..", "climbs out"),
        ("..", "climbs out"),
        ("a\\..\\evil", "backslash"),
        ("a\\b", "backslash"),
        ("C:evil", "absolute"),
        ("C:/evil", "absolute"),
        ("a/file:stream", "not every system"),
        ("con", "not every system"),
        ("a/NUL.txt", "not every system"),
        ("COM1.tar.gz", "not every system"),
        ("a/b.", "not every system"),
        ("a /b", "not every system"),
        ("a?b", "not every system"),
        ("a|b", "not every system"),
        ("a\nb", "control character"),
        ("a\x1b[31mb", "control character"),
        ("a/" + "x" * 256, "not every system"),
        ("d/" * 65 + "x", "too deeply"),
    ],
)
def test_a_name_that_must_not_be_is_refused(put, out, make, name, words):
    archive = put(make(("good", b"x"), (name, b"x")))
    with pytest.raises(HostileArchiveError, match=words) as caught:
        unpack(archive, out)
    assert repr(name) in caught.value.message
    assert not out.exists()


@BOTH
@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("a", "A", "same name"),
        ("Dir/a", "dir/b", "same name"),
        ("straße", "STRASSE", "same name"),
        ("が", unicodedata.normalize("NFD", "が"), "same name"),
        ("İ", unicodedata.normalize("NFD", "i̇"), "same name"),
        ("a", "a", "twice"),
        ("./a", "a", "twice"),
        ("a", "a/b", "both a file and a directory"),
        ("a/b", "a", "twice"),
        ("a", "A/b", "same name"),
    ],
)
def test_two_names_that_one_system_takes_for_one_are_refused(put, out, make, first, second, words):
    with pytest.raises(HostileArchiveError, match=words):
        unpack(put(make((first, b"x"), (second, b"y"))), out)
    assert not out.exists()


@BOTH
def test_what_is_not_unpacked_need_not_be_portable_but_may_not_escape(put, out, make):
    archive = put(make(("a", b"x"), ("A", b"y"), ("aux.h", b"z")))
    assert unpack(archive, out, only=lambda name: name == "a") == 1
    with pytest.raises(HostileArchiveError, match="climbs out"):
        unpack(put(make(("a", b"x"), ("../b", b"y"))), out / "2", only=lambda name: name == "a")


@BOTH
def test_dropping_directories_does_not_make_a_name_climb(put, out, make):
    with pytest.raises(HostileArchiveError, match="climbs out"):
        unpack(put(make(("a/../../b", b"x"))), out, strip=True)


NAME_PARTS = st.one_of(
    st.sampled_from(["..", ".", "", "a", "A", "b", "C:", "nul", "\\", "あ", "x."]),
    st.text(st.characters(blacklist_categories=("Cs",)), max_size=4),
)


@ANY_TREE
@given(
    names=st.lists(st.lists(NAME_PARTS, min_size=1, max_size=4).map("/".join), max_size=4),
    kind=st.sampled_from([as_zip, as_tgz]),
)
def test_no_names_ever_lead_outside(put, tmp_path, names, kind):
    """Whatever the names: all is below, or all is refused and nothing is there."""
    out = tmp_path / "below" / "out"
    try:
        archive = put(kind(*((name, b"x") for name in names)))
    except ValueError:
        return  # The writer of tars refuses a few itself.
    try:
        count = unpack(archive, out)
    except HostileArchiveError:
        assert not out.exists()
    else:
        files = [path for path in out.rglob("*") if not path.is_dir()]
        assert len(files) == count
        for path in out.rglob("*"):
            path.name.encode()
            assert path.name not in ("..", ".")
        import shutil

        shutil.rmtree(out)
    assert sorted(os.listdir(tmp_path)) in (["archive.bin"], ["archive.bin", "below"])
    assert not (tmp_path / "below").exists() or os.listdir(tmp_path / "below") == []


# What is refused: links and special files


@pytest.mark.parametrize("kind", ["zip", "tgz"])
@pytest.mark.parametrize(
    "target",
    [
        "/etc/passwd", "../x", "../../x", "a/../../x", "b/..", "", "C:\\x", "C:x", "\\\\server\\x",
        "a\\b", "x" * 2000, "a\nb",
    ],
)  # fmt: skip
def test_a_link_that_may_lead_outside_is_refused(put, out, kind, target):
    if kind == "zip":
        data = zip_bytes(Zipped("link", target.encode(), mode=LINK | 0o777))
    else:
        data = tar_bytes(Tarred("link", kind=b"2", link=target))
    with pytest.raises(HostileArchiveError, match="link"):
        unpack(put(data), out)
    assert not out.exists()


def test_links_through_links_cannot_climb(put, out):
    """`deep/up` leads to the top, so `deep/up/..` would be outside though it looks inside."""
    data = zip_bytes(
        Zipped("deep/er/up", b"../..", mode=LINK | 0o777),
        Zipped("evil", b"deep/er/up/../x", mode=LINK | 0o777),
    )
    with pytest.raises(HostileArchiveError, match="'evil'"):
        unpack(put(data), out)


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_nothing_is_written_through_a_link(put, out, kind):
    if kind == "zip":
        data = zip_bytes(Zipped("d", b"e", mode=LINK | 0o777), Zipped("d/x", b"x"))
    else:
        data = tar_bytes(Tarred("d", kind=b"2", link="e"), Tarred("d/x", b"x"))
    with pytest.raises(HostileArchiveError, match="both a link and a directory"):
        unpack(put(data), out)


@pytest.mark.parametrize("target", ["/etc/passwd", "../x", "later", "not there", "link", "folder"])
def test_a_hard_link_to_anything_but_an_earlier_file_is_refused(put, out, target):
    data = tar_bytes(
        Tarred("link", kind=b"2", link="folder"),
        Tarred("folder", kind=b"5"),
        Tarred("hard", kind=b"1", link=target),
        Tarred("later", b"x"),
    )
    with pytest.raises(HostileArchiveError, match="is a hard link to"):
        unpack(put(data), out)


def test_a_hard_link_to_a_file_that_was_not_chosen_is_refused(put, out):
    data = tar_bytes(Tarred("a", b"x"), Tarred("b", kind=b"1", link="a"))
    with pytest.raises(HostileArchiveError, match="no earlier file"):
        unpack(put(data), out, only=lambda name: name == "b")


@pytest.mark.parametrize("form", [0o010000, 0o020000, 0o060000, 0o140000])
def test_special_files_in_a_zip_are_refused(put, out, form):
    with pytest.raises(HostileArchiveError, match="neither a file"):
        unpack(put(zip_bytes(Zipped("dev", mode=form | 0o644))), out)


@pytest.mark.parametrize("kind", [b"3", b"4", b"6", b"S", b"V", b"z"])
def test_special_files_in_a_tar_are_refused(put, out, kind):
    with pytest.raises(HostileArchiveError):
        unpack(put(tar_bytes(Tarred("dev", kind=kind))), out)


# What is refused: sizes and structure


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (Zipped("a", b"x", local={"name": b"b"}), "two names"),
        (Zipped("a", b"x", local={"name": b"ab"}), "two names"),
        (Zipped("a", b"x", local={"size": 2}), "two sizes"),
        (Zipped("a", b"x", local={"packed": 2}), "two sizes"),
        (Zipped("a", b"x", local={"crc": 2}), "two checksums"),
        (Zipped("a", b"x", local={"method": 0}), "two ways"),
        (Zipped("a", b"x", local={"flags": 0}), "two ways"),
        (Zipped("a", b"x", trailer=True, local={"size": 2}), "two sizes"),
        (Zipped("a", b"x", trailer=True, told={"size": 2}), "two sizes"),
        (Zipped("a", b"x", trailer=True, told={"crc": 2}), "two checksums"),
        (Zipped("a", b"x", flags=1), "encrypted"),
        (Zipped("a", b"x", flags=0x2000), "encrypted"),
        (Zipped("a", b"x", flags=0x40), "encrypted"),
        (Zipped("a", b"x", method=12), "method 12"),
        (Zipped("a/", b"x"), "directory with contents"),
        (Zipped("a", b"xyz", packed=b"xy", method=0), "two sizes"),
        (Zipped("a", b"xyz", packed=b"\xff\xff"), "damaged"),
        (Zipped("a", b"x" * 9, local={"crc": 1}, central={"crc": 1}), "checksum"),
        (Zipped("a", b"x", local={"size": 2}, central={"size": 2}), "larger or smaller"),
        (Zipped("a", b"xx", local={"size": 1}, central={"size": 1}), "larger or smaller"),
        (Zipped("a", b"x", central={"size": 0xFFFFFFFF}), "64-bit"),
        (Zipped("a", b"x", central={"offset": 3}), "no header|overlap"),
        (Zipped("a", b"x", central={"packed": 99}), "overlap"),
        (Zipped(b"\xff", b"x"), "not the UTF-8"),
    ],
)
def test_a_zip_that_says_two_things_is_refused(put, out, member, words):
    with pytest.raises(HostileArchiveError, match=words):
        unpack(put(zip_bytes(member)), out)
    assert not out.exists()


LARGE = 5 << 20


@pytest.mark.parametrize("size", [LARGE - 1, LARGE + 1, 1, 1 << 30])
def test_a_large_member_of_another_size_is_refused(put, out, size):
    wrong = {"size": size}
    packed = os.urandom(LARGE)
    members = (
        Zipped("deflated", packed, local=wrong, central=wrong),
        Zipped("stored", packed, method=0, local=wrong, central=wrong),
    )
    for member in members:
        with pytest.raises(HostileArchiveError, match=r"larger|smaller|two sizes"):
            unpack(put(zip_bytes(member)), out)


def test_a_large_damaged_member_is_refused(put, out):
    data = bytearray(zip_bytes(Zipped("a", os.urandom(LARGE))))
    data[LARGE // 2] ^= 1
    with pytest.raises(HostileArchiveError, match=r"damaged|larger|smaller"):
        unpack(put(bytes(data)), out)


def test_rubbish_behind_packed_bytes_is_refused(put, out):
    from tests.fetch.archives import deflate

    for data in (b"x", os.urandom(LARGE)):
        member = Zipped("a", data, packed=deflate(data) + b"rubbish")
        with pytest.raises(HostileArchiveError, match="larger"):
            unpack(put(zip_bytes(member)), out)


def test_members_that_share_bytes_are_refused(put, out):
    """How a few kilobytes become petabytes: many names for one packed stream."""
    shared = zip_bytes(Zipped("a", b"x" * 999), Zipped("b", b"x" * 999, central={"offset": 0}))
    with pytest.raises(HostileArchiveError, match="overlaps"):
        unpack(put(shared), out)


def test_a_member_that_is_pushed_into_the_next_is_refused(put, out):
    """Its own header claims four bytes more before its contents, which nobody else sees."""
    data = bytearray(zip_bytes(Zipped("a", b"xxxx", method=0), Zipped("b", b"y")))
    data[28] = 4
    with pytest.raises(HostileArchiveError, match="overlaps"):
        unpack(put(bytes(data)), out)


def test_a_member_inside_another_is_refused(put, out):
    inner = zip_bytes(Zipped("b", b"y" * 99))
    quoted = Zipped("a", inner, method=0)
    header = 30 + len("a")
    outer = zip_bytes(quoted, Zipped("b", b"y" * 99, central={"offset": header}))
    with pytest.raises(HostileArchiveError, match="overlaps"):
        unpack(put(outer), out)


@pytest.mark.parametrize(
    "end",
    [
        {"disk": 1}, {"first": 1}, {"here": 2}, {"count": 2, "here": 2}, {"count": 0, "here": 0},
        {"length": 1}, {"length": 1 << 30}, {"offset": 0}, {"offset": 1 << 31}, {"note": 1},
        {"offset": 0xFFFFFFFF},
    ],
)  # fmt: skip
def test_a_wrong_end_record_is_refused(put, out, end):
    with pytest.raises(HostileArchiveError):
        unpack(put(zip_bytes(Zipped("a", b"x"), **end)), out)


def test_bytes_before_or_behind_a_zip_are_refused(put, out):
    good = zip_bytes(Zipped("a", b"x"))
    for data in (b"PK\x03\x04junk" + good, good + b"junk", good + good):
        with pytest.raises(HostileArchiveError):
            unpack(put(data), out)


def test_two_end_records_are_refused(put, out):
    first = zip_bytes(Zipped("a", b"x"))
    with pytest.raises(HostileArchiveError, match="more than one end record"):
        unpack(put(zip_bytes(Zipped("b", b"y"), comment=first[-22:])), out)


def test_what_is_no_archive_is_refused(put, out):
    for data in (b"", b"MZ", b"<html>", b"\x1f\x8bnothing", b"\0" * 1024):
        with pytest.raises(HostileArchiveError):
            unpack(put(data), out)
        assert not out.exists()


def test_a_tar_that_ends_early_is_refused(put, out):
    plain = tar_bytes(Tarred("a", os.urandom(5000)), Tarred("b", b"y"), packed=False)
    packed = tar_bytes(Tarred("a", os.urandom(5000)))
    # 512 + 5120 is where `a` is over and `b` should begin: no size is contradicted there.
    for data in (plain[:300], plain[:3000], plain[:5632], packed[:-1], packed[:-8], packed[:2000]):
        with pytest.raises(HostileArchiveError):
            unpack(put(data), out)


def test_a_damaged_header_in_the_middle_of_a_tar_is_refused(put, out):
    data = bytearray(tar_bytes(Tarred("a", b"x"), Tarred("b", b"y"), packed=False))
    data[1024 + 148] ^= 0x55
    with pytest.raises(HostileArchiveError, match="damaged"):
        unpack(put(bytes(data)), out)


def test_a_tar_header_of_a_huge_name_is_refused(put, out):
    import tarfile

    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 32
    with pytest.raises(HostileArchiveError, match="absurd"):
        unpack(put(info.tobuf(tarfile.GNU_FORMAT) + bytes(4096)), out)


def test_a_tar_with_endless_headers_is_refused(put, out):
    import tarfile

    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    with pytest.raises(HostileArchiveError):
        unpack(put(info.tobuf(tarfile.USTAR_FORMAT) * 5000), out)


@BOTH
def test_too_many_members_are_refused(put, out, make):
    archive = put(make(*((str(index), b"") for index in range(11))))
    assert unpack(archive, out, limits=UnpackLimits(files=11)) == 11
    with pytest.raises(HostileArchiveError, match="more than 10 members"):
        unpack(archive, out.with_name("other"), limits=UnpackLimits(files=10))


@BOTH
def test_too_many_bytes_are_refused(put, out, make):
    archive = put(make(("a", b"x" * 600), ("b", b"y" * 600)))
    assert unpack(archive, out, limits=UnpackLimits(bytes=1200)) == 2
    with pytest.raises(HostileArchiveError, match="more than 1199 bytes"):
        unpack(archive, out / "2", limits=UnpackLimits(bytes=1199))
    assert not (out / "2").exists()


@pytest.fixture
def small_bombs(monkeypatch):
    """Make a ratio suspicious from a mebibyte on."""
    monkeypatch.setattr("vvbuild.binary.archives.limits._HARMLESS", 1 << 20)


@pytest.mark.parametrize("make", [as_zip, as_tgz], ids=["zip", "tgz"])
def test_a_bomb_is_refused_by_its_ratio(put, out, make, small_bombs):
    archive = put(make(("bomb", bytes(2 << 20))))
    with pytest.raises(HostileArchiveError, match="from each packed byte"):
        unpack(archive, out)
    assert unpack(archive, out, limits=UnpackLimits(ratio=2000)) == 1


@pytest.mark.parametrize("make", [as_zip, as_tgz], ids=["zip", "tgz"])
def test_a_small_archive_of_zeros_is_no_bomb(put, out, make):
    assert unpack(put(make(("zeros", bytes(2 << 20)))), out) == 1


def test_a_bomb_in_what_is_skipped_is_refused(put, out, small_bombs):
    archive = put(as_tgz(("bomb", bytes(2 << 20)), ("a", b"x")))
    with pytest.raises(HostileArchiveError, match="from each packed byte"):
        unpack(archive, out, only=lambda name: name == "a")


def test_a_bomb_behind_the_end_of_a_tar_is_refused(put, out, small_bombs):
    import gzip

    data = gzip.compress(tar_bytes(Tarred("a", b"x"), packed=False) + bytes(2 << 20))
    with pytest.raises(HostileArchiveError, match="from each packed byte"):
        unpack(put(data), out, limits=UnpackLimits(files=10))


def test_an_absurd_table_of_contents_is_refused(put, out):
    long = Zipped("a", b"x", central={"extra": bytes(60_000)})
    members = [long] + [Zipped(f"{index}", central={"extra": bytes(60_000)}) for index in range(20)]
    with pytest.raises(HostileArchiveError, match="absurdly large"):
        unpack(put(zip_bytes(*members)), out, limits=UnpackLimits(files=100))


@ANY_TREE
@given(
    position=st.floats(0, 1, exclude_max=True),
    change=st.binary(min_size=1, max_size=4),
    cut=st.booleans(),
    kind=st.sampled_from([as_zip, as_tgz, as_tar]),
)
def test_a_damaged_archive_is_refused_or_right(put, tmp_path, position, change, cut, kind):
    contents = (("a.txt", b"some text" * 50), ("d/b", bytes(range(256))), ("d/c", b""))
    data = bytearray(kind(*contents))
    at = int(position * len(data))
    data[at : len(data) if cut else at + len(change)] = change
    out = tmp_path / "out"
    try:
        unpack(put(bytes(data)), out)
    except (HostileArchiveError, HostToolMissingError):
        # The other one where the damage looks like Zstandard, which not every Python reads.
        assert not out.exists()
    else:
        import shutil

        if kind is not as_tar:
            # A plain tar has no checksum of its contents.
            assert all((value in (None, *dict(contents).values())) for value in tree(out).values())
        shutil.rmtree(out)


# Around it


def test_a_directory_that_is_not_empty_is_refused_and_left_alone(put, out):
    out.mkdir()
    (out / "mine").write_bytes(b"")
    with pytest.raises(OutputNotOursError):
        unpack(put(as_zip(("a", b"x"))), out)
    assert os.listdir(out) == ["mine"]


def test_an_empty_directory_is_used_and_emptied_again_after_a_failure(put, out):
    out.mkdir()
    with pytest.raises(HostileArchiveError):
        unpack(put(as_zip(("a", b"x"), ("../b", b"x"))), out)
    assert os.listdir(out) == []
    unpack(put(as_zip(("a", b"x"))), out)
    assert os.listdir(out) == ["a"]


@BOTH
def test_a_cancelled_unpacking_leaves_nothing(put, out, make):
    cancel = Cancel()
    cancel.set()
    with pytest.raises(CancelledError):
        unpack(put(make(("a", b"x"))), out, cancel=cancel)
    assert not out.exists()


def test_cancelling_in_the_middle_of_a_large_member_ends_it(put, out):
    cancel = Cancel()
    archive = put(zip_bytes(Zipped("large", bytes(64 << 20), method=0)))
    checks = iter(range(100))

    def check():
        if next(checks) > 5:
            cancel.set()
        Cancel.check(cancel)

    cancel.check = check
    with pytest.raises(CancelledError):
        unpack(archive, out, cancel=cancel)
    assert next(checks) < 20
    assert not out.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the size of files")
def test_a_full_disk_is_named_and_left_clean(put, out):
    import resource

    archive = put(zip_bytes(Zipped("large", bytes(1 << 20))))
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, old[1]))
    try:
        with pytest.raises(DiskFullError):
            unpack(archive, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert not out.exists()


def test_memory_stays_small_for_a_large_member(put, out):
    import tracemalloc

    archive = put(zip_bytes(Zipped("large", bytes(60 << 20))))
    tracemalloc.start()
    try:
        unpack(archive, out)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert Path(out / "large").stat().st_size == 60 << 20
