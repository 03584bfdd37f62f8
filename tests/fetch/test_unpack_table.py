"""One table of hostile archives: whatever the kind, it is refused, and nothing is left.

Each row says what the archive holds in words that all kinds understand; the tables' other axis is
the kind. What only one kind can do wrong stands in ``test_unpack.py`` and ``test_unpack_7z.py``.
"""

from __future__ import annotations

import bz2
import lzma
import shutil
import stat
import unicodedata
from dataclasses import dataclass

import pytest

from tests.bundle.archive.conftest import seven_zip  # noqa: F401 - a fixture
from tests.fetch.archives import (
    FILE,
    FOLDER,
    LINK,
    Sevened,
    Tarred,
    Zipped,
    packed_tar,
    seven_bytes,
    tar_bytes,
    zip_bytes,
)  # fmt: skip
from vvbuild.errors import ArchiveLayoutError, HostileArchiveError
from vvbuild.fetch.unpack import UnpackLimits, unpack

DEVICE, PIPE, BLOCK = 0o020000, 0o010000, 0o060000


@dataclass(frozen=True)
class Member:
    """A file, unless ``form`` says otherwise; a link's target is its data."""

    name: str
    data: bytes = b"x"
    form: int = FILE
    mode: int = 0o644


def link(name, target):
    return Member(name, target.encode(), LINK, 0o777)


def _tarred(member):
    kinds = {FILE: b"0", LINK: b"2", FOLDER: b"5", DEVICE: b"3", BLOCK: b"4", PIPE: b"6"}
    if member.form == LINK:
        return Tarred(member.name, kind=b"2", link=member.data.decode(), mode=member.mode)
    if member.form != FILE:
        return Tarred(member.name, kind=kinds[member.form], mode=member.mode)
    return Tarred(member.name, member.data, mode=member.mode)


def as_zip(*members):
    return zip_bytes(*(Zipped(it.name, it.data, mode=it.form | it.mode) for it in members))


def as_7z(*members):
    return seven_bytes(*(Sevened(it.name, it.data, mode=it.form | it.mode) for it in members))


def as_tar(*members):
    return tar_bytes(*map(_tarred, members), packed=False)


def as_tgz(*members):
    return tar_bytes(*map(_tarred, members))


def as_txz(*members):
    return packed_tar(lzma.compress, *map(_tarred, members))


def as_tbz(*members):
    return packed_tar(bz2.compress, *map(_tarred, members))


KINDS = [
    pytest.param(as_zip, id="zip"),
    pytest.param(as_tar, id="tar"),
    pytest.param(as_tgz, id="tar.gz"),
    pytest.param(as_txz, id="tar.xz"),
    pytest.param(as_tbz, id="tar.bz2"),
    pytest.param(as_7z, id="7z", marks=pytest.mark.network),
]
ALL = pytest.mark.parametrize("make", KINDS)


@pytest.fixture
def opened(request, make, tmp_path):
    """Unpack an archive of these members into ``tmp_path/out``."""
    program = request.getfixturevalue("seven_zip") if make is as_7z else None

    def opened(*members, data=None, **options):
        path = tmp_path / "archive.bin"
        path.write_bytes(make(*members) if data is None else data)
        return unpack(path, tmp_path / "out", seven_zip=program, **options)

    return opened


NFD = unicodedata.normalize("NFD", "が")

HOSTILE = {
    "an absolute name": ([Member("/etc/passwd")], "absolute"),
    "a name on a server": ([Member("//server/share")], "absolute"),
    "a drive": ([Member("C:/evil")], "absolute"),
    "a drive without a slash": ([Member("C:evil")], "absolute"),
    "a name that climbs": ([Member("../evil")], "climbs out"),
    "a name that climbs later": ([Member("a/../../evil")], "climbs out"),
    "a name that ends above": ([Member("a/..")], "climbs out"),
    "a backslash": ([Member("a\\..\\evil")], "backslash|climbs out|climbs"),
    "a stream of NTFS": ([Member("a:stream")], "absolute|not every system"),
    "a device of Windows": ([Member("d/con.txt")], "not every system"),
    "a port of Windows": ([Member("COM¹")], "not every system"),
    "a name with a dot at its end": ([Member("d./x")], "not every system"),
    "a name with a blank at its end": ([Member("d /x")], "not every system"),
    "a name too long": ([Member("x" * 300)], "not every system"),
    "a name too deep": ([Member("d/" * 70 + "x")], "too deeply"),
    "text that runs backwards": ([Member("gpj.\u202eexe")], "not every system"),
    "two names by case": ([Member("a"), Member("A")], "same name"),
    "two folders by case": ([Member("Dir/a"), Member("dir/b")], "same name"),
    "two names by Unicode form": ([Member("が"), Member(NFD)], "same name"),
    "two names by full folding": ([Member("straße"), Member("STRASSE")], "same name"),
    "two names by upper case": ([Member("ı"), Member("i")], "same name"),
    "two names by a long s": ([Member("ſ"), Member("S")], "same name"),
    "two names by a Kelvin sign": ([Member("\u212a"), Member("k")], "same name"),
    "two names by what is not seen": ([Member("a\u200db"), Member("ab")], "same name"),
    "a name that is there twice": ([Member("a"), Member("a")], "twice"),
    "a file that is a folder": ([Member("a"), Member("a/b")], "both a file and a directory"),
    "a link to an absolute path": ([link("l", "/etc/passwd")], "relative path"),
    "a link to a drive": ([link("l", "C:\\x")], "relative path"),
    "a link outside": ([link("l", "../x")], "outside"),
    "a link outside from below": ([link("d/l", "../../x")], "outside"),
    "a link that climbs later": ([link("l", "a/../../x")], "outside"),
    "a link through a link": ([link("d/e/u", "../.."), link("v", "d/e/u/../x")], "'v'"),
    "a folder that is a link": ([link("d", "e"), Member("d/x")], "both a link and a directory"),
    "a character device": ([Member("dev", b"", DEVICE)], "neither a file"),
    "a block device": ([Member("dev", b"", BLOCK)], "neither a file"),
    "a pipe": ([Member("pipe", b"", PIPE)], "neither a file"),
}


