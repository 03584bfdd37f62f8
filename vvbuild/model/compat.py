"""What fits what: the tables of ``manifests/compat/``, as written there.

Every row has the source of what it says. ``versions`` are ranges such as ``>=1.13,<1.15``.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vvbuild.model.release import ComponentName, Flavour
from vvbuild.model.row import Row, Text
from vvbuild.model.target import Os
from vvbuild.model.version import within

Versions = Annotated[str, Meta(min_length=1, description="Range, such as `>=1.13,<1.15`.")]
Source = Annotated[str, Meta(min_length=1, description="Where what the row says can be read.")]


class CudaRow(Row, frozen=True, kw_only=True):
    """The CUDA and cuDNN that a build of ONNX Runtime needs."""

    flavour: Annotated[Flavour, Meta(description="Whose build it is.")]
    versions: Versions
    cuda: Annotated[int, Meta(description="CUDA's major that its provider links.")]
    cudnn: Annotated[int, Meta(description="cuDNN's major that its provider links or loads.")]
    cudnn_optional: Annotated[
        bool, Meta(description="Whether only the kernels that need cuDNN fail without it.")
    ] = False
    cudnn_recommended: Annotated[
        dict[Os, str], Meta(description="Operating system → least cuDNN that is recommended.")
    ] = msgspec.field(default_factory=dict)
    built_with_cuda: Annotated[
        str | None, Meta(description="The CUDA that it was compiled with.")
    ] = None
    built_with_cudnn: Annotated[
        str | None, Meta(description="The cuDNN that it was compiled with.")
    ] = None
    driver: Annotated[int | None, Meta(description="Least NVIDIA driver.")] = None
    source: Source


class DirectMLRow(Row, frozen=True, kw_only=True):
    """The DirectML that an ONNX Runtime needs."""

    versions: Versions
    least: Annotated[str, Meta(description="What its provider cannot do without.")]
    shipped: Annotated[str, Meta(description="What Microsoft ships with it.")]
    source: Source


class OnnxRow(Row, frozen=True, kw_only=True):
    """The newest models that an ONNX Runtime loads."""

    versions: Versions
    ir: Annotated[int, Meta(description="Highest IR version.")]
    opset: Annotated[int, Meta(description="Highest opset of ai.onnx.")]
    ml: Annotated[int, Meta(description="Highest opset of ai.onnx.ml.")]
    source: Source


class MissingRow(Row, frozen=True, kw_only=True):
    """Targets that no build was published for."""

    flavour: Annotated[Flavour, Meta(description="Whose build it is.")]
    versions: Versions
    targets: Annotated[list[str], Meta(min_length=1, description="Names or globs of targets.")]
    source: Source


class OnnxRuntimeTable(Row, frozen=True, kw_only=True):
    """``manifests/compat/onnxruntime.toml``."""

    schema: Literal["vvbuild.compat.onnxruntime/1"]
    cuda: list[CudaRow]
    directml: list[DirectMLRow]
    onnx: list[OnnxRow]
    missing: list[MissingRow] = msgspec.field(default_factory=list)

    def cuda_row(self, flavour: str | None, version: str) -> CudaRow | None:
        """The first row for that build."""
        return next(
            (row for row in self.cuda if row.flavour == flavour and within(version, row.versions)),
            None,
        )

    def directml_row(self, version: str) -> DirectMLRow | None:
        """The first row for that version."""
        return next((row for row in self.directml if within(version, row.versions)), None)


class CoreRow(Row, frozen=True, kw_only=True):
    """What a VOICEVOX CORE opens, and what its downloader takes."""

    versions: Versions
    onnxruntime: Annotated[str, Meta(description="The ONNX Runtime that it was made for.")]
    library: Annotated[str, Meta(description="The library's name, without `lib` and ending.")]
    file_name: Annotated[
        Literal["versioned", "fallback"],
        Meta(
            description="`versioned`: outside of Windows it opens that version's file and no "
            "other; `fallback`: others too."
        ),
    ]
    onnxruntime_least: Annotated[
        str | None, Meta(description="The oldest ONNX Runtime whose API it uses.")
    ] = None
    onnxruntime_most: Annotated[
        str | None, Meta(description="The newest series of ONNX Runtime that it was tried with.")
    ] = None
    asset: Annotated[
        str | None, Meta(description="The name of its archive, as a reference spells it.")
    ] = None
    cuda: Annotated[int, Meta(description="CUDA's major of its generation.")]
    models: Annotated[list[int], Meta(description="Formats of voice models that it loads.")] = (
        msgspec.field(default_factory=list)
    )
    downloads: Annotated[
        dict[ComponentName, Versions], Meta(description="Component → what its downloader takes.")
    ] = msgspec.field(default_factory=dict)
    source: Source


class CoreTable(Row, frozen=True, kw_only=True):
    """``manifests/compat/core.toml``."""

    schema: Literal["vvbuild.compat.core/1"]
    core: list[CoreRow]

    def row(self, version: str) -> CoreRow | None:
        """The first row for that version."""
        return next((row for row in self.core if within(version, row.versions)), None)


class LibrariesRow(Row, frozen=True, kw_only=True):
    """What a release of the additional libraries packs."""

    version: Annotated[Text, Meta(description="The release.")]
    cuda: Annotated[str, Meta(description="CUDA in its archives.")]
    cudnn: Annotated[str, Meta(description="cuDNN in its archives.")]
    directml: Annotated[str, Meta(description="DirectML in its archives.")]
    note: Annotated[str, Meta(description="What a maintainer should know.")] = ""
    source: Source

    def packs(self) -> dict[ComponentName, str]:
        """Component → version."""
        return {"cuda": self.cuda, "cudnn": self.cudnn, "directml": self.directml}


class LibrariesTable(Row, frozen=True, kw_only=True):
    """``manifests/compat/additional-libraries.toml``."""

    schema: Literal["vvbuild.compat.additional-libraries/1"]
    libraries: list[LibrariesRow]

    def row(self, version: str) -> LibrariesRow | None:
        """The row of that very release."""
        return next((row for row in self.libraries if row.version == version), None)


class ModelsRow(Row, frozen=True, kw_only=True):
    """The format of the voice models of a release."""

    versions: Versions
    format: Annotated[int, Meta(description="`vvm_format_version`.")]
    mixed: Annotated[
        bool, Meta(description="Whether the release holds other products' voices too.")
    ] = False
    source: Source


class ModelsTable(Row, frozen=True, kw_only=True):
    """``manifests/compat/models.toml``."""

    schema: Literal["vvbuild.compat.models/1"]
    models: list[ModelsRow]

    def row(self, version: str) -> ModelsRow | None:
        """The first row for that version."""
        return next((row for row in self.models if within(version, row.versions)), None)


class PyInstallerRow(Row, frozen=True, kw_only=True):
    """The Pythons that a PyInstaller takes."""

    versions: Versions
    python: Annotated[Versions, Meta(description="Range of Pythons.")]
    source: Source


class PyInstallerTable(Row, frozen=True, kw_only=True):
    """``manifests/compat/pyinstaller.toml``."""

    schema: Literal["vvbuild.compat.pyinstaller/1"]
    pyinstaller: list[PyInstallerRow]

    def row(self, version: str) -> PyInstallerRow | None:
        """The first row for that version."""
        return next((row for row in self.pyinstaller if within(version, row.versions)), None)


class GenerationRow(Row, frozen=True, kw_only=True):
    """A generation of NVIDIA GPUs."""

    name: Annotated[Text, Meta(description="What NVIDIA calls it.")]
    capability: Annotated[str, Meta(pattern=r"^\d+\.\d$", description="Compute capability.")]
    cards: Annotated[list[str], Meta(min_length=1, description="Cards that people know.")]
    source: Source


class ProviderRow(Row, frozen=True, kw_only=True):
    """Which GPUs a build of ONNX Runtime's CUDA provider has code for."""

    flavour: Annotated[Flavour, Meta(description="Whose build it is.")]
    versions: Versions
    targets: Annotated[list[str], Meta(min_length=1, description="Names or globs of targets.")]
    uncovered: Annotated[
        list[str], Meta(description="Compute capabilities that it cannot run on.")
    ] = msgspec.field(default_factory=list)
    only_translated: Annotated[
        list[str],
        Meta(description="Compute capabilities that the driver translates code for (slow start)."),
    ] = msgspec.field(default_factory=list)
    source: Source


