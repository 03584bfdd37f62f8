"""Rules over a bundle for Windows: DirectML, and the C++ runtime beside the program."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from vvbuild.rules.bundle.wording import listed
from vvbuild.rules.evidence import BundleEvidence, FileFacts
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)


@rule(
    "directml-missing",
    "error",
    why="Windows has no DirectML of its own that ONNX Runtime takes, but for Windows 11 22H2 and "
    "newer.",
    source="https://learn.microsoft.com/windows/ai/directml/dml-version-history",
    fix="Place DirectML.dll beside ONNX Runtime; pin it in the manifest.",
)
def directml_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """Where ONNX Runtime asks for DirectML, or the target is for it, DirectML is there."""
    name = evidence.tables.bytes.runtimes.directml.name
    if evidence.os != "win" or _named(evidence, name):
        return
    asking = [
        edge.user for edge in evidence.closure.edges if edge.need.name.lower() == name.lower()
    ]
    if asking or (evidence.target is not None and evidence.target.device == "directml"):
        yield Found(
            f"there is no {name}",
            asking[0] if asking else None,
            {"asked for by": listed(asking)} if asking else {},
        )


@rule(
    "directml-old",
    "error",
    why="ONNX Runtime asks DirectML for the abilities of the version that it was built with: an "
    "older one makes no device, or computes wrong.",
    source="microsoft/Windows-Machine-Learning#464",
    fix="Pin the DirectML that ONNX Runtime's own package ships.",
)
def directml_old(evidence: BundleEvidence) -> Iterator[Found]:
    """DirectML is not older than what ONNX Runtime was built with."""
    row = evidence.tables.bytes.runtimes.directml
    for file in _named(evidence, row.name):
        version = file.pe.file_version if file.pe is not None else None
        if version is None:
            continue
        least, needed_by = row.least, "any ONNX Runtime"
        runtime = _runtime_version(evidence)
        known = evidence.tables.compat.onnxruntime.directml_row(runtime) if runtime else None
        if _older(version, least):
            yield Found(
                f"is of version {version}; {needed_by} needs {least}",
                file.path,
                {"version": version, "needed": least},
            )
        elif known is not None and _older(version, known.shipped):
            yield Found(
                f"is of version {version}; ONNX Runtime {runtime} was built with {known.shipped}",
                file.path,
                {"version": version, "needed": known.shipped},
                "warning",
            )


@rule(
    "msvc-runtime-old",
    "error",
    why="A program built with a newer compiler than the C++ runtime that lies beside it crashes "
    "in it; the one beside it is taken before the system's.",
    source="VOICEVOX/voicevox_engine#1659",
    fix="Ship the C++ runtime of the newest compiler among the libraries, or none.",
)
def msvc_runtime_old(evidence: BundleEvidence) -> Iterator[Found]:
    """The C++ runtime in the bundle is not older than the compilers of those who use it."""
    runtimes = {file.name.lower(): file for file in _msvc(evidence)}
    groups: dict[str, list[tuple[str, str]]] = {}
    for file in evidence.binaries():
        if file.pe is None or file.name.lower() in runtimes:
            continue
        for each in file.pe.imports:
            runtime = runtimes.get(each.dll.lower())
            version = _version(runtime)
            # 14.0 is what other linkers write (zig, mingw: 2.x, 14.0), and says nothing.
            if runtime is None or version is None or file.pe.linker in ("14.0", "0.0"):
                continue
            if _older(version, file.pe.linker):
                groups.setdefault(runtime.path, []).append((file.path, file.pe.linker))
    for path, users in groups.items():
        runtime = evidence.files[path]
        newest = max((linker for _, linker in users), key=Version)
        yield Found(
            f"is of version {_version(runtime)}, and {len(users)} "
            f"{'library was' if len(users) == 1 else 'libraries were'} built with {newest}",
            path,
            {"files": listed(user for user, _ in users)},
        )


@rule(
    "msvc-runtime-mixed",
    "error",
    why="The parts of the C++ runtime belong together: one old part among new ones crashes.",
    source="openclaw/openclaw-windows-node#703",
    fix="Take all of them from one redistributable.",
)
def msvc_runtime_mixed(evidence: BundleEvidence) -> Iterator[Found]:
    """All parts of the C++ runtime in one folder are of one version."""
    folders: dict[str, dict[str, list[str]]] = {}
    for file in _msvc(evidence):
        if (version := _version(file)) is not None:
            folder = file.path.rpartition("/")[0]
            folders.setdefault(folder, {}).setdefault(version, []).append(file.path)
    for versions in folders.values():
        if len(versions) > 1:
            yield Found(
                f"the C++ runtime is of versions {' and '.join(sorted(versions))}",
                min(path for paths in versions.values() for path in paths),
                {version: listed(versions[version]) for version in sorted(versions)},
            )


def _msvc(evidence: BundleEvidence) -> Iterator[FileFacts]:
    table = evidence.tables.bytes.runtimes.msvc
    return (
        file for file in evidence.binaries() if file.pe is not None and table.is_about(file.name)
    )


def _version(file: FileFacts | None) -> str | None:
    return file.pe.file_version if file is not None and file.pe is not None else None


def _named(evidence: BundleEvidence, name: str) -> list[FileFacts]:
    return [file for file in evidence.binaries() if file.name.lower() == name.lower()]


def _runtime_version(evidence: BundleEvidence) -> str | None:
    """ONNX Runtime's version: what its file says (1.23.20250930.1 or 1.23.2), else the manifest."""
    told = evidence.version("onnxruntime")
    row = evidence.tables.bytes.runtimes.onnxruntime_of("win", evidence.files)
    file = evidence.files.get(row.main) if row is not None else None
    if told is None and file is not None and (version := _version(file)) is not None:
        # Microsoft's own builds put the date where the third number was.
        return ".".join([*version.split(".")[:2], "0"])
    return told


def _older(version: str, other: str) -> bool:
    try:
        return Version(version) < Version(other)
    except InvalidVersion:
        return False
