"""The bootloader's build around a stand-in of waf; the real one is in test_bootloader_real.py."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.binary.elf_writer import elf
from tests.bundle.conftest import EPOCH, EXTRA_SOURCES, Events, write_sdist
from vvbuild.bundle.bootloader import BootloaderBuild, Variant, build_bootloader
from vvbuild.errors import BootloaderError, CancelledError, ExitStatus
from vvbuild.model.events import Progress
from vvbuild.runtime.cancel import Cancel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are POSIX programs")

_LINKED = elf(interpreter="/lib/ld.so", sections={".text": b"code", ".rodata": b"data"})
_WAF = """
import os, sys, pathlib, subprocess, time
variant = next(word[6:] for word in sys.argv if word.startswith("build_"))
program = {{"release": "run", "debug": "run_d", "releasew": "runw", "debugw": "runw_d"}}[variant]
print("Waf: Entering directory `here'")
print("[1/2] Compiling src/main.c", flush=True)
{body}
for folder in (f"build/{{variant}}", "../PyInstaller/bootloader/{platform}"):
    path = pathlib.Path(folder, program + "{suffix}")
    path.parent.mkdir(parents=True)
    path.write_bytes(bytes.fromhex("{data}") if folder.startswith("build") else b"")
print("[2/2] Linking")
"""


def _pe(*, machine: int = 0x8664, subsystem: int = 3) -> bytes:
    start = b"MZ" + bytes(58) + struct.pack("<I", 64)
    header = b"PE\0\0" + struct.pack("<H", machine) + bytes(86) + struct.pack("<H", subsystem)
    return start + header


@pytest.fixture
def build(
    tmp_path: Path, script: Callable[[str, str], Path], events: Events
) -> Callable[..., BootloaderBuild]:
    def call(
        *,
        body: str = "",
        data: bytes = _LINKED,
        platform: str = "Linux-64bit-intel",
        suffix: str = "",
        target: str = "x86_64-linux-gnu.2.17",
        waf_target_arch: str | None = None,
        variant: Variant = "release",
        extra: tuple[Path, ...] = EXTRA_SOURCES,
        work: str = "work",
        cancel: Cancel | None = None,
    ) -> BootloaderBuild:
        waf = _WAF.format(body=body, data=data.hex(), platform=platform, suffix=suffix)
        root = "pyinstaller-6.22.3"
        sdist = write_sdist(
            tmp_path / "pyinstaller-6.22.3.tar.gz",
            {
                f"{root}/bootloader/waf": waf.encode(),
                f"{root}/bootloader/src/main.c": b"",
                f"{root}/bootloader/src/pyi_utils.c": b"",
                f"{root}/PyInstaller/_shared_with_waf.py": b"",
            },
        )
        return build_bootloader(
            sdist=sdist,
            zig=script("zig", "import sys; print('zig', *sys.argv[1:])"),
            zig_target=target,
            waf_target_arch=waf_target_arch,
            extra_sources=extra,
            variant=variant,
            work=tmp_path / work,
            dest=tmp_path / "out",
            epoch=EPOCH,
            cancel=Cancel() if cancel is None else cancel,
            emit=events,
        )

    return call


def _seen(
    tmp_path: Path, build: Callable[..., BootloaderBuild], source: str, **options: object
) -> object:
    """What an expression says inside of waf."""
    answer = tmp_path / "answer.json"
    body = f"import json; pathlib.Path({str(answer)!r}).write_text(json.dumps({source}))"
    build(body=body, **options)
    return json.loads(answer.read_text())


def test_a_build_says_what_it_is(tmp_path: Path, build: Callable[..., BootloaderBuild]) -> None:
    built = build()
    assert built.path == tmp_path / "out" / "run"
    assert built.path.read_bytes() == _LINKED
    assert built.sha256.hex == hashlib.sha256(_LINKED).hexdigest()
    assert built.size == len(_LINKED)
    assert (built.version, built.platform, built.machine) == ("6.22.3", "Linux-64bit-intel", "x64")
    assert built.elf is not None
    assert built.text is not None
    assert built.text.hex == hashlib.sha256(b"code").hexdigest()


def test_the_empty_copy_that_old_versions_install_is_never_taken(
    build: Callable[..., BootloaderBuild],
) -> None:
    """The stand-in installs an empty file, as waf's strip beside its copying may."""
    assert build().size > 0


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_do_not_depend_on_the_umask(
    build: Callable[..., BootloaderBuild], umask: int
) -> None:
    before = os.umask(umask)
    try:
        path = build().path
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o7777 == 0o755
    assert path.parent.stat().st_mode & 0o7777 == 0o755


