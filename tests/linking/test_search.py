"""Where the loaders of three systems look."""

from __future__ import annotations

import pytest

from tests.linking.made import BARE, closure, ends, library

# Linux


def test_linux_looks_beside_a_library_only_if_that_says_so() -> None:
    found = closure(library("a/liba.so", "libb.so"), library("a/libb.so"))
    assert ends(found, "a/liba.so") == {"libb.so": "elsewhere"}

    found = closure(library("a/liba.so", "libb.so", search=["$ORIGIN"]), library("a/libb.so"))
    assert ends(found, "a/liba.so") == {"libb.so": "a/libb.so"}


@pytest.mark.parametrize(
    ("entry", "there"),
    [
        ("$ORIGIN", "a/libb.so"),
        ("${ORIGIN}", "a/libb.so"),
        ("$ORIGIN/", "a/libb.so"),
        ("$ORIGIN/../x.libs", "x.libs/libb.so"),
        ("$ORIGIN/../a/./x/..", "a/libb.so"),
        ("$ORIGIN/..", "libb.so"),
    ],
)
def test_the_place_of_a_library_is_put_in(entry: str, there: str) -> None:
    found = closure(library("a/liba.so", "libb.so", search=[entry]), library(there))

    assert ends(found, "a/liba.so") == {"libb.so": there}


# A shell or a makefile that puts in too little or too much.
@pytest.mark.parametrize("entry", [r"\$ORIGIN", "ORIGIN", "$ORIGINAL", "", ".", "a", "/a", "/"])
def test_b068_an_entry_that_only_looks_like_a_place_finds_nothing(entry: str) -> None:
    found = closure(library("a/liba.so", "libb.so", search=[entry]), library("a/libb.so"))

    assert ends(found, "a/liba.so") == {"libb.so": "elsewhere"}


def test_no_entry_leads_out_of_the_bundle_and_in_again() -> None:
    found = closure(library("liba.so", "libb.so", search=["$ORIGIN/../bundle"]), library("libb.so"))

    assert ends(found, "liba.so") == {"libb.so": "elsewhere"}


def test_the_folder_of_internals_is_looked_into_by_all_since_the_bootloader_says_so() -> None:
    found = closure(library("liba.so", "libb.so"), library("engine_internal/libb.so"))

    assert ends(found, "liba.so") == {"libb.so": "engine_internal/libb.so"}


@pytest.mark.parametrize(("before", "first"), [(True, "a"), (False, "engine_internal")])
def test_an_rpath_comes_before_the_environment_and_a_runpath_behind(
    before: bool, first: str
) -> None:
    user = library("a/liba.so", "libb.so", search=["$ORIGIN"], before=before)
    found = closure(user, library("a/libb.so"), library("engine_internal/libb.so"))

    assert ends(found, "a/liba.so") == {"libb.so": f"{first}/libb.so"}


def test_linux_minds_the_case_of_names() -> None:
    found = closure(library("liba.so", "libB.so", search=["$ORIGIN"]), library("libb.so"))

    assert ends(found, "liba.so") == {"libB.so": "missing"}


def test_a_name_with_a_folder_is_a_path_and_not_looked_for() -> None:
    found = closure(library("liba.so", "x/libb.so", search=["$ORIGIN"]), library("x/libb.so"))

    assert ends(found, "liba.so") == {"x/libb.so": "elsewhere"}


def test_links_to_files_and_to_folders_are_followed() -> None:
    users = [library("liba.so", "libb.so.1", search=["$ORIGIN/lib"])]
    users.append(library("libc.so", "libb.so.1.2", search=["$ORIGIN/now"]))
    found = closure(
        *users, library("lib/libb.so.1.2"),
        links={"lib/libb.so.1": "lib/libb.so.1.2", "now": "lib"},
    )  # fmt: skip

    assert ends(found, "liba.so") == {"libb.so.1": "lib/libb.so.1.2"}
    assert ends(found, "libc.so") == {"libb.so.1.2": "lib/libb.so.1.2"}


def test_a_library_for_another_processor_is_passed_by() -> None:
    found = closure(
        library("liba.so", "libb.so", search=["$ORIGIN/x", "$ORIGIN/y"]),
        library("x/libb.so", arch="arm64"), library("y/libb.so"),
    )  # fmt: skip

    assert ends(found, "liba.so") == {"libb.so": "y/libb.so"}


# Windows


def test_windows_looks_beside_a_library_then_the_program_then_the_internals() -> None:
    places = ["a", "", "engine_internal"]
    for gone in range(3):
        there = [f"{place}/b.dll".lstrip("/") for place in places[gone:]]
        found = closure(
            library("a/a.dll", "B.DLL", os="win"), *(library(each, os="win") for each in there),
            program="run.exe",
        )  # fmt: skip
        assert ends(found, "a/a.dll") == {"B.DLL": there[0]}


