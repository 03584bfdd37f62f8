"""An ONNX Runtime: what each build of it needs, and who opens it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from vvbuild.explain.downloaders import downloaders
from vvbuild.explain.explanation import Explanation, Fact, Relation
from vvbuild.explain.judging import GPU_RULES, NOWHERE, chosen, oldest, unknown, verdict
from vvbuild.explain.pinned import pinned
from vvbuild.explain.summaries import SUMMARIES
from vvbuild.explain.troubles import troubles
from vvbuild.manifest.compat import compat_tables
from vvbuild.model.compat import CudaRow, ProviderRow
from vvbuild.model.release import Flavour
from vvbuild.model.version import within

NAME: Literal["onnxruntime"] = "onnxruntime"
FLAVOURS: tuple[Flavour, ...] = get_args(Flavour)
_LIBRARIES = "vvbuild, manifests/compat/additional-libraries.toml"
_CORE_RULES = ("core-ort-filename", "core-ort-api", "core-ort-untried")


def explain_onnxruntime(version: str | None, flavour: Flavour | None) -> Explanation:
    """What is known of a version; of one flavour, or of all."""
    flavours = FLAVOURS if flavour is None else (flavour,)
    remarks: list[str] = []
    facts: list[Fact] = []
    needs: list[Relation] = []
    needed_by: list[Relation] = []
    for each in flavours:
        rows = chosen(_cuda_rows(each), version)
        if version is not None and not rows:
            remarks.append(
                unknown(f"the CUDA of {NAME} {version} ({each})", _cuda_rows(each), version)
            )
        facts += _facts(each, rows, version)
        needs += _needs(each, rows, version)
        needed_by += _opened_by(each, version)
    facts += [*_onnx(version), *troubles(NAME, version, flavour)]
    needs += _directml(version)
    needed_by += downloaders(NAME, version)
    return Explanation(
        "component",
        NAME,
        SUMMARIES[NAME],
        version=version,
        flavour=flavour,
        remarks=tuple(remarks),
        facts=tuple(facts),
        needs=tuple(needs),
        needed_by=tuple(needed_by),
        releases=pinned(NAME, version, flavour),
    )


def cuda_needs(row: CudaRow) -> str:
    """What a build needs, in a line."""
    words = [f"CUDA {row.cuda}", f"cuDNN {row.cudnn}{' (optional)' if row.cudnn_optional else ''}"]
    words += [f"driver {row.driver}"] if row.driver else []
    return ", ".join(words)


def _cuda_rows(flavour: Flavour) -> list[CudaRow]:
    return [row for row in compat_tables().onnxruntime.cuda if row.flavour == flavour]


def _facts(flavour: Flavour, rows: Sequence[CudaRow], version: str | None) -> Iterator[Fact]:
    for row in rows:
        built = {"CUDA": row.built_with_cuda, "cuDNN": row.built_with_cudnn}
        words = [f"{name} {number}" for name, number in built.items() if number]
        if words:
            yield Fact("built with", ", ".join(words), row.source, flavour, row.versions)
    tables = compat_tables()
    for missing in tables.onnxruntime.missing:
        if missing.flavour == flavour and (version is None or within(version, missing.versions)):
            where = ", ".join(missing.targets)
            yield Fact("not published for", where, missing.source, flavour, missing.versions)
    for provider in tables.gpu.provider:
        if provider.flavour == flavour and (version is None or within(version, provider.versions)):
            yield from _gpus(provider)


def _gpus(row: ProviderRow) -> Iterator[Fact]:
    where = ", ".join(row.targets)
    for name, capabilities in (
        ("no code for", row.uncovered),
        ("slow first start on", row.only_translated),
    ):
        if capabilities:
            words = ", ".join(map(_generation, capabilities))
            yield Fact(name, f"{words}, on {where}", row.source, row.flavour, row.versions)


def _generation(capability: str) -> str:
    rows = compat_tables().gpu.generation
    row = next((row for row in rows if row.capability == capability), None)
    return f"{row.name} {capability} ({row.cards[0]})" if row else capability


def _needs(flavour: Flavour, rows: Sequence[CudaRow], version: str | None) -> Iterator[Relation]:
    for row in rows:
        yield Relation("cuda", f"{row.cuda}", row.source, flavour, versions=row.versions)
        optional = ", for some kernels only" if row.cudnn_optional else ""
        least = ", ".join(f"{os} {number}" for os, number in row.cudnn_recommended.items())
        recommended = f" (recommended from: {least})" if least else ""
        what = f"{row.cudnn}{optional}{recommended}"
        yield Relation("cudnn", what, row.source, flavour, versions=row.versions)
        if row.driver is not None:
            what = f"NVIDIA {row.driver} or newer"
            yield Relation("driver", what, row.source, flavour, versions=row.versions)
    if version is not None and rows:
        yield from _libraries(flavour, version)


def _libraries(flavour: Flavour, version: str) -> Iterator[Relation]:
    """Which additional libraries would serve it with CUDA."""
    table = compat_tables().libraries.libraries
    served = False
    for row in table:
        pins = {NAME: version, "cuda": row.cuda, "cudnn": row.cudnn}
        said = verdict(GPU_RULES, "cuda", pins, flavour)
        if not NOWHERE.match(said):
            served = True
            what = f"{row.version} (CUDA {row.cuda}, cuDNN {row.cudnn})"
            yield Relation("additional-libraries", what, row.source, flavour, said)
    if not served:
        known = ", ".join(row.version for row in table)
        yield Relation("additional-libraries", f"none of {known} fits", _LIBRARIES, flavour)


def _directml(version: str | None) -> Iterator[Relation]:
    for row in chosen(compat_tables().onnxruntime.directml, version):
        what = f"{row.least} or newer; {row.shipped} ships with it"
        yield Relation("directml", what, row.source, versions=row.versions)


def _onnx(version: str | None) -> Iterator[Fact]:
    for row in chosen(compat_tables().onnxruntime.onnx, version):
        value = f"IR {row.ir}, opset {row.opset}, ai.onnx.ml {row.ml}"
        yield Fact("loads models up to", value, row.source, versions=row.versions)


def _opened_by(flavour: Flavour, version: str | None) -> Iterator[Relation]:
    """Which cores open this file anywhere; Windows' name has no version, so it may differ."""
    for row in compat_tables().core.core if version is not None else ():
        pins = {"core": oldest(row.versions), NAME: version or ""}
        said = verdict(_CORE_RULES, "cpu", pins, flavour)
        if not NOWHERE.match(said):
            yield Relation("core", row.versions, row.source, flavour, said)