class GpuTable(Row, frozen=True, kw_only=True):
    """``manifests/compat/gpu.toml``."""

    schema: Literal["vvbuild.compat.gpu/1"]
    generation: list[GenerationRow]
    provider: list[ProviderRow]


class TroubleRow(Row, frozen=True, kw_only=True):
    """What is known to go wrong with certain versions."""

    component: Annotated[ComponentName, Meta(description="Whose versions are meant.")]
    versions: Versions
    flavour: Annotated[Flavour | None, Meta(description="Only this build of it.")] = None
    targets: Annotated[list[str], Meta(min_length=1, description="Names or globs of targets.")] = (
        msgspec.field(default_factory=lambda: ["*"])
    )
    runners: Annotated[
        list[str] | None, Meta(description="Only where one of these CI runners builds it.")
    ] = None
    together: Annotated[
        dict[ComponentName, Versions],
        Meta(description="Only beside these: component → versions."),
    ] = msgspec.field(default_factory=dict)
    what: Annotated[Text, Meta(description="What goes wrong, as the end of a sentence.")]
    grave: Annotated[
        bool, Meta(description="Whether a release with it must not go out; else it is a warning.")
    ] = False
    source: Source


class TroublesTable(Row, frozen=True, kw_only=True):
    """``manifests/compat/troubles.toml``."""

    schema: Literal["vvbuild.compat.troubles/1"]
    trouble: list[TroubleRow]


class Compat(msgspec.Struct, frozen=True, kw_only=True):
    """All tables."""

    onnxruntime: OnnxRuntimeTable
    core: CoreTable
    libraries: LibrariesTable
    models: ModelsTable
    pyinstaller: PyInstallerTable
    gpu: GpuTable
    troubles: TroublesTable
