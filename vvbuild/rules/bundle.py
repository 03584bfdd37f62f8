"""Rules over the bytes of a bundle."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from vvbuild.rules.evidence import BundleEvidence, FileFacts
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_LIBRARY = {"linux": "libonnxruntime.so", "macos": "libonnxruntime.dylib", "win": "onnxruntime.dll"}
_ENGINE = "VOICEVOX/voicevox_engine"
_EDITOR = "VOICEVOX/voicevox, src/backend/electron/manager/vvppManager.ts"
_MANIFEST_KEYS = (
    "manifest_version", "name", "brand_name", "uuid", "version", "url", "command", "port", "icon",
    "default_sampling_rate", "frame_rate", "terms_of_service", "update_infos",
    "dependency_licenses", "supported_features",
)  # fmt: skip
_SHARED_LIBRARY = re.compile(r"\.so(\.[0-9]+)*$")
# Linux itself follows forty links of one path.
_MOST_HOPS = 40
_NAMED_FILES = ("icon", "terms_of_service", "update_infos", "dependency_licenses")


@rule(
    "program-missing",
    "error",
    why="The editor starts the program that the manifest names; without it nothing runs.",
    source=_EDITOR,
    fix="Freeze again; the recipe and the spec must agree on the program's name.",
)
def program_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """The program lies in the bundle's root and is not empty."""
    program = evidence.files.get(evidence.program)
    if program is None:
        yield Found(f"there is no program {evidence.program!r} in the bundle's root")
    elif program.size == 0:
        yield Found("the program is empty", evidence.program)


@rule(
    "exec-bit-missing",
    "error",
    why="A program without its execute bit does not start on Linux and macOS.",
    source=f"{_ENGINE}#1776",
    fix="Pack and unpack with a tool that keeps modes.",
)
def exec_bit_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """The program may be executed."""
    program = evidence.files.get(evidence.program)
    windows = evidence.target is not None and evidence.target.os == "win"
    if program is not None and program.kind == "file" and not windows:
        yield Found("the program has no execute bit", evidence.program)


@rule(
    "manifest-invalid",
    "error",
    why="Engine and editor both refuse to start without a complete engine_manifest.json; "
    "a byte order mark is enough to break it.",
    source=f"{_ENGINE}, voicevox_engine/engine_manifest.py",
    fix="Mend engine_manifest.json in the engine's sources.",
)
def manifest_invalid(evidence: BundleEvidence) -> Iterator[Found]:
    """The manifest is a JSON object with every field, and the files that it names are there."""
    path = "engine_manifest.json"
    if evidence.manifest.data is None:
        yield Found(evidence.manifest.problem or "is missing", path)
        return
    missing = [key for key in _MANIFEST_KEYS if key not in evidence.manifest.data]
    if missing:
        yield Found(f"lacks {', '.join(missing)}", path)
    for key in _NAMED_FILES:
        named = evidence.manifest.data.get(key)
        if isinstance(named, str) and posixpath.normpath(named) not in evidence.files:
            yield Found(f"names {named!r} as {key}, which is not there", path)


@rule(
    "manifest-command",
    "error",
    why="The editor starts `command`; on Windows it must end in .exe.",
    source=f"{_ENGINE}, .github/workflows/build-engine.yml",
    fix="Let vvbuild set the command, or name the program in engine_manifest.json.",
)
def manifest_command(evidence: BundleEvidence) -> Iterator[Found]:
    """The manifest's command is the program."""
    command = (evidence.manifest.data or {}).get("command", evidence.program)
    if command != evidence.program:
        yield Found(
            f"starts {command!r}, but the program is {evidence.program!r}",
            "engine_manifest.json",
        )


@rule(
    "version-disagrees",
    "error",
    why="The editor and the user see the manifest's version; a wrong one hides what is installed.",
    source="VOICEVOX/voicevox#2297",
    fix="Build with the release whose engine version is meant.",
)
def version_disagrees(evidence: BundleEvidence) -> Iterator[Found]:
    """The manifest's version is the one that the bundle was built as."""
    built = evidence.section("engine").get("version")
    shown = (evidence.manifest.data or {}).get("version", built)
    if built is not None and shown != built:
        yield Found(
            f"says {shown!r}, but it was built as {built!r}",
            "engine_manifest.json",
        )


