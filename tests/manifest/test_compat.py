"""The tables of what fits what: what is written in them, and what bad tables get."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.manifest.conftest import edited, line_of
from vvbuild import resources
from vvbuild.errors import ManifestError
from vvbuild.manifest.compat import TABLES, compat_tables, load_compat
from vvbuild.manifest.decode import read_document
from vvbuild.model.compat import Compat
from vvbuild.model.version import clauses, older, within

PACKAGED = resources.manifests_dir() / "compat"
DATA = {name: read_document(PACKAGED / f"{name}.toml").data for name in TABLES}
ROWS = [
    (table, index, row)
    for data in DATA.values()
    for table, rows in data.items()
    if isinstance(rows, list)
    for index, row in enumerate(rows)
]


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A copy of the packaged tables, to break."""
    folder = tmp_path / "compat"
    shutil.copytree(PACKAGED, folder)
    return folder


@pytest.fixture
def broken(tables: Path) -> Callable[..., tuple[str, str]]:
    """What a table with one edit is refused with, and where it was edited."""

    def broken(name: str, old: str, new: str, where: str | None = None) -> tuple[str, str]:
        path = tables / f"{name}.toml"
        text = edited(path.read_text(encoding="utf-8"), old, new)
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ManifestError) as caught:
            load_compat(tables)
        assert caught.value.exit_status == 2
        place = f"{path}:{line_of(text, (where or new).splitlines()[-1])}"
        return caught.value.message, place

    return broken


# --- what is packaged ------------------------------------------------------------------------


def test_every_file_of_the_folder_is_a_table_that_is_loaded() -> None:
    assert {path.stem for path in PACKAGED.iterdir()} == set(TABLES)
    assert load_compat(PACKAGED) == compat_tables()


# What a reader can open: a page, an issue, a commit, a path or tag of a repository, a package.
SOURCE = re.compile(
    r"https://\S+|[\w.-]+/[\w.-]+#\d+|[\w.-]+/[\w.-]+@[0-9a-f]{7,40}"
    r"|[\w.-]+/[\w.-]+, (tag [\w.-]+|\S+ at [\w.]+)|(pypi|npm):[\w-]+/[\w.]+"
)


@pytest.mark.parametrize(("table", "index", "row"), ROWS, ids=lambda it: str(it)[:24])
def test_every_row_has_a_source_that_a_reader_can_open(
    table: str, index: int, row: dict[str, Any]
) -> None:
    assert SOURCE.fullmatch(row["source"]), (table, index, row["source"])


@pytest.mark.parametrize(
    ("version", "cuda", "cudnn"),
    [
        ("1.11.0", 11, 8), ("1.13.1", 11, 8), ("1.16.3", 11, 8), ("1.17.1", 11, 8),
        ("1.18.1", 11, 8), ("1.19.2", 12, 9), ("1.20.2", 12, 9), ("1.22.0", 12, 9),
        ("1.23.2", 12, 9), ("1.26.0", 12, 9), ("1.27.0", 13, 9), ("1.29.0", 13, 9),
        ("1.30.0", 13, 9), ("1.31.1", 13, 9),
    ],
)  # fmt: skip
def test_the_wheels_that_were_opened_need_what_they_link(
    version: str, cuda: int, cudnn: int
) -> None:
    row = compat_tables().onnxruntime.cuda_row("pypi", version)

    assert row is not None
    assert (row.cuda, row.cudnn) == (cuda, cudnn)
    assert row.cudnn_optional is not older(version, "1.28")
    assert row.driver in {11: (None,), 12: (525,), 13: (580,)}[cuda]


@pytest.mark.parametrize(
    ("version", "directml"),
    [
        ("1.10.0", "1.8.0"), ("1.11.0", "1.8.0"), ("1.12.1", "1.9.0"), ("1.13.1", "1.9.1"),
        ("1.14.1", "1.10.1"), ("1.15.1", "1.12.0"), ("1.16.3", "1.12.1"), ("1.17.1", "1.13.1"),
        ("1.17.3", "1.13.1"), ("1.18.1", "1.14.1"), ("1.19.2", "1.15.1"), ("1.20.1", "1.15.2"),
        ("1.21.1", "1.15.4"), ("1.22.0", "1.15.4"), ("1.23.2", "1.15.4"), ("1.24.4", "1.15.4"),
        ("1.30.0", "1.15.4"),
    ],
)  # fmt: skip
def test_the_directml_that_microsoft_ships(version: str, directml: str) -> None:
    row = compat_tables().onnxruntime.directml_row(version)

    assert row is not None
    assert (row.shipped, row.least) == (directml, "1.8.0")


