"""Where links inside a bundle lead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.linking.links import aim, followed, leaves


@pytest.mark.parametrize(
    ("path", "link", "where", "out"),
    [
        ("a/b", "c", "a/c", False),
        ("a/b", "../c", "c", False),
        ("a/b", "../../c", "../c", True),
        ("a", "..", "..", True),
        ("a", "/usr/lib/c", "/usr/lib/c", True),
        ("a", "..c", "..c", False),
    ],
)
def test_a_link_points_from_its_own_folder(path: str, link: str, where: str, out: bool) -> None:
    assert aim(path, link) == where
    assert leaves(aim(path, link)) is out


def test_links_to_links_and_to_folders_are_followed() -> None:
    links = {"a": "b", "b": "c/d", "c": "e", "e/x": "../f"}

    assert followed("a", links) == "e/d"
    assert followed("c/x", links) == "f"
    assert followed("plain", links) == "plain"


@pytest.mark.parametrize("links", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": "a/b"}])
def test_a_ring_leads_nowhere(links: dict[str, str]) -> None:
    assert followed("a", links) is None


PATHS = st.lists(st.sampled_from(["a", "b", ".."]), min_size=1, max_size=3).map("/".join)


@given(PATHS, st.dictionaries(PATHS.filter(lambda path: ".." not in path), PATHS, max_size=4))
def test_the_end_is_no_link_again(path: str, links: dict[str, str]) -> None:
    end = followed(path, links)

    assert end is None or followed(end, links) == end
