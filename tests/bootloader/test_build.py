"""The bootloader's build around a stand-in of waf; the real one is in test_bootloader_real.py."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.binary.elf_writer import elf
from tests.makers.macho import macho_bytes
from tests.makers.pe import pe_bytes
from tests.workshop import EPOCH, EXTRA_SOURCES, Events, write_sdist
from vvbuild.bootloader.build import BuiltFile, Variant, build_bootloader
from vvbuild.bootloader.compilers import zig_compiler
from vvbuild.errors import BootloaderError, CancelledError, ExitStatus
from vvbuild.manifest.bootloader import Patch
from vvbuild.model.events import Progress
from vvbuild.model.target import Platform
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


HINTS = {"NvOptimusEnablement": 1, "AmdPowerXpressRequestHighPerformance": 1}
MAC = macho_bytes(cpu="arm64", kind="execute")
LINUX, WINDOWS = Platform("linux", "x64"), Platform("win", "x64")


def _pe(*, version: str = "6.22.3", **changes: Any) -> bytes:
    """A bootloader for Windows as we build it."""
    mark = {".rdata": b"vvbuild bootloader of PyInstaller " + version.encode() + b"\0"}
    return pe_bytes(**{"values": HINTS, "sections": mark, **changes})


@pytest.fixture
def build(
    tmp_path: Path, script: Callable[[str, str], Path], events: Events
) -> Callable[..., BuiltFile]:
    def call(
        *,
        body: str = "",
        data: bytes = _LINKED,
        platform: str = "Linux-64bit-intel",
        suffix: str = "",
        where: Platform = LINUX,
        variant: Variant = "release",
        extra: tuple[Path, ...] = EXTRA_SOURCES,
        version: str = "6.22.3",
        patches: tuple[Patch, ...] = (),
        work: str = "work",
        cancel: Cancel | None = None,
    ) -> BuiltFile:
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
        zig = script("zig", "import sys; print('zig', *sys.argv[1:])")
        built = build_bootloader(
            sdist=sdist,
            version=version,
            where=where,
            compiler=zig_compiler(zig, where, {"name": "zig"}),
            extra_sources=extra,
            hints=HINTS,
            variants=(variant,),
            patches=patches,
            work=tmp_path / work,
            dest=tmp_path / "out",
            epoch=EPOCH,
            cancel=Cancel() if cancel is None else cancel,
            emit=events,
        )
        assert (built.version, built.platform) == ("6.22.3", platform)
        return built.files[0]

    return call


def _seen(
    tmp_path: Path, build: Callable[..., BuiltFile], source: str, **options: object
) -> object:
    """What an expression says inside of waf."""
    answer = tmp_path / "answer.json"
    body = f"import json; pathlib.Path({str(answer)!r}).write_text(json.dumps({source}))"
    build(body=body, **options)
    return json.loads(answer.read_text())


def test_a_build_says_what_it_is(tmp_path: Path, build: Callable[..., BuiltFile]) -> None:
    built = build()
    assert built.path == tmp_path / "out" / "run"
    assert built.path.read_bytes() == _LINKED
    assert built.sha256.hex == hashlib.sha256(_LINKED).hexdigest()
    assert built.size == len(_LINKED)
    assert (built.variant, built.machine, built.exports) == ("release", "x64", {})
    assert built.elf is not None
    assert built.text is not None
    assert built.text.hex == hashlib.sha256(b"code").hexdigest()


def test_the_empty_copy_that_old_versions_install_is_never_taken(
    build: Callable[..., BuiltFile],
) -> None:
    """The stand-in installs an empty file, as waf's strip beside its copying may."""
    assert build().size > 0


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_do_not_depend_on_the_umask(build: Callable[..., BuiltFile], umask: int) -> None:
    before = os.umask(umask)
    try:
        path = build().path
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o7777 == 0o755
    assert path.parent.stat().st_mode & 0o7777 == 0o755


def test_waf_runs_one_job_for_one_variant(tmp_path: Path, build: Callable[..., BuiltFile]) -> None:
    arguments = _seen(
        tmp_path, build, "sys.argv[1:]", variant="debug", where=Platform("win", "arm64"),
        data=_pe(machine="arm64"), suffix=".exe",
    )  # fmt: skip
    assert arguments == [
        "distclean", "configure", "build_debug", "install_debug", "--clang", "-j1",
        "--target-arch=64bit-arm",
    ]  # fmt: skip


