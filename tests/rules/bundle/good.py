"""A good bundle of facts, for tests that spoil one of them.

``bundle(file("x.txt"))`` is the good bundle with a file more; ``only(evidence, "rule-name")`` is
the one finding that it must have. Real trees of tiny files are laid out by ``trees.py``.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.makers.elf import make_elf
from tests.makers.macho import make_macho
from tests.makers.pe import make_pe
from vvbuild.binary.identify import read_binary
from vvbuild.manifest.bootloader import hint_table
from vvbuild.manifest.bytes import bytes_tables
from vvbuild.manifest.compat import compat_tables
from vvbuild.model.digest import Digest
from vvbuild.model.finding import Finding
from vvbuild.model.target import Target
from vvbuild.rules import bundle as _rules  # noqa: F401 - registers the rules
from vvbuild.rules.evidence import Binary, BundleEvidence, FileFacts, JsonFile, Tables
from vvbuild.rules.registry import judge

LINUX = Target.parse("linux-x64-cpu")
WINDOWS = Target.parse("win-x64-cpu")
MACOS = Target.parse("macos-arm64-cpu")
SHA = {name: Digest.of_bytes(name.encode()) for name in ("a", "b", "text", "other")}
_MAKERS: dict[str, Callable[..., Path]] = {"elf": make_elf, "pe": make_pe, "macho": make_macho}


@functools.cache
def _made(maker: str, facts: tuple[tuple[str, Any], ...]) -> Binary:
    with tempfile.TemporaryDirectory() as folder:
        binary = read_binary(_MAKERS[maker](Path(folder) / "x", **dict(facts)))
    assert binary is not None
    return binary


def made(maker: str, **facts: Any) -> Binary:
    """The headers of a file that a maker wrote; lists are given as tuples."""
    return _made(maker, tuple(facts.items()))


def elf(machine: str = "x64", soname: str | None = None, **facts: Any) -> Binary:
    return made("elf", machine=machine, soname=soname, **facts)


def pe(**facts: Any) -> Binary:
    return made("pe", **facts)


def macho(**facts: Any) -> Binary:
    return made("macho", **facts)


def file(path: str, **changes: Any) -> FileFacts:
    """A file of three bytes, but for what is said otherwise."""
    plain: dict[str, Any] = {"kind": "file", "size": 3, "sha256": SHA["a"]}
    return FileFacts(**{"path": path, **plain, **changes})


def link(path: str, target: str) -> FileFacts:
    return FileFacts(path, "link", link=target)


MANIFEST: dict[str, object] = {
    "manifest_version": "0.13.1", "name": "n", "brand_name": "b", "uuid": "u", "version": "1.0",
    "url": "", "command": "run", "port": 1, "icon": "resources/icon.png",
    "default_sampling_rate": 24000, "frame_rate": 93.75, "terms_of_service": "terms.md",
    "update_infos": "infos.json", "dependency_licenses": "licenses.json", "supported_features": {},
}  # fmt: skip
_LICENSED = ("CUDA Toolkit", "cuDNN", "ONNX Runtime", "Python", "libsndfile", "Open JTalk")
_TEXT = "Permission is hereby granted. " * 5
PNG = b"\x89PNG\r\n\x1a\n"
PAPERS: dict[str, bytes] = {
    "resources/icon.png": PNG,
    "terms.md": b"terms",
    "infos.json": json.dumps([{"version": "1.0", "descriptions": ["first"]}]).encode(),
    "licenses.json": json.dumps([{"name": name, "text": _TEXT} for name in _LICENSED]).encode(),
}
"""What the manifest names, as real files have it."""
RUN = file("run", kind="program", binary=elf(), text=SHA["text"])
GOOD = [
    RUN,
    file("libonnxruntime.so", binary=elf(soname="libonnxruntime.so.1.23.2")),
    file("engine_manifest.json"),
    *(file(str(MANIFEST[key])) for key in
      ("icon", "terms_of_service", "update_infos", "dependency_licenses")),
    file("model/0.vvm"),
]  # fmt: skip
GOOD_WINDOWS = [
    file("run.exe", kind="program", binary=pe()),
    file("onnxruntime.dll", binary=pe(dll=True)),
]
"""What a bundle for Windows has instead of the first two; see :func:`windows`."""


def described(files: list[FileFacts]) -> dict[str, dict[str, object]]:
    """What vvbuild.json says of files, see ``bundle/describe.py``."""
    rows: dict[str, dict[str, object]] = {}
    for each in files:
        if each.kind == "link":
            rows[each.path] = {"kind": "link", "link": each.link}
        elif each.kind == "directory":
            rows[each.path] = {"kind": "directory"}
        else:
            assert each.sha256 is not None
            rows[each.path] = {"kind": each.kind, "size": each.size, "sha256": each.sha256.hex}
    return rows


def bundle(
    *changes: FileFacts,
    without: str | tuple[str, ...] = (),
    target: Target | None = LINUX,
    program: str = "run",
    manifest: dict[str, object] | JsonFile | None = None,
    promised: list[FileFacts] | None = None,
    expected: dict[str, str] | None = None,
    good: list[FileFacts] | None = None,
    seen: dict[str, Any] | None = None,
    **description: object,
) -> BundleEvidence:
    """A good bundle with some files changed, added or taken away, and vvbuild.json in step.

    ``seen`` are further fields of the evidence: ``documents``, ``models``, ``packed`` …
    """
    gone = (without,) if isinstance(without, str) else without
    files = {each.path: each for each in [*(good or GOOD), *changes] if each.path not in gone}
    if not isinstance(manifest, JsonFile):
        manifest = JsonFile({**MANIFEST, **(manifest or {})})
    about = {
        "engine": {"version": "1.0"},
        "components": {"onnxruntime": "1.23.2"},
        "bootloader": {"text_sha256": SHA["text"].hex},
        "files": described(list(files.values()) if promised is None else promised),
        **description,
    }
    tables = Tables(bytes_tables(), compat_tables(), hint_table())
    return BundleEvidence(
        target, program, files, manifest, JsonFile(about), tables, expected or {}, **(seen or {})
    )


def windows(*changes: FileFacts, **options: Any) -> BundleEvidence:
    """The same for Windows."""
    others = [each for each in GOOD if each.path not in ("run", "libonnxruntime.so")]
    plain = {"target": WINDOWS, "program": "run.exe", "manifest": {"command": "run.exe"}}
    return bundle(*changes, **{**plain, "good": [*GOOD_WINDOWS, *others], **options})


def found(evidence: BundleEvidence) -> list[tuple[str, str | None]]:
    return [(finding.rule, finding.path) for finding in judge(evidence)]


def only(evidence: BundleEvidence, name: str) -> Finding:
    """The finding of ``name``, which must be alone."""
    findings = judge(evidence)
    assert [each.rule for each in findings] == [name]
    return findings[0]
