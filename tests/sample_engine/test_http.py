import base64
import json

import pytest

import vvbuild.sample_engine

PNG = b"\x89PNG\r\n\x1a\n"
MORA = {"text", "consonant", "consonant_length", "vowel", "vowel_length", "pitch"}
QUERY = {
    "accent_phrases",
    "speedScale",
    "pitchScale",
    "intonationScale",
    "volumeScale",
    "prePhonemeLength",
    "postPhonemeLength",
    "pauseLength",
    "pauseLengthScale",
    "outputSamplingRate",
    "outputStereo",
    "kana",
}


def test_the_version_is_the_manifests(engine, engine_root):
    manifest = json.loads((engine_root / "engine_manifest.json").read_text("utf-8"))
    assert engine.client.get("/version").json() == manifest["version"]


def test_the_manifest_carries_the_files_it_names(engine, engine_root):
    raw = json.loads((engine_root / "engine_manifest.json").read_text("utf-8"))
    given = engine.client.get("/engine_manifest").json()
    assert base64.b64decode(given["icon"]) == (engine_root / raw["icon"]).read_bytes()
    terms = (engine_root / raw["terms_of_service"]).read_text("utf-8")
    assert given["terms_of_service"] == terms
    assert given["update_infos"][0]["version"]
    assert {"name", "version", "license", "text"} <= given["dependency_licenses"][0].keys()
    for same in ("manifest_version", "name", "brand_name", "uuid", "url", "frame_rate"):
        assert given[same] == raw[same]
    assert given["supported_features"] == {
        name: feature["value"] for name, feature in raw["supported_features"].items()
    }
    assert set(map(type, given["supported_features"].values())) == {bool}


def test_every_speaker_has_terms_and_pictures(engine):
    speakers = engine.client.get("/speakers").json()
    assert len(speakers) == 2
    for speaker in speakers:
        assert set(speaker) == {
            "name",
            "speaker_uuid",
            "styles",
            "version",
            "supported_features",
        }
        uuid = {"speaker_uuid": speaker["speaker_uuid"]}
        info = engine.client.get("/speaker_info", params=uuid).json()
        assert info["policy"]
        assert base64.b64decode(info["portrait"]).startswith(PNG)
        assert [s["id"] for s in info["style_infos"]] == [s["id"] for s in speaker["styles"]]
        assert all(base64.b64decode(s["icon"]).startswith(PNG) for s in info["style_infos"])


def test_devices_are_those_of_the_library(engine):
    devices = engine.client.get("/supported_devices").json()
    assert devices == {"cpu": True, "cuda": False, "dml": False}


def test_a_query_has_upstreams_shape(engine):
    query = engine.query("こんにちは、世界？")
    assert set(query) == QUERY
    assert (query["outputSamplingRate"], query["outputStereo"]) == (24000, False)
    first, second = query["accent_phrases"]
    assert set(first) == {"moras", "accent", "pause_mora", "is_interrogative"}
    assert all(set(mora) == MORA for mora in first["moras"])
    assert [mora["text"] for mora in first["moras"]] == ["コ", "ン", "ニ", "チ", "ハ"]
    assert first["pause_mora"]["vowel"] == "pau"
    assert second["is_interrogative"]
    assert query["kana"].startswith("コ'ンニチハ、")


def test_an_empty_text_is_a_silent_query(engine):
    query = engine.query("")
    assert query["accent_phrases"] == []
    assert set(engine.speak(query)[44:]) == {0}


def detail(answer, status):
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    return answer.json()["detail"]


def test_an_unknown_speaker_is_not_found(engine):
    answer = engine.client.get("/speaker_info", params={"speaker_uuid": "nobody"})
    assert "nobody" in detail(answer, 404)


def test_an_unknown_path_is_not_found(engine):
    assert detail(engine.client.get("/nothing"), 404) == "Not Found"


@pytest.mark.parametrize("path", ["/synthesis", "/cancellable_synthesis"])
def test_an_unknown_style_is_refused(engine, path):
    answer = engine.client.post("/audio_query", params={"text": "a", "speaker": 99})
    assert "99" in detail(answer, 422)
    answer = engine.client.post(path, params={"speaker": 99}, json=engine.query("a"))
    assert "99" in detail(answer, 422)


def test_a_missing_parameter_is_refused_with_its_place(engine):
    answer = engine.client.post("/audio_query", params={"speaker": 0})
    assert detail(answer, 422)[0]["loc"] == ["query", "text"]
    answer = engine.client.post("/synthesis", params={"speaker": 0}, json={})
    assert ["body", "accent_phrases"] in [error["loc"] for error in detail(answer, 422)]


def test_a_text_longer_than_the_bound_is_refused_and_one_at_the_bound_is_not(engine):
    # Nine bytes a letter once it is percent-encoded: the longest line that there is.
    status, answer = engine.ask_query("あ" * 20_001)
    assert (status, answer["detail"][0]["type"]) == (422, "string_too_long")
    assert engine.ask_query("あ" * 20_000)[0] == 200


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"speedScale": 0}, "speedScale"),
        ({"volumeScale": -1}, "volumeScale"),
        ({"outputSamplingRate": 10}, "outputSamplingRate"),
        ({"prePhonemeLength": 1e9}, "prePhonemeLength"),
        ({"prePhonemeLength": 3000, "postPhonemeLength": 3000}, "longer than"),
    ],
    ids=lambda value: str(value),
)
def test_a_query_out_of_all_bounds_is_refused(engine, change, word):
    answer = engine.client.post(
        "/synthesis", params={"speaker": 0}, json=engine.query("a", **change)
    )
    assert word in str(detail(answer, 422))


def test_not_a_number_is_refused(engine):
    text = json.dumps(engine.query("a", pitchScale=float("nan")))
    answer = engine.client.post("/synthesis", params={"speaker": 0}, content=text)
    assert "pitchScale" in str(detail(answer, 422))


def test_an_unknown_phoneme_is_refused(engine):
    query = engine.query("か")
    query["accent_phrases"][0]["moras"][0]["consonant"] = "xx"
    answer = engine.client.post("/synthesis", params={"speaker": 0}, json=query)
    assert "'xx'" in detail(answer, 422)


def test_the_engine_is_a_package_of_files_beside_this_module():
    assert vvbuild.sample_engine.__doc__
