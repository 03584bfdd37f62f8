"""Installing an engine's packages: uv's words by a stand-in, its work by the real one."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bundle.wheels import Wheel, serve, write_wheel
from tests.server.faults import Status
from tests.server.http import LoopbackServer, Resource
from tests.workshop import Events, Tools, snapshot
from vvbuild.bundle.environment import environment_packages, make_environment
from vvbuild.errors import (
    DigestMismatchError,
    DiskFullError,
    ExitStatus,
    ExternalError,
    LockError,
    MissingError,
    NetworkError,
    NotFoundOnServerError,
    OfflineError,
    PythonMissingError,
    VvbuildError,
)
from vvbuild.runtime.cancel import Cancel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are POSIX programs")

_FAILURES = [
    (
        "error: Failed to download `h11==0.16.0`\n  cause: Hash mismatch for `h11==0.16.0`\n",
        DigestMismatchError, ExitStatus.INTEGRITY, "h11==0.16.0",
    ),
    (
        ("error: In `--require-hashes` mode, all requirements must have a hash, but none were "
        "provided for: h11==0.16.0"),
        LockError, ExitStatus.INTEGRITY, "h11==0.16.0",
    ),
    (
        ("error: No solution found when resolving dependencies\n  cause: Because altgraph was not "
        "found in the cache and you require altgraph==0.17.5, we can conclude that your "
        "requirements are unsatisfiable.\n\nhint: Packages were unavailable because the network "
        "was disabled. When the network is disabled, registry packages may only be read from the "
        "cache."),
        OfflineError, ExitStatus.NETWORK, "altgraph==0.17.5",
    ),
    (
        ("error: No solution found when resolving dependencies\n  cause: Because numpy==1.21.0 has "
        "no usable wheels and you require numpy==1.21.0, we can conclude that your requirements "
        "are unsatisfiable.\n\nhint: Wheels are required for `numpy` because building from source "
        "is disabled for all packages (i.e., with `--no-build`)"),
        MissingError, ExitStatus.MISSING, "numpy==1.21.0",
    ),
    (
        ("error: No solution found when resolving dependencies\n  cause: Because there is no "
        "version of h11==9.9.9 and you require h11==9.9.9, we can conclude that your requirements "
        "are unsatisfiable."),
        NotFoundOnServerError, ExitStatus.NETWORK, "h11==9.9.9",
    ),
    (
        ("error: Failed to fetch: http://127.0.0.1:9/simple/altgraph/\n  cause: error sending "
        "request for url (http://127.0.0.1:9/simple/altgraph/)\n  cause: Connection refused"),
        NetworkError, ExitStatus.NETWORK, "http://127.0.0.1:9/simple/altgraph/",
    ),
    (
        ("error: Failed to install: numpy-2.0.2.whl (numpy==2.0.2)\n  cause: No space left on "
        "device (os error 28)"),
        DiskFullError, ExitStatus.RESOURCES, "numpy==2.0.2",
    ),
    (
        "thread 'main' panicked at crates/uv/src/lib.rs:1:1: a bug of uv's",
        ExternalError, ExitStatus.EXTERNAL, "unknown",
    ),
]  # fmt: skip


@pytest.fixture
def environment(tmp_path: Path, events: Events) -> Callable[..., Path]:
    def call(
        uv: Path,
        requirements: str,
        *,
        place: str = "plain",
        cache: str = "cache",
        offline: bool = False,
        python: Path = Path(sys.executable),
    ) -> Path:
        folder = tmp_path / place
        folder.mkdir(exist_ok=True)
        (folder / "requirements.txt").write_text(requirements)
        make_environment(
            uv=uv,
            python=python,
            requirements=folder / "requirements.txt",
            cache=tmp_path / cache,
            work=folder / "work",
            dest=folder / "out" / "site-packages",
            offline=offline,
            emit=events,
            cancel=Cancel(),
        )
        return folder / "out" / "site-packages"

    return call


@pytest.mark.parametrize(("words", "error", "status", "what"), _FAILURES)
def test_what_uv_says_becomes_the_error_that_a_user_can_act_on(
    environment: Callable[..., Path],
    script: Callable[[str, str], Path],
    tmp_path: Path,
    words: str,
    error: type[VvbuildError],
    status: ExitStatus,
    what: str,
) -> None:
    uv = script("uv", f"import sys; print({words!r}, file=sys.stderr); sys.exit(2)")
    with pytest.raises(error) as caught:
        environment(uv, "h11==0.16.0")
    assert type(caught.value) is error
    assert caught.value.exit_status is status
    assert caught.value.context["what"] == what
    assert words.splitlines()[-1] in caught.value.context["uv"]
    assert list((tmp_path / "plain" / "work").iterdir()) == []
    assert not (tmp_path / "plain" / "out").exists()


_TELLS = """
import json, os, sys
if sys.argv[2] == "install":
    open({path!r}, "w").write(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]))
