from __future__ import annotations

import pytest

from vvbuild.bundle.inputs import engine_files
from vvbuild.errors import ManifestError
from vvbuild.manifest.release import find_release


def test_the_sources_of_the_sample_are_in_the_package() -> None:
    paths = [file.path for file in engine_files(find_release("sample"))]

    assert "run.py" in paths
    assert paths == sorted(paths)


def test_sources_that_nobody_fetches_yet_are_refused() -> None:
    with pytest.raises(ManifestError, match="which bundle does not do yet") as caught:
        engine_files(find_release("0.25.2"))

    assert caught.value.exit_status == 2
    assert caught.value.context == {
        "repository": "VOICEVOX/voicevox_engine",
        "commit": "f2a20b1d4d2613851daffdd1de2217a472d89c48",
    }
