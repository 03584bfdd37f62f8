from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from vvbuild.errors import HostCannotFreezeError, HostToolMissingError
from vvbuild.fetch.store import Store
from vvbuild.host import needs
from vvbuild.host.doctor import examine
from vvbuild.host.freezing import freezable, require_freezable
from vvbuild.host.needs import check_needs, host_table, install_hint, require_needs
from vvbuild.host.python import PythonFacts, query_python
from vvbuild.manifest.targets import host_platform, official_targets

linux = pytest.mark.skipif(sys.platform != "linux", reason="what Linux needs")


@pytest.fixture(scope="module")
def here() -> PythonFacts:
    return query_python(Path(sys.executable))


@pytest.fixture
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch):
    """Pretend to be a system, by ID and ID_LIKE."""

    def pretend(*names: str) -> None:
        monkeypatch.setattr(needs, "_os_release_names", lambda: list(names))

    return pretend


@linux
def test_all_that_is_missing_is_named_with_one_line_that_installs_it(
    here: PythonFacts, empty_path: None, family
) -> None:
    family("ubuntu", "debian")
    python = dataclasses.replace(here, version="3.11.7", shared_library=None)

    with pytest.raises(HostToolMissingError) as caught:
        require_needs(python)

    error = caught.value
    assert error.exit_status == 5
    assert "objcopy, objdump, ldd, the shared library of Python 3.11.7" in error.message
    assert error.hint == "As root: apt-get install -y binutils libc-bin libpython3.11"
    assert "objcopy" in error.context["binutils"]


@linux
@pytest.mark.parametrize(
    ("names", "line"),
    [
        (["debian"], "As root: apt-get install -y binutils"),
        (["linuxmint", "ubuntu", "debian"], "As root: apt-get install -y binutils"),
        (["rocky", "rhel", "fedora"], "As root: dnf install -y binutils"),
        (["alpine"], "As root: apk add binutils"),
        (["plan9"], "Install binutils with this system's package manager."),
        ([], "Install binutils with this system's package manager."),
    ],
)
def test_the_line_is_the_systems_own(names: list[str], line: str, family) -> None:
    family(*names)
    (binutils,) = (need for need in host_table().need if need.name == "binutils")

    assert install_hint([binutils], None) == line


@linux
def test_what_is_there_is_told_with_its_place(
    here: PythonFacts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("objcopy", "objdump", "ldd"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    library = tmp_path / "libpython.so"

    states = check_needs(dataclasses.replace(here, shared_library=library))

    assert all(not state.missing for state in states)
    assert {state.where for state in states} == {
        f"{tmp_path}/objcopy, {tmp_path}/objdump", f"{tmp_path}/ldd", str(library),
    }  # fmt: skip
    require_needs(dataclasses.replace(here, shared_library=library))


def test_every_need_says_why_and_how() -> None:
    for need in host_table().need:
        assert need.why
        assert need.install
        assert set(need.install) <= set(host_table().families)


def test_targets_of_this_machine_can_be_frozen_and_others_name_a_runner() -> None:
    ours = {target for target in official_targets() if freezable(target)}
    assert {target.platform for target in ours} == {host_platform()}

    for target, row in official_targets().items():
        if target in ours:
            require_freezable(target)
            continue
        with pytest.raises(HostCannotFreezeError) as caught:
            require_freezable(target)
        assert caught.value.exit_status == 5
        assert caught.value.context["CI runner that can"] == row.runner
        assert row.runner in caught.value.hint


@linux
def test_doctor_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_path: None
) -> None:
    diagnosis = examine(Store(tmp_path / "deep/store"))
    states = {check.name: check for check in diagnosis.checks}

    assert states["binutils"].state == "bad"
    assert states["binutils"].hint
    assert diagnosis.targets == ()
    assert not (tmp_path / "deep").exists()


def test_doctor_does_not_repeat_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://me:secret@pypi.example/simple")
    monkeypatch.setenv("npm_config_registry", "https://token:secret@npm.example/")

    found = " ".join(check.found for check in examine(Store(tmp_path)).checks)

    assert "pypi.example" in found
    assert "npm.example" in found
    assert "secret" not in found