"""


@pytest.fixture
def told(
    environment: Callable[..., Path], script: Callable[[str, str], Path], tmp_path: Path
) -> Callable[..., tuple[list[str], dict[str, str], str]]:
    """What uv is told: arguments, environment, working directory."""

    def call(**options: object) -> tuple[list[str], dict[str, str], str]:
        answer = tmp_path / "told.json"
        environment(script("uv", _TELLS.format(path=str(answer))), "", **options)
        arguments, variables, directory = json.loads(answer.read_text())
        return arguments, variables, directory

    return call


def test_uv_installs_by_digest_only_wheels_and_reads_no_settings_of_a_project(
    told: Callable[..., tuple[list[str], dict[str, str], str]], tmp_path: Path
) -> None:
    arguments, variables, directory = told(offline=True)
    assert {
        "--no-config", "--require-hashes", "--no-deps", "--only-binary=:all:", "--offline",
        "--link-mode=copy",
    } <= set(arguments)  # fmt: skip
    assert variables["UV_PYTHON_DOWNLOADS"] == "never"
    assert variables["UV_CACHE_DIR"] == str(tmp_path / "cache")
    assert Path(directory).is_relative_to(tmp_path / "plain" / "work")


def test_how_to_reach_the_index_is_passed_on_and_nothing_else(
    told: Callable[..., tuple[list[str], dict[str, str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = {
        "HTTPS_PROXY": "http://proxy:3128",
        "no_proxy": "localhost",
        "SSL_CERT_FILE": "/etc/company.pem",
        "UV_SYSTEM_CERTS": "1",
        "UV_NATIVE_TLS": "1",
    }
    kept_back = {
        "UV_CONFIG_FILE": "/x", "UV_EXCLUDE_NEWER": "2020", "UV_NO_BINARY": "1", "UV_OFFLINE": "1",
        "PYTHONPATH": "/x", "GITHUB_TOKEN": "secret", "VIRTUAL_ENV": "/x", "UV_PYTHON": "3.9",
    }  # fmt: skip
    for name, value in (passed | kept_back).items():
        monkeypatch.setenv(name, value)
    _, variables, _ = told()
    assert {name: variables.get(name) for name in passed} == passed
    assert not kept_back.keys() & variables.keys()


@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"])
def test_the_users_index_is_uvs_and_its_password_is_in_no_command_line(
    told: Callable[..., tuple[list[str], dict[str, str], str]],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "https://user:p%40ss@mirror.example/simple/")
    arguments, variables, _ = told()
    assert variables["UV_DEFAULT_INDEX"] == "https://user:p%40ss@mirror.example/simple/"
    assert "p%40ss" not in " ".join(arguments)


def test_an_index_in_pips_file_is_uvs(
    told: Callable[..., tuple[list[str], dict[str, str], str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://mirror.example/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    assert told()[1]["UV_DEFAULT_INDEX"] == "https://mirror.example/simple/"


def test_a_python_that_is_none_is_named(
    environment: Callable[..., Path], script: Callable[[str, str], Path]
) -> None:
    broken = script("python", "import sys; print('no venv here'); sys.exit(1)")
    with pytest.raises(PythonMissingError) as caught:
        environment(broken, "", python=broken)
    assert "no venv here" in caught.value.context["last lines"]


@pytest.fixture
def uv() -> Path:
    """The real uv of the developers' environment."""
    beside = Path(sys.executable).with_name("uv")
    found = beside if beside.is_file() else shutil.which("uv")
    if found is None:
        pytest.skip("uv is not installed")
    return Path(found)


@pytest.fixture
def wheels(tmp_path: Path) -> list[Wheel]:
    folder = tmp_path / "wheels"
    return [
        write_wheel(folder, "plain"),
        write_wheel(folder, "scripted", scripts=["scripted", "scripted-tool"]),
        write_wheel(folder, "needy", requires=["absent>=1"]),
    ]


@pytest.fixture
def index(
    server: LoopbackServer, wheels: list[Wheel], monkeypatch: pytest.MonkeyPatch
) -> LoopbackServer:
    monkeypatch.setenv("UV_DEFAULT_INDEX", serve(server, wheels))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return server


def test_the_same_requirements_are_the_same_tree_in_any_directory(
    environment: Callable[..., Path], uv: Path, index: LoopbackServer, wheels: list[Wheel]
) -> None:
    text = "".join(wheel.requirement for wheel in wheels)
    first = snapshot(environment(uv, text))
    before = os.umask(0o077)
    try:
        second = snapshot(environment(uv, text, place="with space 日本語", cache="other cache"))
    finally:
        os.umask(before)
    assert second == first
    assert {mode for mode, _ in first.values()} <= {0o755, 0o644}
    assert not any(name.endswith(("INSTALLER", "REQUESTED", ".pyc")) for name in first)
    record = first["scripted-1.0.dist-info/RECORD"][1]
    assert isinstance(record, bytes)
    assert b"bin/scripted" not in record