@ALL
@pytest.mark.parametrize(("members", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_archive_is_refused_and_leaves_nothing(opened, tmp_path, members, words):
    with pytest.raises(HostileArchiveError, match=words) as caught:
        opened(Member("good"), *members)
    assert "archive.bin" in caught.value.message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive.bin"]


@ALL
@pytest.mark.parametrize("limits", [UnpackLimits(files=2), UnpackLimits(bytes=2)], ids=["m", "b"])
def test_a_declared_limit_holds(opened, limits):
    with pytest.raises(HostileArchiveError, match="more than 2"):
        opened(Member("a"), Member("b"), Member("c"), limits=limits)


@ALL
def test_modes_are_kept_as_far_as_anybody_may_decide(opened, tmp_path):
    """Execute bits are; setuid, and what only the packing user could do, are not."""
    members = [Member("a", mode=0o755), Member("b", mode=0o4755), Member("c", mode=0o600)]
    assert opened(*members, Member("d", mode=0o2644)) == 4
    modes = [stat.S_IMODE((tmp_path / "out" / name).stat().st_mode) for name in "abcd"]
    assert modes == [0o755, 0o755, 0o644, 0o644]


@ALL
def test_links_and_folders_are_kept(opened, tmp_path):
    folder = Member("empty/", b"", FOLDER, 0o755)
    members = [Member("lib/a.so.1"), link("lib/a.so", "a.so.1"), folder, Member("zero", b"")]
    assert opened(*members) == 3
    assert (tmp_path / "out/lib/a.so").readlink().as_posix() == "a.so.1"
    assert (tmp_path / "out/zero").read_bytes() == b""
    assert list((tmp_path / "out/empty").iterdir()) == []


# Stripping


@ALL
@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([Member("top/a"), Member("other/b")], "two top folders"),
        ([Member("top/a"), Member("b")], "beside its top folder"),
        ([Member("a")], "beside its top folder"),
    ],
    ids=["two folders", "a file beside it", "no folder"],
)
def test_what_has_not_one_top_folder_is_not_stripped(opened, tmp_path, members, words):
    with pytest.raises(ArchiveLayoutError, match=words):
        opened(*members, strip=True)
    assert not (tmp_path / "out").exists()


@ALL
def test_the_top_folder_is_left_out(opened, tmp_path):
    assert opened(Member("top/a"), Member("top/d/b"), strip=True) == 2
    assert (tmp_path / "out/d/b").read_bytes() == b"x"


# Choosing


@ALL
@pytest.mark.parametrize(
    ("globs", "chosen"),
    [
        (["lib/*.so"], {"lib/a.so", "lib/b.so"}),
        (["**/*.so"], {"lib/a.so", "lib/b.so", "lib/deep/c.so"}),
        (["lib"], {"lib/a.so", "lib/b.so", "lib/deep/c.so"}),
        (["lib/**"], {"lib/a.so", "lib/b.so", "lib/deep/c.so"}),
        (["LICENSE", "lib/?.so"], {"LICENSE", "lib/a.so", "lib/b.so"}),
        (["lib/[!a].so"], {"lib/b.so"}),
        (["lib/[ab].so", "*/deep"], {"lib/a.so", "lib/b.so", "lib/deep/c.so"}),
        (["**"], {"LICENSE", "lib/a.so", "lib/b.so", "lib/deep/c.so"}),
    ],
    ids=lambda value: " ".join(sorted(value)),
)
def test_members_are_chosen_by_globs(opened, tmp_path, globs, chosen):
    names = ["top/LICENSE", "top/lib/a.so", "top/lib/b.so", "top/lib/deep/c.so"]
    assert opened(*map(Member, names), strip=True, members=globs) == len(chosen)
    out = tmp_path / "out"
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert found == chosen


@ALL
def test_a_glob_that_matches_nothing_is_named_with_the_nearest_members(opened, tmp_path):
    with pytest.raises(ArchiveLayoutError, match=r"'lib/libfoo\.so\*'") as caught:
        opened(Member("lib/libfo.so.1"), Member("x"), members=["x", "lib/libfoo.so*"])
    assert caught.value.context["nearest"].startswith("lib/libfo.so.1")
    assert caught.value.exit_status == 4
    assert not (tmp_path / "out").exists()


@ALL
def test_any_change_of_an_archive_is_refused_or_harmless(opened, make, tmp_path):
    """Every byte in turn; a plain tar has no checksum of its contents."""
    contents = {"d/a": b"some text" * 5, "b": bytes(range(256))}
    whole = make(*(Member(name, data) for name, data in contents.items()))
    step = max(1, len(whole) // (40 if make is as_7z else 150))
    for at in range(0, len(whole), step):
        data = bytearray(whole)
        data[at] ^= 0x41
        try:
            opened(data=bytes(data))
        except HostileArchiveError:
            pass
        else:
            found = {
                path.relative_to(tmp_path / "out").as_posix(): path.read_bytes()
                for path in (tmp_path / "out").rglob("*")
                if path.is_file()
            }
            assert make is as_tar or set(found.values()) <= set(contents.values())
            shutil.rmtree(tmp_path / "out")
        assert not (tmp_path / "out").exists()
