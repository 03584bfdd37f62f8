from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.binary.elf_writer import elf
from vvbuild.binary.elf import ElfFacts, VersionNeed, is_elf, read_elf, section_digest
from vvbuild.errors import BinaryMalformedError, ExitStatus

_MADE = elf(
    interpreter="/lib64/ld-linux-x86-64.so.2",
    soname="libmade.so.1",
    needed=["libc.so.6", "libm.so.6"],
    runpath="$ORIGIN:$ORIGIN/../lib",
    versions={"libc.so.6": ["GLIBC_2.9", "GLIBC_2.14"], "libm.so.6": ["GLIBC_2.2.5"]},
    sections={".text": b"machine code", ".rodata": b"constants"},
)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "made.so"
    path.write_bytes(_MADE)
    return path


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_every_fact_of_a_known_file_is_read(made: Path) -> None:
    assert read_elf(made) == ElfFacts(
        machine="x64",
        kind="dyn",
        interpreter="/lib64/ld-linux-x86-64.so.2",
        soname="libmade.so.1",
        needed=("libc.so.6", "libm.so.6"),
        rpath=(),
        runpath=("$ORIGIN", "$ORIGIN/../lib"),
        version_needs=(
            VersionNeed("libc.so.6", "GLIBC_2.9"),
            VersionNeed("libc.so.6", "GLIBC_2.14"),
            VersionNeed("libm.so.6", "GLIBC_2.2.5"),
        ),
    )


@pytest.mark.parametrize(
    ("number", "machine"), [(62, "x64"), (183, "arm64"), (3, "x86"), (9999, "9999")]
)
def test_machines_have_our_names_or_elfs_own(tmp_path: Path, number: int, machine: str) -> None:
    assert read_elf(_write(tmp_path / "x", elf(machine=number))).machine == machine


@pytest.mark.parametrize(("number", "kind"), [(1, "rel"), (2, "exec"), (3, "dyn"), (4, "core")])
def test_kinds_are_told_apart(tmp_path: Path, number: int, kind: str) -> None:
    assert read_elf(_write(tmp_path / "x", elf(kind=number))).kind == kind


def test_rpath_and_runpath_are_not_confused(tmp_path: Path) -> None:
    facts = read_elf(_write(tmp_path / "x", elf(rpath="/old:/older", runpath="/new")))
    assert (facts.rpath, facts.runpath) == (("/old", "/older"), ("/new",))


def test_a_floor_is_the_highest_number_not_the_last_text(tmp_path: Path) -> None:
    versions = {
        "libc.so.6": ["GLIBC_2.14", "GLIBC_2.9", "GLIBC_PRIVATE"],
        "libstdc++.so.6": ["GLIBCXX_3.4.9", "GLIBCXX_3.4.29", "CXXABI_1.3", "CXXABI_TM_1"],
        "libcublas.so.12": ["libcublas.so.12"],
    }
    facts = read_elf(_write(tmp_path / "x", elf(versions=versions)))
    assert facts.floors == {
        "CXXABI": "1.3",
        "CXXABI_TM": "1",
        "GLIBC": "2.14",
        "GLIBCXX": "3.4.29",
    }
    assert VersionNeed("libcublas.so.12", "libcublas.so.12") in facts.version_needs


def test_a_file_without_section_headers_is_read(tmp_path: Path) -> None:
    data = elf(needed=["libc.so.6"], versions={"libc.so.6": ["GLIBC_2.17"]})
    facts = read_elf(_write(tmp_path / "x", data))
    assert facts.needed == ("libc.so.6",)
    assert facts.floors == {"GLIBC": "2.17"}


def test_a_static_program_has_no_dynamic_facts(tmp_path: Path) -> None:
    facts = read_elf(_write(tmp_path / "x", elf(kind=2)))
    assert (facts.interpreter, facts.needed, facts.floors) == (None, (), {})


def test_the_digest_of_a_section_is_that_of_its_bytes_alone(made: Path) -> None:
    assert section_digest(made, ".text").hex == hashlib.sha256(b"machine code").hexdigest()
    assert section_digest(made, ".rodata").hex == hashlib.sha256(b"constants").hexdigest()


def test_a_missing_section_is_named(made: Path) -> None:
    with pytest.raises(BinaryMalformedError, match=r"\.data"):
        section_digest(made, ".data")


def test_a_section_that_is_cut_off_has_no_digest(tmp_path: Path) -> None:
    patched = bytearray(elf(sections={".text": b"0123456789"}))
    # The size of .text: the table at the end has three headers, and its is the second.
    field = len(patched) - 2 * 64 + 32
    assert int.from_bytes(patched[field : field + 8], "little") == 10
    patched[field : field + 8] = (1 << 40).to_bytes(8, "little")
    with pytest.raises(BinaryMalformedError, match="ends behind"):
        section_digest(_write(tmp_path / "x", bytes(patched)), ".text")


