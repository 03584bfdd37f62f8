import json
import re
import struct
import zipfile
import zlib
from pathlib import Path
from uuid import UUID

import onnx
import pytest

import vvbuild.sample_engine
from vvbuild.sample_engine.tools import make_licenses, make_model

ROOT = Path(vvbuild.sample_engine.__file__).parent
MODEL = ROOT / "model" / "sample.vvm"
FEATURES = {
    "adjust_mora_pitch",
    "adjust_phoneme_length",
    "adjust_speed_scale",
    "adjust_pitch_scale",
    "adjust_intonation_scale",
    "adjust_volume_scale",
    "adjust_pause_length",
    "interrogative_upspeak",
    "synthesis_morphing",
    "sing",
    "manage_library",
    "return_resource_url",
    "apply_katakana_english",
}


@pytest.fixture
def manifest():
    return json.loads((ROOT / "engine_manifest.json").read_text("utf-8"))


def test_the_model_is_what_its_program_makes(tmp_path):
    for name in ("first.vvm", "second.vvm"):
        make_model.write_voice(tmp_path / name)
        assert (tmp_path / name).read_bytes() == MODEL.read_bytes()


def test_the_model_is_small_and_stored():
    assert MODEL.stat().st_size < 60_000
    with zipfile.ZipFile(MODEL) as archive:
        assert archive.namelist() == ["manifest.json", "metas.json", "model.onnx"]
        for member in archive.infolist():
            assert member.compress_type == zipfile.ZIP_STORED
            assert member.date_time == (1980, 1, 1, 0, 0, 0)


def test_the_model_is_valid_and_old_enough_for_every_onnx_runtime_in_use():
    with zipfile.ZipFile(MODEL) as archive:
        model = onnx.load_from_string(archive.read("model.onnx"))
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version <= 9
    assert [(opset.domain, opset.version <= 19) for opset in model.opset_import] == [("", True)]
    assert "Loop" in {node.op_type for node in model.graph.node}


def test_every_weight_of_the_model_is_used():
    graph = make_model.make_graph()
    (loop,) = [node for node in graph.node if node.op_type == "Loop"]
    body = loop.attribute[0].g
    used = {name for node in (*graph.node, *body.node) for name in node.input}
    assert {weight.name for weight in (*graph.initializer, *body.initializer)} <= used


def test_speakers_of_the_model_have_their_directories():
    with zipfile.ZipFile(MODEL) as archive:
        speakers = json.loads(archive.read("metas.json"))
    directories = {path.name for path in (ROOT / "resources" / "character_info").iterdir()}
    assert {speaker["speaker_uuid"] for speaker in speakers} == directories


def test_the_manifest_has_every_field_and_its_files_exist(manifest):
    assert set(manifest) == {
        *("manifest_version", "name", "brand_name", "uuid", "version", "url", "command", "port"),
        *("icon", "default_sampling_rate", "frame_rate", "terms_of_service", "update_infos"),
        *("dependency_licenses", "supported_features"),
    }
    assert manifest["manifest_version"] == "0.13.1"
    assert manifest["command"] == "run"
    assert UUID(manifest["uuid"]).version == 4
    for field in ("icon", "terms_of_service", "update_infos", "dependency_licenses"):
        assert (ROOT / manifest[field]).is_file()
    assert set(manifest["supported_features"]) == FEATURES
    for feature in manifest["supported_features"].values():
        assert feature["type"] == "bool"
        assert isinstance(feature["value"], bool)
        assert feature["name"]


def test_the_manifests_rates_are_the_models(manifest):
    rate, hop = make_model.SAMPLE_RATE, make_model.HOP
    assert manifest["default_sampling_rate"] == rate
    assert manifest["frame_rate"] == rate / hop


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.png")), ids=lambda path: path.name)
def test_pictures_are_whole(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    kinds, position = [], 8
    while position < len(data):
        size, kind = struct.unpack(">I4s", data[position : position + 8])
        body = data[position + 4 : position + 8 + size]
        assert struct.unpack(">I", data[position + 8 + size :][:4])[0] == zlib.crc32(body)
        kinds.append(kind)
        position += 12 + size
    assert (kinds[0], kinds[-1]) == (b"IHDR", b"IEND")


def locked():
    """Name, version and marker of every requirement of the lock, each with its hashes."""
    text = (ROOT / "requirements.txt").read_text("utf-8")
    found = []
    for block in re.split(r"\n(?=[a-z0-9])", text):
        match = re.match(r"([a-z0-9-]+)==([^ ;]+)(?: ; (.+?))? \\\n", block)
        assert match, block
        assert "--hash=sha256:" in block
        found.append(match.groups())
    return found


def test_the_lock_has_hashes_for_everything_that_is_asked_for():
    names = {name for name, _, _ in locked()}
    wanted = (ROOT / "requirements.in").read_text("utf-8").splitlines()
    asked = {line.split("==")[0] for line in wanted if not line.startswith("#")}
    assert asked == {"fastapi", "uvicorn", "pyinstaller"}
    assert asked <= names
    assert "numpy" not in names


def test_the_lock_is_for_every_system():
    markers = {marker for _, _, marker in locked() if marker}
    for system in ("win32", "darwin"):
        assert any(f"sys_platform == '{system}'" in marker for marker in markers)


def test_the_lock_pins_the_freezer_that_was_asked_for():
    pinned = {name: version for name, version, _ in locked()}
    assert f"pyinstaller=={pinned['pyinstaller']}" in (ROOT / "requirements.in").read_text("utf-8")


def test_licences_are_those_of_the_locked_packages():
    path = ROOT / "resources" / "engine_manifest_assets" / "dependency_licenses.json"
    entries = json.loads(path.read_text("utf-8"))
    versions = {}
    for name, version, _ in locked():
        versions.setdefault(name, set()).add(version)
    names = {entry["name"] for entry in entries}
    assert names == make_licenses.bundled_names() | {"Python"}
    for entry in entries:
        assert entry["text"].strip()
        if entry["name"] in versions:
            assert entry["version"] in versions[entry["name"]], entry["name"]