def test_waf_runs_one_job_for_one_variant(
    tmp_path: Path, build: Callable[..., BootloaderBuild]
) -> None:
    arguments = _seen(tmp_path, build, "sys.argv[1:]", variant="debug", waf_target_arch="64bit-arm")
    assert arguments == [
        "distclean", "configure", "build_debug", "install_debug", "--clang", "-j1",
        "--target-arch=64bit-arm",
    ]  # fmt: skip


def test_waf_gets_a_scrubbed_environment(
    tmp_path: Path, build: Callable[..., BootloaderBuild], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CFLAGS", "LDFLAGS", "CPPFLAGS", "CC", "PYTHONPATH", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "from-the-user")
    seen = _seen(tmp_path, build, "dict(os.environ)")
    assert isinstance(seen, dict)
    assert "from-the-user" not in seen.values()
    assert seen["SOURCE_DATE_EPOCH"] == str(EPOCH)
    assert seen["PYTHONUTF8"] == "1"
    assert seen["PYI_STATIC_ZLIB"] == "1"
    assert seen["LINKFLAGS"] == "-s"
    room = Path(seen["CC"]).parent
    assert Path(seen["AR"]).parent == Path(seen["STRIP"]).parent == room


def test_windows_is_told_in_words_that_zig_knows(
    tmp_path: Path, build: Callable[..., BootloaderBuild]
) -> None:
    windows = {
        "data": _pe(subsystem=2),
        "suffix": ".exe",
        "platform": "Windows-64bit-intel",
        "target": "x86_64-windows-gnu",
        "variant": "releasew",
    }
    call = (
        "subprocess.check_output([os.environ['CC'], '-mwindows', '-Wl,-Bstatic', 'a.c'], text=True)"
    )
    assert _seen(tmp_path, build, f"[os.environ['CFLAGS'], {call}]", **windows) == [
        "-Wno-macro-redefined",
        "zig cc -target x86_64-windows-gnu -Wl,--subsystem,windows a.c\n",
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "an empty file"),
        (b"#!/bin/sh\n", "no program"),
        (b"MZ" + bytes(200), "no program"),
        (elf(machine=183, interpreter="/lib/ld.so"), "arm64"),
        (elf(), "a static program, which cannot load Python"),
        (_LINKED[:100], "is not a whole ELF file"),
        (_pe(machine=0xAA64), "arm64, with a console"),
        (_pe(subsystem=2), "x64, without a console"),
        (b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x0100_000C) + bytes(80), "arm64"),
    ],
)
def test_what_was_built_is_judged_by_its_bytes_and_not_by_wafs_word(
    tmp_path: Path, build: Callable[..., BootloaderBuild], data: bytes, reason: str
) -> None:
    with pytest.raises(BootloaderError) as caught:
        build(data=data)
    assert reason in caught.value.context["built"]
    assert not (tmp_path / "out").exists()


def test_a_build_for_macos_is_known_by_its_machine(build: Callable[..., BootloaderBuild]) -> None:
    data = b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x0100_000C) + bytes(80)
    built = build(data=data, target="aarch64-macos", platform="Darwin-64bit")
    assert (built.machine, built.platform, built.elf) == ("arm64", "Darwin-64bit", None)