def test_a_chain_of_versions_that_never_ends_is_refused_at_once(tmp_path: Path) -> None:
    data = elf(versions={"libc.so.6": ["GLIBC_2.17"]}, endless_versions=True)
    with pytest.raises(BinaryMalformedError):
        read_elf(_write(tmp_path / "x", data))


def test_many_libraries_that_each_need_many_versions_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The product of two lists of bearable length is not bearable."""
    monkeypatch.setattr("vvbuild.binary.elf.MOST_ENTRIES", 50)
    versions = {f"lib{n}.so": [f"V_{i}" for i in range(30)] for n in range(2)}
    with pytest.raises(BinaryMalformedError, match="more than 50"):
        read_elf(_write(tmp_path / "x", elf(versions=versions)))


def test_broken_section_headers_do_not_matter_to_the_loader_nor_to_us(tmp_path: Path) -> None:
    data = bytearray(_MADE)
    data[40:48] = (1 << 40).to_bytes(8, "little")  # where the section headers begin
    assert read_elf(_write(tmp_path / "x", bytes(data))).soname == "libmade.so.1"


@pytest.mark.parametrize(
    "data", [b"", b"\x7fEL", b"\x7fELF", b"\x7fELF\x02\x01", b"MZ" + bytes(99)]
)
def test_what_is_no_elf_file_is_one_typed_error(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BinaryMalformedError) as caught:
        read_elf(_write(tmp_path / "x", data))
    assert caught.value.exit_status is ExitStatus.INTEGRITY
    assert caught.value.code == "binary-malformed"


def test_a_missing_file_stays_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_elf(tmp_path / "absent")


@pytest.mark.parametrize(
    ("data", "expected"), [(_MADE, True), (b"\x7fELF", True), (b"\x7fEL", False), (b"", False)]
)
def test_elf_files_are_known_by_their_first_bytes(
    tmp_path: Path, data: bytes, expected: bool
) -> None:
    assert is_elf(_write(tmp_path / "x", data)) is expected
    assert is_elf(tmp_path) is False


def _real_files() -> list[Path]:
    """An extension module of this Python, and a program of the system."""
    folder = Path(sysconfig.get_config_var("DESTSHARED") or "/nowhere")
    modules = sorted(folder.glob("*.so"), key=lambda path: path.stat().st_size)
    programs = [Path(found) for name in ("true", "ls") if (found := shutil.which(name))]
    return [path for path in [*modules[:2], *programs] if is_elf(path)]


@pytest.mark.skipif(sys.platform != "linux", reason="needs ELF files of the system")
@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf to compare with")
def test_real_files_are_read_as_readelf_reads_them() -> None:
    files = _real_files()
    assert files
    for path in files:
        text = subprocess.run(
            ["readelf", "-W", "-d", "-V", path], capture_output=True, text=True, check=True
        ).stdout
        facts = read_elf(path)
        assert list(facts.needed) == re.findall(r"\(NEEDED\).*\[(.*)\]", text)
        needs = text.partition("Version needs section")[2]
        names = re.findall(r"Name: (\S+)\s+Flags", needs)
        assert [need.version for need in facts.version_needs] == names


_MUTATIONS = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=12)


@pytest.mark.skipif(not _real_files(), reason="needs an ELF file of the system")
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(mutations=_MUTATIONS, keep=st.floats(0, 1), headers=st.booleans())
def test_a_damaged_real_file_is_read_or_refused_and_nothing_else(
    tmp_path: Path, mutations: list[tuple[int, int]], keep: float, headers: bool
) -> None:
    data = bytearray(_real_files()[0].read_bytes())
    span = 0x400 if headers else len(data)
    for position, value in mutations:
        data[position % span] = value
    path = _write(tmp_path / "x", bytes(data if keep > 0.5 else data[: int(len(data) * keep * 2)]))
    for read in (read_elf, lambda target: section_digest(target, ".text")):
        with suppress(BinaryMalformedError):
            read(path)


@settings(
    max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(mutations=_MUTATIONS.filter(bool))
def test_a_damaged_small_file_is_read_or_refused_and_nothing_else(
    tmp_path: Path, mutations: list[tuple[int, int]]
) -> None:
    data = bytearray(_MADE)
    for position, value in mutations:
        data[position % len(data)] = value
    with suppress(BinaryMalformedError):
        read_elf(_write(tmp_path / "x", bytes(data)))
