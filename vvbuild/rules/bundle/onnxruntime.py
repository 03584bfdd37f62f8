"""Rules over a bundle: ONNX Runtime and its providers."""

from __future__ import annotations

from collections.abc import Iterator

from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found

rule = Family(BundleEvidence)

_ENGINE = "VOICEVOX/voicevox_engine"
_LIBRARY = {"linux": "libonnxruntime.so", "macos": "libonnxruntime.dylib", "win": "onnxruntime.dll"}


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
