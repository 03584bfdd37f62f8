"""What a library gets beside what its own search finds, and what headers do not tell."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linking.made import BARE, closure, ends, library
from vvbuild.linking.linkage import Linkage, Need

# What comes along


def test_a_library_that_one_above_found_is_loaded_already() -> None:
    """CUDA's installer gives cuBLAS no RUNPATH; the provider needs both, and finds them."""
    provider = library("p.so", "libcublas.so.12", "libcublasLt.so.12", search=["$ORIGIN"])
    blas = library("libcublas.so.12", "libcublasLt.so.12")
    found = closure(provider, blas, library("libcublasLt.so.12"))

    assert ends(found, "libcublas.so.12") == {"libcublasLt.so.12": "libcublasLt.so.12"}


def test_one_above_that_does_not_need_it_loads_nothing() -> None:
    provider = library("p.so", "libcublas.so.12", search=["$ORIGIN"])
    blas = library("libcublas.so.12", "libcublasLt.so.12")
    found = closure(provider, blas, library("libcublasLt.so.12"))

    assert ends(found, "libcublas.so.12") == {"libcublasLt.so.12": "elsewhere"}


def test_one_below_loads_too_late() -> None:
    first = library("a.so", "libb.so", "libc.so", search=["$ORIGIN/x"])
    second = library("x/libb.so", "libd.so", search=["$ORIGIN/y"])
    third = library("x/y/libd.so", "libc.so", search=["$ORIGIN/../../z"])
    found = closure(first, second, third, library("z/libc.so"))

    assert ends(found, "x/y/libd.so") == {"libc.so": "z/libc.so"}
    assert ends(found, "a.so") == {"libb.so": "x/libb.so", "libc.so": "elsewhere"}


@pytest.mark.parametrize("how", ["weak", "delay", "opened"])
def test_what_one_above_may_do_without_need_not_be_loaded(how: str) -> None:
    above = library("a.so", "libb.so", ("libc.so", how), search=["$ORIGIN"])  # type: ignore[arg-type]
    found = closure(above, library("libb.so", "libc.so"), library("libc.so"))

    assert ends(found, "libb.so") == {"libc.so": "elsewhere"}


def test_what_is_opened_later_finds_what_is_loaded_by_then() -> None:
    provider = library("p.so", "libcudnn.so.9", "libcudnn_graph.so.9", search=["$ORIGIN"])
    names = ["_graph", "_ops", "_cnn", "_adv"]
    parts = [library(f"libcudnn{each}.so.9") for each in ["", *names]]
    found = ends(closure(provider, *parts), "libcudnn.so.9")

    assert found["libcudnn_graph.so.9"] == "libcudnn_graph.so.9"
    assert found["libcudnn_ops.so.9"] == "elsewhere"


@pytest.mark.parametrize(
    ("before", "own", "met"),
    [(True, (), True), (False, (), False), (True, ("$ORIGIN/none",), False)],
)
def test_an_rpath_counts_for_all_below_that_have_no_runpath(
    before: bool, own: tuple[str, ...], met: bool
) -> None:
    """As auditwheel leaves wheels: the RPATH is the module's, the vendored libraries have none."""
    module = library("pkg/m.so", "libb.so", search=["$ORIGIN/../pkg.libs"], before=before)
    first = library("pkg.libs/libb.so", "libc.so", search=own)
    second = library("pkg.libs/libc.so", "libd.so")
    found = closure(module, first, second, library("pkg.libs/libd.so"))

    end = "pkg.libs/libc.so" if met else "elsewhere"
    assert ends(found, "pkg.libs/libb.so") == {"libc.so": end}
    # Two steps down as well, once the first has been found.
    end = "pkg.libs/libd.so" if met else "elsewhere"
    assert ends(found, "pkg.libs/libc.so") == {"libd.so": end}


def test_on_macos_rpaths_count_for_all_below() -> None:
    found = closure(
        library("a/m.so", "@rpath/libb.dylib", os="macos", search=["@loader_path/../x"]),
        library("x/libb.dylib", "@rpath/libc.dylib", os="macos"),
        library("x/libc.dylib", os="macos"),
    )

    assert ends(found, "x/libb.dylib") == {"@rpath/libc.dylib": "x/libc.dylib"}


def test_on_windows_the_folder_of_the_first_counts_for_all_below() -> None:
    found = closure(
        library("a/a.pyd", "b.dll", os="win"),
        library("engine_internal/b.dll", "C.dll", os="win"),
        library("a/c.dll", os="win"), program="run.exe",
    )  # fmt: skip

    assert ends(found, "engine_internal/b.dll") == {"C.dll": "a/c.dll"}


# What the engine loads first


def test_who_asks_for_the_name_of_a_loaded_library_gets_it_whatever_its_file_is_called() -> None:
    name = "libvoicevox_onnxruntime.so.1.23.2"
    core = library("libvoicevox_core.so", (name, "weak"))
    found = closure(core, library("libvoicevox_onnxruntime.so", name=name))

    assert ends(found, "libvoicevox_core.so") == {name: "libvoicevox_onnxruntime.so"}


