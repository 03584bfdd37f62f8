from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.bundle.archive.bundles import EPOCH, make_bundle, seen
from vvbuild.bundle.archive.names import ArchiveFile
from vvbuild.bundle.archive.seven_zip import write_7z
from vvbuild.bundle.archive.stage import stage
from vvbuild.bundle.archive.tree import scan
from vvbuild.errors import CancelledError, ExternalError, HostToolMissingError, UsageError
from vvbuild.model.events import Emit, Event, Progress, silent
from vvbuild.runtime.cancel import Cancel
from vvbuild.runtime.files import hash_file


def pack(
    program: Path, tree: Path, root: Path, *, top: str = "linux-cpu-x64", level: int = 1,
    volume_size: int = 1 << 20, cancel: Cancel | None = None, emit: Emit = silent,
) -> tuple[ArchiveFile, ...]:  # fmt: skip
    out, work = root / "out", root / "work"
    out.mkdir(parents=True)
    work.mkdir()
    try:
        return write_7z(
            program=program, tree=tree, top=top, stem="x", directory=out, work=work,
            epoch=EPOCH, level=level, volume_size=volume_size, emit=emit,
            cancel=Cancel() if cancel is None else cancel,
        )  # fmt: skip
    finally:
        assert not list(work.iterdir())


def run(*command: str | Path) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"LC_ALL": "C.UTF-8"}
    )
    return done.stdout


def script(path: Path, text: str) -> Path:
    """A program that stands in for 7-Zip."""
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return path


def test_what_is_staged_has_one_time_and_two_modes_and_shares_nothing(
    bundle: Path, tmp_path: Path
) -> None:
    for path in bundle.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o555)  # as in the store
    before = {path: path.lstat().st_mtime_ns for path in bundle.rglob("*")}
    old = os.umask(0o077)
    try:
        stage(scan(bundle), bundle, tmp_path / "staged", EPOCH, Cancel())
    finally:
        os.umask(old)

    staged = seen(tmp_path / "staged")
    assert {name: kind for name, (kind, _) in staged.items()} == {
        "engine_internal": "directory",
        "engine_internal.txt": "644",
        "engine_internal/a b": "directory",
        "engine_internal/a b/c.txt": "644",
        "engine_internal/libx.so": "link",
        "engine_internal/libx.so.1": "755",
        "engine_manifest.json": "644",
        "model": "directory",
        "resources": "directory",
        "resources/empty.txt": "644",
        "resources/latest": "link",
        "resources/キャラ": "directory",
        "resources/キャラ/アイコン.png": "644",
        "run": "755",
    }
    assert {name: data for name, (_, data) in staged.items()} == {
        name: data for name, (_, data) in seen(bundle).items()
    }
    for path in [tmp_path / "staged", *(tmp_path / "staged").rglob("*")]:
        status = path.lstat()
        assert status.st_mtime == EPOCH
        assert path.is_dir() or status.st_nlink == 1
        assert not path.is_dir() or path.is_symlink() or stat.S_IMODE(status.st_mode) == 0o755
    assert {path: path.lstat().st_mtime_ns for path in bundle.rglob("*")} == before


@pytest.mark.network
def test_7_zip_restores_what_was_packed_under_the_top_folder(
    bundle: Path, tmp_path: Path, seven_zip: Path
) -> None:
    (part,) = pack(seven_zip, bundle, tmp_path)

    assert part.path.name == "x.7z.001"
    assert (part.size, part.sha256) == (part.path.stat().st_size, hash_file(part.path))
    assert "Everything is Ok" in run(seven_zip, "t", part.path)
    run(seven_zip, "x", "-snld", f"-o{tmp_path / 'back'}", part.path)
    assert seen(tmp_path / "back/linux-cpu-x64") == seen(bundle)
    assert [path.name for path in (tmp_path / "back").iterdir()] == ["linux-cpu-x64"]


