from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.model.reference import Reference

PART = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,12}", fullmatch=True).filter(
    lambda part: ".." not in part and not part.endswith(".")
)
HOST = st.from_regex(r"[a-z0-9]{1,10}(\.[a-z]{2,5})?", fullmatch=True)


@given(PART, PART, PART)
def test_a_pypi_reference_is_read_as_it_is_written(project: str, version: str, file: str) -> None:
    text = f"pypi:{project}/{version}/{file}"
    reference = Reference.parse(text)

    assert str(reference) == text
    assert (reference.project, reference.version, reference.file) == (project, version, file)


@given(PART, PART, st.booleans(), PART)
def test_an_npm_reference_is_read_as_it_is_written(
    name: str, version: str, scoped: bool, scope: str
) -> None:
    project = f"@{scope}/{name}" if scoped else name
    reference = Reference.parse(f"npm:{project}/{version}")

    assert str(reference) == f"npm:{project}/{version}"
    assert (reference.project, reference.version) == (project, version)
    assert reference.file == f"{name}-{version}.tgz"


@given(PART, PART, PART, PART)
def test_a_github_reference_is_read_as_it_is_written(
    owner: str, repository: str, tag: str, file: str
) -> None:
    text = f"github:{owner}/{repository}@{tag}/{file}"
    reference = Reference.parse(text)

    assert str(reference) == text
    assert reference.project == f"{owner}/{repository}"
    assert (reference.version, reference.file) == (tag, file)


@given(HOST, PART, PART)
def test_a_url_is_read_as_it_is_written(host: str, folder: str, file: str) -> None:
    text = f"https://{host}/{folder}/{file}"
    reference = Reference.parse(text)

    assert str(reference) == text
    assert (reference.source, reference.file) == ("https", file)


@given(st.text(max_size=60), st.booleans())
def test_any_text_is_read_or_refused(text: str, allow_local: bool) -> None:
    try:
        assert str(Reference.parse(text, allow_local=allow_local)) == text
    except ValueError:
        pass


@pytest.mark.parametrize(
    "text",
    [
        "https://user:password@host.example/file",
        "https://user@host.example/file",
        "https://:@host.example/file",
        "https://token:@host.example/file",
        "http://user:password@127.0.0.1/file",
        "ftp://user:password@host.example/file",
    ],
)
@pytest.mark.parametrize("allow_local", [False, True])
def test_credentials_are_refused_and_not_repeated(text: str, allow_local: bool) -> None:
    with pytest.raises(ValueError, match="must not hold a user name or a password") as caught:
        Reference.parse(text, allow_local=allow_local)

    assert "password@" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "http://host.example/file",
        "http://192.168.0.1/file",
        "http://127.0.0.1.example/file",
        "http://localhost.example/file",
        "ftp://host.example/file",
        "//host.example/file",
        "host.example/file",
        "https:///file",
        "https://host.example",
        "https://host.example/folder/",
        "javascript:alert(1)",
        "",
    ],
)
@pytest.mark.parametrize("allow_local", [False, True])
def test_only_https_is_a_url(text: str, allow_local: bool) -> None:
    with pytest.raises(ValueError, match="expected"):
        Reference.parse(text, allow_local=allow_local)


LOCAL = [
    "http://127.0.0.1:8000/file",
    "http://localhost/file",
    "http://[::1]:1/file",
    "file:///tmp/file",
]


@pytest.mark.parametrize("text", LOCAL)
def test_local_places_need_permission(text: str) -> None:
    with pytest.raises(ValueError, match="is local; only https"):
        Reference.parse(text)

    assert str(Reference.parse(text, allow_local=True)) == text


@pytest.mark.parametrize(
    "text",
    [
        "pypi:../evil/1.0/file.whl",
        "pypi:a/../file.whl",
        "pypi:a/1.0/..",
        "pypi:a/1.0/x..y",
        "npm:..%2fevil/1.0",
        "npm:a/..",
        "github:owner/repo@../asset",
        "github:../repo@tag/asset",
        "https://host.example/../file",
        "https://host.example/a/..",
    ],
)
def test_climbing_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Reference.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://host.example/a b",
        "https://ho\nst.example/file",
        "https://host.example/fi\tle",
        "https://host.example\\evil/file",
        "https://host.example/\x00",
        "https://host.example:port/file",
        "https://host.example:99999/file",
        "https://[::1/file",
    ],
)
def test_what_clients_read_differently_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Reference.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "pypi:only-a-name",
        "pypi:a/1.0",
        "pypi:a/1.0/b/c",
        "npm:a",
        "npm:@scope/name",
        "npm:@/name/1.0",
        "github:owner/repo@tag",
        "github:repo@tag/asset",
        "github:owner/repo/asset",
        "pypi:/1.0/file",
        "pypi:a/1.0/.hidden",
        "pypi:a/1.0/file\n",
    ],
)
def test_an_incomplete_reference_names_the_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected (pypi|npm|github):"):
        Reference.parse(text)