@pytest.mark.parametrize(
    ("version", "ir", "opset", "ml"),
    [
        ("1.9.0", 8, 15, 2), ("1.11.0", 8, 16, 2), ("1.12.0", 8, 17, 3), ("1.13.1", 8, 17, 3),
        ("1.14.1", 8, 18, 3), ("1.15.1", 9, 19, 3), ("1.16.3", 9, 19, 3), ("1.17.3", 9, 20, 4),
        ("1.18.1", 10, 21, 5), ("1.20.1", 10, 21, 5), ("1.21.1", 10, 22, 5), ("1.22.1", 10, 22, 5),
        ("1.23.2", 11, 23, 5), ("1.24.4", 13, 25, 5), ("1.25.1", 13, 26, 5), ("1.31.1", 13, 26, 5),
        ("1.32.0", 14, 28, 5),
    ],
)  # fmt: skip
def test_the_models_that_an_onnxruntime_was_seen_to_load(
    version: str, ir: int, opset: int, ml: int
) -> None:
    row = next(each for each in compat_tables().onnxruntime.onnx if within(version, each.versions))

    assert (row.ir, row.opset, row.ml) == (ir, opset, ml)


@pytest.mark.parametrize(
    ("version", "python"),
    [
        ("5.3", ">=3.7,<3.11"), ("5.12.0", ">=3.7,<3.12"), ("5.13.2", ">=3.7,<3.13"),
        ("6.2.0", ">=3.8,<3.13"), ("6.11.1", ">=3.8,<3.14"), ("6.14.2", ">=3.8,<3.14"),
        ("6.17.0", ">=3.8,<3.15"), ("6.18.0", ">=3.8,<3.15"), ("6.21.0", ">=3.8,<3.16"),
        ("6.22.3", ">=3.8,<3.16"),
    ],
)  # fmt: skip
def test_the_pythons_that_a_wheel_of_pyinstaller_names(version: str, python: str) -> None:
    row = compat_tables().pyinstaller.row(version)

    assert row is not None
    assert row.python == python


@pytest.mark.parametrize(
    ("version", "packs"),
    [
        ("0.1.0", ("11.6.0", "8.4.1.50", "1.9.0")), ("0.1.1", ("11.8.0", "8.9.2.26", "1.10.0")),
        ("0.1.2", ("11.8.0", "8.9.2.26", "1.10.0")), ("0.2.0", ("12.2.2", "8.9.2.26", "1.13.1")),
        ("0.2.1", ("12.2.2", "8.9.2.26", "1.13.1")), ("0.3.0", ("12.8.1", "9.8.0.87", "1.15.4")),
    ],
)  # fmt: skip
def test_what_the_additional_libraries_pack(version: str, packs: tuple[str, str, str]) -> None:
    row = compat_tables().libraries.row(version)

    assert row is not None
    assert tuple(row.packs().values()) == packs


# Which of 6.1 7.0 7.5 8.6 8.9 9.0 10.0 10.3 12.0 12.1 have machine code (S), code that the driver
# translates (J) or nothing (-) in the wheels that were read.
COVERAGE = [
    ("1.13.1", "linux-x64-cuda", "SSSSSJJJJJ"), ("1.17.1", "linux-x64-cuda", "SSSSSJJJJJ"),
    ("1.17.1", "win-x64-cuda", "SSSSSJJJJJ"), ("1.20.2", "linux-x64-cuda", "SSSSSJJJJJ"),
    ("1.23.2", "linux-x64-cuda", "SSSSSSJJJJ"), ("1.23.2", "win-x64-cuda", "S-SSSJJJJJ"),
    ("1.27.0", "linux-x64-cuda", "--SSSSS-SJ"), ("1.31.1", "linux-x64-cuda", "--SSSS--S-"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "target", "coverage"), COVERAGE)
def test_the_cards_that_a_wheel_was_seen_to_cover(version: str, target: str, coverage: str) -> None:
    import fnmatch

    (row,) = (
        each
        for each in compat_tables().gpu.provider
        if each.flavour == "pypi"
        and within(version, each.versions)
        and any(fnmatch.fnmatchcase(target, glob) for glob in each.targets)
    )
    told = dict.fromkeys(row.uncovered, "-") | dict.fromkeys(row.only_translated, "J")
    generations = [each.capability for each in compat_tables().gpu.generation]

    assert "".join(told.get(name, "S") for name in generations) == coverage


