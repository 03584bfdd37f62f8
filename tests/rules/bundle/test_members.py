"""Files and links of a bundle."""

from __future__ import annotations

import pytest

from tests.rules.bundle.good import bundle, file, found, link, only
from vvbuild.rules.evidence import FileFacts

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

    assert found(evidence) == [("link-dangling", "a"), ("link-dangling", "b")]


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
