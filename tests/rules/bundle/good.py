"""A good bundle, and what a test changes in it."""

from __future__ import annotations

from typing import Any

import vvbuild.rules.bundle  # noqa: F401 - registers the rules
from vvbuild.binary.elf import ElfFacts
from vvbuild.manifest.bytes import bytes_tables
from vvbuild.manifest.compat import compat_tables
from vvbuild.model.digest import Digest
from vvbuild.model.finding import Finding
from vvbuild.model.target import Target
from vvbuild.rules.evidence import BundleEvidence, FileFacts, JsonFile, Tables
from vvbuild.rules.registry import judge

LINUX = Target.parse("linux-x64-cpu")
SHA = {name: Digest.of_bytes(name.encode()) for name in ("a", "b", "text", "other")}


def elf(machine: str = "x64", soname: str | None = None) -> ElfFacts:
    return ElfFacts(machine, "dyn", None, soname, (), (), (), ())


def file(path: str, **changes: Any) -> FileFacts:
    return FileFacts(**{"path": path, "kind": "file", "size": 3, "sha256": SHA["a"], **changes})


def link(path: str, target: str) -> FileFacts:
    return FileFacts(path, "link", link=target)


MANIFEST = {
    "manifest_version": "0.13.1", "name": "n", "brand_name": "b", "uuid": "u", "version": "1.0",
    "url": "", "command": "run", "port": 1, "icon": "resources/icon.png",
    "default_sampling_rate": 24000, "frame_rate": 93.75, "terms_of_service": "terms.md",
    "update_infos": "infos.json", "dependency_licenses": "licenses.json", "supported_features": {},
}  # fmt: skip
GOOD = [
    file("run", kind="program", binary=elf(), text=SHA["text"]),
    file("libonnxruntime.so", binary=elf(soname="libonnxruntime.so.1.23.2")),
    file("engine_manifest.json"),
    *(file(str(MANIFEST[key])) for key in
      ("icon", "terms_of_service", "update_infos", "dependency_licenses")),
    file("model/0.vvm"),
]  # fmt: skip


def described(files: list[FileFacts]) -> dict[str, dict[str, object]]:
    """What vvbuild.json says of files, see ``bundle/describe.py``."""
    rows: dict[str, dict[str, object]] = {}
    for each in files:
        if each.kind == "link":
            rows[each.path] = {"kind": "link", "link": each.link}
        elif each.kind == "directory":
            rows[each.path] = {"kind": "directory"}
        else:
            rows[each.path] = {"kind": each.kind, "size": each.size, "sha256": each.sha256.hex}
    return rows


def bundle(
    *changes: FileFacts,
    without: str = "",
    target: Target | None = LINUX,
    program: str = "run",
    manifest: dict[str, object] | JsonFile | None = None,
    promised: list[FileFacts] | None = None,
    **description: object,
) -> BundleEvidence:
    """A good bundle with some files changed, added or taken away, and vvbuild.json in step."""
    files = {each.path: each for each in [*GOOD, *changes] if each.path != without}
    if not isinstance(manifest, JsonFile):
        manifest = JsonFile({**MANIFEST, **(manifest or {})})
    about = {
        "engine": {"version": "1.0"},
        "components": {"onnxruntime": "1.23.2"},
        "bootloader": {"text_sha256": SHA["text"].hex},
        "files": described(list(files.values()) if promised is None else promised),
        **description,
    }
    tables = Tables(bytes_tables(), compat_tables())
    return BundleEvidence(target, program, files, manifest, JsonFile(about), tables)


def found(evidence: BundleEvidence) -> list[tuple[str, str | None]]:
    return [(finding.rule, finding.path) for finding in judge(evidence)]


def only(evidence: BundleEvidence, name: str) -> Finding:
    """The finding of ``name``, which must be alone."""
    (finding,) = judge(evidence)
    assert finding.rule == name
    return finding
