"""Rules over a bundle: every library finds what it needs, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from vvbuild.linking.edge import Edge, Place
from vvbuild.rules.bundle.nvidia import told_there
from vvbuild.rules.bundle.wording import listed, together
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

# Smaller ones, such as the C++ runtime that each package brings, are copied on purpose.
_WORTH_TELLING = 1 << 20
# What people call a component whose major the names of its libraries tell.
_CALLED = {"cuda": "CUDA", "cudnn": "cuDNN"}


@rule(
    "needed-missing",
    "error",
    why="A library whose needs are not met cannot be loaded; the loader names one of them at most.",
    source="VOICEVOX/voicevox_engine#95",
    fix="Place what is named into the bundle, or take a build that does not need it.",
)
def needed_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """What a library needs is in the bundle, in the system, or comes with the driver."""
    told = {edge.need.name for edges in _wrong_majors(evidence).values() for edge in edges}
    # A family that lacks parts has a finding of its own.
    told |= {edge.need.name for edge in told_there(evidence)}
    lost = [edge for edge in _needed(evidence, "missing") if edge.need.name not in told]
    groups: dict[str, list[Edge]] = {}
    for edge in lost:
        known = evidence.tables.bytes.nvidia.identify(edge.need.name)
        groups.setdefault(known.component if known else edge.need.name, []).append(edge)
    for edges in groups.values():
        yield _lacking(evidence, edges)


@rule(
    "needed-wrong-major",
    "error",
    why="A library is linked with one major of CUDA and cuDNN, and no other has the names that it "
    "asks for.",
    source="microsoft/onnxruntime#21684",
    fix="Pin CUDA and cuDNN of the major that ONNX Runtime was built for, or another ONNX Runtime.",
)
def needed_wrong_major(evidence: BundleEvidence) -> Iterator[Found]:
    """The CUDA and cuDNN in the bundle are of the major that is asked for."""
    nvidia = evidence.tables.bytes.nvidia
    for component, edges in _wrong_majors(evidence).items():
        asked = {known.major for edge in edges if (known := nvidia.identify(edge.need.name))}
        there = _majors(evidence).get(component, {})
        called = _CALLED.get(component, component)
        wants = " and ".join(f"{called} {major}" for major in sorted(filter(None, asked)))
        has = " and ".join(f"{called} {major}" for major in sorted(there))
        users = sorted({edge.user for edge in edges})
        yield Found(
            f"needs {wants}, but the bundle has {has}",
            users[0],
            {
                "needs": listed(edge.need.name for edge in edges),
                "has": listed(name for names in there.values() for name in names),
                "files": listed(users),
            },
        )


@rule(
    "cuda-mixed-majors",
    "error",
    why="Libraries of two majors of CUDA or cuDNN in one bundle are gigabytes that nobody loads, "
    "and a sign that one set was meant to be replaced.",
    source="VOICEVOX/onnxruntime-builder#111",
    fix="Remove the set that ONNX Runtime's provider does not ask for.",
)
def cuda_mixed_majors(evidence: BundleEvidence) -> Iterator[Found]:
    """All CUDA libraries are of one major, and all of cuDNN's."""
    for component, majors in _majors(evidence).items():
        if len(majors) > 1:
            called = _CALLED.get(component, component)
            several = " and ".join(f"{called} {major}" for major in sorted(majors))
            yield Found(
                f"the bundle holds {several}",
                evidence={f"{called} {major}": listed(majors[major]) for major in sorted(majors)},
            )


@rule(
    "rpath-missing",
    "error",
    why="Loaders look into few places: on Linux and macOS not even beside the library that needs "
    "another one, unless it says so.",
    source="VOICEVOX/voicevox_engine#468",
    fix="Set the RPATH to `$ORIGIN` (macOS: an rpath of `@loader_path`); on Windows lay both into "
    "one folder.",
)
def rpath_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """A library looks where what it needs lies in the bundle."""
    told = list(told_there(evidence))
    groups: dict[str, list[Edge]] = {}
    for edge in _needed(evidence, "elsewhere"):
        if edge not in told:
            groups.setdefault(edge.user, []).append(edge)
    for user, edges in groups.items():
        search = evidence.closure.libraries[user].search
        yield Found(
            f"does not look where {listed(edge.need.name for edge in edges)} "
            f"{'lies' if len(edges) == 1 else 'lie'}",
            user,
            {
                "there": listed(str(edge.path) for edge in edges),
                "looks in": listed(search) if search else "nothing of its own",
            },
        )


@rule(
    "build-path-leak",
    "warning",
    why="A library that looks into a folder of the machine that built it takes whatever lies "
    "there on a user's, where that folder may be anybody's; one that needs a file from there "
    "cannot be loaded elsewhere, or takes another version of it.",
    source="VOICEVOX/voicevox_engine#193",
    fix="Leave only what counts from the library's own place: `$ORIGIN`, `@loader_path`, `@rpath`.",
)
def build_path_leak(evidence: BundleEvidence) -> Iterator[Found]:
    """Libraries look into no folder outside of the bundle, and ask for none of its files."""
    loading = evidence.tables.bytes.loading
    asked: dict[str, list[str]] = {}
    groups: dict[str, list[str]] = {}
    for file, linkage in evidence.libraries():
        for edge in filter(_asks_outside, evidence.closure.of(file.path)):
            asked.setdefault(edge.need.name, []).append(file.path)
        for entry in linkage.search:
            if entry.startswith("/") and not loading.trusts(linkage.os, entry):
                groups.setdefault(entry, []).append(file.path)
    for name, paths in asked.items():
        yield together(
            paths,
            f"asks for {name}, a file of the machine that built it",
            f"{{n}} libraries ask for {name}, a file of the machine that built them",
            severity="error",
        )
    for entry, paths in groups.items():
        yield together(
            paths,
            f"looks into {entry}, a folder of the machine that built it",
            f"{{n}} libraries look into {entry}, a folder of the machine that built them",
        )


