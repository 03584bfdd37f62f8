"""The libraries of GPUs: CUDA, cuDNN, DirectML, and those that pack them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from vvbuild.explain.downloaders import downloaders
from vvbuild.explain.explanation import Explanation, Fact, Relation
from vvbuild.explain.judging import GPU_RULES, oldest, verdict
from vvbuild.explain.onnxruntime import cuda_needs
from vvbuild.explain.pinned import pinned, same_version
from vvbuild.explain.summaries import SUMMARIES
from vvbuild.explain.troubles import troubles
from vvbuild.manifest.compat import compat_tables
from vvbuild.model.version import numbers
from vvbuild.rules.registry import RULES


def explain_gpu(name: Literal["cuda", "cudnn", "directml"], version: str | None) -> Explanation:
    """What is known of a version of CUDA, cuDNN or DirectML."""
    users: dict[str, Callable[[str | None], Iterator[Relation]]] = {
        "cuda": _cuda_users,
        "cudnn": lambda asked: _cuda_verdicts({} if asked is None else {"cudnn": asked}),
        "directml": _directml_users,
    }
    needs = _needs_of_cudnn(version) if name == "cudnn" else ()
    return Explanation(
        "component",
        name,
        SUMMARIES[name],
        version=version,
        facts=(*_packed(name, version), *troubles(name, version)),
        needs=tuple(needs),
        needed_by=tuple(users[name](version)),
        releases=pinned(name, version),
    )


def explain_libraries(version: str | None) -> Explanation:
    """What a release of the additional libraries packs, and whom that serves."""
    table = compat_tables().libraries.libraries
    rows = [row for row in table if version is None or numbers(row.version) == numbers(version)]
    facts: list[Fact] = []
    needed_by: list[Relation] = []
    for row in rows:
        facts += [
            Fact(f"packs {part}", packed, row.source, versions=row.version)
            for part, packed in row.packs().items()
        ]
        facts += [Fact("note", row.note, row.source, versions=row.version)] if row.note else []
        if version is not None:
            needed_by += [*_cuda_verdicts({"cuda": row.cuda, "cudnn": row.cudnn})]
            needed_by += [*_directml_users(row.directml)]
    needed_by += downloaders("additional-libraries", version)
    known = ", ".join(row.version for row in table)
    remark = f"No table knows additional-libraries {version}; it knows {known}."
    return Explanation(
        "component",
        "additional-libraries",
        SUMMARIES["additional-libraries"],
        version=version,
        remarks=() if rows else (remark,),
        facts=(*facts, *troubles("additional-libraries", version)),
        needed_by=tuple(needed_by),
        releases=pinned("additional-libraries", version),
    )


def explain_zlibwapi(version: str | None) -> Explanation:
    """What is known of zlib for Windows; the rule about it is all that there is."""
    rule = RULES["zlib-for-cudnn8"]
    return Explanation(
        "component",
        "zlibwapi",
        SUMMARIES["zlibwapi"],
        version=version,
        facts=tuple(troubles("zlibwapi", version)),
        needed_by=(Relation("cudnn", f"8, on Windows: {rule.about.why}", rule.about.source),),
        releases=pinned("zlibwapi", version),
    )


def _packed(name: Literal["cuda", "cudnn", "directml"], version: str | None) -> Iterator[Fact]:
    for row in compat_tables().libraries.libraries:
        packed = row.packs()[name]
        if version is None or same_version(packed, version):
            yield Fact("packed by", f"additional-libraries {row.version} ({packed})", row.source)


def _cuda_users(version: str | None) -> Iterator[Relation]:
    yield from _cuda_verdicts({} if version is None else {"cuda": version})
    for row in compat_tables().core.core:
        pins = {"core": oldest(row.versions), "cuda": version or ""}
        said = verdict(("core-cuda-generation",), "cuda", pins) if version else ""
        yield Relation("core", f"{row.versions}: CUDA {row.cuda}", row.source, "", said)


def _needs_of_cudnn(version: str | None) -> Iterator[Relation]:
    rule = RULES["zlib-for-cudnn8"]
    said = "" if version is None else verdict((rule.name,), "cuda", {"cudnn": version})
    if version is None or rule.name in said:
        yield Relation("zlibwapi", "for cuDNN 8 on Windows", rule.about.source)


def _cuda_verdicts(pins: dict[str, str]) -> Iterator[Relation]:
    """What each build of ONNX Runtime wants, and whether these serve it."""
    for row in compat_tables().onnxruntime.cuda:
        together = {"onnxruntime": oldest(row.versions), **pins}
        said = verdict(GPU_RULES, "cuda", together, row.flavour) if pins else ""
        what = f"{row.flavour} {row.versions}: {cuda_needs(row)}"
        yield Relation("onnxruntime", what, row.source, "", said)


def _directml_users(version: str | None) -> Iterator[Relation]:
    for row in compat_tables().onnxruntime.directml:
        pins = {"onnxruntime": oldest(row.versions), "directml": version or ""}
        said = verdict(("directml-version",), "directml", pins) if version else ""
        what = f"{row.versions}: DirectML {row.least} or newer, ships with {row.shipped}"
        yield Relation("onnxruntime", what, row.source, "", said)
