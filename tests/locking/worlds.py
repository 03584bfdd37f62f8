"""Releases of all that the core's downloader brings, locked from the world of the stand-in."""

from __future__ import annotations

from tests.standins.world import LIBRARIES, ORT, TARGETS, World
from vvbuild.manifest.lock import load_lock
from vvbuild.manifest.release import load_release
from vvbuild.model.lock import Lock

CORE = """\
[components.core]
version = "VERSION"
source = "core-downloader"

[components.additional-libraries]
version = "LIBRARIES"
source = "core-downloader"
targets = ["*-cuda", "*-directml"]

[[artifacts]]
component = "core"
targets = ["*"]
references = ["github:VOICEVOX/voicevox_core@{version}/CORE_FILE"]
unpack = "strip-top"
max_size = "9MiB"

[[artifacts]]
component = "additional-libraries"
targets = ["*-cuda", "*-directml"]
references = ["github:VOICEVOX/voicevox_additional_libraries@{version}/{libraries}.zip"]
unpack = "strip-top"
max_size = "9MiB"
"""
REST = """\
[components.onnxruntime]
version = "ONNXRUNTIME"
source = "core-downloader"
flavour = "voicevox"

[components.models]
version = "MODELS"
source = "core-downloader"
pattern = "[!n]*"

[[artifacts]]
component = "onnxruntime"
targets = ["*"]
references = ["github:VOICEVOX/onnxruntime-builder@voicevox_onnxruntime-{version}/ORT_FILE"]
unpack = "strip-top"
terms = "release-note"
max_size = "9MiB"

[[artifacts]]
component = "models"
targets = ["*"]
references = ["github:VOICEVOX/voicevox_vvm@{version}/{asset}"]
assets = "{pattern}.vvm"
into = "vvms"
unpack = "no"
max_size = "9MiB"

[[artifacts]]
component = "models"
targets = ["*"]
references = ["github:VOICEVOX/voicevox_vvm@{version}/README.txt"]
unpack = "no"
max_size = "1MiB"

[[artifacts]]
component = "models"
targets = ["*"]
references = ["github:VOICEVOX/voicevox_vvm@{version}/TERMS.txt"]
name = "voicevox_vvm-{version}-TERMS.txt"
unpack = "no"
terms = "file"
max_size = "1MiB"
"""


CORE_FILE = "voicevox_core-{core_os}-{core_arch}DEVICE-{version}.zip"
ORT_FILE = "voicevox_onnxruntime-{ort_os}-{ort_arch}{ort_device}-{version}.tgz"


def manifest_of(world: World, tiny: str) -> str:
    """A release that pins what is published there."""
    flat = world.generation == "flat"
    head, _, _ = tiny.partition("[components.onnxruntime]")
    head = head.replace('["linux-x64-cpu", "win-x64-cpu"]', str(list(TARGETS)).replace("'", '"'))
    body = CORE if flat else CORE + REST
    device = "-{core_device}" if flat else ""
    words = {
        "CORE_FILE": CORE_FILE.replace("DEVICE", device), "ORT_FILE": ORT_FILE,
        "VERSION": world.core, "ONNXRUNTIME": ORT,
        "LIBRARIES": LIBRARIES, "MODELS": "" if flat else world.models,
    }  # fmt: skip
    for word, value in words.items():
        body = body.replace(word, value)
    return head + body


def lock_of_bench(bench) -> Lock:
    """The lock that was written, as a command reads it."""
    loaded = load_release(bench.manifest, allow_local=True)
    return load_lock(
        bench.path, expected=loaded.pins_digest, release="tiny", pinned=loaded.artifacts,
        allow_local=True,
    )  # fmt: skip