@rule(
    "provider-missing",
    "error",
    why="Without ONNX Runtime beside the program nothing can be inferred.",
    source="VOICEVOX/voicevox_core#644",
    fix="Look at the onnxruntime rows of the recipe.",
)
def provider_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """The ONNX Runtime library lies in the bundle's root under the name that is opened."""
    if evidence.target is None:
        return
    name = _LIBRARY[evidence.target.os]
    if name not in evidence.files:
        yield Found(f"there is no {name} in the bundle's root")


@rule(
    "ort-name",
    "error",
    why="Core asks the loader for the versioned name, and gets the library that is loaded already "
    "only if its SONAME is that very name.",
    source=f"{_ENGINE}#1871",
    fix="Set the SONAME by the recipe's row (`soname`).",
)
def ort_name(evidence: BundleEvidence) -> Iterator[Found]:
    """The SONAME of ONNX Runtime carries its full version (Linux)."""
    library = evidence.files.get(_LIBRARY["linux"])
    version = evidence.section("components").get("onnxruntime")
    if library is None or library.elf is None or version is None:
        return
    expected = f"{library.path}.{version}"
    if library.elf.soname != expected:
        yield Found(
            f"the SONAME is {library.elf.soname!r}, expected {expected!r}",
            library.path,
            {"soname": str(library.elf.soname)},
        )


@rule(
    "wrong-arch",
    "error",
    why="A library for another processor cannot be loaded.",
    source="VOICEVOX/onnxruntime-builder#29",
    fix="Fetch the artifact for this target; look at its row in the manifest.",
)
def wrong_arch(evidence: BundleEvidence) -> Iterator[Found]:
    """Every ELF file is for the target's processor."""
    if evidence.target is None:
        return
    for file in evidence.files.values():
        if file.elf is not None and file.elf.machine != evidence.target.arch:
            yield Found(
                f"is for {file.elf.machine}, the target is {evidence.target.arch}",
                file.path,
                {"machine": file.elf.machine},
            )


@rule(
    "models-missing",
    "error",
    why="Core reads every model below `model/`, and stops if there is none.",
    source="VOICEVOX/voicevox_core, runtime lookup of VV_MODELS_ROOT_DIR",
    fix="Look at the models' row of the recipe: the folder is `model`, not `models`.",
)
def models_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """There is a voice model where it is looked for, and it is not empty."""
    models = [file for path, file in evidence.files.items() if posixpath.dirname(path) == "model"]
    if not any(file.path.endswith((".vvm", ".bin", ".onnx")) and file.size for file in models):
        yield Found("there is no voice model below model/")


@rule(
    "link-escapes",
    "error",
    why="A link that leaves the bundle points into the build machine, and at nothing elsewhere.",
    source=f"{_ENGINE}#699",
    fix="Copy the file instead of linking to it.",
)
def link_escapes(evidence: BundleEvidence) -> Iterator[Found]:
    """Links stay inside the bundle."""
    for file, where in _links(evidence.files):
        if _leaves(where):
            yield Found(f"links to {file.link!r}, outside the bundle", file.path)


@rule(
    "link-dangling",
    "error",
    why="A link to nothing is a missing file.",
    source=f"{_ENGINE}#699",
    fix="Place the file that it points to.",
)
def link_dangling(evidence: BundleEvidence) -> Iterator[Found]:
    """Links point at something."""
    known = {".", *evidence.files}
    for path in evidence.files:
        known.update(path[:end] for end, each in enumerate(path) if each == "/")
    for file, where in _links(evidence.files):
        if not _leaves(where) and _resolved(where, evidence.files) not in known:
            yield Found(f"links to {file.link!r}, which is not there", file.path)


@rule(
    "binary-malformed",
    "error",
    why="A truncated or damaged library fails when it is loaded, far from its cause.",
    source="stenolabs/stenoai#443",
    fix="Build again from verified artifacts.",
)
def binary_malformed(evidence: BundleEvidence) -> Iterator[Found]:
    """Programs and shared libraries on Linux are ELF files that can be read."""
    if evidence.target is None or evidence.target.os != "linux":
        return
    for path, file in evidence.files.items():
        is_code = _SHARED_LIBRARY.search(path) or (path == evidence.program and file.size)
        readable = file.kind in ("link", "directory") or file.elf is not None
        if is_code and not readable:
            yield Found("is not an ELF file that can be read", path)