@pytest.mark.network
def test_parts_are_cut_at_the_size_and_make_the_same_archive(
    bundle: Path, tmp_path: Path, seven_zip: Path
) -> None:
    (whole,) = pack(seven_zip, bundle, tmp_path / "one")
    parts = pack(seven_zip, bundle, tmp_path / "many", volume_size=500)

    assert [part.path.name for part in parts] == [
        f"x.7z.{number + 1:03d}" for number in range(len(parts))
    ]
    assert len(parts) > 1
    assert all(part.size == 500 for part in parts[:-1])
    assert b"".join(part.path.read_bytes() for part in parts) == whole.path.read_bytes()
    assert "Everything is Ok" in run(seven_zip, "t", parts[0].path)


@pytest.mark.network
@pytest.mark.parametrize("level", [1, 5])
def test_the_same_bundle_gives_the_same_bytes_whatever_the_host_does(
    tmp_path: Path, seven_zip: Path, level: int
) -> None:
    code = (
        "import os,sys; from pathlib import Path; sys.path.insert(0, sys.argv[3])\n"
        "from tests.bundle.archive.bundles import make_bundle, EPOCH\n"
        "from vvbuild.bundle.archive.seven_zip import write_7z\n"
        "from vvbuild.runtime.cancel import Cancel\n"
        "os.umask(int(sys.argv[1], 8)); root = Path.cwd()\n"
        "if sys.argv[2] == '1': os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "for name in ('bundle', 'out', 'work'): (root / name).mkdir()\n"
        "make_bundle(root / 'bundle', backwards=sys.argv[2] == '1')\n"
        "(root / 'bundle/large').write_bytes(b''.join(b'%d' % n for n in range(400_000)))\n"
        "made = write_7z(program=Path(sys.argv[4]), tree=root / 'bundle', top='t', stem='x',\n"
        "    directory=root / 'out', work=root / 'work', epoch=EPOCH, cancel=Cancel(),\n"
        "    level=int(sys.argv[5]))\n"
        "print(made[0].sha256)\n"
    )

    def digest(name: str, umask: str, one_processor: str, timezone: str, locale: str) -> str:
        root = tmp_path / name
        root.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", code, umask, one_processor, Path.cwd(), seven_zip, str(level)],
            env=os.environ | {"TZ": timezone, "LC_ALL": locale},
            cwd=root, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    digests = {
        digest("plain", "022", "0", "UTC", "C.UTF-8"),
        digest("with space", "077", "1", "Asia/Tokyo", "C"),
        digest("日本語", "000", "0", "America/New_York", "POSIX"),
    }
    assert len(digests) == 1


@pytest.mark.network
def test_a_folder_of_the_same_name_further_down_is_packed_once(
    tmp_path: Path, seven_zip: Path
) -> None:
    """With `-r`, upstream's switch, it is packed a second time."""
    tree = tmp_path / "tree"
    (tree / "same" / "same").mkdir(parents=True)
    (tree / "same" / "same" / "file").write_text("once")

    (part,) = pack(seven_zip, tree, tmp_path, top="same")

    listing = run(seven_zip, "l", "-ba", "-slt", part.path)
    names = [line.removeprefix("Path = ") for line in listing.splitlines() if "Path = " in line]
    assert names == ["same", "same/same", "same/same/same", "same/same/same/file"]


@pytest.mark.network
@pytest.mark.parametrize("top", ["-mx9", "@list", "日本語 の フォルダ", "!x"])
def test_a_top_folder_is_a_name_and_never_a_switch(
    bundle: Path, tmp_path: Path, seven_zip: Path, top: str
) -> None:
    (part,) = pack(seven_zip, bundle, tmp_path, top=top)

    run(seven_zip, "x", f"-o{tmp_path / 'back'}", part.path)
    assert (tmp_path / "back" / top / "run").is_file()


def test_progress_is_a_rising_percentage(bundle: Path, tmp_path: Path) -> None:
    """7-Zip's own way of writing it: on one line, wiped out by backspaces."""
    program = script(
        tmp_path / "7zz",
        "import pathlib, sys\n"
        "for part in ('  0M Scan', '  0%', ' 5% + a.py', ' 5% 1 + 90% of it', '37% 2', '100%'):\n"
        "    print(part + '\\b' * 9 + ' ' * 9 + '\\b' * 9, end='', flush=True)\n"
        "pathlib.Path(sys.argv[-2] + '.001').write_bytes(b'archive')\n",
    )
    events: list[Event] = []

    pack(program, bundle, tmp_path, emit=events.append)

    assert events == [Progress("x.7z", done, 100, "%") for done in (5, 37, 100)]


