"""Which GPUs a library has code for."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.binary.mutate import GPU_READERS, hammer
from tests.makers.elf import elf_bytes, make_elf
from tests.makers.fatbin import container_bytes, entry_bytes, make_gpu_code
from tests.makers.pe import make_pe, pe_bytes
from vvbuild.binary.fatbin import Code
from vvbuild.binary.gpu_code import Coverage, GpuCode, read_gpu_code
from vvbuild.errors import BinaryMalformedError

ARCHES = st.sampled_from([37, 50, 75, 80, 86, 89, 90, 100, 103, 120, 121])
NAMES = st.builds(
    "{}_{}{}".format, st.sampled_from(["sm", "compute"]), ARCHES, st.sampled_from(["", "a", "f"])
)
CONTAINERS = st.lists(st.lists(NAMES, min_size=1, max_size=6, unique=True), min_size=1, max_size=5)


def library(path: Path, *containers: list[str], section: str = ".nv_fatbin") -> GpuCode:
    """Read back a library with those containers."""
    code = read_gpu_code(make_elf(path / "a.so", sections={section: make_gpu_code(containers)}))
    assert code is not None
    return code


@given(containers=CONTAINERS, windows=st.booleans())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_what_is_read(
    tmp_path: Path, containers: list[list[str]], windows: bool
) -> None:
    section = {".nv_fatbin": make_gpu_code(containers)}
    path = tmp_path / "a"
    path.write_bytes(pe_bytes(sections=section) if windows else elf_bytes(sections=section))

    code = read_gpu_code(path)

    assert code is not None
    assert code.containers == len(containers)
    found = {
        f"{word}_{arch}": number
        for word, kind in (("sm", "sass"), ("compute", "ptx"))
        for arch, number in code.counts(kind).items()  # type: ignore[arg-type]
    }
    names = {name for each in containers for name in each}
    assert found == {name: sum(name in each for each in containers) for name in names}


def test_code_for_device_links_counts_as_well(tmp_path: Path) -> None:
    """NVIDIA's tool lists it only when it is asked for everything."""
    assert library(tmp_path, ["sm_90"], section="__nv_relfatbin").sass == ("90",)


@pytest.mark.parametrize("header", [64, 72, 112, 184])
def test_headers_of_entries_have_any_length(tmp_path: Path, header: int) -> None:
    content = container_bytes(entry_bytes("sm_80", header=header), entry_bytes("compute_90"))
    path = make_elf(tmp_path / "a.so", sections={".nv_fatbin": content})

    code = read_gpu_code(path)

    assert code is not None
    assert (code.sass, code.ptx) == (("80",), ("90",))


def test_zeros_may_stand_between_containers(tmp_path: Path) -> None:
    """As Microsoft's linker aligns them."""
    content = make_gpu_code([["sm_80"], ["sm_90"]], padding=bytes(8)) + bytes(500)
    path = make_pe(tmp_path / "a.dll", sections={".nv_fatb": content})

    code = read_gpu_code(path)

    assert code is not None
    assert code.sass == ("80", "90")


def test_code_among_other_data_is_found_where_the_usual_section_holds_a_stub(
    tmp_path: Path,
) -> None:
    """cuFFT: judged by its stub alone it would run nowhere but by compiling for 5.2."""
    hidden = b"\1" * 80_000 + make_gpu_code([["sm_90"], ["sm_120"]], padding=b"\2" * 24)
    sections = {".nv_fatbin": make_gpu_code([["sm_52"]]), ".ldata": hidden}

    code = read_gpu_code(make_elf(tmp_path / "libcufft.so.11", sections=sections))

    assert code is not None
    assert code.sass == ("52", "90", "120")


def test_sections_of_other_names_are_searched_as_well(tmp_path: Path) -> None:
    """cuBLASLt and cuDNN have kernels in .cask_resource."""
    usual = make_gpu_code([["sm_80"]] * 800)
    odd = bytes(80_000) + make_gpu_code([["sm_100a"]], padding=b"\2" * 24)
    sections = {".nv_fatbin": usual, ".cask_resource": odd, ".rodata.x": odd}

    code = read_gpu_code(make_elf(tmp_path / "libcublasLt.so.12", sections=sections))

    assert code is not None
    assert code.counts("sass") == {"80": 800, "100a": 1}


def test_a_library_without_gpu_code_has_none(tmp_path: Path) -> None:
    assert read_gpu_code(make_elf(tmp_path / "a.so")) is None
    assert read_gpu_code(make_pe(tmp_path / "a.dll")) is None
    text = tmp_path / "a.txt"
    text.write_bytes(make_gpu_code([["sm_80"]]))
    assert read_gpu_code(text) is None


# What it serves


