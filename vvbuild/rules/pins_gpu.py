"""Rules over pins: CUDA, cuDNN, DirectML and the GPUs that they serve."""

from __future__ import annotations

from collections.abc import Iterator

from vvbuild.model.target import covered
from vvbuild.model.version import major, older, within
from vvbuild.rules.pin_evidence import PinEvidence
from vvbuild.rules.registry import Family, Found
from vvbuild.rules.shared import GPU_ARCH_UNCOVERED

rule = Family(PinEvidence)

_CUDA_PAGE = "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"
# cuDNN loads zlib from its second 8.x on; the bound is not documented.
_ZLIB_CUDNN = ">=8.3,<9"


def _runtime(evidence: PinEvidence) -> str:
    pin = evidence.pins["onnxruntime"]
    return f"onnxruntime {pin.version} ({pin.flavour})"


@rule(
    "cuda-major",
    "error",
    why="The CUDA provider is linked with one major of CUDA and cannot be loaded with another.",
    source=_CUDA_PAGE,
    fix="Pin a CUDA of the major that this ONNX Runtime was built for, or another ONNX Runtime.",
)
def cuda_major(evidence: PinEvidence) -> Iterator[Found]:
    """CUDA has the major that ONNX Runtime's CUDA provider links."""
    row, pin = evidence.cuda_row, evidence.pins.get("cuda")
    if row is None or pin is None:
        return
    shipped = major(pin.version)
    if shipped is not None and shipped != row.cuda:
        yield Found(
            f"{_runtime(evidence)} is built for CUDA {row.cuda}, but CUDA {pin.version} is pinned",
            pin.key,
            {"expected": str(row.cuda), "pinned": pin.version, "table": row.source},
        )


@rule(
    "cudnn-major",
    "error",
    why="cuDNN 8 and 9 are not interchangeable: their libraries have other names.",
    source=_CUDA_PAGE,
    fix="Pin a cuDNN of the major that ONNX Runtime was built with, or waive it with the reason.",
)
def cudnn_major(evidence: PinEvidence) -> Iterator[Found]:
    """The cuDNN has the major that ONNX Runtime's CUDA provider was built with."""
    row, pin = evidence.cuda_row, evidence.pins.get("cudnn")
    if row is None or pin is None:
        return
    shipped = major(pin.version)
    if shipped is not None and shipped != row.cudnn:
        built = row.built_with_cudnn or row.cudnn
        yield Found(
            f"{_runtime(evidence)} is built with cuDNN {built}, but cuDNN {pin.version} is pinned",
            pin.key,
            {"expected": str(row.cudnn), "pinned": pin.version, "table": row.source},
        )


@rule(
    "cudnn-below-recommended",
    "warning",
    why="ONNX Runtime is tested with the recommended cuDNN; an older one of its major mostly "
    "works.",
    source="VOICEVOX/voicevox_engine#602",
    fix="Pin the recommended cuDNN, which may differ by operating system.",
)
def cudnn_below_recommended(evidence: PinEvidence) -> Iterator[Found]:
    """The cuDNN is not older than what is recommended for that operating system."""
    row, pin = evidence.cuda_row, evidence.pins.get("cudnn")
    if row is None or pin is None or major(pin.version) != row.cudnn:
        return
    least = row.cudnn_recommended.get(evidence.target.os)
    if least is not None and older(pin.version, least):
        yield Found(
            f"cuDNN {least} is recommended for {_runtime(evidence)}, but {pin.version} is pinned",
            pin.key,
            {"recommended": least, "pinned": pin.version, "table": row.source},
        )


@rule(
    "cuda-built-newer-than-shipped",
    "warning",
    why="Minor versions of CUDA are compatible by NVIDIA's promise, but code may use what only the "
    "newer toolkit has.",
    source="VOICEVOX/onnxruntime-builder, .github/workflows/build.yml",
    fix="Pin a CUDA that is not older than the one that ONNX Runtime was built with.",
)
def cuda_built_newer(evidence: PinEvidence) -> Iterator[Found]:
    """CUDA is not older than the one that ONNX Runtime was built with."""
    row, pin = evidence.cuda_row, evidence.pins.get("cuda")
    if row is None or pin is None or row.built_with_cuda is None:
        return
    if major(pin.version) == row.cuda and older(pin.version, row.built_with_cuda):
        yield Found(
            f"{_runtime(evidence)} is built with CUDA {row.built_with_cuda}, "
            f"but CUDA {pin.version} is pinned",
            pin.key,
            {"built": row.built_with_cuda, "pinned": pin.version, "table": row.source},
        )


