"""What PE files say of themselves: made ones, of which each byte is known, and real ones."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.binary.mutate import PE_READERS, hammer
from tests.makers.pe import make_pe, pe_bytes
from vvbuild.binary.identify import identify, read_binary
from vvbuild.binary.pe import PeImport, is_pe, read_pe
from vvbuild.binary.pe_exports import PeExport, read_exported_words, read_exports
from vvbuild.errors import BinaryMalformedError

MANIFEST = b"""<assembly xmlns="urn:schemas-microsoft-com:asm.v1"><application><windowsSettings
 xmlns:w="http://schemas.microsoft.com/SMI/2016/WindowsSettings">%s</windowsSettings></application>
</assembly>"""
NAMES = st.text(string.ascii_letters + string.digits + "_?@$", min_size=1, max_size=40)
DLLS = st.text(string.ascii_letters + string.digits + "-_. é日", min_size=1, max_size=30)


@pytest.fixture(scope="module")
def launchers() -> list[Path]:
    """Real programs for three processors: the launchers that pip puts before scripts."""
    distlib = pytest.importorskip("distlib")
    return sorted(Path(distlib.__file__).parent.glob("*.exe"))


# What a file says


@pytest.mark.parametrize("machine", ["x64", "arm64", "x86"])
def test_the_processor_is_called_as_targets_call_it(tmp_path: Path, machine: str) -> None:
    facts = read_pe(make_pe(tmp_path / "a.dll", machine=machine, dll=True))

    assert (facts.machine, facts.is_dll) == (machine, True)
    assert facts.bits == (32 if machine == "x86" else 64)


def test_an_unknown_processor_is_a_number(tmp_path: Path) -> None:
    assert read_pe(make_pe(tmp_path / "a.exe", machine=0x1234)).machine == "0x1234"


@pytest.mark.parametrize("subsystem", ["console", "windows"])
def test_a_program_says_whether_it_wants_a_console(tmp_path: Path, subsystem: str) -> None:
    assert read_pe(make_pe(tmp_path / "a.exe", subsystem=subsystem)).subsystem == subsystem


@pytest.mark.parametrize("machine", ["x64", "x86"])
def test_imports_are_read_by_name_and_by_number(tmp_path: Path, machine: str) -> None:
    path = make_pe(
        tmp_path / "a.exe", machine=machine,
        imports={"KERNEL32.dll": ["Sleep", 7], "cudart64_12.dll": [0xFFFF]},
        delay_imports={"DirectML.dll": ["DMLCreateDevice1"]},
    )  # fmt: skip

    facts = read_pe(path)

    assert facts.imports == (
        PeImport("KERNEL32.dll", ("Sleep", "#7")), PeImport("cudart64_12.dll", ("#65535",)),
    )  # fmt: skip
    assert facts.delay_imports == (PeImport("DirectML.dll", ("DMLCreateDevice1",)),)


def test_a_file_without_tables_has_none(tmp_path: Path) -> None:
    path = make_pe(tmp_path / "a.dll")

    facts = read_pe(path)

    assert (facts.imports, facts.delay_imports, facts.strings) == ((), (), {})
    assert (facts.file_version, facts.manifest, facts.signed) == (None, None, False)
    assert read_exports(path) is None
    assert read_exported_words(path, frozenset({"a"})) == {}


def test_exports_have_names_numbers_and_what_they_stand_for(tmp_path: Path) -> None:
    path = make_pe(
        tmp_path / "a.dll", exports=["OrtGetApiBase"], values={"Hint": 1},
        forwards={"Other": "NTDLL.RtlOther"}, library="onnxruntime.dll",
    )  # fmt: skip

    found = read_exports(path)

    assert found is not None
    assert found.library == "onnxruntime.dll"
    assert found.names == ("Hint", "OrtGetApiBase", "Other")
    assert [each.ordinal for each in found.exports] == [1, 2, 3]
    assert [each.forward for each in found.exports] == [None, None, "NTDLL.RtlOther"]


def test_values_of_exported_variables_are_those_of_the_file(tmp_path: Path) -> None:
    path = make_pe(
        tmp_path / "a.exe", exports=["function"], values={"One": 1, "Most": 0xFFFF_FFFF, "Zero": 0},
        forwards={"Elsewhere": "A.B"},
    )  # fmt: skip

    values = read_exported_words(path, frozenset({"One", "Most", "Zero", "Elsewhere", "absent"}))

    assert values == {"One": 1, "Most": 0xFFFF_FFFF, "Zero": 0}


def test_a_variable_that_the_file_does_not_fill_is_zero(tmp_path: Path) -> None:
    """As a compiler leaves one that begins as 0: behind the bytes of its section."""
    data = bytearray(pe_bytes(values={"Hint": 1}))
    row = 64 + 24 + 240 + 40  # .data
    assert data[row : row + 5] == b".data"
    path = tmp_path / "a.exe"
    path.write_bytes(data)
    (export,) = read_exports(path).exports  # type: ignore[union-attr]
    address = int.from_bytes(data[row + 12 : row + 16], "little")
    size = int.from_bytes(data[row + 16 : row + 20], "little")
    data[row + 8 : row + 12] = (size + 0x100).to_bytes(4, "little")
    at = bytes(data).index(export.address.to_bytes(4, "little"))
    data[at : at + 4] = (address + size + 8).to_bytes(4, "little")
    path.write_bytes(data)

    assert read_exported_words(path, frozenset({"Hint"})) == {"Hint": 0}


def test_the_version_resource_is_read(tmp_path: Path) -> None:
    words = {"ProductName": "DirectML", "CompanyName": "日本語", "FileVersion": "1.15.4+241025"}
    path = make_pe(tmp_path / "a.dll", version="1.15.4.65535", strings=words, manifest=b"<a/>")

    facts = read_pe(path)

    assert (facts.file_version, facts.product_version) == ("1.15.4.65535", "1.15.4.65535")
    assert facts.strings == words
    assert facts.manifest == b"<a/>"


@pytest.mark.parametrize(
    ("text", "aware"),
    [
        (b"<w:longPathAware>true</w:longPathAware>", True),
        (b'<longPathAware xmlns="x"> True </longPathAware>', True),
        (b"<w:longPathAware>false</w:longPathAware>", False),
        (b"<longPathAwareness>true</longPathAwareness>", False),
        (b"", False),
    ],
)
def test_long_paths_are_asked_for_in_the_manifest(tmp_path: Path, text: bytes, aware: bool) -> None:
    path = make_pe(tmp_path / "a.exe", manifest=MANIFEST % text)

    assert read_pe(path).long_path_aware is aware


def test_a_signature_is_seen(tmp_path: Path) -> None:
    assert read_pe(make_pe(tmp_path / "a.exe", signature=b"PKCS #7")).signed
    assert not read_pe(make_pe(tmp_path / "b.exe", signature=b"")).signed


def test_what_is_appended_does_not_matter(tmp_path: Path) -> None:
    path = make_pe(tmp_path / "run.exe", values={"Hint": 1}, data=b"MEI\014\013\012" * 1000)

    assert read_exported_words(path, frozenset({"Hint"})) == {"Hint": 1}


@given(
    imports=st.dictionaries(
        DLLS, st.lists(NAMES | st.integers(0, 0xFFFF), min_size=1, max_size=4), max_size=5
    ),
    values=st.dictionaries(NAMES, st.integers(0, 0xFFFF_FFFF), max_size=5),
    strings=st.dictionaries(NAMES, DLLS, max_size=4),
    machine=st.sampled_from(["x64", "x86", "arm64"]),
)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_what_is_read(
    tmp_path: Path,
    imports: dict[str, list[str | int]],
    values: dict[str, int],
    strings: dict[str, str],
    machine: str,
) -> None:
    path = make_pe(
        tmp_path / "a.dll", machine=machine, imports=imports, values=values, strings=strings
    )

    facts = read_pe(path)

    assert {each.dll: each.functions for each in facts.imports} == {
        dll: tuple(f"#{it}" if isinstance(it, int) else it for it in functions)
        for dll, functions in imports.items()
    }
    assert facts.strings == strings
    assert read_exported_words(path, frozenset(values)) == values


# Real files


def test_real_programs_for_three_processors(launchers: list[Path]) -> None:
    seen = {path.name: read_pe(path) for path in launchers}

    assert {name: (facts.machine, facts.subsystem) for name, facts in seen.items()} == {
        "t32.exe": ("x86", "console"), "t64.exe": ("x64", "console"),
        "t64-arm.exe": ("arm64", "console"), "w32.exe": ("x86", "windows"),
        "w64.exe": ("x64", "windows"), "w64-arm.exe": ("arm64", "windows"),
    }  # fmt: skip
    for facts in seen.values():
        assert "KERNEL32.dll" in [each.dll for each in facts.imports]
        assert facts.file_version == "1.1.0.14"
        assert facts.manifest is not None


def test_names_shared_by_one_function_are_all_there(tmp_path: Path) -> None:
    data = bytearray(pe_bytes(exports=["first", "second"]))
    path = tmp_path / "a.dll"
    # The table of numbers: both names stand for the first function.
    at = bytes(data).index(b"\0\0\1\0", 0x800)
    data[at : at + 4] = b"\0\0\0\0"
    path.write_bytes(data)

    found = read_exports(path)

    assert found is not None
    assert [(each.name, each.ordinal) for each in found.exports] == [
        ("first", 1), ("second", 1), (None, 2),
    ]  # fmt: skip
    assert isinstance(found.exports[0], PeExport)


# What is no PE file


def test_a_dos_program_is_none(tmp_path: Path) -> None:
    path = tmp_path / "edit.com"
    path.write_bytes(b"MZ" + bytes(200))

    assert not is_pe(path)
    assert read_binary(path) is None
    with pytest.raises(BinaryMalformedError, match="no PE header"):
        read_pe(path)


@pytest.mark.parametrize("size", [2, 63, 64, 80, 88, 200, 400, 0x600, 0x700])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.dll"
    path.write_bytes(pe_bytes(imports=["KERNEL32.dll"], version="1.2.3.4")[:size])

    with pytest.raises(BinaryMalformedError, match=r"a\.dll is not a whole PE file"):
        read_pe(path)


def test_a_signature_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.exe"
    path.write_bytes(pe_bytes(signature=b"x" * 1000)[:-100])

    with pytest.raises(BinaryMalformedError, match="the signature"):
        read_pe(path)


def test_a_made_file_is_known_by_its_start(tmp_path: Path) -> None:
    path = make_pe(tmp_path / "a")

    assert identify(path) == "pe"
    assert read_binary(path) == read_pe(path)


def test_damage_gives_facts_or_the_one_error(tmp_path: Path, launchers: list[Path]) -> None:
    made = pe_bytes(
        imports={"A.dll": ["f", 1]}, delay_imports=["B.dll"], values={"One": 1},
        forwards={"F": "A.B"}, version="1.2.3.4", strings={"A": "b"}, manifest=b"<a/>",
        signature=b"signed",
    )  # fmt: skip
    seed = random.randrange(1 << 30)
    hot = [(0, 0x250), (0x800, len(made))]
    refused = hammer(made, hot, tmp_path / "made.dll", PE_READERS, seed=seed, count=400)
    real = launchers[0].read_bytes()
    at = int.from_bytes(real[60:64], "little")
    hammer(real, [(at, at + 600)], tmp_path / "real.exe", PE_READERS, seed=seed, count=50)

    assert refused > 0


@pytest.mark.slow
def test_much_damage_gives_facts_or_the_one_error(tmp_path: Path, launchers: list[Path]) -> None:
    seed = random.randrange(1 << 30)
    for path in launchers:
        data = path.read_bytes()
        hot = [(0, 1024), (len(data) // 2, len(data))]
        hammer(data, hot, tmp_path / path.name, PE_READERS, seed=seed, count=5000)