@pytest.mark.parametrize(
    ("code", "device", "reach"),
    [
        (["sm_80"], "8.0", "native"),
        (["sm_80"], "8.6", "native"),
        (["sm_86"], "8.0", "none"),
        (["sm_80"], "9.0", "none"),
        (["compute_80"], "9.0", "jit"),
        (["compute_80"], "12.1", "jit"),
        (["compute_90"], "8.9", "none"),
        (["sm_90a"], "9.0", "native"),
        (["sm_100a"], "10.3", "none"),
        (["sm_100f"], "10.3", "native"),
        (["sm_100f"], "12.0", "none"),
        (["sm_120a"], "12.1", "none"),
        (["compute_90a"], "10.0", "none"),  # microsoft/onnxruntime#26230
        (["compute_90a"], "9.0", "jit"),
        (["compute_100f"], "10.3", "jit"),
        (["compute_100f"], "12.0", "none"),
        (["lto_50"], "8.0", "none"),
        (["sm_87"], "8.9", "none"),  # a Tegra's
        (["sm_87"], "8.7", "native"),
        (["sm_80", "compute_80"], "8.9", "native"),
        (["sm_37"], "3.7", "native"),
    ],
)
def test_code_serves_the_gpus_that_nvidia_says(
    tmp_path: Path, code: list[str], device: str, reach: str
) -> None:
    assert library(tmp_path, code).coverage(device).reach == reach


def test_containers_are_counted_by_the_best_that_each_does(tmp_path: Path) -> None:
    code = library(tmp_path, ["sm_90a"], ["sm_80", "compute_90"], ["sm_90a", "compute_90"])

    assert code.coverage("9.0") == Coverage(native=2, jit=1, none=0)
    assert code.coverage("8.0") == Coverage(native=1, jit=0, none=2)
    assert code.coverage("12.0") == Coverage(native=0, jit=2, none=1)


@given(containers=CONTAINERS, device=st.sampled_from(["7.5", "8.9", "9.0", "10.3", "12.1"]))
@settings(max_examples=60)
def test_every_container_is_counted_once(containers: list[list[str]], device: str) -> None:
    groups = tuple((frozenset(map(_code, names)), 1) for names in containers)

    coverage = GpuCode(groups).coverage(device)

    assert sum(coverage) == len(containers)


def test_a_newer_gpu_is_never_served_worse_by_plain_ptx(tmp_path: Path) -> None:
    code = library(tmp_path, ["compute_75"])

    assert {code.coverage(each).reach for each in ("7.5", "8.0", "9.0", "12.1", "20.0")} == {"jit"}


# What cannot be judged


@pytest.mark.parametrize(
    "entry",
    [
        entry_bytes("sm_90", flags=0x11 | 1 << 40),
        entry_bytes("sm_90a", flags=0x20_0000),
        b"\x07" + entry_bytes("sm_90")[1:],
    ],
    ids=["an unknown flag", "both suffixes", "an unknown kind"],
)
def test_what_is_unknown_serves_no_gpu(tmp_path: Path, entry: bytes) -> None:
    path = make_elf(tmp_path / "a.so", sections={".nv_fatbin": container_bytes(entry)})

    code = read_gpu_code(path)

    assert code is not None
    assert code.unknown == 1
    assert code.coverage("9.0") == Coverage(0, 0, 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\1" * 64, "something else than GPU code"),
        (container_bytes(entry_bytes("sm_80"), version=2), "unknown layout"),
        (container_bytes(entry_bytes("sm_80"))[:-8], "unknown layout"),
        (container_bytes(entry_bytes("sm_80", header=8)), "ends behind its container"),
        (container_bytes(entry_bytes("sm_80")[:-1]), "ends behind its container"),
        (make_gpu_code([["sm_80"], ["sm_90"]], padding=b"\1" * 8), "something else"),
    ],
)
def test_a_broken_chain_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = make_elf(tmp_path / "a.so", sections={".nv_fatbin": content})

    with pytest.raises(BinaryMalformedError, match=message):
        read_gpu_code(path)


@pytest.mark.parametrize("windows", [False, True])
def test_damage_gives_facts_or_the_one_error(tmp_path: Path, windows: bool) -> None:
    content = make_gpu_code([["sm_80", "compute_90"], ["sm_90a"]] * 5)
    sections = {".nv_fatbin": content, ".odd": bytes(70_000) + content}
    data = pe_bytes(sections=sections) if windows else elf_bytes(sections=sections)
    seed = random.randrange(1 << 30)
    start = data.index(content)

    refused = hammer(
        data, [(start, start + len(content))], tmp_path / "a", GPU_READERS, seed=seed, count=200
    )

    assert refused > 0


def _code(name: str) -> Code:
    word, _, rest = name.partition("_")
    arch = rest.rstrip("af")
    return Code("sass" if word == "sm" else "ptx", int(arch), rest[len(arch) :])
