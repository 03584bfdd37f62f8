from __future__ import annotations

import pytest

from vvbuild.bundle.archive.names import (
    VOLUME_SIZE,
    check_stem,
    check_volume_size,
    list_name,
    list_text,
    parse_vvpp_part,
    seven_zip_part_name,
    vvpp_name,
    vvpp_part_name,
)
from vvbuild.errors import UsageError

STEM = "voicevox_engine-linux-cpu-x64-0.25.2"


def test_names_are_those_that_the_editor_and_its_ci_look_for() -> None:
    assert vvpp_name(STEM) == f"{STEM}.vvpp"
    assert vvpp_part_name(STEM, 1) == f"{STEM}.001.vvppp"
    assert seven_zip_part_name(STEM, 1) == f"{STEM}.7z.001"
    assert list_name(STEM, "vvpp") == f"{STEM}.vvpp.txt"
    assert list_name(STEM, "7z") == f"{STEM}.7z.txt"


@pytest.mark.parametrize("number", [1, 999, 1000])
def test_a_part_name_gives_back_its_stem_and_number(number: int) -> None:
    assert parse_vvpp_part(vvpp_part_name(STEM, number)) == (STEM, number)


@pytest.mark.parametrize("name", ["x.001.vvpp", "x.vvppp", "001.vvppp", "x.1.vvppp.txt"])
def test_other_names_are_no_parts(name: str) -> None:
    assert parse_vvpp_part(name) is None


def test_a_list_has_one_name_a_line_and_nothing_else() -> None:
    assert list_text(["a.7z.001", "a.7z.002"]) == "a.7z.001\na.7z.002\n"


@pytest.mark.parametrize("stem", ["", "a/b", "..\\a", "a:b", "nul", "x" * 250])
def test_a_stem_that_some_system_could_not_hold_is_refused(stem: str) -> None:
    with pytest.raises(UsageError):
        check_stem(stem)


@pytest.mark.parametrize("size", [1, VOLUME_SIZE, 2_147_483_647])
def test_parts_below_two_gibibytes_can_be_uploaded(size: int) -> None:
    assert check_volume_size(size) == size


@pytest.mark.parametrize("size", [-1, 0, 2_147_483_648, 1 << 40])
def test_a_part_that_github_would_refuse_is_refused_first(size: int) -> None:
    with pytest.raises(UsageError, match="2147483647"):
        check_volume_size(size)