@rule(
    "directml-version",
    "error",
    why="A DirectML.dll beside the program is taken before the system's; one that is older than "
    "ONNX Runtime expects fails when a session is made.",
    source="microsoft/Windows-Machine-Learning#464",
    fix="Pin the DirectML that ships with this ONNX Runtime, or a newer one.",
)
def directml_version(evidence: PinEvidence) -> Iterator[Found]:
    """DirectML is not older than what ONNX Runtime was built with."""
    pin, runtime = evidence.pins.get("directml"), evidence.pins.get("onnxruntime")
    if pin is None or runtime is None or evidence.target.device != "directml":
        return
    row = evidence.tables.onnxruntime.directml_row(runtime.version)
    if row is None or not older(pin.version, row.shipped):
        return
    refused = older(pin.version, row.least)
    needs = f"needs DirectML {row.least}" if refused else f"ships with DirectML {row.shipped}"
    yield Found(
        f"onnxruntime {runtime.version} {needs}, but {pin.version} is pinned",
        pin.key,
        {"least": row.least, "shipped": row.shipped, "pinned": pin.version, "table": row.source},
    )


@rule(
    "core-cuda-generation",
    "error",
    why="A core is built and tested for one generation of CUDA; its ONNX Runtime cannot be loaded "
    "with another.",
    source="VOICEVOX/voicevox_core, crates/downloader/src/main.rs",
    fix="Move core, ONNX Runtime and CUDA together.",
)
def core_cuda_generation(evidence: PinEvidence) -> Iterator[Found]:
    """CUDA is of the core's generation: 11 up to core 0.15, then 12."""
    row, pin = evidence.core_row, evidence.pins.get("cuda")
    if row is None or pin is None or evidence.target.device != "cuda":
        return
    shipped = major(pin.version)
    if shipped is not None and shipped != row.cuda:
        yield Found(
            f"core {evidence.version('core')} is of the CUDA {row.cuda} generation, "
            f"but CUDA {pin.version} is pinned",
            pin.key,
            {"expected": str(row.cuda), "pinned": pin.version, "table": row.source},
        )


@rule(
    "cuda-two-owners",
    "error",
    why="Two sources of one set of libraries drift apart, and the bundle holds a mix.",
    source="VOICEVOX/voicevox_engine#709",
    fix="Let one component own them: set `provided_by`, or drop the additional libraries.",
)
def cuda_two_owners(evidence: PinEvidence) -> Iterator[Found]:
    """CUDA, cuDNN and DirectML come from one place each."""
    libraries = evidence.pins.get("additional-libraries")
    for name in ("cuda", "cudnn", "directml"):
        pin = evidence.pins.get(name)
        if pin is None:
            continue
        if pin.provided_by is None and libraries is not None:
            yield Found(
                f"{name} {pin.version} has a source of its own, but the additional libraries "
                f"{libraries.version} hold it too",
                pin.key,
            )
        elif pin.provided_by is not None and pin.has_files:
            yield Found(
                f"{name} {pin.version} is provided by {pin.provided_by}, but has files of its own",
                pin.key,
            )


@rule(
    "zlib-for-cudnn8",
    "error",
    why="cuDNN 8 on Windows loads zlibwapi.dll when it runs and does not bring it; synthesis then "
    "fails.",
    source="VOICEVOX/voicevox_engine#592",
    fix="Pin zlibwapi for the Windows CUDA target, or move to cuDNN 9.",
)
def zlib_for_cudnn8(evidence: PinEvidence) -> Iterator[Found]:
    """On Windows, cuDNN 8 comes with zlibwapi."""
    pin = evidence.pins.get("cudnn")
    if pin is None or evidence.target.os != "win" or "zlibwapi" in evidence.pins:
        return
    if evidence.target.device == "cuda" and within(pin.version, _ZLIB_CUDNN):
        yield Found(f"cuDNN {pin.version} needs zlibwapi, which is not pinned", pin.key)


@rule(
    "zlib-superfluous",
    "info",
    why="Nothing is known to load zlibwapi.dll from cuDNN 9 on; the engine dropped it with 8.",
    source="VOICEVOX/voicevox_engine#592",
    fix="Leave it out.",
)
def zlib_superfluous(evidence: PinEvidence) -> Iterator[Found]:
    """Without cuDNN 8 no zlibwapi is pinned."""
    zlib, cudnn = evidence.pins.get("zlibwapi"), evidence.pins.get("cudnn")
    if zlib is not None and cudnn is not None and within(cudnn.version, ">=9"):
        yield Found(f"cuDNN {cudnn.version} does without the pinned zlibwapi", zlib.key)


@rule.about(GPU_ARCH_UNCOVERED)
def gpu_arch_uncovered(evidence: PinEvidence) -> Iterator[Found]:
    """Known generations of NVIDIA GPUs have code in ONNX Runtime's CUDA provider."""
    pin = evidence.pins.get("onnxruntime")
    if pin is None or evidence.target.device != "cuda":
        return
    generations = {row.capability: row for row in evidence.tables.gpu.generation}
    for row in evidence.tables.gpu.provider:
        if row.flavour != pin.flavour or not within(pin.version, row.versions):
            continue
        if row.uncovered and covered(str(evidence.target), row.targets):
            cards = ", ".join(
                f"{generations[each].name} {each} ({generations[each].cards[0]})"
                for each in row.uncovered
            )
            yield Found(
                f"{_runtime(evidence)} has no code for {cards}",
                pin.key,
                {"uncovered": ", ".join(row.uncovered), "table": row.source},
            )