def test_installed_packages_are_listed(
    environment: Callable[..., Path], uv: Path, index: LoopbackServer, wheels: list[Wheel]
) -> None:
    tree = environment(uv, "".join(wheel.requirement for wheel in wheels))
    assert environment_packages(tree) == (("needy", "1.0"), ("plain", "1.0"), ("scripted", "1.0"))


def test_a_package_that_the_requirements_forgot_is_told(
    environment: Callable[..., Path],
    uv: Path,
    index: LoopbackServer,
    wheels: list[Wheel],
    events: Events,
) -> None:
    environment(uv, wheels[2].requirement)
    assert any("absent" in note for note in events.notes("warning"))
    events.seen.clear()
    environment(uv, wheels[0].requirement, place="second")
    assert events.notes("warning") == []


def test_a_file_of_two_packages_is_told(
    environment: Callable[..., Path],
    uv: Path,
    index: LoopbackServer,
    tmp_path: Path,
    events: Events,
) -> None:
    both = [
        write_wheel(tmp_path / "more", name, files={"shared.py": f"# {name}\n"})
        for name in ("left", "right")
    ]
    serve(index, both)
    environment(uv, "".join(wheel.requirement for wheel in both))
    assert any(note.startswith("shared.py comes from") for note in events.notes("warning"))


def test_uvs_cache_is_not_written_through(
    environment: Callable[..., Path],
    uv: Path,
    index: LoopbackServer,
    wheels: list[Wheel],
    tmp_path: Path,
) -> None:
    """The RECORD is rewritten; a hard link into the cache would rewrite it there, too."""
    text = wheels[1].requirement
    environment(uv, text)
    second = environment(uv, text, place="second")
    links = [path for path in second.rglob("*") if path.is_file() and path.stat().st_nlink > 1]
    assert links == []


def test_a_cache_is_enough_offline_and_an_empty_one_is_not(
    environment: Callable[..., Path], uv: Path, index: LoopbackServer, wheels: list[Wheel]
) -> None:
    environment(uv, wheels[0].requirement)
    index.requests.clear()
    assert environment(uv, wheels[0].requirement, place="again", offline=True).is_dir()
    with pytest.raises(OfflineError):
        environment(uv, wheels[0].requirement, place="empty", cache="no cache", offline=True)
    assert index.requests == []


def test_other_bytes_than_the_lock_promises_are_refused(
    environment: Callable[..., Path], uv: Path, index: LoopbackServer
) -> None:
    with pytest.raises(DigestMismatchError) as caught:
        environment(uv, f"plain==1.0 --hash=sha256:{'0' * 64}\n")
    assert "plain==1.0" in caught.value.context["what"]


def test_a_requirement_without_a_digest_is_refused(
    environment: Callable[..., Path], uv: Path, index: LoopbackServer
) -> None:
    with pytest.raises(LockError):
        environment(uv, "plain==1.0\n")


def test_a_package_without_a_wheel_for_this_python_is_refused(
    environment: Callable[..., Path], uv: Path, index: LoopbackServer, tmp_path: Path
) -> None:
    old = write_wheel(tmp_path / "more", "old", tag="cp36-cp36m-win32")
    serve(index, [old])
    with pytest.raises(MissingError):
        environment(uv, old.requirement)


def test_an_index_that_fails_is_a_network_error(
    environment: Callable[..., Path], uv: Path, index: LoopbackServer, wheels: list[Wheel]
) -> None:
    index.resources["/simple/plain/"] = Resource(b"", always=Status(503))
    with pytest.raises(NetworkError) as caught:
        environment(uv, wheels[0].requirement)
    assert "/simple/plain/" in caught.value.context["what"]


def test_a_package_that_the_index_lacks_is_not_found(
    environment: Callable[..., Path], uv: Path, index: LoopbackServer
) -> None:
    with pytest.raises(NotFoundOnServerError):
        environment(uv, f"missing==1.0 --hash=sha256:{'0' * 64}\n")


@pytest.mark.network
def test_real_packages_are_the_same_tree_twice(
    environment: Callable[..., Path], tools: Tools, tmp_path: Path
) -> None:
    requirements = (Path(__file__).parent / "hello" / "requirements.txt").read_text()
    first = environment(tools.uv, requirements)
    second = environment(tools.uv, requirements, place="with space 日本語", cache="other")
    assert snapshot(first) == snapshot(second)
    assert ("pyinstaller", "6.22.3") in environment_packages(first)
