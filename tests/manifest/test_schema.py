from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.manifest.conftest import edited
from vvbuild import resources
from vvbuild.manifest.bytes import TABLES as BYTES_TABLES
from vvbuild.manifest.compat import TABLES
from vvbuild.manifest.inherit import read_release
from vvbuild.manifest.release import release_names
from vvbuild.manifest.schema import TYPES, schema_files, write_schemas

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MANIFESTS = resources.manifests_dir()
PACKAGED = {
    "release": sorted((MANIFESTS / "releases").glob("*.toml")),
    "recipe": sorted((MANIFESTS / "recipes").glob("*.toml")),
    "lock": sorted((MANIFESTS / "locks").glob("*.lock.json")),
    "targets": [MANIFESTS / "targets.toml"],
    "tools": [MANIFESTS / "tools.toml"],
    "host": [MANIFESTS / "host.toml"],
    "policy": [MANIFESTS / "policy.toml"],
    "downloader": [MANIFESTS / "downloader.toml"],
    **{f"compat-{name}": [MANIFESTS / "compat" / f"{name}.toml"] for name in TABLES},
    **{f"bytes-{name}": [MANIFESTS / "bytes" / f"{name}.toml"] for name in BYTES_TABLES},
}


def plain(value: object) -> Any:
    """TOML's own types as JSON has them."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return value


def parse(text: str, suffix: str) -> Any:
    return plain(tomllib.loads(text)) if suffix == ".toml" else json.loads(text)


def validator(kind: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((MANIFESTS / "schema" / f"{kind}.schema.json").read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_packaged_schemas_are_those_of_the_types() -> None:
    packaged = {path.name: path.read_bytes() for path in (MANIFESTS / "schema").glob("*.json")}

    assert packaged == schema_files(), "run `python -m vvbuild.manifest.schema`"


def test_writing_schemas_gives_the_same_bytes_every_time(tmp_path: Path) -> None:
    paths = write_schemas(tmp_path)

    assert {path.name: path.read_bytes() for path in paths} == schema_files()
    other = subprocess.run(
        [
            sys.executable, "-c",
            ("import sys; from vvbuild.manifest.schema import schema_files;"
            "sys.stdout.buffer.write(b''.join(schema_files().values()))"),
        ],
        capture_output=True, check=True, cwd=resources.package_dir().parent,
        env={"PYTHONHASHSEED": "7"},
    ).stdout  # fmt: skip
    assert other == b"".join(schema_files().values())


@pytest.mark.parametrize(
    ("kind", "path"),
    [(kind, path) for kind, paths in PACKAGED.items() for path in paths],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_packaged_files_are_valid(kind: str, path: Path) -> None:
    document = parse(path.read_text(encoding="utf-8"), path.suffix)

    validator(kind).validate(document)


@pytest.mark.parametrize("name", release_names())
def test_what_extends_another_is_valid_as_a_whole(name: str) -> None:
    """A file on its own may leave things out; together nothing may be missing."""
    merged = read_release(MANIFESTS / "releases" / f"{name}.toml").data

    schema = json.loads((MANIFESTS / "schema" / "release.schema.json").read_bytes())
    whole = {"$ref": "#/$defs/Release", "$defs": schema["$defs"]}
    jsonschema.Draft202012Validator(whole).validate(plain(merged))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('extends = "0.25.1"', ""),
        ("[engine]", "[engines]"),
        ('commit = "', 'commit = "x'),
        ("[components.core]", "[components.cores]"),
        ("[components.models]", "[components.models]\npatern = 'x'"),
    ],
)
def test_mistakes_in_a_part_are_not_valid(old: str, new: str) -> None:
    text = (MANIFESTS / "releases" / "0.25.2.toml").read_text(encoding="utf-8")

    assert validator("release").is_valid(parse(text, ".toml"))
    assert not validator("release").is_valid(parse(edited(text, old, new), ".toml"))


def test_every_kind_of_file_has_examples() -> None:
    assert set(PACKAGED) == set(TYPES)
    assert all(PACKAGED.values())


BAD = [
    ("release", 'summary = "', 'sumary = "'),
    ("release", 'schema = "vvbuild.release/1"', 'schema = "vvbuild.release/2"'),
    ("release", "[components.onnxruntime]", "[components.onnx]"),
    ("release", 'source = "pypi"', 'source = "rumour"'),
    ("release", "[archives]", "[archives]\nzip_level = 99"),
    ("release", 'requires = "', 'requires = 3.11 # "'),
    ("release", 'name = "sample"', 'name = "Sample Name"'),
    ("recipe", 'contents_directory = "', 'contents = "'),
    ("recipe", "[[place]]", '[[place]]\nos = ["beos"]'),
    ("recipe", 'to = "engine_manifest.json"', ""),
    ("targets", "[os.win]", "[os.beos]"),
    ("targets", 'runner = "', 'runer = "'),
    ("tools", 'member = "', 'members = "'),
    ("host", 'why = "', 'wy = "'),
    ("policy", 'min_age = "', 'age = "'),
    ("compat-onnxruntime", 'flavour = "pypi"', 'flavour = "pipy"'),
    ("compat-core", 'file_name = "versioned"', 'file_name = "version"'),
    ("compat-additional-libraries", 'cudnn = "', 'cudn = "'),
    ("compat-models", "format = 1", 'format = "1"'),
    ("compat-pyinstaller", 'source = "', 'sauce = "'),
    ("compat-gpu", 'capability = "6.1"', 'capability = "6.1.0"'),
    ("compat-troubles", "grave = true", 'grave = "yes"'),
    ("lock", '"sha256": "', '"sha256": "0'),
    ("lock", '"size": ', '"size": -'),
    ("lock", '"schema": "vvbuild.lock/1"', '"schema": "other"'),
    ("lock", '"component": "', '"part": "'),
]


@pytest.mark.parametrize(("kind", "old", "new"), BAD)
def test_mistakes_are_not_valid(kind: str, old: str, new: str) -> None:
    sample = [path for path in PACKAGED[kind] if path.name.startswith("sample")]
    path = (sample or PACKAGED[kind])[0]
    text = edited(path.read_text(encoding="utf-8"), old, new)

    assert not validator(kind).is_valid(parse(text, path.suffix))
