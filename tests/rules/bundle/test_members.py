"""Links and modes of a bundle's members, and how they are packed."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.rules.bundle.good import GOOD, RUN, bundle, file, found, link, only, windows
from vvbuild.rules.data import PackedFacts
from vvbuild.rules.evidence import BundleEvidence, FileFacts

# Links


@pytest.mark.parametrize(
    "target",
    ["/home/runner/libcublas.so.11", "../libcublas.so", "lib/../../x", "..", "../../etc/passwd"],
)
def test_b036_a_link_that_leaves_the_bundle_is_stopped(target: str) -> None:
    finding = only(bundle(link("libcublas.so.11", target)), "link-escapes")

    assert finding.message == f"links to {target!r}, outside the bundle"


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("a", "nowhere"),
        ("lib/a", "run"),
        ("a", "..hidden"),
        ("a", "a"),
        ("a", "run/below"),
    ],
)
def test_b036_a_link_to_nothing_is_stopped(path: str, target: str) -> None:
    only(bundle(link(path, target)), "link-dangling")


def test_b036_links_in_a_ring_are_stopped() -> None:
    evidence = bundle(link("a", "b"), link("b", "a"))

    finding = only(evidence, "link-dangling")

    assert finding.message == "2 links lead to what is not there"
    assert finding.evidence["links"] == "a -> b, b -> a"


@pytest.mark.parametrize(
    "links",
    [
        [link("a", "run")],
        [link("lib/a", "../run")],
        [link("a", "model")],
        [link("a", ".")],
        [link("lib/a", "..")],
        [link("a", "./model/../run")],
        [link("a", "b"), link("b", "run")],
        [link("Versions/Current", "3.11"), file("Versions/3.11/Python"),
         link("Python", "Versions/Current/Python")],
        [link("a", "empty"), FileFacts("empty", "directory")],
        [link("..a", "run"), link("b", "..a")],
    ],
    ids=["a file", "up and down", "a folder", "the root", "up to the root", "roundabout",
         "a link", "through a link to a folder", "an empty folder", "a name with dots"],
)  # fmt: skip
def test_links_inside_the_bundle_pass(links: list[FileFacts]) -> None:
    assert found(bundle(*links)) == []


def test_b036_links_into_the_build_machine_are_one_finding() -> None:
    """Where a cache kept links alone, every library of CUDA was one."""
    there = "/home/runner/work/cuda"
    names = ("libcublas.so.11", "libcublasLt.so.11", "libcudart.so.11.0")

    finding = only(bundle(*(link(name, f"{there}/{name}.8") for name in names)), "link-escapes")

    assert finding.message == f"3 links lead to {there!r}, outside the bundle"
    assert finding.evidence["files"] == ", ".join(names)


@pytest.mark.parametrize("target", ["C:\\hosted\\x.dll", "C:/x.dll", "\\\\server\\x"])
def test_b036_a_link_to_a_drive_is_outside(target: str) -> None:
    only(bundle(link("x", target)), "link-escapes")


# Modes


def packed(*files: FileFacts, **facts: Any) -> BundleEvidence:
    """The good bundle as it lies in a .vvpp, with modes."""
    kept = [dataclasses.replace(each, mode=0o755 if each is RUN else 0o644) for each in GOOD]
    known = PackedFacts(**{"kind": "vvpp", "parts": {"engine-1.0.0.vvpp": 3}, **facts})
    return bundle(*files, good=kept, seen={"packed": known}, manifest={"version": "1.0.0"},
                  engine={"version": "1.0.0"})  # fmt: skip


def test_modes_as_they_should_be_pass() -> None:
    assert found(packed()) == []


def test_b037_files_that_everybody_may_write_to_are_one_finding() -> None:
    open_to_all = [dataclasses.replace(each, mode=0o777) for each in GOOD]

    finding = only(packed(*open_to_all), "mode-unsafe")

    assert finding.message == (
        f"{len(GOOD)} files have mode 0777: others than its owner may write to it"
    )
    assert finding.evidence["mode"] == "0777"


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (0o666, "may write"), (0o664, "may write"), (0o646, "may write"),
        (0o4755, "owner's rights"), (0o2755, "owner's rights"), (0o600, "cannot read"),
    ],
)  # fmt: skip
def test_b037_a_mode_in_an_archive_is_the_owners_business_alone(mode: int, words: str) -> None:
    assert words in only(packed(file("x", mode=mode)), "mode-unsafe").message


@pytest.mark.parametrize("mode", [0o664, 0o600, 0o640])
def test_on_a_disk_a_umask_is_no_fault(mode: int) -> None:
    assert found(bundle(file("x", mode=mode))) == []


@pytest.mark.parametrize("mode", [0o666, 0o777, 0o4755])
def test_on_a_disk_what_all_may_write_to_is_one(mode: int) -> None:
    only(bundle(file("x", mode=mode)), "mode-unsafe")


def test_b038_a_program_without_its_execute_bit_is_stopped() -> None:
    lost = dataclasses.replace(RUN, mode=0o644)

    assert only(packed(lost), "exec-bit-missing").path == "run"
    assert only(bundle(dataclasses.replace(RUN, kind="file")), "exec-bit-missing").path == "run"


def test_b038_an_archive_without_modes_has_lost_it() -> None:
    finding = only(packed(keeps_modes=False), "exec-bit-missing")

    assert "tells no modes" in finding.message


def test_b038_windows_knows_no_execute_bit() -> None:
    program = dataclasses.replace(windows().files["run.exe"], kind="file", mode=0o666)

    assert found(windows(program)) == []


# How it is packed


@pytest.mark.parametrize(
    ("parts", "listed", "words"),
    [
        (["e-1.0.0.vvpp"], [], "is empty"),
        (["e-1.0.0.001.vvppp", "e-1.0.0.002.vvppp"], ["e-1.0.0.001.vvppp"],
         "lacks e-1.0.0.002.vvppp"),
        (["e-1.0.0.7z.001", "e-1.0.0.7z.002"], ["e-1.0.0.7z.002", "e-1.0.0.7z.001"],
         "in another order"),
        (["e-1.0.0.vvpp"], ["e-1.0.0.vvpp", "e-1.0.0.001.vvppp"],
         "names e-1.0.0.001.vvppp, which is no part of it"),
    ],
)  # fmt: skip
def test_b044_a_list_that_is_not_that_of_the_parts_is_stopped(
    parts: list[str], listed: list[str], words: str
) -> None:
    sizes = dict.fromkeys(parts, 3)

    assert words in only(packed(parts=sizes, listed=tuple(listed)), "list-file-wrong").message
    assert found(packed(parts=sizes, listed=tuple(parts))) == []


def test_b043_a_part_that_github_refuses_is_stopped() -> None:
    parts = {"e-1.0.0.7z.001": 1_992_294_400, "e-1.0.0.7z.002": 2_147_483_648}

    finding = only(packed(parts=parts), "size-budget")

    assert (finding.severity, finding.path) == ("error", "e-1.0.0.7z.002")
    assert found(packed(parts={"e-1.0.0.7z.001": 1_992_294_400})) == []


def test_b028_a_library_with_its_debug_information_is_told() -> None:
    large = dataclasses.replace(GOOD[1], size=400 << 20)

    finding = only(bundle(large), "size-budget")

    assert (finding.severity, finding.path) == ("warning", "libonnxruntime.so")
    assert "400 MiB, more than 150MiB" in finding.message


def test_b141_a_bundle_that_outgrew_its_budget_is_told() -> None:
    models = [file(f"model/{number}.vvm", size=1 << 30) for number in range(5)]

    assert only(bundle(*models), "size-budget").severity == "warning"
