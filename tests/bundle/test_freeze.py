"""Freezing: the room around PyInstaller by a stand-in, the frozen program by the real one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.binary.elf_writer import elf
from tests.workshop import EPOCH, PYINSTALLER, Events, Tools, snapshot
from vvbuild.binary.elf import section_digest
from vvbuild.bootloader.build import BuiltFile
from vvbuild.bundle.environment import make_environment
from vvbuild.bundle.freeze import FreezeReport, freeze
from vvbuild.errors import BootloaderError, FreezeError, HostToolMissingError
from vvbuild.model.events import silent
from vvbuild.runtime.cancel import Cancel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="checks ELF programs")

_HELLO = Path(__file__).parent / "hello"
_OURS = elf(interpreter="/lib/ld.so", sections={".text": b"ours", ".rodata": b"constants"})
_UPSTREAMS = elf(interpreter="/lib/ld.so", sections={".text": b"upstream", ".rodata": b"constants"})
# What the real one leaves: a program made from its bootloader, collected files, and lists.
_STAND_IN = """
import os, pathlib, sys
HERE = pathlib.Path(__file__).parent
def run():
    words = sys.argv[1:]
    dist = pathlib.Path(words[words.index("--distpath") + 1], "run")
    build = pathlib.Path(words[words.index("--workpath") + 1], "run")
    internal = dist / "engine_internal"
    for folder in (internal, build):
        folder.mkdir(parents=True)
    program = (HERE / "bootloader" / "Linux-64bit-intel" / "run").read_bytes()
    files = {"base_library.zip": str(build / "base_library.zip")}
    (build / "base_library.zip").write_bytes(b"zip")
    space = globals() | locals()
    exec(compile(pathlib.Path(words[-1]).read_text(), words[-1], "exec"), space)
    files = space["files"]
    (dist / "run").write_bytes(space["program"])
    (dist / "run").chmod(0o700)
    for name, source in files.items():
        (internal / name).write_bytes(pathlib.Path(source).read_bytes())
    toc = [(name, source, "BINARY") for name, source in files.items()]
    toc.append(("run", str(build / "run"), "EXECUTABLE"))
    (build / "COLLECT-00.toc").write_text(repr((toc,)))
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A read-only tree of packages, as a store holds it, with a stand-in of PyInstaller."""
    package = tmp_path / "packages" / "PyInstaller"
    folder = package / "bootloader" / "Linux-64bit-intel"
    folder.mkdir(parents=True)
    (folder / "run").write_bytes(_UPSTREAMS)
    (package / "__init__.py").write_text("__version__ = '6.22.3'\nPLATFORM = 'Linux-64bit-intel'\n")
    (package / "__main__.py").write_text(_STAND_IN)
    (tmp_path / "packages" / "module.py").write_text("VALUE = 1\n")
    for path in (tmp_path / "packages").rglob("*"):
        if path.is_file():
            path.chmod(0o444)
    return tmp_path / "packages"


@pytest.fixture
def freezing(tmp_path: Path, packages: Path, events: Events) -> Callable[..., FreezeReport]:
    def call(
        spec: str = "",
        *,
        engine: dict[str, str] | None = None,
        place: str = "plain",
        version: str = "6.22.3",
        platform: str | None = None,
        cancel: Cancel | None = None,
    ) -> FreezeReport:
        sources = tmp_path / place / "engine"
        sources.mkdir(parents=True)
        for name, text in {"run.spec": spec, **(engine or {})}.items():
            (sources / name).write_text(text)
        bootloader = tmp_path / "bootloader" / "run"
        bootloader.parent.mkdir(exist_ok=True)
        bootloader.write_bytes(_OURS)
        return freeze(
            python=Path(sys.executable),
            site_packages=packages,
            engine=sources,
            spec="run.spec",
            bootloader=bootloader,
            bootloader_version=version,
            bootloader_platform=platform,
            work=tmp_path / place / "work",
            dest=tmp_path / place / "out",
            epoch=EPOCH,
            cancel=Cancel() if cancel is None else cancel,
            emit=events,
        )

    return call


def test_the_frozen_directory_comes_out_and_the_work_is_gone(
    freezing: Callable[..., FreezeReport], tmp_path: Path
) -> None:
    report = freezing()
    assert (report.programs, report.pyinstaller) == (("run",), "6.22.3")
    assert report.platform == "Linux-64bit-intel"
    assert (tmp_path / "plain" / "out" / "run").read_bytes() == _OURS
    assert list((tmp_path / "plain" / "work").iterdir()) == []


def test_the_packages_and_the_engine_are_only_read(
    freezing: Callable[..., FreezeReport], tmp_path: Path, packages: Path
) -> None:
    """Private copies are hard links: a file replaced by writing would change in the store."""
    before = snapshot(packages)
    freezing(
        "pathlib.Path('written.txt').write_text('by a spec')\n"
        "pathlib.Path('module.txt').write_text('changed')\n"
        "os.chmod('module.txt', 0o777)\n"
        "import module\n",
        engine={"module.txt": "original"},
    )
    assert snapshot(packages) == before
    engine = snapshot(tmp_path / "plain" / "engine")
    assert sorted(engine) == ["module.txt", "run.spec"]
    assert engine["module.txt"][1] == b"original"


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_do_not_depend_on_the_umask(
    freezing: Callable[..., FreezeReport], tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        freezing()
    finally:
        os.umask(before)
    modes = {name: mode for name, (mode, _) in snapshot(tmp_path / "plain" / "out").items()}
    assert modes == {
        "run": 0o755,
        "engine_internal": 0o755,
        "engine_internal/base_library.zip": 0o644,
    }
    assert (tmp_path / "plain" / "out").stat().st_mode & 0o7777 == 0o755


def test_pyinstaller_sees_a_scrubbed_environment_inside_of_the_work(
    freezing: Callable[..., FreezeReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "GITHUB_TOKEN", "CUDA_PATH", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "/from/the/user")
    answer = tmp_path / "seen.json"
    freezing(
        f"import json\npathlib.Path({str(answer)!r}).write_text("
        "json.dumps([dict(os.environ), sys.path, os.getcwd(), sys.flags.no_user_site]))"
    )
    variables, path, directory, no_user_site = json.loads(answer.read_text())
    assert "/from/the/user" not in variables.values()
    assert variables["PYTHONHASHSEED"] == "0"
    assert variables["SOURCE_DATE_EPOCH"] == str(EPOCH)
    assert no_user_site
    work = str((tmp_path / "plain" / "work").resolve())
    for name in ("HOME", "TMPDIR", "PYINSTALLER_CONFIG_DIR"):
        assert variables[name].startswith(work)
    assert directory.startswith(work)
    assert directory not in path
    assert not any("dist-packages" in part for part in path)


def test_a_module_of_the_engine_hides_none_of_pyinstallers(
    freezing: Callable[..., FreezeReport],
) -> None:
    freezing(engine={"json.py": "raise SystemExit('hidden')", "pathlib.py": "raise SystemExit(2)"})


@pytest.mark.parametrize(
    ("version", "platform"), [("6.11.1", "Linux-64bit-intel"), ("6.22.3", "Linux-64bit-arm")]
)
def test_a_bootloader_of_another_version_or_platform_is_refused(
    freezing: Callable[..., FreezeReport], tmp_path: Path, version: str, platform: str
) -> None:
    with pytest.raises(BootloaderError, match="another PyInstaller") as caught:
        freezing(version=version, platform=platform)
    assert version in caught.value.context["bootloader"]
    assert "6.22.3 for Linux-64bit-intel" in caught.value.context["PyInstaller"]
    assert not (tmp_path / "plain" / "out").exists()


@pytest.mark.parametrize(
    ("text", "rodata"), [(b"upstream", b"constants"), (b"ours", b"other constants")]
)
def test_a_program_that_was_not_made_from_our_bootloader_is_refused(
    freezing: Callable[..., FreezeReport], tmp_path: Path, text: bytes, rodata: bytes
) -> None:
    other = elf(interpreter="/lib/ld.so", sections={".text": text, ".rodata": rodata})
    with pytest.raises(FreezeError, match="not made from our bootloader"):
        freezing(f"program = bytes.fromhex({other.hex()!r})")
    assert not (tmp_path / "plain" / "out").exists()


def test_packages_without_pyinstaller_are_named(
    freezing: Callable[..., FreezeReport], packages: Path
) -> None:
    shutil.rmtree(packages / "PyInstaller")
    with pytest.raises(FreezeError, match="hold no PyInstaller"):
        freezing()


def test_pyinstallers_words_are_shown_without_its_chatter(
    freezing: Callable[..., FreezeReport], tmp_path: Path
) -> None:
    spec = (
        "for n in range(50): print(f'{n} INFO: looking at hooks')\n"
        "print('51 ERROR: Unable to find /engine/resources')\n"
        "sys.exit(1)"
    )
    with pytest.raises(FreezeError) as caught:
        freezing(spec)
    assert caught.value.context["PyInstaller"] == "51 ERROR: Unable to find /engine/resources"
    assert list((tmp_path / "plain" / "work").iterdir()) == []


def test_a_python_without_a_shared_library_is_something_missing_here(
    freezing: Callable[..., FreezeReport],
) -> None:
    words = "PyInstaller.exceptions.PythonLibraryNotFoundError: ERROR: Python shared library"
    with pytest.raises(HostToolMissingError, match="no shared library") as caught:
        freezing(f"sys.exit({words!r})")
    assert "libpython3" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("dist.parent.joinpath('second').mkdir()", "must make one directory"),
        ("files = {}", "no frozen program"),
        ("build = build / 'elsewhere'; build.mkdir(); sys.exit(0)", "must make one|does not make"),
    ],
)
def test_a_spec_that_makes_something_else_is_told_what_it_should_make(
    freezing: Callable[..., FreezeReport], spec: str, problem: str
) -> None:
    with pytest.raises(FreezeError, match=problem):
        freezing(spec)


def test_files_of_the_host_are_reported_and_ours_are_not(
    freezing: Callable[..., FreezeReport], tmp_path: Path
) -> None:
    host = tmp_path / "host" / "libhost.so.1.2"
    host.parent.mkdir()
    host.write_bytes(b"host")
    (host.parent / "libhost.so.1").symlink_to(host.name)
    spec = (
        f"files['libhost.so.1'] = {str(host.parent / 'libhost.so.1')!r}\n"
        "files['module.py'] = str(HERE.parent / 'module.py')\n"
        "files['run.spec'] = os.path.abspath('run.spec')\n"
        "files['os.py'] = os.__file__\n"
    )
    report = freezing(spec)
    (found,) = report.host_libraries
    assert found.path == "engine_internal/libhost.so.1"
    assert found.source == host.resolve()
    placed = tmp_path / "plain" / "out" / found.path
    assert found.sha256.hex == hashlib.sha256(placed.read_bytes()).hexdigest()


@pytest.fixture(scope="session")
def real_packages(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    make_environment(
        uv=tools.uv,
        python=Path(sys.executable),
        requirements=_HELLO / "requirements.txt",
        cache=folder / "cache",
        work=folder / "work",
        dest=folder / "site-packages",
        offline=False,
        emit=silent,
        cancel=Cancel(),
    )
    return folder / "site-packages"


def _freeze_hello(folder: Path, packages: Path, bootloader: BuiltFile) -> FreezeReport:
    return freeze(
        python=Path(sys.executable),
        site_packages=packages,
        engine=_HELLO,
        spec="run.spec",
        bootloader=bootloader.path,
        bootloader_version=PYINSTALLER,
        bootloader_platform="Linux-64bit-intel",
        work=folder / "work",
        dest=folder / "out",
        epoch=EPOCH,
        cancel=Cancel(),
        emit=silent,
    )


@pytest.mark.network
@pytest.mark.timeout(900)
def test_a_frozen_program_is_ours_runs_anywhere_and_is_the_same_twice(
    real_packages: Path,
    linux_bootloader: BuiltFile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = snapshot(real_packages)
    first = _freeze_hello(tmp_path / "first", real_packages, linux_bootloader)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    before = os.umask(0o077)
    try:
        second = _freeze_hello(tmp_path / "with space 日本語", real_packages, linux_bootloader)
    finally:
        os.umask(before)
    out = tmp_path / "with space 日本語" / "out"
    assert second == first
    assert snapshot(out) == snapshot(tmp_path / "first" / "out")
    assert snapshot(real_packages) == store

    done = subprocess.run([out / "run", "a b"], capture_output=True, check=True, cwd="/")
    said = json.loads(done.stdout)
    assert said["frozen"] is True
    assert (said["greeting"], said["arguments"]) == ("hello 世界", ["a b"])
    assert said["data"] == "some data"
    assert section_digest(out / "run", ".text") == linux_bootloader.text

    for path in out.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert str(tmp_path).encode() not in content, path
            assert str(_HELLO).encode() not in content, path
    for library in first.host_libraries:
        assert library.path.startswith("engine_internal/")
        assert library.source.is_file()
