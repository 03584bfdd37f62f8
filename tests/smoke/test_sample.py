"""A smoke test of the sample engine, as it is and as an archive."""

import shutil
import wave
import zipfile
from dataclasses import replace

import pytest

from tests.smoke.conftest import QUICK
from vvbuild.errors import EngineError
from vvbuild.smoke import processes
from vvbuild.smoke.run import NAMES

pytestmark = pytest.mark.skipif(not processes.visible(), reason="the launcher is for Linux")


def pack(bundle, path):
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(bundle.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(bundle).as_posix())
    return path


def cut(path, number):
    """The archive in parts; gives the part with that number."""
    data = path.read_bytes()
    half = len(data) // 2
    parts = [path.with_name(f"{path.stem}.{each:03d}.vvppp") for each in (1, 2)]
    for part, piece in zip(parts, (data[:half], data[half:]), strict=True):
        part.write_bytes(piece)
    path.unlink()
    return parts[number - 1]


def test_the_sample_engine_passes_every_check(sample_bundle, test_it, tmp_path):
    wav = tmp_path / "hello.wav"
    result = test_it(sample_bundle, replace(QUICK, wav=wav, trials=2))
    assert {check.name: check.state for check in result.checks} == dict.fromkeys(NAMES, "ok")
    assert result.ort_version == "1.23.2"
    assert len(result.cancel.milliseconds) == 2
    with wave.open(str(wav)) as sound:
        assert sound.getframerate() == 24000
        assert sound.getnframes() > 24000


@pytest.mark.parametrize("parts", [False, True])
def test_an_archive_runs_in_a_folder_with_an_awkward_name(
    sample_bundle, test_it, tmp_path, no_cancel, parts
):
    archive = pack(sample_bundle, tmp_path / "sample.vvpp")
    path = cut(archive, 1) if parts else archive
    result = test_it(path, replace(QUICK, keep=True))
    assert not result.failed
    assert (result.kept / "声 ボイス/run").is_file()
    assert "声 ボイス/libonnxruntime.so" in (result.kept / "home/engine.log").read_text()


def test_an_engine_without_its_library_says_so_when_it_does_not_start(
    sample_bundle, test_it, tmp_path
):
    bundle = tmp_path / "bundle"
    shutil.copytree(sample_bundle, bundle)
    (bundle / "libonnxruntime.so").write_bytes(b"not a library")
    with pytest.raises(EngineError, match="ended with status 1") as caught:
        test_it(bundle)
    assert "Could not load" in caught.value.context["ONNX Runtime"]
    assert "Could not load" in caught.value.context["last lines"]
