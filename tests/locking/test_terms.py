"""What must be accepted: each text by its digest in the lock, and beside it as a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.locking.conftest import Bench, digest
from tests.locking.test_trust import trusted
from tests.locking.worlds import lock_of_bench, manifest_of
from tests.server.faults import Status
from tests.server.github import LoopbackGitHub
from tests.server.http import LoopbackServer
from tests.standins.world import MODEL_TERMS, ORT, ORT_TERMS, World
from vvbuild.errors import (
    CancelledError,
    LockDriftError,
    LockError,
    NetworkError,
    SizeMismatchError,
)
from vvbuild.fetch.trust import Trust
from vvbuild.locking import run
from vvbuild.manifest.lock import read_terms
from vvbuild.manifest.release import load_release
from vvbuild.model.digest import Digest

BUILDER, TAG = "VOICEVOX/onnxruntime-builder", f"voicevox_onnxruntime-{ORT}"
VVM, TERMS = "VOICEVOX/voicevox_vvm", "voicevox_vvm-0.16.4-TERMS.txt"
LIBRARY = f"voicevox_onnxruntime-linux-x64-{ORT}.tgz"
OF_MODELS = MODEL_TERMS.replace("\r\n", "\n")


@pytest.fixture
def hub(github: LoopbackGitHub, tmp_path: Path) -> LoopbackGitHub:
    """All that the downloader of 0.17.0 brings."""
    place = tmp_path / "world"
    place.mkdir()
    github.world = World(github, "0.17.0", place).publish()
    return github


@pytest.fixture
def bench(
    server: LoopbackServer,
    write: Callable[[str], Path],
    tiny: str,
    trust: Trust,
    hub: LoopbackGitHub,
) -> Bench:
    return Bench(write(manifest_of(hub.world, tiny)), server, trust)


def tell(hub: LoopbackGitHub, body: str | None) -> None:
    """Let the release of ONNX Runtime have another text."""
    hub._repositories[BUILDER][TAG].body = body
    hub._publish(BUILDER)


def text_of(bench: Bench, sha256: str) -> str:
    return read_terms(load_release(bench.manifest, allow_local=True), Digest(sha256))


def files(bench: Bench) -> dict[str, bytes]:
    folder = bench.manifest.with_suffix(".terms")
    return {it.name: it.read_bytes() for it in folder.iterdir()} if folder.exists() else {}


# What is locked


def test_each_text_is_locked_by_its_digest_and_lies_beside_the_lock(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    result = bench.lock()

    expected = {digest(text.encode()): text for text in (ORT_TERMS, OF_MODELS)}
    assert files(bench) == {f"{name}.txt": text.encode() for name, text in expected.items()}
    assert set(result.texts) == set(expected)
    assert bench.rows[LIBRARY]["terms"] == digest(ORT_TERMS.encode())
    assert bench.rows[LIBRARY]["provenance"]["terms"] == "GitHub release text"
    assert bench.rows[TERMS]["terms"] == digest(OF_MODELS.encode())
    assert bench.rows[TERMS]["sha256"] == digest(MODEL_TERMS.encode())
    assert "terms" not in bench.rows["0.vvm"]
    for name, text in expected.items():
        assert text_of(bench, name) == text
    read = {str(item.terms) for item in lock_of_bench(bench).artifacts if item.terms}
    assert read == set(expected)


def test_no_archive_is_read_for_terms_and_each_release_is_asked_once(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()

    assert [each.path.rpartition("/")[2] for each in hub.storage.requests] == ["TERMS.txt"]
    assert hub.asked(BUILDER, TAG) == hub.asked(VVM, "0.16.4") == 1


def test_what_is_known_is_not_asked_for_again(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()
    before, asked = bench.path.read_bytes(), len(hub.server.requests)

    result = bench.lock(offline=True)

    assert {each.kind for each in result.changes} == {"unchanged"}
    assert bench.path.read_bytes() == before
    assert len(hub.server.requests) == asked


@pytest.mark.parametrize("body", [None, "", "# Nothing to accept"])
def test_a_release_without_a_block_has_no_terms_and_is_not_asked_again(
    body: str | None, hub: LoopbackGitHub, bench: Bench
) -> None:
    tell(hub, body)

    bench.lock()

    assert "terms" not in bench.rows[LIBRARY]
    assert bench.rows[LIBRARY]["provenance"]["terms"] == "none in the GitHub release text"
    assert list(files(bench)) == [f"{digest(OF_MODELS.encode())}.txt"]
    bench.lock()
    assert hub.asked(BUILDER, TAG) == 1
    assert bench.check().problems == ()


def test_a_lock_from_before_its_terms_were_known_gets_them(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    row = bench.rows[LIBRARY]
    told = {key: how for key, how in row["provenance"].items() if key != "terms"}
    bench.edit(LIBRARY, terms=None, provenance=told)

    (change,) = [each for each in bench.lock().changes if each.kind == "changed"]

    assert change.name == LIBRARY
    assert bench.rows[LIBRARY] == row


@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_a_text_that_is_lost_is_asked_for_again(
    damage: str, hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    before, lock = files(bench), bench.path.read_bytes()
    for path in bench.manifest.with_suffix(".terms").iterdir():
        path.unlink()
        if damage == "changed":
            path.write_text("Everything is allowed.\n")

    bench.lock()

    assert files(bench) == before
    assert bench.path.read_bytes() == lock


def test_the_order_is_texts_first_then_the_lock_that_names_them(
    hub: LoopbackGitHub, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        assert len(files(bench)) == 2
        raise CancelledError("interrupted")

    monkeypatch.setattr(run, "write_lock", interrupted)

    with pytest.raises(CancelledError):
        bench.lock()
    assert not bench.path.exists()


def test_among_manifests_texts_lie_in_one_folder_for_all_locks(
    hub: LoopbackGitHub, bench: Bench, tmp_path: Path
) -> None:
    from vvbuild import resources

    own = tmp_path / "own"
    (own / "releases").mkdir(parents=True)
    manifest = own / "releases/tiny.toml"
    manifest.write_text(bench.manifest.read_text())
    bench.manifest = manifest
    resources.lay_over(own)
    try:
        result = bench.lock()
        assert result.path == own / "locks/tiny.lock.json"
        assert {path.parent for path in result.texts.values()} == {own / "locks/terms"}
        sha256 = digest(ORT_TERMS.encode())
        assert text_of(bench, sha256) == ORT_TERMS
    finally:
        resources.lay_over(None)


# What is refused


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"\xff\xfe", LockError),
        (b"a\0b", LockError),
        (b" \r\n", LockError),
        (b"<!DOCTYPE html><p>Sign in", NetworkError),
        (b"x" * (1 << 20) + b"y", SizeMismatchError),
    ],
)
def test_what_is_no_text_is_not_locked(
    body: bytes, error: type, hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.manifest.write_text(bench.manifest.read_text().replace('"1MiB"', '"9MiB"'))
    hub.replace(VVM, "0.16.4", "TERMS.txt", body)

    with pytest.raises(error, match=r"TERMS\.txt"):
        bench.lock()
    assert not bench.path.exists()
    assert files(bench) == {}


@pytest.mark.parametrize("again", ["other", "", None])
def test_a_release_text_that_is_unclear_is_not_locked(
    again: str | None, hub: LoopbackGitHub, bench: Bench
) -> None:
    block = "<pre data-voicevox-onnxruntime-terms><code>{}</code></pre>"
    one = block.format("one")
    tell(hub, one.removesuffix("</pre>") if again is None else one + block.format(again))

    with pytest.raises(LockError, match="is unclear"):
        bench.lock()
    assert not bench.path.exists()


def test_with_keep_going_the_rest_is_locked(hub: LoopbackGitHub, bench: Bench) -> None:
    hub.replace(VVM, "0.16.4", "TERMS.txt", b"\xff")

    result = bench.lock(keep_going=True)

    assert list(result.failures) == [TERMS]
    assert "not UTF-8" in bench.rows[TERMS]["unlocked"]
    assert len(files(bench)) == 1


@pytest.mark.parametrize("there", ["nothing", "other words", "bytes", "a folder", "too much"])
def test_a_text_that_is_not_what_its_digest_says_is_never_shown(
    there: str, hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    sha256 = digest(ORT_TERMS.encode())
    path = bench.manifest.with_suffix(".terms") / f"{sha256}.txt"
    path.unlink()
    if there == "a folder":
        path.mkdir()
    elif there != "nothing":
        data = {"other words": b"Yes.\n", "bytes": b"\xff", "too much": b"x" * (9 << 20)}[there]
        path.write_bytes(data)

    with pytest.raises(LockError, match=sha256[:12]) as caught:
        text_of(bench, sha256)

    assert caught.value.exit_status == 4
    assert "vvbuild lock --release" in (caught.value.hint or "")


def test_line_ends_that_a_checkout_made_do_not_change_a_text(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    sha256 = digest(ORT_TERMS.encode())
    path = bench.manifest.with_suffix(".terms") / f"{sha256}.txt"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert text_of(bench, sha256) == ORT_TERMS


# Drift


def test_a_release_text_that_changed_is_drift_though_the_files_are_the_same(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    lock = bench.path.read_bytes()
    old, new = digest(ORT_TERMS.encode()), digest(b"New terms\n")
    tell(hub, "<pre data-voicevox-onnxruntime-terms><code>New terms</code></pre>")

    problems = bench.check().problems

    assert {problem.kind for problem in problems} == {"other-terms"}
    (problem,) = [problem for problem in problems if problem.artifact == LIBRARY]
    assert f"{old}; the server has {new}" in problem.message
    assert f"--accept-drift {LIBRARY}" in problem.fix
    with pytest.raises(LockDriftError, match="other terms"):
        bench.lock(download=True)
    assert bench.path.read_bytes() == lock
    assert f"{new}.txt" not in files(bench)
    bench.lock(accept_drift=("voicevox_onnxruntime-*",))
    assert bench.rows[LIBRARY]["terms"] == new
    assert bench.check().problems == ()


def test_terms_that_were_taken_away_or_that_are_new_are_drift_too(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    body = hub._repositories[BUILDER][TAG].body
    bench.lock()
    tell(hub, "")
    assert {problem.kind for problem in bench.check().problems} == {"other-terms"}
    bench.lock(accept_drift=("voicevox_onnxruntime-*",))
    assert "terms" not in bench.rows[LIBRARY]

    tell(hub, body)
    assert {problem.kind for problem in bench.check().problems} == {"other-terms"}


def test_a_file_of_terms_that_changed_is_drift_of_both(hub: LoopbackGitHub, bench: Bench) -> None:
    bench.lock()
    hub.replace(VVM, "0.16.4", "TERMS.txt", b"New terms")

    found = [(problem.kind, problem.artifact) for problem in bench.check().problems]

    assert found == [("replaced", TERMS), ("other-terms", TERMS)]
    bench.edit(TERMS, size=None, max_size=1 << 20)
    with pytest.raises(LockDriftError, match="other bytes and other terms") as caught:
        bench.lock()
    assert digest(b"New terms\n") in caught.value.context[TERMS]


# Gaps


def test_terms_that_nobody_asked_for_and_texts_that_are_lost_are_gaps(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    bench.edit(LIBRARY, terms=None, provenance={})
    (bench.manifest.with_suffix(".terms") / f"{digest(OF_MODELS.encode())}.txt").unlink()

    found = [(each.kind, each.artifact) for each in bench.check(ask=False, offline=True).problems]

    assert found == [("no-terms", LIBRARY), ("no-terms", TERMS)]


def test_a_server_that_is_silent_about_terms_leaves_the_lock_as_it_was(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    bench.lock()
    bench.edit(LIBRARY, terms=None, provenance={})
    before = bench.path.read_bytes()
    hub.play(BUILDER, TAG, always=Status(500))

    with pytest.raises(NetworkError):
        bench.lock()
    assert bench.path.read_bytes() == before
    bench.lock(keep_going=True)
    assert json.loads(bench.path.read_bytes()) == json.loads(before)


# --allow-unlocked


def test_what_is_not_locked_comes_with_its_texts_and_nothing_is_written(
    hub: LoopbackGitHub, bench: Bench
) -> None:
    found = trusted(bench)

    assert set(found.texts) == {str(it.terms) for it in found.lock.artifacts if it.terms}
    loaded = load_release(bench.manifest, allow_local=True)
    sha256 = Digest(digest(ORT_TERMS.encode()))
    assert read_terms(loaded, sha256, found.texts) == ORT_TERMS
    with pytest.raises(LockError):
        read_terms(loaded, sha256)
    assert files(bench) == {}