# --- rows and versions -----------------------------------------------------------------------


def first_rows(tables: Compat) -> Iterator[tuple[list[Any], Callable[[str], Any]]]:
    """The rows of each table whose first fitting row counts, and how it is found."""
    runtime = tables.onnxruntime
    for flavour in {row.flavour for row in runtime.cuda}:
        rows: list[Any] = [row for row in runtime.cuda if row.flavour == flavour]
        yield rows, lambda version, flavour=flavour: runtime.cuda_row(flavour, version)
    yield list(runtime.directml), runtime.directml_row
    yield list(tables.core.core), tables.core.row
    yield list(tables.models.models), tables.models.row
    yield list(tables.pyinstaller.pyinstaller), tables.pyinstaller.row


PLAIN = st.lists(st.integers(0, 40), min_size=1, max_size=4).map(lambda it: ".".join(map(str, it)))


@settings(max_examples=300, deadline=None)
@given(PLAIN)
def test_of_all_rows_that_a_version_lies_in_the_first_is_found(version: str) -> None:
    for rows, find in first_rows(compat_tables()):
        fitting = [row for row in rows if within(version, row.versions)]

        assert find(version) == (fitting[0] if fitting else None)


def test_every_row_is_the_first_for_some_version() -> None:
    for rows, find in first_rows(compat_tables()):
        for row in rows:
            ends = [end for _, end in clauses(row.versions)]
            witnesses = [*ends, *(f"{end}.0.0.0.1" for end in ends)]
            assert any(find(version) is row for version in witnesses), row


def test_ranges_that_follow_each_other_leave_no_room() -> None:
    """But for PyInstaller's, which tell of the versions that were opened."""
    for rows, _ in first_rows(compat_tables()):
        ranges = [row.versions for row in rows if "==" not in row.versions]
        for below, above in pairwise(ranges if not hasattr(rows[0], "python") else []):
            (least,) = (end for sign, end in clauses(above) if sign == ">=")
            (most,) = (end for sign, end in clauses(below) if sign == "<")
            assert most == least, (below, above)