def test_windows_looks_into_no_other_folder() -> None:
    found = closure(
        library("a.dll", "b.dll", os="win"), library("c/b.dll", os="win"), program="run.exe"
    )

    assert ends(found, "a.dll") == {"b.dll": "elsewhere"}


def test_windows_looks_into_folders_that_packages_add_when_they_are_imported() -> None:
    found = closure(
        library("engine_internal/numpy/core/a.pyd", "b-1a2b.dll", os="win"),
        library("engine_internal/numpy.libs/b-1a2b.dll", os="win"), program="run.exe",
    )  # fmt: skip

    assert ends(found, "engine_internal/numpy/core/a.pyd") == {
        "b-1a2b.dll": "engine_internal/numpy.libs/b-1a2b.dll"
    }


# macOS


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("@loader_path/libb.dylib", "a/libb.dylib"),
        ("@loader_path/../b/libb.dylib", "b/libb.dylib"),
        ("@executable_path/libb.dylib", "libb.dylib"),
        ("@executable_path/engine_internal/libb.dylib", "engine_internal/libb.dylib"),
    ],
)
def test_macos_takes_words_for_places_in_names(name: str, there: str) -> None:
    found = closure(library("a/liba.dylib", name, os="macos"), library(there, os="macos"))

    assert ends(found, "a/liba.dylib") == {name: there}


@pytest.mark.parametrize(
    ("entry", "there"),
    [
        ("@loader_path", "a/libb.dylib"),
        ("@loader_path/", "a/libb.dylib"),
        ("@loader_path/..", "libb.dylib"),
        ("@executable_path/engine_internal", "engine_internal/libb.dylib"),
    ],
)
def test_macos_takes_words_for_places_in_rpaths(entry: str, there: str) -> None:
    user = library("a/liba.dylib", "@rpath/libb.dylib", os="macos", search=[entry])
    found = closure(user, library(there, os="macos"))

    assert ends(found, "a/liba.dylib") == {"@rpath/libb.dylib": there}


def test_macos_looks_by_the_programs_rpaths_for_all() -> None:
    found = closure(
        library("a/liba.dylib", "@rpath/x/libb.dylib", os="macos"),
        library("lib/x/libb.dylib", os="macos"), program_search=["@loader_path/lib"],
    )  # fmt: skip

    assert ends(found, "a/liba.dylib") == {"@rpath/x/libb.dylib": "lib/x/libb.dylib"}


@pytest.mark.parametrize("name", ["libb.dylib", "/opt/x/libb.dylib", "x/libb.dylib"])
def test_macos_looks_beside_nobody_for_other_names(name: str) -> None:
    user = library("liba.dylib", name, os="macos", search=["@loader_path"])
    found = closure(user, library("libb.dylib", os="macos"))

    assert ends(found, "liba.dylib") == {name: "elsewhere"}


def test_a_framework_is_found_through_its_links() -> None:
    name = "@rpath/Python.framework/Versions/Current/Python"
    real = "engine_internal/Python.framework/Versions/3.11/Python"
    versions = "engine_internal/Python.framework/Versions"
    user = library("a.so", name, os="macos", search=["@loader_path/engine_internal"])
    found = closure(
        user, library(real, os="macos"), links={f"{versions}/Current": f"{versions}/3.11"}
    )

    assert ends(found, "a.so") == {name: real}


# Who else brings it


@pytest.mark.parametrize(
    ("os", "name", "giver"),
    [
        ("linux", "libc.so.6", "system"),
        ("linux", "ld-linux-aarch64.so.1", "system"),
        ("linux", "libcuda.so.1", "driver"),
        ("linux", "libnvidia-ml.so.1", "driver"),
        ("win", "KERNEL32.dll", "system"),
        ("win", "api-ms-win-crt-runtime-l1-1-0.dll", "system"),
        ("win", "nvcuda.dll", "driver"),
        ("win", "MSVCP140_1.dll", "redistributable"),
        ("macos", "/usr/lib/libSystem.B.dylib", "system"),
        ("macos", "/System/Library/Frameworks/Metal.framework/Metal", "system"),
    ],
)
def test_what_a_machine_has_need_not_be_in_the_bundle(os: str, name: str, giver: str) -> None:
    found = closure(library("a", name, os=os))  # type: ignore[arg-type]

    assert ends(found, "a") == {name: giver}
    assert ends(closure(library("a", name, os=os), table=BARE), "a") == {  # type: ignore[arg-type]
        name: "missing"
    }


@pytest.mark.parametrize("name", ["libcudart.so.12", "libonnxruntime.so", "libgomp.so.1"])
def test_what_no_linux_has_must_be(name: str) -> None:
    assert ends(closure(library("liba.so", name)), "liba.so") == {name: "missing"}


def test_a_bundles_own_copy_comes_before_the_systems() -> None:
    found = closure(library("a.so", "libstdc++.so.6"), library("engine_internal/libstdc++.so.6"))

    assert ends(found, "a.so") == {"libstdc++.so.6": "engine_internal/libstdc++.so.6"}
