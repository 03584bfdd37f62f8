from __future__ import annotations

import io
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bundle.archive.bundles import EPOCH, make_bundle
from vvbuild.bundle.archive import pieces, zip_work
from vvbuild.bundle.archive.volumes import Volumes
from vvbuild.bundle.archive.zip import write_vvpp
from vvbuild.bundle.archive.zip_records import Limits, dos_stamp
from vvbuild.bundle.archive.zip_stream import ZipStream
from vvbuild.errors import CancelledError, IntegrityError, UsageError
from vvbuild.model.events import Event, Progress
from vvbuild.model.tree import Entry
from vvbuild.runtime.cancel import Cancel


def pack(
    tree: Path, out: Path, *, limits: Limits | None = None, threads: int = 2,
    volume_size: int = 1 << 20, level: int = 6,
) -> Volumes:  # fmt: skip
    out.mkdir()
    return write_vvpp(
        tree, out, "x", epoch=EPOCH, cancel=Cancel(), level=level, threads=threads,
        volume_size=volume_size, limits=limits,
    )  # fmt: skip


def opened(made: Volumes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join(part.path.read_bytes() for part in made.parts)))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of 200 kB instead of 4 MiB, so that small files come in several."""
    monkeypatch.setattr(zip_work, "PIECE", 200_000)
    monkeypatch.setattr(pieces, "PIECE", 200_000)


def test_a_bundle_is_at_the_root_with_modes_links_and_one_time(
    bundle: Path, tmp_path: Path
) -> None:
    made = pack(bundle, tmp_path / "out")

    assert [part.path.name for part in made.parts] == ["x.vvpp"]
    with opened(made) as archive:
        assert archive.testzip() is None
        modes = {info.filename: f"{info.external_attr >> 16:o}" for info in archive.infolist()}
        assert modes == {
            "engine_internal.txt": "100644",
            "engine_internal/a b/c.txt": "100644",
            "engine_internal/libx.so": "120777",
            "engine_internal/libx.so.1": "100755",
            "engine_manifest.json": "100644",
            "model/": "40755",
            "resources/empty.txt": "100644",
            "resources/latest": "120777",
            "resources/キャラ/アイコン.png": "100644",
            "run": "100755",
        }
        assert list(modes) == sorted(modes, key=str.encode)
        assert archive.read("resources/latest") == "キャラ".encode()
        assert {info.date_time for info in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
        assert {info.create_system for info in archive.infolist()} == {3}
        for info in archive.infolist():
            assert bool(info.flag_bits & 0x800) == (not info.filename.isascii())
            if stat.S_ISREG(info.external_attr >> 16):
                assert archive.read(info) == (bundle / info.filename).read_bytes()


def test_the_same_bundle_gives_the_same_bytes_whatever_the_host_does(tmp_path: Path) -> None:
    script = (
        "import os,sys,time; from pathlib import Path; sys.path.insert(0, sys.argv[4])\n"
        "from tests.bundle.archive.bundles import make_bundle, EPOCH\n"
        "from vvbuild.bundle.archive.zip import write_vvpp\n"
        "from vvbuild.runtime.cancel import Cancel\n"
        "os.umask(int(sys.argv[2], 8)); root = Path(sys.argv[1]); out = root / 'out'\n"
        "(root / 'bundle').mkdir(); out.mkdir()\n"
        "make_bundle(root / 'bundle', backwards=sys.argv[3] == '1')\n"
        "print(write_vvpp(root / 'bundle', out, 'x', epoch=EPOCH, cancel=Cancel(),\n"
        "    threads=int(sys.argv[3]), level=7).sha256)\n"
    )

    def digest(name: str, umask: str, threads: str, timezone: str, locale: str) -> str:
        root = tmp_path / name
        root.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", script, root, umask, threads, Path.cwd()],
            env=os.environ | {"TZ": timezone, "LC_ALL": locale, "PYTHONHASHSEED": threads},
            cwd=root, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    digests = {
        digest("plain", "022", "1", "UTC", "C.UTF-8"),
        digest("with space", "077", "2", "Asia/Tokyo", "C"),
        digest("日本語", "000", "5", "America/New_York", "POSIX"),
    }
    assert len(digests) == 1


@pytest.mark.usefixtures("small_pieces")
def test_the_number_of_threads_changes_no_byte(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    source = random.Random(5)
    for number in range(8):
        text = b"".join(b"%d " % source.randrange(999) for _ in range(source.randrange(90_000)))
        (tree / f"{number}.txt").write_bytes(text)

    digests = {pack(tree, tmp_path / f"o{n}", threads=n).sha256 for n in (1, 2, 7)}

    assert len(digests) == 1


@pytest.mark.usefixtures("small_pieces")
def test_a_large_file_in_pieces_is_one_member_that_every_reader_takes(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    content = b"".join(b"%d\n" % number for number in range(150_000))
    (tree / "sys.dic").write_bytes(content)
    (tree / "after").write_bytes(b"what follows it")

    made = pack(tree, tmp_path / "out", volume_size=1 << 30)

    with opened(made) as archive:
        info = archive.getinfo("sys.dic")
        assert info.compress_type == zipfile.ZIP_DEFLATED
        assert info.compress_size < len(content) // 2
        assert archive.read("sys.dic") == content
        assert archive.testzip() is None
    check_with_unzip(made.parts[0].path)


@pytest.mark.usefixtures("small_pieces")
def test_what_deflate_does_not_shrink_is_stored(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    noise = random.Random(1).randbytes(1_500_000)
    (tree / "large.vvm").write_bytes(noise)
    (tree / "small.png").write_bytes(noise[:5000])

    made = pack(tree, tmp_path / "out", volume_size=1 << 30)

    with opened(made) as archive:
        for info in archive.infolist():
            assert info.compress_type == zipfile.ZIP_STORED
            assert info.compress_size == info.file_size
            assert not info.flag_bits & 0x08
        assert archive.read("large.vvm") == noise
    check_with_unzip(made.parts[0].path)


names = st.text(st.sampled_from("ab.é日本 -"), min_size=1, max_size=6).filter(
    lambda name: name.strip(". ") == name
)
contents = st.binary(max_size=2000) | st.integers(0, 3000).map(lambda size: b"ab" * size)


@pytest.mark.usefixtures("small_pieces")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.dictionaries(names, st.tuples(contents, st.booleans()), max_size=6),
    zip64=st.sampled_from([None, Limits(0, 0), Limits(700, 3), Limits(100, 65_535)]),
    piece=st.sampled_from([70_000, 1000, 1]),
    volume_size=st.integers(50, 5000),
    level=st.integers(1, 12),
)
def test_zipfile_reads_back_what_was_packed(
    files: dict[str, tuple[bytes, bool]], zip64: Limits | None, piece: int, volume_size: int,
    level: int, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(zip_work, "PIECE", max(piece, 1000))
    monkeypatch.setattr(zip_work, "_SAMPLE", 500)
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name, "tree")
        tree.mkdir()
        for path, (content, executable) in files.items():
            (tree / path).write_bytes(content)
            (tree / path).chmod(0o755 if executable else 0o644)

        made = pack(tree, Path(name, "o"), limits=zip64, volume_size=volume_size, level=level)

        with opened(made) as archive:
            assert archive.testzip() is None
            found = {
                info.filename: (archive.read(info), info.external_attr >> 16 == 0o100755)
                for info in archive.infolist()
            }
            assert found == files


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("limits", [Limits(0, 0), Limits(1000, 3), Limits(300_000, 2)])
def test_the_64_bit_records_are_understood_by_others(tmp_path: Path, limits: Limits) -> None:
    """The limits are lowered: a member of 4 GiB or 65,536 members would take too long."""
    tree = tmp_path / "tree"
    make_bundle(tree)
    (tree / "large").write_bytes(b"0123456789" * 60_000)

    made = pack(tree, tmp_path / "out", limits=limits)

    path = made.parts[0].path
    with opened(made) as archive:
        assert archive.testzip() is None
        assert archive.read("large") == b"0123456789" * 60_000
    assert b"PK\x06\x06" in path.read_bytes()
    check_with_unzip(path)


def test_more_members_than_16_bits_can_count() -> None:
    out = io.BytesIO()
    stream = ZipStream(out.write, EPOCH, Limits())
    for number in range(65_536):
        stream.add(Entry(f"{number:05d}", "file"), 0, 0, b"")
    stream.finish()

    with zipfile.ZipFile(out) as archive:
        assert len(archive.infolist()) == 65_536


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (0, (1980, 1, 1, 0, 0, 0)),
        (315_532_800, (1980, 1, 1, 0, 0, 0)),
        (EPOCH + 1, (2023, 11, 14, 22, 13, 20)),
        (4_354_819_198, (2107, 12, 31, 23, 59, 58)),
        (9_999_999_999, (2107, 12, 31, 23, 59, 58)),
    ],
)
def test_a_time_that_dos_cannot_say_becomes_the_nearest(
    epoch: int, expected: tuple[int, ...]
) -> None:
    time_, date = dos_stamp(epoch)
    assert expected == (
        (date >> 9) + 1980, date >> 5 & 15, date & 31,
        time_ >> 11, time_ >> 5 & 63, (time_ & 31) * 2,
    )  # fmt: skip


def test_a_bundle_is_cut_into_parts_of_the_size_asked_for(bundle: Path, tmp_path: Path) -> None:
    whole = pack(bundle, tmp_path / "one")
    cut = pack(bundle, tmp_path / "many", volume_size=1000)

    assert cut.sha256 == whole.sha256
    assert [part.path.name for part in cut.parts[:2]] == ["x.001.vvppp", "x.002.vvppp"]
    assert all(part.size == 1000 for part in cut.parts[:-1])
    assert b"".join(part.path.read_bytes() for part in cut.parts) == (
        whole.parts[0].path.read_bytes()
    )


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("change", [b"", b"x" * 500_001])
@pytest.mark.parametrize("noise", [True, False])
def test_a_file_that_changes_meanwhile_is_noticed(
    tmp_path: Path, change: bytes, noise: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    content = random.Random(1).randbytes(500_000) if noise else b"x" * 500_000
    (tree / "file").write_bytes(content)
    shrinks = zip_work._shrinks

    def meddle(source: zip_work.Source, level: int) -> bool:
        answer = shrinks(source, level)
        source.path.write_bytes(change)
        return answer

    monkeypatch.setattr(zip_work, "_shrinks", meddle)

    with pytest.raises(IntegrityError, match="file changed"):
        pack(tree, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.usefixtures("small_pieces")
def test_a_stored_file_whose_bytes_change_between_its_two_readings_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    noise = random.Random(1).randbytes(500_000)
    (tree / "file").write_bytes(noise)
    crc = zip_work._crc

    def meddle(source: zip_work.Source, cancel: Cancel) -> int:
        answer = crc(source, cancel)
        source.path.write_bytes(noise[::-1])
        return answer

    monkeypatch.setattr(zip_work, "_crc", meddle)

    with pytest.raises(IntegrityError, match="file changed"):
        pack(tree, tmp_path / "out")


def test_a_cancelled_run_leaves_nothing_and_stops_its_threads(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(40):
        (tree / f"{number}").write_bytes(random.Random(number).randbytes(1000) * 1000)
    cancel = Cancel()
    out = tmp_path / "out"
    out.mkdir()

    def stop(event: Event) -> None:
        cancel.set()

    with pytest.raises(CancelledError):
        write_vvpp(tree, out, "x", epoch=EPOCH, cancel=cancel, threads=2, emit=stop)

    assert not list(out.iterdir())
    assert not [t for t in threading.enumerate() if t.name.startswith("vvpp")]


def test_progress_ends_at_the_size_of_the_bundle(bundle: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    write_vvpp(bundle, tmp_path, "x", epoch=EPOCH, cancel=Cancel(), emit=events.append)

    seen = [event for event in events if isinstance(event, Progress)]
    total = sum(
        path.stat().st_size
        for path in bundle.rglob("*")
        if path.is_file() and not path.is_symlink()
    )
    assert [event.done for event in seen] == sorted(event.done for event in seen)
    assert (seen[-1].done, seen[-1].total) == (total, total)


def test_a_part_size_that_github_refuses_is_refused(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        pack(bundle, tmp_path / "out", volume_size=2 << 30)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_flat_however_large_a_file_is(tmp_path: Path) -> None:
    """300 MB that shrink and 300 MB that do not, in a process of its own; a hole reads as zeros."""
    tree = tmp_path / "tree"
    tree.mkdir()
    with (tree / "large").open("wb") as stream:
        stream.truncate(300_000_000)
    noise = random.Random(1).randbytes(1_000_000)
    with (tree / "noise").open("wb") as stream:
        for _ in range(300):
            stream.write(noise)
    script = (
        "import re,sys; from pathlib import Path; sys.path.insert(0, sys.argv[3])\n"
        "from vvbuild.bundle.archive.zip import write_vvpp\n"
        "from vvbuild.runtime.cancel import Cancel\n"
        "write_vvpp(Path(sys.argv[1]), Path(sys.argv[2]), 'x', epoch=0, level=1, threads=2,\n"
        "    cancel=Cancel())\n"
        # Not getrusage(): its peak is inherited from the process that forked us.
        "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
    )
    # Without coverage's own memory, where that follows into children.
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", script, tree, tmp_path, Path.cwd()],
        capture_output=True, text=True, check=True, env=plain,
    )  # fmt: skip
    assert int(done.stdout) < 150_000  # kilobytes


unzip = pytest.mark.skipif(shutil.which("unzip") is None, reason="needs unzip to compare with")


def check_with_unzip(path: Path) -> None:
    if shutil.which("unzip") is None:
        return
    done = subprocess.run(["unzip", "-tqq", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@unzip
def test_unzip_restores_modes_and_links(bundle: Path, tmp_path: Path) -> None:
    made = pack(bundle, tmp_path / "out")
    subprocess.run(
        ["unzip", "-q", made.parts[0].path, "-d", tmp_path / "back"],
        check=True, env=os.environ | {"LC_ALL": "C.UTF-8"},
    )  # fmt: skip

    back = tmp_path / "back"
    assert (back / "engine_internal/libx.so").readlink() == Path("libx.so.1")
    assert os.access(back / "run", os.X_OK)
    assert not os.access(back / "engine_manifest.json", os.X_OK)
    assert (back / "resources/キャラ/アイコン.png").is_file()
