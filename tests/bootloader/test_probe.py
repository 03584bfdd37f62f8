"""The order of a PC's GPUs, with and without the hints."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from vvbuild.binary.program import look_at
from vvbuild.bootloader.probe import (
    NAMES,
    Adapter,
    Probe,
    ProbeResult,
    probe_adapters,
    read_adapters,
)
from vvbuild.errors import MissingError, UsageError
from vvbuild.fetch.store import Store
from vvbuild.manifest.bootloader import hint_values
from vvbuild.manifest.release import find_release
from vvbuild.model.events import silent
from vvbuild.report.plain import render
from vvbuild.report.views.bootloader import probe_view
from vvbuild.runtime.cancel import Cancel

INTEL = Adapter(0, 128, "Intel", "Intel(R) UHD Graphics 630")
NVIDIA = Adapter(1, 6002, "NVIDIA", "NVIDIA GeForce RTX 2060 with Max-Q Design")
SAID = """\
adapter 0 128 8086 Intel(R) UHD Graphics 630\r
adapter 1 6002 10de NVIDIA GeForce RTX 2060 with Max-Q Design\r
adapter 2 0 1414 Microsoft Basic Render Driver (software)\r
adapters 3\r
"""


def probes(*lists: tuple[Adapter, ...] | None) -> ProbeResult:
    plain, hinted = (
        Probe(Path("probe", name), name == NAMES[1], adapters)
        for name, adapters in zip(NAMES, lists, strict=True)
    )
    return ProbeResult((plain, hinted))


def test_what_the_program_prints_is_read() -> None:
    assert read_adapters(SAID) == (
        INTEL, NVIDIA, Adapter(2, 0, "Microsoft", "Microsoft Basic Render Driver (software)"),
    )  # fmt: skip


def test_a_windows_that_tells_no_gpus_says_why() -> None:
    with pytest.raises(MissingError, match="CreateDXGIFactory1 0x80004005"):
        read_adapters("error CreateDXGIFactory1 0x80004005\r\n")


@pytest.mark.parametrize(
    ("plain", "hinted", "changed"),
    [
        ((INTEL, NVIDIA), (NVIDIA, INTEL), True),
        ((INTEL, NVIDIA), (INTEL, NVIDIA), False),
        ((), (), False),
        (None, None, None),
    ],
)
def test_only_the_first_gpu_counts(
    plain: tuple[Adapter, ...] | None, hinted: tuple[Adapter, ...] | None, changed: bool | None
) -> None:
    assert probes(plain, hinted).changed is changed


@pytest.mark.parametrize("ran", [False, True])
def test_what_people_read(snapshot: object, ran: bool) -> None:
    result = probes((INTEL, NVIDIA), (NVIDIA, INTEL)) if ran else probes(None, None)

    assert render(probe_view(result).blocks, 80) == snapshot


def test_gpus_are_asked_for_on_windows_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="on Windows, not on linux-x64"):
        probe_adapters(
            find_release("sample"), "linux-x64-cpu", tmp_path, store=Store(tmp_path / "store"),
            offline=True, emit=silent, cancel=Cancel(),
        )  # fmt: skip


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.timeout(900)
def test_both_programs_are_built_and_start_under_wine(tmp_path: Path) -> None:
    result = probe_adapters(
        find_release("sample"), "win-x64-directml", tmp_path / "out",
        store=Store(tmp_path / "store"), offline=False, emit=silent, cancel=Cancel(),
    )  # fmt: skip

    seen = [look_at(probe.path, frozenset(hint_values())).exports for probe in result.probes]
    assert seen == [{}, hint_values()]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(NAMES)
    if shutil.which("wine") is None:
        return
    environment = {**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
    for probe in result.probes:
        done = subprocess.run(
            ["wine", probe.path], env=environment, capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip
        # Without a display Wine may have no adapter, or no DXGI; it says so by itself.
        last = done.stdout.splitlines()[-1]
        assert last.startswith(("adapters ", "error "))