# --- bad tables ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("onnxruntime", 'flavour = "voicevox"', 'flavor = "voicevox"', "did you mean flavour"),
        ("onnxruntime", "cuda = 12", 'cuda = "12"', "expected a whole number"),
        ("onnxruntime", 'flavour = "pypi"', 'flavour = "pipi"', "expected one of voicevox"),
        ("onnxruntime", 'linux = "8.2.4"', 'linus = "8.2.4"', "did you mean linux"),
        ("onnxruntime", 'linux = "8.2.4"', 'linux = "new"', "expected a version"),
        ("onnxruntime", 'versions = "==1.17.3"', 'versions = "=1.17.3"', "expected a range"),
        ("onnxruntime", 'versions = "==1.17.3"', 'versions = "1.17.3"', "expected a range"),
        ("onnxruntime", 'versions = "==1.17.3"', 'versions = "~=1.17"', "expected a range"),
        ("onnxruntime", 'versions = "==1.17.3"', 'versions = ""', "length >= 1"),
        ("onnxruntime", 'versions = ">=1.9,<1.13"', 'versions = ">=1.13,<1.9"', "no version lies"),
        ("onnxruntime", 'versions = ">=1.9,<1.13"', 'versions = ">=1.9;<1.13"', "expected a range"),
        ("onnxruntime", 'least = "1.8.0"', 'least = "old"', "expected a version"),
        ("onnxruntime", 'built_with_cuda = "11.4"', 'built_with_cuda = "x"', "expected a version"),
        ("onnxruntime", '["macos-x64-*"]', '["mac-x64-*"]', "matches no target"),
        ("core", 'file_name = "versioned"', 'file_name = "other"', "expected one of"),
        ("core", 'models = ">=0.16,<0.17"', 'models = "0.16"', "expected a range"),
        ("core", "models = [1]\n", 'models = ["1"]\n', "expected a whole number"),
        ("core", "downloads = { models", "downloads = { modles", "did you mean models"),
        ("additional-libraries", 'cudnn = "8.4.1.50"', 'cudnn = "eight"', "expected a version"),
        ("models", "format = 1", "format = true", "expected a whole number"),
        ("pyinstaller", 'python = ">=3.7,<3.11"', 'python = ">=3.7"', "expected an end"),
        ("pyinstaller", 'python = ">=3.7,<3.11"', 'python = "3.7+"', "expected a range"),
        ("gpu", 'capability = "6.1"', 'capability = "61"', "matching regex"),
        ("gpu", 'uncovered = ["7.0"]', 'uncovered = ["7.1"]', "did you mean 7"),
        ("troubles", "grave = true", 'grave = "true"', "expected a boolean"),
        ("troubles", 'core = "<0.17"', 'core = "< one"', "expected a range"),
        ("troubles", 'targets = ["macos-*"]', "targets = []", "length >= 1"),
    ],
)  # fmt: skip
def test_a_slip_is_told_with_its_line_and_what_was_expected(
    broken: Callable[..., tuple[str, str]], name: str, old: str, new: str, expected: str
) -> None:
    message, place = broken(name, old, new)

    assert message.startswith(f"{place}: ")
    assert expected in message


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_row_without_a_source_is_refused(
    broken: Callable[..., tuple[str, str]], name: str
) -> None:
    data = DATA[name]
    table = next(key for key, rows in data.items() if isinstance(rows, list))
    source = f'source = "{data[table][0]["source"]}"\n'

    message, place = broken(name, source, "", where=f"[[{table}]]")

    assert message == f"{place}: {table}[0]: the key 'source' is missing"


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("onnxruntime", 'versions = "==1.23.2"', 'versions = "==1.17.3"', "can never be the first"),
        ("onnxruntime", 'versions = ">=1.14,<1.15"', 'versions = ">=1.13.1,<1.14"',
         "can never be the first"),
        ("core", 'versions = ">=0.16,<0.17"', 'versions = ">=0.14,<0.15.9"',
         "can never be the first"),
        ("models", 'versions = ">=0.17,<0.18"', 'versions = "==0.16.4"', "can never be the first"),
        ("pyinstaller", 'versions = "==6.14.2"', 'versions = "==6.11.1"',
         "can never be the first"),
        ("additional-libraries", 'version = "0.2.1"', 'version = "0.2.0"', "stands twice"),
        ("gpu", 'capability = "12.1"', 'capability = "12.0"', "stands twice"),
    ],
)  # fmt: skip
def test_a_row_that_the_rows_above_hide_is_refused(
    tables: Path, name: str, old: str, new: str, expected: str
) -> None:
    path = tables / f"{name}.toml"
    text = edited(path.read_text(encoding="utf-8"), old, new)
    path.write_text(text, encoding="utf-8")
    line = text[: text.rindex(new)].count("\n") + 1

    with pytest.raises(ManifestError) as caught:
        load_compat(tables)

    assert expected in caught.value.message
    assert f"{path}:{line}: " in caught.value.message


def test_two_rows_may_share_some_versions(tables: Path) -> None:
    path = tables / "models.toml"
    text = edited(path.read_text(encoding="utf-8"), ">=0.17,<0.18", ">=0.16,<0.18")
    path.write_text(text, encoding="utf-8")

    loaded = load_compat(tables)

    assert loaded.models.row("0.16.4") == compat_tables().models.row("0.16.4")


def test_every_problem_of_a_table_is_told_at_once(
    broken: Callable[..., tuple[str, str]], tables: Path
) -> None:
    path = tables / "core.toml"
    path.write_text(path.read_text("utf-8").replace("cuda = 12", 'cuda = "12"'), "utf-8")

    message, _ = broken("core", "cuda = 11", "cud = 11")

    assert len(message.splitlines()) == 4


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_table_that_is_not_there_is_named(tables: Path, name: str) -> None:
    (tables / f"{name}.toml").unlink()

    with pytest.raises(ManifestError, match=re.escape(f"{name}.toml: there is no such file")):
        load_compat(tables)


def test_a_users_own_table_stands_before_the_packaged_one(tables: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "compat").mkdir(parents=True)
    text = (tables / "models.toml").read_text(encoding="utf-8").replace("format = 2", "format = 3")
    (own / "compat" / "models.toml").write_text(text, encoding="utf-8")
    packaged = compat_tables()

    resources.lay_over(own)
    try:
        laid_over = compat_tables()
    finally:
        resources.lay_over(None)

    assert laid_over.models.row("0.17.0") == msgspec.structs.replace(
        packaged.models.models[-1], format=3
    )
    assert laid_over.core == packaged.core
    assert compat_tables() == packaged
