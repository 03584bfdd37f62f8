"""The data without which the engine, or a part of it, does not work."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.bundle.good import PNG, bundle, elf, file, found, only
from vvbuild.rules.data import Document, ModelFacts, Style
from vvbuild.rules.evidence import BundleEvidence, FileFacts
from vvbuild.rules.registry import judge

UUID, OTHER = "0" * 8 + "-1111-4222-8333-444444444444", "9" * 8 + "-1111-4222-8333-444444444444"
FOLDER = "resources/character_info"
RESOURCE_MANAGER = frozenset({"voicevox_engine.resource_manager"})


# metas.json


@pytest.mark.parametrize("core", ["libvoicevox_core.so", "core.so.txt", "lib/libcore_cpu_x64.so"])
def test_a_stray_metas_json_is_stopped(core: str) -> None:
    name = file(core, binary=elf() if core.endswith(".so") else None)

    assert only(bundle(name, file("metas.json")), "metas-stray").path == "metas.json"


@pytest.mark.parametrize("core", ["libcore_cpu_x64.so", "libcore.so"])
def test_an_old_core_has_its_metas_json(core: str) -> None:
    assert found(bundle(file(core, binary=elf()), file("metas.json"))) == []


def test_characters_have_their_own_metas_json() -> None:
    assert found(bundle(file(f"{FOLDER}/{UUID}/metas.json"))) == []


# Characters


def character(uuid: str = UUID, style: int = 3) -> list[FileFacts]:
    """The files of a character with one style."""
    picture: dict[str, Any] = {"head": PNG, "size": 99}
    folder = f"{FOLDER}/{uuid}"
    return [
        file(f"{folder}/metas.json"), file(f"{folder}/policy.md"),
        file(f"{folder}/portrait.png", **picture),
        file(f"{folder}/icons/{style}.png", **picture),
        *(file(f"{folder}/voice_samples/{style}_00{number}.wav", head=b"RIFF", size=99)
          for number in (1, 2, 3)),
    ]  # fmt: skip


def speaking(
    files: list[FileFacts],
    *,
    uuids: tuple[str, ...] = (UUID,),
    kind: str = "talk",
    filemap: object = "right",
    modules: frozenset[str] = RESOURCE_MANAGER,
    without: str = "",
) -> BundleEvidence:
    """A bundle whose voice model has these characters, with files and a map of them."""
    kept = [each for each in files if each.path != without]
    path = f"{FOLDER}/filemap.json"
    documents = {}
    if filemap is not None:
        served = [each for each in files if each.path.endswith((".png", ".wav"))]
        right = {each.path.removeprefix(f"{FOLDER}/"): each.sha256.hex for each in served}
        documents[path] = Document(right if filemap == "right" else filemap)
        kept.append(file(path))
    styles = (Style(3, kind),)
    models = {"model/0.vvm": ModelFacts(1, dict.fromkeys(uuids, styles))}
    seen = {"models": models, "documents": documents, "modules": modules}
    return bundle(*kept, seen=seen)


def test_characters_with_all_their_files_pass() -> None:
    assert found(speaking(character())) == []
    assert found(speaking(character(), filemap=None, modules=frozenset())) == []


def test_a_frozen_engine_needs_its_filemap() -> None:
    finding = only(speaking(character(), filemap=None), "filemap-missing")

    assert (finding.path, finding.message) == (f"{FOLDER}/filemap.json", "is missing")


@pytest.mark.parametrize(
    ("filemap", "words"),
    [
        ({}, "lacks 5 of the files"),
        ([], "is no object"),
    ],
)
def test_a_filemap_of_other_files_is_stopped(filemap: object, words: str) -> None:
    assert words in only(speaking(character(), filemap=filemap), "filemap-missing").message


def test_a_filemap_with_old_digests_is_stopped() -> None:
    names = [each.path.removeprefix(f"{FOLDER}/") for each in character()[2:]]

    finding = only(speaking(character(), filemap=dict.fromkeys(names, "0")), "filemap-missing")
    assert finding.message == "tells another digest of 5 of the files"


def test_a_character_of_the_models_without_a_folder_is_stopped() -> None:
    finding = only(speaking(character(), uuids=(UUID, OTHER)), "character-missing")

    assert finding.path == f"{FOLDER}/{OTHER}"


@pytest.mark.parametrize("name", ["metas.json", "policy.md"])
def test_a_file_that_every_character_has_is_missed(name: str) -> None:
    finding = only(speaking(character(), without=f"{FOLDER}/{UUID}/{name}"), "character-missing")

    assert finding.message == f"lacks {name}"


def test_a_sample_of_a_style_is_missed() -> None:
    lost = f"{FOLDER}/{UUID}/voice_samples/3_002.wav"
    files = [each for each in character() if each.path != lost]

    finding = only(speaking(files), "character-missing")
    assert finding.message == "lacks voice_samples/3_002.wav"


def test_a_style_that_the_engine_does_not_offer_needs_no_files() -> None:
    files = [each for each in character() if "/icons/" not in each.path]

    assert found(speaking(files, kind="streaming_talk")) == []
    only(speaking(files, kind="sing"), "character-missing")


@pytest.mark.parametrize("value", [None, 3, [], {"a": []}, {"../../x": "y"}, "x"])
def test_a_filemap_of_any_shape_is_judged(value: object) -> None:
    judge(speaking(character(), filemap=value))


# Data of packages


def frozen(module: str, *files: FileFacts) -> BundleEvidence:
    library = file("engine_internal/base_library.zip")
    return bundle(library, *files, seen={"modules": frozenset({module})})


@pytest.mark.parametrize(
    ("module", "files"),
    [
        ("unidic", ["unidic/dicdir/sys.dic", "unidic/dicdir/matrix.bin"]),
        ("unidic_lite", ["unidic_lite/dicdir/sys.dic", "unidic_lite/dicdir/matrix.bin"]),
        ("ipadic", ["ipadic/dicdir/sys.dic", "ipadic/dicdir/matrix.bin"]),
    ],
)
def test_b129_a_text_package_without_its_dictionary_is_stopped(
    module: str, files: list[str]
) -> None:
    there = [file(f"engine_internal/{each}") for each in files]

    assert only(frozen(module), "dictionary-missing").message == (
        f"{module} is frozen without its Japanese dictionary"
    )
    assert found(frozen(module, *there)) == []


def test_b129_a_dictionary_that_is_not_whole_is_stopped() -> None:
    inside = "engine_internal/pyopenjtalk"
    names = ["sys.dic", "unk.dic", "matrix.bin", "char.bin"]
    whole = [file(f"{inside}/open_jtalk_dic_utf_8-1.11/{name}") for name in names]
    voice = file(f"{inside}/htsvoice/mei_normal.htsvoice")

    assert found(frozen("pyopenjtalk", *whole, voice)) == []
    finding = only(frozen("pyopenjtalk", *whole[1:], voice), "dictionary-missing")
    assert finding.evidence == {"missing": f"{inside}/*/sys.dic"}


def test_b128_a_package_without_its_data_is_stopped() -> None:
    only(frozen("snfa"), "package-data-missing")
    assert found(frozen("snfa", file("engine_internal/snfa/models/cv_jp.bin"))) == []


def test_b130_soundfile_without_its_library_is_stopped() -> None:
    name = "engine_internal/_soundfile_data/libsndfile_x86_64.so"

    assert only(frozen("soundfile"), "package-data-missing").message == (
        "soundfile is frozen without libsndfile"
    )
    assert found(frozen("soundfile", file(name, binary=elf()))) == []


def test_in_the_flat_layout_packages_lie_in_the_root() -> None:
    base = file("base_library.zip")
    seen = {"modules": frozenset({"snfa"})}

    assert found(bundle(base, file("snfa/model.bin"), seen=seen)) == []
    only(bundle(base, file("engine_internal/snfa/model.bin"), seen=seen), "package-data-missing")


# Empty files


def test_b091_samples_without_a_sound_are_one_finding() -> None:
    samples = [file(f"voice_samples/6000_00{number}.wav", size=0) for number in (1, 2, 3)]

    finding = only(bundle(*samples), "zero-byte-data")

    assert finding.message == "3 files: each is empty"
    assert finding.evidence["files"].count(".wav") == 3


@pytest.mark.parametrize(
    "name",
    ["engine_internal/x/__init__.py", "engine_internal/x/py.typed",
     "engine_internal/x-1.0.dist-info/REQUESTED"],
)  # fmt: skip
def test_b091_what_python_leaves_empty_may_be(name: str) -> None:
    assert found(bundle(file(name, size=0))) == []


@pytest.mark.parametrize(
    ("path", "head", "size", "words"),
    [
        ("a.wav", b"RIFF", 44, "nothing but the beginning of a WAV file"),
        ("a.wav", b"{\"message\": \"API rate", 99, "does not begin as a WAV file does"),
        ("a.png", b"<!DOCTYPE html>", 99, "does not begin as a picture does"),
        ("a.png", b"version https://git-lfs", 99, "does not begin as a picture does"),
    ],
)  # fmt: skip
def test_b091_b111_a_file_that_is_not_what_its_name_says_is_stopped(
    path: str, head: bytes, size: int, words: str
) -> None:
    finding = only(bundle(file(path, head=head, size=size)), "zero-byte-data")

    assert words in finding.message
