from __future__ import annotations

import platform
import sys

import pytest
from syrupy.assertion import SnapshotAssertion

from vvbuild.errors import MissingError, UnknownNameError
from vvbuild.manifest.targets import (
    find_target,
    host_platform,
    official_targets,
    platform_row,
    program_name,
    target_table,
)
from vvbuild.model.target import ARCHES, DEVICES, OSES, Platform

OFFICIAL = [
    "win-x64-cpu", "win-x64-directml", "win-x64-cuda", "macos-x64-cpu", "macos-arm64-cpu",
    "linux-x64-cpu", "linux-arm64-cpu", "linux-x64-cuda",
]  # fmt: skip
# How VOICEVOX ENGINE calls them in its releases.
UPSTREAM = {
    "windows-cpu": "win-x64-cpu",
    "windows-directml": "win-x64-directml",
    "windows-nvidia": "win-x64-cuda",
    "macos-x64": "macos-x64-cpu",
    "macos-arm64": "macos-arm64-cpu",
    "linux-cpu-x64": "linux-x64-cpu",
    "linux-cpu-arm64": "linux-arm64-cpu",
    "linux-nvidia": "linux-x64-cuda",
}


def test_the_official_targets_are_eight() -> None:
    assert [str(target) for target in official_targets()] == OFFICIAL


@pytest.mark.parametrize("name", OFFICIAL)
def test_an_official_name_is_known(name: str) -> None:
    assert str(find_target(name)) == name


@pytest.mark.parametrize(("upstream", "ours"), UPSTREAM.items())
def test_every_spelling_of_upstream_is_known(upstream: str, ours: str) -> None:
    assert str(find_target(upstream)) == ours
    assert official_targets()[find_target(ours)].upstream == upstream


@pytest.mark.parametrize("name", [" linux-x64-cpu ", "LINUX-X64-CPU", "Windows-NVIDIA"])
def test_case_and_spaces_do_not_matter(name: str) -> None:
    assert str(find_target(name)) in OFFICIAL


def test_no_two_targets_share_a_spelling() -> None:
    spellings = [
        spelling
        for target, row in official_targets().items()
        for spelling in (str(target), row.upstream, *row.aliases)
    ]

    assert len(set(spellings)) == len(spellings)


@pytest.mark.parametrize(
    "name",
    [
        "linux-arm64-cuda",
        "linux-x64",
        "windows",
        "win-x64-nvidia",
        "mac",
        "linux-gpu",
        "win-arm64-cpu",
        "",
    ],
)
def test_an_unknown_target_names_the_nearest(name: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UnknownNameError) as caught:
        find_target(name)

    error = caught.value
    assert error.exit_status == 2
    assert (error.message, error.hint) == snapshot


def test_what_is_proposed_exists() -> None:
    with pytest.raises(UnknownNameError) as caught:
        find_target("linux-arm64-cuda")

    proposed = caught.value.hint.removeprefix("Did you mean ").removesuffix("?").split(" or ")
    assert proposed
    assert set(proposed) <= set(OFFICIAL)


def test_the_table_spells_everything_that_a_target_is_made_of() -> None:
    table = target_table()

    assert set(table.os) == set(OSES)
    assert set(table.arch) == set(ARCHES)
    assert set(table.device) == set(DEVICES)
    assert set(table.platform) == {f"{os}-{arch}" for os in OSES for arch in ARCHES}


@pytest.mark.parametrize(
    ("where", "name"), [("win-x64", "run.exe"), ("linux-arm64", "run"), ("macos-x64", "run")]
)
def test_b090_a_program_ends_in_exe_on_windows_only(where: str, name: str) -> None:
    assert program_name("run", Platform.parse(where)) == name


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("linux", "x86_64", "linux-x64"),
        ("linux", "aarch64", "linux-arm64"),
        ("darwin", "arm64", "macos-arm64"),
        ("darwin", "x86_64", "macos-x64"),
        ("win32", "AMD64", "win-x64"),
        ("win32", "ARM64", "win-arm64"),
    ],
)
def test_a_machine_is_recognised(
    system: str, machine: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)

    assert str(host_platform()) == expected
    assert platform_row(host_platform()).pyinstaller


@pytest.mark.parametrize(("system", "machine"), [("linux", "riscv64"), ("freebsd14", "amd64")])
def test_another_machine_is_told_so(
    system: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)

    with pytest.raises(MissingError, match=machine) as caught:
        host_platform()
    assert caught.value.exit_status == 5