@pytest.mark.parametrize("name", ["pyi_utils.c", "PYI_Utils.c", "main.c", "hint.h", "hint.cpp"])
def test_an_extra_file_that_upstream_would_lose_or_not_see_is_refused(
    tmp_path: Path, build: Callable[..., BootloaderBuild], name: str
) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(BootloaderError, match="cannot be added"):
        build(extra=(tmp_path / name,))


def test_two_extra_files_of_one_name_are_refused(
    tmp_path: Path, build: Callable[..., BootloaderBuild]
) -> None:
    files = [tmp_path / "a" / "hint.c", tmp_path / "b" / "hint.c"]
    for path in files:
        path.parent.mkdir()
        path.write_text("")
    with pytest.raises(BootloaderError, match="two extra files"):
        build(extra=tuple(files))


def test_extra_files_lie_beside_upstreams(
    tmp_path: Path, build: Callable[..., BootloaderBuild]
) -> None:
    seen = _seen(tmp_path, build, "sorted(os.listdir('src'))")
    assert seen == ["main.c", "pyi_utils.c", "vvbuild_gpu_hint.c"]


def test_a_compilers_error_is_shown_and_the_extra_file_is_blamed(
    build: Callable[..., BootloaderBuild],
) -> None:
    body = (
        "print(\"../../src/vvbuild_gpu_hint.c:1:2: error: expected ';'\", file=sys.stderr)\n"
        "sys.exit(1)"
    )
    with pytest.raises(BootloaderError) as caught:
        build(body=body)
    assert caught.value.exit_status is ExitStatus.EXTERNAL
    assert "vvbuild_gpu_hint.c:1:2: error: expected ';'" in caught.value.context["compiler"]
    assert "vvbuild_gpu_hint.c" in (caught.value.hint or "")


def test_an_error_in_upstreams_files_blames_nobody(build: Callable[..., BootloaderBuild]) -> None:
    with pytest.raises(BootloaderError) as caught:
        build(body="print('../../src/main.c:1:2: error: x'); sys.exit(1)")
    assert caught.value.hint is None


@pytest.mark.parametrize("body", ["", "sys.exit(1)"])
@pytest.mark.parametrize("work", ["work", "work 日本語"])
def test_a_private_directory_is_used_and_removed_whatever_happens(
    tmp_path: Path, build: Callable[..., BootloaderBuild], work: str, body: str
) -> None:
    answer = tmp_path / "cwd"
    note = f"pathlib.Path({str(answer)!r}).write_text(os.getcwd())\n"
    try:
        build(body=note + body, work=work)
    except BootloaderError:
        assert body
    place = answer.read_text()
    assert place.isascii()
    assert " " not in place
    assert not Path(place).exists()
    assert list((tmp_path / work).iterdir()) == []


def test_progress_is_told_in_files(build: Callable[..., BootloaderBuild], events: Events) -> None:
    build()
    progress = [event for event in events.seen if isinstance(event, Progress)]
    assert [(each.done, each.total, each.unit) for each in progress] == [
        (1, 2, "files"),
        (2, 2, "files"),
    ]


@pytest.mark.parametrize("target", ["mips-linux-musl", "x86_64-freebsd", "x86_64", ""])
def test_a_target_that_nobody_tried_is_refused(
    build: Callable[..., BootloaderBuild], target: str
) -> None:
    with pytest.raises(BootloaderError, match="No way is known"):
        build(target=target)


def test_cancelling_ends_waf_and_leaves_nothing(
    tmp_path: Path, build: Callable[..., BootloaderBuild]
) -> None:
    cancel, started = Cancel(), tmp_path / "started"

    def press_ctrl_c() -> None:
        while not started.exists():
            time.sleep(0.01)
        cancel.set()

    threading.Thread(target=press_ctrl_c, daemon=True).start()
    body = f"pathlib.Path({str(started)!r}).write_text(''); time.sleep(600)"
    with pytest.raises(CancelledError):
        build(body=body, cancel=cancel)
    assert list((tmp_path / "work").iterdir()) == []
    assert not (tmp_path / "out").exists()
