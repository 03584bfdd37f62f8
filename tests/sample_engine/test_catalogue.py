import json

import pytest

from vvbuild.sample_engine.sample_engine_app.catalogue import Catalogue
from vvbuild.sample_engine.sample_engine_app.errors import StartError
from vvbuild.sample_engine.sample_engine_app.voice_model import load_models


@pytest.fixture
def speakers(altered_root):
    (model,) = load_models((altered_root,))
    return model.speakers


def test_a_whole_engine_has_a_catalogue(altered_root, speakers):
    catalogue = Catalogue(altered_root, speakers)
    assert catalogue.info(speakers[0].speaker_uuid).policy
    assert catalogue.info("nobody") is None


@pytest.mark.parametrize(
    "path",
    [
        "engine_manifest.json",
        "resources/engine_manifest_assets/icon.png",
        "resources/engine_manifest_assets/terms_of_service.md",
        "resources/engine_manifest_assets/update_infos.json",
        "resources/engine_manifest_assets/dependency_licenses.json",
        "resources/character_info/*/policy.md",
        "resources/character_info/*/metas.json",
        "resources/character_info/*/portrait.png",
        "resources/character_info/*/icons/0.png",
    ],
)
def test_a_missing_file_is_named(altered_root, speakers, path):
    missing = next(altered_root.glob(path))
    missing.unlink()
    with pytest.raises(StartError, match="The engine lacks a file") as caught:
        Catalogue(altered_root, speakers)
    assert str(missing) in str(caught.value)


@pytest.mark.parametrize("field", ["brand_name", "icon", "version", "port", "supported_features"])
def test_a_manifest_without_a_field_is_refused(altered_root, speakers, field):
    path = altered_root / "engine_manifest.json"
    manifest = json.loads(path.read_text("utf-8"))
    del manifest[field]
    path.write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(StartError, match=field):
        Catalogue(altered_root, speakers)


def test_a_manifest_with_a_byte_order_mark_is_refused(altered_root, speakers):
    path = altered_root / "engine_manifest.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with pytest.raises(StartError):
        Catalogue(altered_root, speakers)
