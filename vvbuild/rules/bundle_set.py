"""Rules over several bundles of one release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vvbuild.rules.bundle.models import models_of
from vvbuild.rules.bundle.wording import listed
from vvbuild.rules.evidence import BundleEvidence
from vvbuild.rules.registry import Family, Found


@dataclass(frozen=True, slots=True)
class BundleSetEvidence:
    """Bundles that were looked at together: what each is called → its facts."""

    bundles: Mapping[str, BundleEvidence]

    @property
    def target(self) -> None:
        """None: a finding is about several."""
        return None


rule = Family(BundleSetEvidence)


@rule(
    "models-differ-between-targets",
    "error",
    why="The targets of a release were built by jobs of their own; one with an older cache speaks "
    "with other voices than the rest.",
    source="VOICEVOX/voicevox_engine@ae5b6dd3",
    fix="Build the targets that differ again from the same lock.",
)
def models_differ_between_targets(evidence: BundleSetEvidence) -> Iterator[Found]:
    """All targets of a version of an engine have the same voice models, byte for byte."""
    groups: dict[tuple[str, str], dict[str, BundleEvidence]] = {}
    for name, bundle in evidence.bundles.items():
        manifest = bundle.manifest.data or {}
        key = (str(manifest.get("uuid")), str(manifest.get("version")))
        groups.setdefault(key, {})[name] = bundle
    for bundles in groups.values():
        digests = {
            name: {path: str(bundle.files[path].sha256) for path in models_of(bundle)}
            for name, bundle in bundles.items()
        }
        paths = sorted({path for each in digests.values() for path in each})
        differ = [path for path in paths if len({each.get(path) for each in digests.values()}) > 1]
        if differ:
            yield Found(
                f"the voice models of {listed(bundles)} differ: {listed(differ)}",
                evidence={"files": listed(differ), "bundles": listed(bundles)},
            )