def test_waf_gets_a_scrubbed_environment(
    tmp_path: Path, build: Callable[..., BuiltFile], monkeypatch: pytest.MonkeyPatch
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
    assert Path(seen["CCACHE_BASEDIR"]) in room.parents


def test_windows_is_told_in_words_that_zig_knows(
    tmp_path: Path, build: Callable[..., BuiltFile]
) -> None:
    windows = {
        "data": _pe(subsystem="windows"),
        "suffix": ".exe",
        "platform": "Windows-64bit-intel",
        "where": WINDOWS,
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
        (_pe(), "x64, with a console"),
        (MAC, "arm64"),
    ],
)
def test_what_was_built_is_judged_by_its_bytes_and_not_by_wafs_word(
    tmp_path: Path, build: Callable[..., BuiltFile], data: bytes, reason: str
) -> None:
    with pytest.raises(BootloaderError) as caught:
        build(data=data)
    assert reason in caught.value.context["built"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (_pe(machine="arm64"), "arm64, with a console"),
        (_pe(subsystem="windows"), "x64, without a console"),
        (_pe(values={}), "does not export NvOptimusEnablement"),
        (_pe(values={**HINTS, "NvOptimusEnablement": 0}), "its NvOptimusEnablement is 0, not 1"),
        (_pe(values={**HINTS, "More": 1}), "it exports More as well"),
        (_pe(exports=["function"]), "it exports function as well"),
        (_pe(version="6.21.0"), "PyInstaller 6.21.0"),
        (_pe(sections={}), "no version"),
        (_pe()[:900], "is not a whole PE file"),
    ],
)
def test_a_windows_bootloader_is_proven_from_its_bytes(
    build: Callable[..., BuiltFile], data: bytes, reason: str
) -> None:
    with pytest.raises(BootloaderError) as caught:
        build(data=data, where=WINDOWS, suffix=".exe")
    assert reason in caught.value.context["built"]


def test_a_windows_bootloader_tells_its_exports(build: Callable[..., BuiltFile]) -> None:
    assert build(data=_pe(), where=WINDOWS, suffix=".exe").exports == HINTS


def test_a_build_for_macos_is_known_by_its_machine(build: Callable[..., BuiltFile]) -> None:
    built = build(data=MAC, where=Platform("macos", "arm64"), platform="Darwin-64bit")
    assert (built.machine, built.elf) == ("arm64", None)


def test_sources_of_another_version_are_refused(build: Callable[..., BuiltFile]) -> None:
    with pytest.raises(BootloaderError, match=r"holds PyInstaller 6\.22\.3, not 6\.21\.0"):
        build(version="6.21.0")


_PATCH = """\
--- a/bootloader/waf
+++ b/bootloader/waf
@@ -1,2 +1,3 @@
{first}
-import os, sys, pathlib, subprocess, time
+import os, sys, pathlib, subprocess, time, json
+pathlib.Path({path!r}).write_text("patched")
"""


@pytest.mark.parametrize("folder", ["", "../"])
def test_a_patch_is_applied_to_the_letter_or_not_at_all(
    tmp_path: Path, build: Callable[..., BuiltFile], folder: str
) -> None:
    answer = tmp_path / "answer"
    diff = _PATCH.format(first=" ", path=str(answer))
    (tmp_path / "good.patch").write_text(diff)
    build(patches=(Patch(tmp_path / "good.patch", "why"),))
    assert answer.read_text() == "patched"

    wrong = diff.replace("-import os", "-import so") if not folder else diff.replace("b/", "b/../")
    (tmp_path / "bad.patch").write_text(wrong)
    with pytest.raises(BootloaderError, match=r"bad\.patch does not fit this PyInstaller"):
        build(patches=(Patch(tmp_path / "bad.patch", "why"),))


@pytest.mark.parametrize(
    "name", ["pyi_utils.c", "PYI_Utils.c", "main.c", "hint.h", "hint.cpp", "vvbuild_mark.c"]
)
def test_an_extra_file_that_upstream_would_lose_or_not_see_is_refused(
    tmp_path: Path, build: Callable[..., BuiltFile], name: str
) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(BootloaderError, match="cannot be added"):
        build(extra=(tmp_path / name,))


def test_two_extra_files_of_one_name_are_refused(
    tmp_path: Path, build: Callable[..., BuiltFile]
) -> None:
    files = [tmp_path / "a" / "hint.c", tmp_path / "b" / "hint.c"]
    for path in files:
        path.parent.mkdir()
        path.write_text("")
    with pytest.raises(BootloaderError, match="two extra files"):
        build(extra=tuple(files))


def test_extra_files_lie_beside_upstreams(tmp_path: Path, build: Callable[..., BuiltFile]) -> None:
    seen = _seen(tmp_path, build, "sorted(os.listdir('src'))")
    assert seen == ["main.c", "pyi_utils.c", "vvbuild_gpu_hint.c", "vvbuild_mark.c"]


def test_a_compilers_error_is_shown_and_the_extra_file_is_blamed(
    build: Callable[..., BuiltFile],
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


def test_an_error_in_upstreams_files_blames_nobody(build: Callable[..., BuiltFile]) -> None:
    with pytest.raises(BootloaderError) as caught:
        build(body="print('../../src/main.c:1:2: error: x'); sys.exit(1)")
    assert caught.value.hint is None


@pytest.mark.parametrize("body", ["", "sys.exit(1)"])
@pytest.mark.parametrize("work", ["work", "work 日本語"])
def test_a_private_directory_is_used_and_removed_whatever_happens(
    tmp_path: Path, build: Callable[..., BuiltFile], work: str, body: str
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


def test_progress_is_told_in_files(build: Callable[..., BuiltFile], events: Events) -> None:
    build()
    progress = [event for event in events.seen if isinstance(event, Progress)]
    assert [(each.done, each.total, each.unit) for each in progress] == [
        (1, 2, "files"),
        (2, 2, "files"),
    ]


def test_cancelling_ends_waf_and_leaves_nothing(
    tmp_path: Path, build: Callable[..., BuiltFile]
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
