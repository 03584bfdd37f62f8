"""A bundle that says anything at all is judged; no rule trusts the shape of what it reads."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules.bundle.good import LINUX, MACOS, MANIFEST, WINDOWS, bundle, file
from vvbuild.rules.data import Document, ModelFacts, PackedFacts, Style
from vvbuild.rules.registry import judge

TEXTS = st.sampled_from(
    [
        "",
        "x",
        "..",
        "/",
        "../x",
        "\0",
        "1.0",
        "run",
        "unlocked",
        "model/0.vvm",
        "\udcff",
        "声",
        "a\nb",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
DESCRIPTION = st.fixed_dictionaries(
    {},
    optional={
        "files": VALUES | st.dictionaries(TEXTS, VALUES | st.fixed_dictionaries(
            {}, optional=dict.fromkeys(("kind", "sha256", "link", "origin", "size"), VALUES)
        )),
        "artifacts": VALUES | st.lists(st.fixed_dictionaries(
            {}, optional=dict.fromkeys(("name", "component"), VALUES)
        ), max_size=2),
        "overrides": VALUES | st.fixed_dictionaries(
            {}, optional=dict.fromkeys(("unlocked", "waivers"), VALUES)
        ),
        **dict.fromkeys(("engine", "components", "python", "bootloader"), VALUES),
    },
)  # fmt: skip
DOCUMENTS = st.dictionaries(
    st.sampled_from(
        ["infos.json", "licenses.json", "resources/character_info/filemap.json"]
    ),
    VALUES | st.lists(st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("name", "text", "version"), VALUES)
    ), max_size=2),
)  # fmt: skip
MODELS = st.dictionaries(
    TEXTS,
    st.builds(
        ModelFacts,
        st.none() | st.integers(),
        st.none() | st.dictionaries(TEXTS, st.just((Style(1, "talk"),)), max_size=2),
        st.none() | st.just("is broken"),
    ),
    max_size=2,
)
PACKED = st.none() | st.builds(
    PackedFacts,
    st.sampled_from(["vvpp", "7z"]),
    st.dictionaries(TEXTS, st.integers(0, 1 << 40), min_size=1, max_size=3),
    st.booleans(),
    st.lists(TEXTS, max_size=2).map(tuple),
    st.none() | st.lists(TEXTS, max_size=2).map(tuple),
    st.lists(TEXTS, max_size=2).map(tuple),
)


@settings(max_examples=100, deadline=None)
@given(
    manifest=st.dictionaries(st.sampled_from(list(MANIFEST)), VALUES, max_size=6),
    description=DESCRIPTION,
    documents=DOCUMENTS,
    models=MODELS,
    packed=PACKED,
    target=st.sampled_from([None, LINUX, MACOS, WINDOWS]),
    paths=st.lists(TEXTS.filter(bool), max_size=3),
    expected=st.dictionaries(st.sampled_from(["engine", "core", "python"]), TEXTS, max_size=2),
)
def test_no_rule_trusts_the_shape_of_what_it_reads(
    manifest: dict[str, object],
    description: dict[str, object],
    documents: dict[str, object],
    models: dict[str, ModelFacts],
    packed: PackedFacts | None,
    target: Any,
    paths: list[str],
    expected: dict[str, str],
) -> None:
    seen = {
        "documents": {path: Document(value) for path, value in documents.items()},
        "models": models,
        "packed": packed,
        "modules": frozenset({"voicevox_engine.resource_manager", "unidic"}),
    }
    files = [file(path) for path in (*paths, "resources/character_info/x/a.png")]
    evidence = bundle(
        *files, manifest=manifest, target=target, seen=seen, expected=expected, **description
    )

    for finding in judge(evidence):
        json.dumps(dataclasses.asdict(finding))
        assert finding.message