@rule(
    "bootloader-not-ours",
    "error",
    why="The frozen program must carry the bootloader that this build made: the stock one lacks "
    "the exports that choose the strong GPU.",
    source=f"{_ENGINE}#502",
    fix="Freeze again with vvbuild; do not replace the program afterwards.",
)
def bootloader_not_ours(evidence: BundleEvidence) -> Iterator[Found]:
    """The program's machine code is the built bootloader's."""
    promised = evidence.section("bootloader").get("text_sha256")
    program = evidence.files.get(evidence.program)
    if not promised or program is None or program.text is None:
        return
    if program.text.hex != promised:
        yield Found(
            "the program's machine code is not that of the bootloader in vvbuild.json",
            program.path,
            {"expected": str(promised), "found": program.text.hex},
        )


@rule(
    "description-missing",
    "warning",
    why="Without vvbuild.json nobody can tell what a bundle was built from.",
    source="vvbuild, docs/bundle.md",
    fix="Build the bundle with vvbuild.",
)
def description_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """The bundle says what it was built from."""
    if evidence.description.data is None:
        yield Found(evidence.description.problem or "is missing", "vvbuild.json")


@rule(
    "content-differs",
    "error",
    why="A file whose bytes are not those that were built was damaged or replaced.",
    source="RyderAsKing/PiChamber#157",
    fix="Unpack the archive again, or build again.",
)
def content_differs(evidence: BundleEvidence) -> Iterator[Found]:
    """Every file has the bytes, kind and link that vvbuild.json promises."""
    for path, row in _promised(evidence).items():
        file = evidence.files.get(path)
        if file is None:
            continue
        actual = file.link if file.kind == "link" else str(file.sha256 or "")
        promised = row.get("link") or row.get("sha256") or ""
        if (actual or "") != promised:
            yield Found("differs from what was built", path)
        elif file.kind != row.get("kind"):
            yield Found(f"was a {row.get('kind')}, is a {file.kind}", path)


@rule(
    "file-missing",
    "error",
    why="A file that was built and is not there fails when it is needed, not at the start.",
    source=f"{_ENGINE}#408",
    fix="Unpack the archive again, or build again.",
)
def file_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """Everything that vvbuild.json lists is there."""
    for path in _promised(evidence):
        if path not in evidence.files:
            yield Found("is missing", path)


@rule(
    "file-extra",
    "error",
    why="A new bundle unpacked over an old one mixes libraries of both.",
    source="VOICEVOX/onnxruntime-builder#111",
    fix="Remove it, or unpack into an empty directory.",
)
def file_extra(evidence: BundleEvidence) -> Iterator[Found]:
    """Nothing is there that vvbuild.json does not list; an empty folder mixes nothing."""
    promised = _promised(evidence)
    if not promised:
        return
    for path, file in evidence.files.items():
        if path not in promised and path != "vvbuild.json" and file.kind != "directory":
            yield Found("was not built by this release", path)


def _promised(evidence: BundleEvidence) -> dict[str, Mapping[str, object]]:
    rows = evidence.section("files")
    return {path: row for path, row in rows.items() if isinstance(row, dict)}


def _leaves(where: str) -> bool:
    return where.startswith(("/", "../")) or where == ".."


def _resolved(where: str, files: Mapping[str, FileFacts]) -> str | None:
    """The path that a path leads to through links to directories; ``None`` for a loop."""
    for _ in range(_MOST_HOPS):
        ends = [end for end, each in enumerate(f"{where}/") if each == "/"]
        link = next((f for end in ends if (f := files.get(where[:end])) and f.link), None)
        if link is None or link.link is None:
            return where
        rest = where[len(link.path) :].lstrip("/")
        where = posixpath.normpath(posixpath.join(posixpath.dirname(link.path), link.link, rest))
    return None


def _links(files: Mapping[str, FileFacts]) -> Iterator[tuple[FileFacts, str]]:
    for file in files.values():
        if file.link is not None:
            yield file, posixpath.normpath(posixpath.join(posixpath.dirname(file.path), file.link))