def test_a_failure_tells_the_last_lines_and_leaves_nothing(bundle: Path, tmp_path: Path) -> None:
    program = script(
        tmp_path / "7zz",
        "import pathlib, sys\n"
        "pathlib.Path(sys.argv[-2] + '.001').write_bytes(b'half')\n"
        "print(' 5%\\b\\b\\b   \\b\\b\\bERROR: disk is full'); sys.exit(2)\n",
    )

    with pytest.raises(ExternalError, match="ended with 2") as caught:
        pack(program, bundle, tmp_path)

    assert caught.value.context["last lines"].endswith("ERROR: disk is full")
    assert not list((tmp_path / "out").iterdir())


def test_a_warning_is_a_failure(bundle: Path, tmp_path: Path) -> None:
    """7-Zip ends with 1 when it could not read a file, which is missing then."""
    program = script(tmp_path / "7zz", "import sys; sys.exit(1)")

    with pytest.raises(ExternalError, match="ended with 1"):
        pack(program, bundle, tmp_path)


def test_a_cancelled_run_ends_7_zip_and_leaves_nothing(bundle: Path, tmp_path: Path) -> None:
    cancel = Cancel()
    program = script(
        tmp_path / "7zz",
        "import pathlib, sys, time\n"
        "pathlib.Path(sys.argv[-2] + '.001').write_bytes(b'half')\n"
        "print(' 5%', end='', flush=True); time.sleep(600)\n",
    )

    def stop(event: Event) -> None:
        threading.Thread(target=cancel.set).start()

    with pytest.raises(CancelledError):
        pack(program, bundle, tmp_path, cancel=cancel, emit=stop)

    assert not list((tmp_path / "out").iterdir())


def test_a_program_that_is_not_there_is_named(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(HostToolMissingError, match="nowhere"):
        pack(tmp_path / "nowhere", bundle, tmp_path)


@pytest.mark.parametrize("top", ["a/b", "..", "", "a:b"])
def test_a_top_folder_that_is_no_name_is_refused(bundle: Path, tmp_path: Path, top: str) -> None:
    with pytest.raises(UsageError):
        pack(tmp_path / "never", bundle, tmp_path, top=top)


def test_a_part_size_that_github_refuses_is_refused(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        pack(tmp_path / "never", bundle, tmp_path, volume_size=2 << 30)


@pytest.mark.network
def test_7_zip_and_the_editors_switches_unpack_a_vvpp(
    bundle: Path, tmp_path: Path, seven_zip: Path
) -> None:
    from vvbuild.bundle.archive.zip import write_vvpp

    out = tmp_path / "out"
    out.mkdir()
    made = write_vvpp(bundle, out, "x", epoch=EPOCH, cancel=Cancel(), volume_size=1000, threads=2)
    joined = tmp_path / "joined.zip"
    with joined.open("wb") as stream:
        for part in made.parts:
            with part.path.open("rb") as source:
                shutil.copyfileobj(source, stream)

    assert "Everything is Ok" in run(seven_zip, "t", joined)
    run(seven_zip, "x", f"-o{tmp_path / 'back'}", joined, "-tzip", "-bsp1")
    assert seen(tmp_path / "back") == seen(bundle)


@pytest.mark.network
def test_7_zip_accepts_members_in_pieces_and_64_bit_records(
    tmp_path: Path, seven_zip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vvbuild.bundle.archive import zip_work
    from vvbuild.bundle.archive.zip import write_vvpp
    from vvbuild.bundle.archive.zip_records import Limits

    monkeypatch.setattr(zip_work, "PIECE", 100_000)
    tree = tmp_path / "tree"
    make_bundle(tree)
    (tree / "large").write_bytes(b"".join(b"%d\n" % number for number in range(100_000)))
    for number, limits in enumerate((Limits(), Limits(0, 0), Limits(5000, 3))):
        out = tmp_path / f"out{number}"
        out.mkdir()
        made = write_vvpp(tree, out, "x", epoch=EPOCH, cancel=Cancel(), limits=limits)
        text = run(seven_zip, "t", made.parts[0].path)
        assert "Everything is Ok" in text
        assert "WARNING" not in text.upper()