@rule(
    "host-library-bundled",
    "error",
    why="glibc and its loader are one: a copy of a part of it is loaded into another one's "
    "process, and crashes there. A copy of libstdc++ is taken before the system's, and drivers "
    "that need a newer one fail.",
    source="pyinstaller/pyinstaller#6993",
    fix="Leave them out of the bundle; every Linux has its own.",
)
def host_library_bundled(evidence: BundleEvidence) -> Iterator[Found]:
    """No part of the system's own C and C++ libraries is in the bundle."""
    if evidence.os is None:
        return
    broken, unwise = [], []
    for path, file in evidence.files.items():
        row = evidence.tables.bytes.loading.given_as(evidence.os, file.name)
        if row is not None and row.by == "system" and file.kind != "directory":
            broken += [path] if row.never else []
            unwise += [path] if row.unwise else []
    if broken:
        yield Found(f"holds {listed(broken)}, which every machine has itself", min(broken))
    if unwise:
        yield Found(
            f"holds {listed(unwise)}, which may be older than what the machine's own libraries "
            "need",
            min(unwise),
            severity="warning",
        )


@rule(
    "duplicate-library",
    "warning",
    why="Of two libraries of one name the loader takes whichever is asked for first; equal ones "
    "are downloaded twice.",
    source="VOICEVOX/voicevox_engine#1830",
    fix="Keep one, where all who need it look; exclude the other in the spec or the recipe.",
)
def duplicate_library(evidence: BundleEvidence) -> Iterator[Found]:
    """A library lies in one place of the bundle."""
    groups: dict[str, list[str]] = {}
    for file, linkage in evidence.libraries():
        if _is_library(linkage.path) and file.size >= _WORTH_TELLING:
            groups.setdefault(linkage.name.lower(), []).append(file.path)
    for name, paths in groups.items():
        if len(paths) > 1:
            digests = {evidence.files[path].sha256 for path in paths}
            words = "with the same bytes" if len(digests) == 1 else "with different bytes"
            yield Found(
                f"{name} lies in {len(paths)} places, {words}", min(paths), {"files": listed(paths)}
            )


def _is_library(path: str) -> bool:
    """Whether loaders find it by its name; extension modules of Python are found by their path."""
    name = path.rpartition("/")[2].lower()
    return ".so." in name or name.startswith("lib") or name.endswith((".dll", ".dylib"))


def _hard(evidence: BundleEvidence, place: Place) -> Iterator[Edge]:
    """Needs without which a library of the bundle's own system cannot be loaded."""
    libraries = evidence.closure.libraries
    for edge in evidence.closure.edges:
        if edge.place == place and edge.need.hard and libraries[edge.user].os == evidence.os:
            yield edge


def _needed(evidence: BundleEvidence, place: Place) -> Iterator[Edge]:
    """The same, and what is opened by name and not done without."""
    libraries = evidence.closure.libraries
    for edge in evidence.closure.edges:
        wanted = (edge.need.hard or edge.need.how == "opened") and not _asks_outside(edge)
        if edge.place == place and wanted and libraries[edge.user].os == evidence.os:
            yield edge


def _asks_outside(edge: Edge) -> bool:
    """Whether a file is asked for by its path on a machine, and it is none of the system's."""
    return edge.need.name.startswith("/") and edge.place in ("missing", "elsewhere")


def _majors(evidence: BundleEvidence) -> dict[str, dict[int, list[str]]]:
    """Component → major → the libraries that the bundle has of it, by their names."""
    found: dict[str, dict[int, list[str]]] = {}
    for _, library in evidence.libraries():
        known = evidence.tables.bytes.nvidia.identify(library.name)
        if known is not None and known.major is not None:
            names = found.setdefault(known.component, {}).setdefault(known.major, [])
            names.append(library.name)
    return found


def _wrong_majors(evidence: BundleEvidence) -> dict[str, list[Edge]]:
    """Component → needs that are not met, where the bundle has another major of it."""
    there = _majors(evidence)
    found: dict[str, list[Edge]] = {}
    for edge in _hard(evidence, "missing"):
        known = evidence.tables.bytes.nvidia.identify(edge.need.name)
        if known is None or known.major is None:
            continue
        majors = there.get(known.component, {})
        if majors and known.major not in majors:
            found.setdefault(known.component, []).append(edge)
    return found


def _lacking(evidence: BundleEvidence, edges: list[Edge]) -> Found:
    users = sorted({edge.user for edge in edges})
    nvidia = evidence.tables.bytes.nvidia
    lost = {known.library for edge in edges if (known := nvidia.identify(edge.need.name))}
    # Another version of it, whose name differs.
    others = [
        file.path
        for file in evidence.binaries()
        if (known := nvidia.identify(file.name)) and known.library in lost
    ]
    has = {"has": listed(others)} if others else {}
    names = listed(edge.need.name for edge in edges)
    return Found(
        f"needs {names}, which the bundle does not have",
        users[0],
        {"files": listed(users), **has},
    )