def test_only_what_lies_beside_the_program_is_loaded_first() -> None:
    name = "libvoicevox_onnxruntime.so.1.23.2"
    core = library("libvoicevox_core.so", name)
    found = closure(core, library("x/libvoicevox_onnxruntime.so", name=name))

    assert ends(found, "libvoicevox_core.so") == {name: "missing"}


# What is opened by name


def test_cudnn_opens_its_parts() -> None:
    for edge in closure(library("cudnn64_9.dll", os="win"), program="run.exe").edges:
        assert (edge.need.how, edge.place) == ("opened", "missing")
        assert edge.need.source.startswith("https://")


def test_a_part_that_is_linked_too_is_one_need() -> None:
    names = list(ends(closure(library("libcudnn.so.9", "libcudnn_ops.so.9")), "libcudnn.so.9"))

    assert len(names) == len(set(names)) == 4


def test_what_a_library_can_do_without_is_a_need_only_where_it_is_there() -> None:
    alone = closure(library("libonnxruntime.so.1"))
    assert ends(alone, "libonnxruntime.so.1") == {}

    with_cuda = closure(
        library("libonnxruntime.so.1", search=["$ORIGIN"]),
        library("libonnxruntime_providers_cuda.so"),
    )
    assert [edge.need.how for edge in with_cuda.of("libonnxruntime.so.1")] == ["weak"]


@pytest.mark.parametrize(("shipped", "end"), [("12.9", None), ("12.4", "missing")])
def test_nvrtc_needs_its_builtins_of_the_same_minor_version(shipped: str, end: str | None) -> None:
    name = "libnvrtc-builtins.so.12.9"
    nvrtc = Linkage(
        "libnvrtc.so.12", "linux", "x64", "libnvrtc.so.12",
        (Need(name, "weak", "found in its bytes"),), ("$ORIGIN",),
    )  # fmt: skip
    found = closure(nvrtc, library(f"libnvrtc-builtins.so.{shipped}"))

    assert ends(found, "libnvrtc.so.12") == {name: end or name}
    assert found.of("libnvrtc.so.12")[0].need.how == "opened"


# The closure itself


def test_what_a_library_brings_along() -> None:
    found = closure(
        library("a.so", "b.so", search=["$ORIGIN"]), library("b.so", "c.so", search=["$ORIGIN"]),
        library("c.so", "a.so", search=["$ORIGIN"]), library("d.so"),
    )  # fmt: skip

    assert found.reached("a.so") == {"a.so", "b.so", "c.so"}
    assert found.reached("d.so") == {"d.so"}


FOLDERS = st.sampled_from(["", "a", "a/b", "engine_internal", "c.libs"])
NAMES = st.sampled_from([f"lib{letter}.so" for letter in "abcd"])
SEARCH = st.sampled_from(["$ORIGIN", "$ORIGIN/..", "$ORIGIN/b", "/x", "$ORIGIN/../c.libs"])


@st.composite
def bundles(draw: st.DrawFn) -> list[Linkage]:
    places = draw(st.lists(st.tuples(FOLDERS, NAMES), min_size=1, max_size=8, unique=True))
    return [
        library(
            f"{folder}/{name}".lstrip("/"), *draw(st.lists(NAMES, max_size=3, unique=True)),
            search=draw(st.lists(SEARCH, max_size=2)), before=draw(st.booleans()),
        )
        for folder, name in places
    ]  # fmt: skip


@given(bundles())
def test_every_need_has_one_end_which_is_there(libraries: list[Linkage]) -> None:
    found = closure(*libraries, table=BARE)

    asked = [(each.path, need.name) for each in libraries for need in each.needs]
    assert [(edge.user, edge.need.name) for edge in found.edges] == asked
    for edge in found.edges:
        assert (edge.place in ("bundle", "elsewhere")) == (edge.path is not None)
        if edge.path is not None:
            assert found.libraries[edge.path].name == edge.need.name
        else:
            assert edge.need.name not in {each.name for each in libraries}


@given(bundles(), st.randoms(use_true_random=False))
def test_the_order_of_libraries_changes_nothing(
    libraries: list[Linkage], chance: random.Random
) -> None:
    mixed = list(libraries)
    chance.shuffle(mixed)

    assert {(edge.user, edge.need.name): edge.place for edge in closure(*mixed).edges} == {
        (edge.user, edge.need.name): edge.place for edge in closure(*libraries).edges
    }


@given(bundles(), FOLDERS, NAMES)
def test_a_library_more_loses_none_that_was_found(
    libraries: list[Linkage], folder: str, name: str
) -> None:
    more = library(f"{folder}/{name}".lstrip("/"))
    if more.path in {each.path for each in libraries}:
        return
    before = {(edge.user, edge.need.name) for edge in closure(*libraries).edges if edge.path}
    after = {(edge.user, edge.need.name) for edge in closure(*libraries, more).edges if edge.path}

    assert before <= after


@given(bundles())
def test_with_its_own_place_to_look_into_every_library_finds_what_lies_there(
    libraries: list[Linkage],
) -> None:
    flat = {each.name: each for each in libraries}
    found = closure(
        *(library(name, *(need.name for need in each.needs), search=["$ORIGIN"])
          for name, each in flat.items()),
        table=BARE,
    )  # fmt: skip

    assert {edge.place for edge in found.edges} <= {"bundle", "missing"}
