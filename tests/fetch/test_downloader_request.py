"""From locked artifacts to what a downloader must leave."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vvbuild.errors import LockError
from vvbuild.fetch.downloader import wanted_parts
from vvbuild.model.artifact import Artifact
from vvbuild.model.digest import Digest
from vvbuild.model.locked import Member
from vvbuild.model.reference import Reference
from vvbuild.model.size import ByteSize


def artifact(component: str, reference: str, **facts: object) -> Artifact:
    found = Reference.parse(reference)
    plain = Artifact(
        found.file, component, "0.17.0", (found,), Digest("1" * 64), ByteSize(7), unpack="no"
    )
    return replace(plain, **facts)


def test_files_of_one_component_are_one_part() -> None:
    parts = wanted_parts([
        artifact("models", "github:VOICEVOX/voicevox_vvm@0.16.4/0.vvm", into="vvms"),
        artifact("models", "github:VOICEVOX/voicevox_vvm@0.16.4/TERMS.txt", name="vvm-TERMS.txt"),
    ])  # fmt: skip

    member = Member(sha256="1" * 64, size=7)
    assert parts["models"].members == {"vvms/0.vvm": member, "TERMS.txt": member}
    assert parts["models"].repository == "VOICEVOX/voicevox_vvm"
    assert parts["models"].size == 14


def test_an_archive_is_what_the_lock_says_it_holds() -> None:
    members = {"lib/a": Member(sha256="2" * 64, size=3, program=True), "lib/b": Member(link="a")}
    core = artifact("core", "github:a/b@1/core.zip", unpack="strip-top", members=members)

    assert wanted_parts([core])["core"].members == members


@pytest.mark.parametrize("facts", [{"unpack": "strip-top"}, {"size": None}])
def test_what_the_lock_does_not_tell_cannot_be_judged(facts: dict[str, object]) -> None:
    with pytest.raises(LockError, match="does not tell"):
        wanted_parts([artifact("core", "github:a/b@1/core.zip", **facts)])
