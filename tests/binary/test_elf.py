from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.makers.elf import elf_bytes, make_elf
from vvbuild.binary.elf import ElfFacts, VersionNeed, is_elf, read_elf, section_digest
from vvbuild.errors import BinaryMalformedError, ExitStatus

_MADE = elf_bytes(
    interpreter="/lib64/ld-linux-x86-64.so.2",
    soname="libmade.so.1",
    needed=["libc.so.6", "libm.so.6"],
    runpath="$ORIGIN:$ORIGIN/../lib",
    needs={"libc.so.6": ["GLIBC_2.9", "GLIBC_2.14"], "libm.so.6": ["GLIBC_2.2.5"]},
    headers=False,
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
    assert read_elf(make_elf(tmp_path / "x", machine=number)).machine == machine


@pytest.mark.parametrize(("number", "kind"), [(1, "rel"), (2, "exec"), (3, "dyn"), (4, "core")])
def test_kinds_are_told_apart(tmp_path: Path, number: int, kind: str) -> None:
    assert read_elf(make_elf(tmp_path / "x", kind=number)).kind == kind


def test_rpath_and_runpath_are_not_confused(tmp_path: Path) -> None:
    facts = read_elf(_write(tmp_path / "x", elf_bytes(rpath="/old:/older", runpath="/new")))
    assert (facts.rpath, facts.runpath) == (("/old", "/older"), ("/new",))


def test_a_floor_is_the_highest_number_not_the_last_text(tmp_path: Path) -> None:
    versions = {
        "libc.so.6": ["GLIBC_2.14", "GLIBC_2.9", "GLIBC_PRIVATE"],
        "libstdc++.so.6": ["GLIBCXX_3.4.9", "GLIBCXX_3.4.29", "CXXABI_1.3", "CXXABI_TM_1"],
        "libcublas.so.12": ["libcublas.so.12"],
    }
    facts = read_elf(_write(tmp_path / "x", elf_bytes(needs=versions)))
    assert facts.floors == {
        "CXXABI": "1.3",
        "CXXABI_TM": "1",
        "GLIBC": "2.14",
        "GLIBCXX": "3.4.29",
    }
    assert VersionNeed("libcublas.so.12", "libcublas.so.12") in facts.version_needs


def test_a_file_without_section_headers_is_read(tmp_path: Path) -> None:
    data = elf_bytes(headers=False, needed=["libc.so.6"], needs={"libc.so.6": ["GLIBC_2.17"]})
    facts = read_elf(_write(tmp_path / "x", data))
    assert facts.needed == ("libc.so.6",)
    assert facts.floors == {"GLIBC": "2.17"}


def test_a_static_program_has_no_dynamic_facts(tmp_path: Path) -> None:
    facts = read_elf(_write(tmp_path / "x", elf_bytes(kind=2)))
    assert (facts.interpreter, facts.needed, facts.floors) == (None, (), {})


def test_the_digest_of_a_section_is_that_of_its_bytes_alone(made: Path) -> None:
    assert section_digest(made, ".text").hex == hashlib.sha256(b"machine code").hexdigest()
    assert section_digest(made, ".rodata").hex == hashlib.sha256(b"constants").hexdigest()


def test_a_missing_section_is_named(made: Path) -> None:
    with pytest.raises(BinaryMalformedError, match=r"\.data"):
        section_digest(made, ".data")


def test_a_section_that_is_cut_off_has_no_digest(tmp_path: Path) -> None:
    patched = bytearray(elf_bytes(headers=False, sections={".text": b"0123456789"}))
    # The size of .text: the table at the end has three headers, and its is the second.
    field = len(patched) - 2 * 64 + 32
    assert int.from_bytes(patched[field : field + 8], "little") == 10
    patched[field : field + 8] = (1 << 40).to_bytes(8, "little")
    with pytest.raises(BinaryMalformedError, match="ends behind"):
        section_digest(_write(tmp_path / "x", bytes(patched)), ".text")


def test_a_chain_of_versions_that_never_ends_is_refused_at_once(tmp_path: Path) -> None:
    data = elf_bytes(needs={"libc.so.6": ["GLIBC_2.17"]}, endless_versions=True)
    with pytest.raises(BinaryMalformedError):
        read_elf(_write(tmp_path / "x", data))


def test_many_libraries_that_each_need_many_versions_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The product of two lists of bearable length is not bearable."""
    monkeypatch.setattr("vvbuild.binary.elf.MOST_ENTRIES", 50)
    versions = {f"lib{n}.so": [f"V_{i}" for i in range(30)] for n in range(2)}
    with pytest.raises(BinaryMalformedError, match="more than 50"):
        read_elf(_write(tmp_path / "x", elf_bytes(needs=versions)))


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


@pytest.mark.parametrize(("bits", "big"), [(32, False), (32, True), (64, True)])
def test_every_word_size_and_byte_order_is_read(tmp_path: Path, bits: int, big: bool) -> None:
    facts = read_elf(
        make_elf(
            tmp_path / "x",
            bits=bits,
            big=big,
            soname="libx.so.1",
            needed=["libc.so.6"],
            interpreter="/lib/ld.so",
            needs={"libc.so.6": ["GLIBC_2.17"]},
            defines=["V_1"],
            build_id=b"\xab\xcd",
        )
    )
    assert (facts.bits, facts.byte_order) == (bits, "big" if big else "little")
    assert (facts.soname, facts.needed) == ("libx.so.1", ("libc.so.6",))
    assert (facts.floors, facts.interpreter) == ({"GLIBC": "2.17"}, "/lib/ld.so")
    assert (facts.version_definitions, facts.build_id) == (("V_1",), "abcd")


@pytest.mark.parametrize(
    ("machine", "bits", "big", "name"),
    [
        ("x64", 32, False, "x32"), ("arm64", 64, True, "arm64_be"), ("ppc64", 64, False, "ppc64le"),
        ("ppc64", 64, True, "ppc64"), ("riscv64", 64, False, "riscv64"),
    ],
)  # fmt: skip
def test_a_machine_of_another_size_or_order_is_another_machine(
    tmp_path: Path, machine: str, bits: int, big: bool, name: str
) -> None:
    assert read_elf(make_elf(tmp_path / "x", machine=machine, bits=bits, big=big)).machine == name


def test_each_library_has_its_own_floor_even_one_that_a_packager_took_out(tmp_path: Path) -> None:
    """ONNX Runtime's wheels up to 1.13 name CUDA's libraries in their version needs only."""
    needs = {
        "libc.so.6": ["GLIBC_2.14", "GLIBC_2.27"],
        "libm.so.6": ["GLIBC_2.29"],
        "libcudnn.so.8": ["libcudnn.so.8"],
    }
    facts = read_elf(make_elf(tmp_path / "x", needed=["libc.so.6"], needs=needs))
    assert facts.floors_by_library == {
        "libc.so.6": {"GLIBC": "2.27"},
        "libm.so.6": {"GLIBC": "2.29"},
        "libcudnn.so.8": {},
    }
    assert facts.floors == {"GLIBC": "2.29"}


def test_packed_relocations_need_the_glibc_that_knows_them(tmp_path: Path) -> None:
    needs = {"libc.so.6": ["GLIBC_2.17", "GLIBC_ABI_DT_RELR"]}
    assert read_elf(make_elf(tmp_path / "x", needs=needs)).floors == {"GLIBC": "2.36"}


def test_a_version_that_may_be_missing_is_told_apart(tmp_path: Path) -> None:
    needs = {"libc.so.6": ["GLIBC_2.17", "GLIBC_2.36"]}
    facts = read_elf(make_elf(tmp_path / "x", needs=needs, weak_needs=["GLIBC_2.36"]))
    assert [need.weak for need in facts.version_needs] == [False, True]


def test_the_versions_that_a_library_gives_do_not_count_its_own_name(tmp_path: Path) -> None:
    facts = read_elf(make_elf(tmp_path / "x", soname="libx.so.1", defines=["V_1", "V_2"]))
    assert facts.version_definitions == ("V_1", "V_2")


_INTERPRETER = "/lib64/ld-linux-x86-64.so.2"


@pytest.mark.parametrize(
    ("facts", "static", "pie"),
    [
        ({"kind": "exec"}, True, False),
        ({"kind": "exec", "interpreter": _INTERPRETER, "needed": ["libc.so.6"]}, False, False),
        ({"kind": "dyn", "interpreter": _INTERPRETER, "needed": ["libc.so.6"]}, False, True),
        ({"kind": "dyn", "flags_1": 0x0800_0000}, True, True),
        ({"kind": "dyn", "soname": "libx.so"}, False, False),
        # libc can be started, and is a library all the same.
        ({"kind": "dyn", "soname": "libc.so.6", "interpreter": _INTERPRETER}, False, False),
    ],
)
def test_programs_and_libraries_are_told_apart(
    tmp_path: Path, facts: dict[str, object], static: bool, pie: bool
) -> None:
    read = read_elf(make_elf(tmp_path / "x", **facts))
    assert (read.static, read.pie) == (static, pie)


def test_what_hardened_systems_refuse_is_told(tmp_path: Path) -> None:
    assert read_elf(make_elf(tmp_path / "a", execstack=True)).executable_stack is True
    assert read_elf(make_elf(tmp_path / "b", execstack=False)).executable_stack is False
    assert read_elf(make_elf(tmp_path / "c")).executable_stack is None
    assert read_elf(make_elf(tmp_path / "d", textrel=True)).text_relocations is True
    assert read_elf(make_elf(tmp_path / "e", flags=4)).text_relocations is True
    assert read_elf(make_elf(tmp_path / "f")).text_relocations is False


def test_names_that_are_no_utf8_can_still_be_written_as_json(tmp_path: Path) -> None:
    data = elf_bytes(needed=["libXX.so"]).replace(b"libXX.so", b"lib\xff\xfe.so")
    assert read_elf(_write(tmp_path / "x", data)).needed == (r"lib\xff\xfe.so",)


def test_a_list_of_versions_that_comes_back_to_itself_ends(tmp_path: Path) -> None:
    data = elf_bytes(needs={"a.so": ["A_1"], "b.so": ["B_1"]}, headers=False)
    step = struct.pack("<II", 16, 32)  # of the first record: its versions, and the next record
    assert data.count(step) == 1
    path = _write(tmp_path / "x", data.replace(step, struct.pack("<II", 16, 0)))
    with pytest.raises(BinaryMalformedError, match="ends after 1 of 2"):
        read_elf(path)


def test_ten_thousand_names_that_are_one_long_name_do_not_fill_the_memory(tmp_path: Path) -> None:
    path = make_elf(tmp_path / "x", needed=["l" * 60_000] * 200)
    with pytest.raises(BinaryMalformedError, match="too long together"):
        read_elf(path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert is_elf(tmp_path / "pipe") is False
    with pytest.raises(BinaryMalformedError, match="regular"):
        read_elf(tmp_path / "pipe")


@pytest.mark.parametrize("keep", [4, 51, 63, 64, 200, 343])
def test_a_file_that_was_cut_off_in_its_headers_is_refused(tmp_path: Path, keep: int) -> None:
    with pytest.raises(BinaryMalformedError):
        read_elf(_write(tmp_path / "x", _MADE[:keep]))


@pytest.mark.skipif(shutil.which("patchelf") is None, reason="needs patchelf")
def test_a_file_that_was_edited_afterwards_is_read(tmp_path: Path) -> None:
    """The editor moves the names behind everything, to other addresses than offsets."""
    path = tmp_path / "x.so"
    shutil.copy(_real_files()[0], path)
    before = read_elf(path)
    long = "$ORIGIN/" + "x" * 3000
    # One by one: patchelf before 0.15 does only the last of two things.
    for change in (["--set-rpath", long], ["--set-soname", "libnew.so.7"]):
        subprocess.run(["patchelf", *change, path], check=True)
    after = read_elf(path)
    assert (after.runpath, after.soname) == ((long,), "libnew.so.7")
    assert (after.needed, after.version_needs) == (before.needed, before.version_needs)
