"""Nothing that the core's downloader leaves, shows or asks is trusted."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from tests.server.github import LoopbackGitHub
from tests.standins.downloader import REPOSITORIES
from tests.standins.notes import write_notes
from tests.standins.scene import ACCEPTED, Scene
from tests.standins.world import MODEL_TERMS, ORT, ORT_TERMS
from vvbuild.errors import (
    DigestMismatchError,
    DownloaderError,
    ExitStatus,
    HostileArchiveError,
    IntegrityError,
    MemberMissingError,
    SizeMismatchError,
    StrangerError,
    TermsError,
    VvbuildError,
)
from vvbuild.fetch.downloader import (
    Consent,
    DownloadRequest,
    Program,
    Surroundings,
)
from vvbuild.fetch.indexes import github_token
from vvbuild.model.digest import Digest
from vvbuild.model.locked import Member

TAG = f"voicevox_onnxruntime-{ORT}"
SECRET = "ghp_ThisIsTheTokenOfSomebody"


@pytest.fixture
def scene(github: LoopbackGitHub, tmp_path: Path) -> Scene:
    return Scene(github, tmp_path)


def with_members(request: DownloadRequest, component: str, **more: Member) -> DownloadRequest:
    part = request.parts[component]
    changed = replace(part, members={**part.members, **more})
    return replace(request, parts={**request.parts, component: changed})


# What it leaves


@pytest.mark.parametrize(
    ("deed", "named"),
    [
        ("open(output + '/c_api/lib/evil.so', 'w')", "c_api/lib/evil.so"),
        ("open(output + '/evil', 'w')", "evil"),
        ("open(output + '/c_api/VERSION ', 'w')", "c_api/VERSION "),
        ("open(output + '/c_api/version', 'w')", "c_api/version"),
        ("os.symlink('/etc/passwd', output + '/c_api/link')", "c_api/link (link)"),
        ("os.mkfifo(output + '/c_api/pipe')", "c_api/pipe (device)"),
        ("os.link(output + '/c_api/VERSION', output + '/../kept')", "c_api/VERSION (hard link)"),
        ("os.mkdir(output + '/extra'); open(output + '/extra/x', 'w')", "extra/x"),
        ("open((output + '/c_api/').encode() + b'\\xff', 'w')", "c_api/\\xff"),
    ],
)
def test_strangers_are_refused(scene: Scene, deed: str, named: str) -> None:
    with pytest.raises(StrangerError) as caught:
        scene.run("core", program=scene.program(after=deed))

    assert caught.value.context["not in the lock"] == named
    assert scene.count == 1
    assert scene.delivered == []


def test_a_link_in_the_place_of_a_file_is_not_followed(scene: Scene) -> None:
    deed = (
        "os.rename(output + '/c_api/VERSION', output + '/../kept')\n"
        "os.symlink('../../kept', output + '/c_api/VERSION')"
    )
    with pytest.raises(StrangerError) as caught:
        scene.run("core", program=scene.program(after=deed))

    assert caught.value.context["not in the lock"] == "c_api/VERSION (link)"


def test_a_folder_that_is_a_link_is_not_followed(scene: Scene) -> None:
    deed = (
        "os.rename(output + '/c_api/lib', output + '/../lib')\n"
        "os.symlink('../../lib', output + '/c_api/lib')"
    )
    with pytest.raises(StrangerError) as caught:
        scene.run("core", program=scene.program(after=deed))

    assert caught.value.context["not in the lock"] == "c_api/lib (link)"
    assert "c_api/lib/libvoicevox_core.so" in caught.value.context["missing"]


def test_everything_that_is_wrong_is_named_at_once(scene: Scene) -> None:
    deed = (
        "open(output + '/c_api/VERSION', 'w').write('0.17.1')\n"
        "open(output + '/c_api/README.txt', 'a').write('more')\n"
        "os.unlink(output + '/c_api/LICENSE')\n"
        "open(output + '/c_api/evil', 'w')\n"
    )
    with pytest.raises(DigestMismatchError) as caught:
        scene.run("core", program=scene.program(after=deed))

    context = caught.value.context
    assert context["changed"] == "c_api/VERSION"
    assert context["of another size"] == "c_api/README.txt"
    assert context["missing"] == "c_api/LICENSE"
    assert context["not in the lock"] == "c_api/evil"
    assert scene.count == 1


def test_a_file_that_is_cut_off_is_fetched_again_and_then_refused(scene: Scene) -> None:
    deed = "open(output + '/c_api/README.txt', 'w').write('short')"

    with pytest.raises(SizeMismatchError):
        scene.run("core", program=scene.program(after=deed))

    assert scene.count == 3


def test_a_file_that_is_missing_is_fetched_again_and_then_named(scene: Scene) -> None:
    deed = "os.unlink(output + '/c_api/README.txt')"

    with pytest.raises(MemberMissingError):
        scene.run("core", program=scene.program(after=deed))

    assert scene.count == 3


@pytest.mark.parametrize(
    "members",
    [
        {"../evil": Member(link="x")},
        {"/evil": Member(link="x")},
        {"lib/x": Member(link="../../../etc")},
        {"lib/x": Member(link="/etc/passwd")},
        {"version": Member(sha256="0" * 64, size=1)},
        {"lib/./x": Member(sha256="0" * 64, size=1)},
        {"aux.dll": Member(sha256="0" * 64, size=1)},
    ],
)
def test_a_list_that_leads_outside_is_refused_before_anything_runs(
    scene: Scene, members: dict[str, Member]
) -> None:
    request = with_members(scene.world.request(scene.target, "core"), "core", **members)

    with pytest.raises(HostileArchiveError):
        scene.run(request=request)

    assert scene.count == 0


def test_links_and_execute_bits_come_back_by_the_table(scene: Scene) -> None:
    lib = scene.run("onnxruntime")["onnxruntime"].directory / "lib"

    link = lib / "libvoicevox_onnxruntime.so"
    assert str(link.readlink()) == f"libvoicevox_onnxruntime.so.{ORT}"
    assert link.stat().st_mode & 0o777 == 0o755
    assert (lib.parent / "VERSION_NUMBER").stat().st_mode & 0o777 == 0o644


def test_two_components_may_not_claim_one_path(github: LoopbackGitHub, tmp_path: Path) -> None:
    scene = Scene(github, tmp_path, "0.15.9")
    core = scene.world.request(scene.target).parts["core"].members
    request = with_members(
        scene.world.request(scene.target), "additional-libraries", VERSION=core["VERSION"]
    )

    with pytest.raises(IntegrityError, match="VERSION belongs to core and to additional-libraries"):
        scene.run(request=request)


def test_a_downloader_that_keeps_links_must_keep_them_right(scene: Scene) -> None:
    plain = scene.program()
    generation = plain.contract.generation
    kept = structs.replace(generation.damage, links="kept")
    contract = replace(plain.contract, generation=structs.replace(generation, damage=kept))

    def link(target: str) -> Program:
        deed = f"os.symlink({target!r}, output + '/c_api/lib/libvoicevox_core.so')"
        return replace(scene.program(after=deed), contract=contract)

    with pytest.raises(MemberMissingError):
        scene.run("core", program=replace(plain, contract=contract))
    with pytest.raises(StrangerError):
        scene.run("core", program=link("libvoicevox_core.so.0.16.0"))
    delivered = scene.run("core", program=link("libvoicevox_core.so.0.17.0"))
    assert (delivered["core"].directory / "lib" / "libvoicevox_core.so").is_symlink()


# What it asks


def test_terms_that_nobody_accepted_are_declined(scene: Scene) -> None:
    with pytest.raises(TermsError) as caught:
        scene.run("onnxruntime", consent=Consent())

    assert caught.value.exit_status is ExitStatus.TERMS
    assert "逆コンパイル <すること> & 公開" in caught.value.context["text"]
    assert "\x1b" not in caught.value.context["text"]
    assert caught.value.context["sha256 of the text"] in str(caught.value.hint)
    assert scene.count == 1
    assert scene.github.downloads(f"voicevox_onnxruntime-linux-x64-cuda-{ORT}.tgz") == 0


@pytest.mark.parametrize(
    "text",
    [
        ORT_TERMS.replace("逆", "順"),
        ORT_TERMS + "\n- 新しい条件\n",
        "新しい条件\n" + ORT_TERMS,
        ORT_TERMS.replace("## 禁止事項", "## 禁止事項\n\n- 新しい条件"),
        ORT_TERMS + ORT_TERMS.replace("逆", "順"),
    ],
)
def test_terms_that_were_changed_are_asked_for_again(scene: Scene, text: str) -> None:
    name = f"voicevox_onnxruntime-linux-x64-cuda-{ORT}.tgz"
    row = ("Linux", "x86_64", ["CUDA", "CPU"], "https://e.invalid/", name)
    scene.github.release(
        REPOSITORIES["onnxruntime_builder"], TAG, {name: b"x"}, body=write_notes([row], text)
    )

    with pytest.raises(TermsError):
        scene.run("onnxruntime")

    assert scene.github.downloads(name) == 0


def test_the_text_that_was_shown_can_be_accepted_by_its_digest(scene: Scene) -> None:
    with pytest.raises(TermsError) as caught:
        scene.run("models", consent=Consent())
    digest = Digest(caught.value.context["sha256 of the text"])

    delivered = scene.run("models", consent=Consent(digests=frozenset({digest})))

    assert set(delivered) == {"models"}


def test_somebody_who_is_there_is_shown_the_text_and_asked(scene: Scene) -> None:
    shown: list[str] = []

    def ask(text: str) -> bool:
        shown.append(text)
        return True

    scene.run("models", consent=Consent(ask=ask))

    assert len(shown) == 1
    assert "1. 組み込みできます" in shown[0]
    assert "\x1b" not in shown[0]


def test_consent_to_one_text_is_none_to_another(scene: Scene) -> None:
    with pytest.raises(TermsError):
        scene.run("onnxruntime", consent=Consent(texts=(MODEL_TERMS,)))


@pytest.mark.parametrize("core", ["0.15.9", "0.17.0"])
def test_what_asks_for_nothing_needs_no_consent(
    github: LoopbackGitHub, tmp_path: Path, core: str
) -> None:
    scene = Scene(github, tmp_path, core)

    assert "core" in scene.run("core", consent=Consent())


def test_a_program_that_ends_instead_of_listening_is_judged_by_its_status(scene: Scene) -> None:
    program = scene.program(
        "print('利用規約', flush=True)\n"
        "sys.stderr.write('?'); sys.stderr.flush(); sys.stdin.close()\n"
        "import time; time.sleep(2); sys.exit(3)"
    )
    with pytest.raises(DownloaderError):
        scene.run("models", program=program, consent=Consent(texts=("利用規約",)))


# What it sees


@pytest.mark.parametrize(
    ("environment", "token"),
    [
        ({"GITHUB_TOKEN": "one", "GH_TOKEN": "two"}, "one"),
        ({"GITHUB_TOKEN": " ", "GH_TOKEN": "two\n"}, "two"),
        ({}, None),
    ],
)
def test_our_own_token_is_the_one_of_the_direct_way(
    environment: dict[str, str], token: str | None
) -> None:
    assert github_token(environment) == token


def dump(place: Path) -> str:
    return (
        f"import json; json.dump(dict(os.environ), open({str(place)!r}, 'w'))\n"
        "for name in ('GITHUB_TOKEN', 'GH_TOKEN'):\n"
        "    print('using', os.environ.get(name), file=sys.stderr, flush=True)"
    )


@pytest.mark.parametrize(("core", "name"), [("0.16.0", "GITHUB_TOKEN"), ("0.17.0", "GH_TOKEN")])
def test_a_child_sees_the_token_under_one_name_and_no_other_secret(
    github: LoopbackGitHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    core: str,
    name: str,
) -> None:
    import json

    for secret in (
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "UV_INDEX_URL",
        "PYTHONPATH",
    ):
        monkeypatch.setenv(secret, f"secret of {secret}")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    scene = Scene(github, tmp_path, core)

    scene.run(
        "core",
        program=scene.program(dump(tmp_path / "environment")),
        around=Surroundings(token=SECRET),
    )

    seen = json.loads((tmp_path / "environment").read_text())
    assert seen[name] == SECRET
    assert seen["NO_PROXY"] == "127.0.0.1,localhost"
    assert not any("secret of" in value for value in seen.values())
    assert [key for key, value in seen.items() if SECRET in value] == [name]


def test_without_a_token_a_child_sees_none(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", SECRET)

    scene.run("core", program=scene.program(dump(scene.directory / "environment")))

    assert SECRET not in (scene.directory / "environment").read_text()


def test_the_token_appears_in_no_event_and_no_error(scene: Scene) -> None:
    program = scene.program(f"{dump(scene.directory / 'e')}\nsys.exit(3)")

    with pytest.raises(VvbuildError) as caught:
        scene.run("core", program=program, around=Surroundings(token=SECRET))

    error = caught.value
    told = [repr(scene.events), error.message, str(error.hint), repr(error.context)]
    assert "using ***" in error.context["last lines"]
    assert not any(SECRET in text for text in told)


def test_the_token_goes_to_the_api_and_nowhere_else(scene: Scene) -> None:
    scene.run("core", around=Surroundings(token=SECRET))

    asked = [
        request for request in scene.github.server.requests if request.path.startswith("/api/")
    ]
    others = [
        request
        for request in (*scene.github.server.requests, *scene.github.storage.requests)
        if not request.path.startswith("/api/")
    ]
    assert {request.headers.get("authorization") for request in asked} == {f"Bearer {SECRET}"}
    assert not any(SECRET in repr(request) for request in others)


def test_its_lines_are_told_without_control_characters(scene: Scene) -> None:
    program = scene.program(
        r"print('\x1b]0;title\x07\x1b[2Jhello\x1b[0m\r\n::error::x', flush=True)"
    )

    scene.run("core", program=program, consent=ACCEPTED)

    texts = [event.text for event in scene.events if hasattr(event, "text")]
    assert "downloader: hello" in texts
    assert not any("\x1b" in text or "\x07" in text for text in texts)


def test_it_works_in_a_directory_of_its_own(scene: Scene) -> None:
    place = scene.directory / "where"
    program = scene.program(
        f"open({str(place)!r}, 'w').write(os.getcwd() + '|' + os.environ['TMPDIR'])"
    )

    scene.run("core", program=program)

    cwd, temporary = place.read_text().split("|")
    assert cwd == temporary == os.fspath(scene.work / "run" / "tmp")
    assert not (scene.work / "run").exists()
