"""Real history on the packaged releases: what was wrong then is said now.

Tests are named after the public reports that taught the rules; the reports' links are the rules'
sources.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.check.conftest import checked, errors, of
from vvbuild.errors import ManifestError, UsageError
from vvbuild.manifest.release import LoadedRelease, release_names

Make = Callable[..., LoadedRelease]


@pytest.mark.parametrize("name", ["0.24.1", "0.25.2"])
def test_a_release_as_it_shipped_has_no_error_that_nobody_waived(name: str) -> None:
    assert errors(checked(name)) == set()


def test_b001_the_main_branch_forgot_the_models() -> None:
    main = checked("main")

    lockstep = of(main, "models-lockstep")
    assert {finding.severity for finding in lockstep} == {"warning"}
    assert {finding.message for finding in lockstep} == {
        "core is 0.17.0, but the models are 0.16.4"
    }
    assert len(lockstep) == len(main.targets)
    assert of(main, "models-format") == []
    assert of(checked("main", set=["models=0.17.0"]), "models-lockstep") == []


def test_b002_models_of_a_format_that_the_core_refuses() -> None:
    refused = of(checked("0.25.2", set=["models=0.17.0"]), "models-format")

    assert {finding.severity for finding in refused} == {"error"}
    assert "format 2, but core 0.16.2 loads 1" in refused[0].message
    assert of(checked("main", set=["models=0.17.0"]), "models-format") == []


def test_b003_an_onnxruntime_under_a_name_that_the_core_does_not_open() -> None:
    refused = of(checked("0.25.2", set=["onnxruntime=1.23.2"]), "core-ort-filename")

    assert {finding.severity for finding in refused} == {"error"}
    assert all("1.17.3" in finding.message for finding in refused)
    # Windows passed the release test, as its name has no version.
    assert {finding.target for finding in refused} == {
        "macos-x64-cpu", "macos-arm64-cpu", "linux-x64-cpu", "linux-arm64-cpu", "linux-x64-cuda",
    }  # fmt: skip
    both = checked("0.25.2", set=["onnxruntime=1.23.2", "core=0.17.0"])
    assert of(both, "core-ort-filename") == []


@pytest.mark.parametrize("name", [each for each in release_names() if each.startswith("0.14.")])
def test_b006_cudnn_was_below_the_recommended_one_on_windows_only(name: str) -> None:
    found = of(checked(name), "cudnn-below-recommended")

    assert {(finding.target, finding.severity) for finding in found} == {
        ("win-x64-cuda", "warning")
    }
    assert errors(checked(name)) == set()


def test_b006_from_0_15_on_it_was_not() -> None:
    assert of(checked("0.15.0"), "cudnn-below-recommended") == []
    assert "cudnn-major" in errors(checked("0.14.7", set=["cudnn=9.8.0.87"]))


@pytest.mark.parametrize(
    ("runtime", "set_too", "rules"),
    [
        ("1.16.3", "cuda=12.2.2", {"cuda-major"}),
        ("1.18.1", "cuda=12.2.2", {"cuda-major"}),
        ("1.19.2", "cuda=12.2.2", {"cudnn-major"}),
        ("1.19.2", "cuda=11.8.0", {"cuda-major", "cudnn-major"}),
    ],
)
def test_b008_the_majors_that_a_wheel_was_built_for(
    runtime: str, set_too: str, rules: set[str]
) -> None:
    """On the sample's pins, with the cuDNN 8 of that time."""
    judged = checked(
        "sample", set=[f"onnxruntime=pypi:{runtime}", set_too, "cudnn=8.9.2.26"],
        targets=["linux-x64-cuda"],
    )  # fmt: skip

    assert errors(judged) == rules


def test_b009_a_build_for_cuda_12_on_cuda_13_is_one_finding() -> None:
    judged = checked("sample", set=["cuda=13.0"], targets=["linux-x64-cuda"])

    (finding,) = of(judged, "cuda-major")
    assert "is built for CUDA 12, but CUDA 13.0 is pinned" in finding.message
    assert errors(judged) == {"cuda-major"}


@pytest.mark.parametrize("runtime", ["1.27.0", "1.28.0", "1.31.1"])
def test_b010_wheels_for_cuda_13_do_not_take_12(runtime: str) -> None:
    judged = checked("sample", set=[f"onnxruntime=pypi:{runtime}"], targets=["linux-x64-cuda"])

    assert errors(judged) == {"cuda-major"}
    before = checked("sample", set=["onnxruntime=pypi:1.26.0"], targets=["linux-x64-cuda"])
    assert errors(before) == set()


def test_b010_an_open_end_is_no_pin(release: Make) -> None:
    loaded = release('[components.cuda]\nversion = ">=11"\n', extends="0.24.1")

    assert "unbounded-pin" in errors(checked(loaded))
    # Where it is part of a file's address, it is none.
    with pytest.raises(ManifestError, match=r">=1\.20"):
        release('[components.onnxruntime]\nversion = ">=1.20"\n', extends="0.25.2")


def test_b011_a_runner_older_than_what_it_freezes(release: Make) -> None:
    loaded = release('[runners]\nwin-x64-cpu = "windows-2019"\n', extends="0.25.2")

    (finding,) = of(checked(loaded), "known-bad-version")
    assert finding.target == "win-x64-cpu"
    assert "1114" in finding.message


def test_b013_two_sources_of_one_set_of_libraries(release: Make) -> None:
    owned = release(
        '[components.additional-libraries]\nversion = "0.1.0"\nsource = "github"\n',
        extends="0.24.1",
    )
    told = release('[components.cuda]\nversion = "12.8.1"\n', extends="0.25.2")

    assert {finding.target for finding in of(checked(owned), "cuda-two-owners")} >= {
        "win-x64-cuda", "linux-x64-cuda", "win-x64-directml",
    }  # fmt: skip
    assert "hold cuda 12.2.2" in of(checked(told), "duplicate-pin-disagrees")[0].message


def test_b014_built_with_cudnn_8_and_shipped_with_9_is_waived_on_the_main_branch() -> None:
    main = checked("main")

    found = of(main, "cudnn-major")
    assert {finding.target for finding in found} == {"win-x64-cuda", "linux-x64-cuda"}
    assert all(finding.severity == "error" and finding.waived for finding in found)
    assert "cudnn-major" in errors(checked("0.25.2", set=["additional-libraries=0.3.0"]))


def test_b015_a_directml_older_than_onnxruntime_was_made_with(release: Make) -> None:
    old = checked("0.25.2", set=["additional-libraries=0.1.0"], targets=["win-x64-directml"])
    absent = release('[components.directml]\ntargets = ["linux-*"]\n', extends="0.24.1")

    assert errors(old) == {"directml-version"}
    assert "directml is not pinned" in [
        finding.message for finding in of(checked(absent), "release-incomplete")
    ]


def test_b016_a_release_that_was_built_as_the_one_before(release: Make) -> None:
    forgotten = release(name="0.21.0", extends="0.20.0")

    (finding,) = {each.message for each in of(checked(forgotten), "duplicate-pin-disagrees")}
    assert finding == "the release is called 0.21.0, but its engine is 0.20.0"
    assert errors(checked("0.21.0")) == set()


def test_b018_cudnn_8_without_its_zlib(release: Make) -> None:
    lost = release('[components.zlibwapi]\ntargets = ["linux-*"]\n', extends="0.25.2")

    assert {finding.target for finding in of(checked(lost), "zlib-for-cudnn8")} == {"win-x64-cuda"}
    assert of(checked("0.25.2"), "zlib-for-cudnn8") == []
    assert of(checked("main"), "zlib-for-cudnn8") == []


def test_b043_a_part_of_two_gigabytes_is_refused_when_it_is_read(release: Make) -> None:
    with pytest.raises(ManifestError, match="below 2 GiB"):
        release('[archives]\nvolume_size = "2GiB"\n')

    assert release('[archives]\nvolume_size = "1900MiB"\n')


def test_b051_an_onnxruntime_that_does_not_load_from_every_folder() -> None:
    found = of(checked("0.24.1", set=["onnxruntime=1.7.0"]), "known-trouble")

    assert {str(finding.target)[:4] for finding in found} == {"win-"}


def test_b056_cards_that_the_shipped_builds_have_no_code_for() -> None:
    found = of(checked("0.25.2"), "gpu-arch-uncovered")

    assert all("GeForce RTX 5080" in finding.message for finding in found)
    assert of(checked("0.24.1"), "gpu-arch-uncovered") == []


def test_b057_code_to_translate_that_only_one_card_can_use() -> None:
    bad = checked("sample", set=["onnxruntime=1.23.0"], targets=["linux-x64-cuda"])
    mended = checked("sample", targets=["linux-x64-cuda"])

    assert "12.0" in of(bad, "gpu-arch-uncovered")[0].message
    assert of(mended, "gpu-arch-uncovered") == []


def test_b058_the_newer_onnxruntime_raised_the_floor_of_macos() -> None:
    found = of(checked("main"), "known-trouble")

    assert {finding.target for finding in found} == {"macos-x64-cpu", "macos-arm64-cpu"}
    assert all("macOS 14" in finding.message for finding in found)


def test_b062_a_runner_that_is_always_the_newest(release: Make) -> None:
    loaded = release('[runners]\nlinux-x64-cpu = "ubuntu-latest"\n', extends="0.25.2")

    (finding,) = of(checked(loaded), "runner-moves")
    assert finding.target == "linux-x64-cpu"
    assert finding.path == f"{loaded.path}:6"


@pytest.mark.parametrize("name", ["0.24.1", "0.25.2", "main"])
def test_b065_a_combination_that_was_never_published_names_those_that_were(name: str) -> None:
    from tests.check.conftest import TODAY
    from vvbuild.check.run import check
    from vvbuild.manifest.release import find_release
    from vvbuild.model.target import Target

    loaded = find_release(name)
    result = check([loaded], today=TODAY, targets=[Target.parse("linux-arm64-cuda")])

    messages = [finding.message for finding in of(result.releases[0], "target-unavailable")]
    assert any(", ".join(loaded.row.targets) in message for message in messages)


def test_b073_the_install_name_that_will_change() -> None:
    found = of(checked("sample", set=["onnxruntime=1.30.0"]), "known-trouble")

    assert {finding.target for finding in found} == {"macos-x64-cpu", "macos-arm64-cpu"}


def test_b083_a_python_that_this_pyinstaller_freezes_wrongly() -> None:
    wrong = checked("0.24.1", set=["pyinstaller=5.10", "python=3.11.4"])

    assert errors(wrong) == {"python-pyinstaller"}
    assert errors(checked("0.24.1", set=["pyinstaller=5.12.0", "python=3.11.4"])) == set()


def test_b087_an_engine_without_a_version_is_refused_when_it_is_read(release: Make) -> None:
    with pytest.raises(ManifestError, match=r"mine\.toml:6: engine\.version: expected"):
        release('[engine]\nversion = ""\n')


def test_b089_the_version_that_stands_in_the_sources(release: Make) -> None:
    loaded = release('[engine]\nversion = "999.999.999"\n')

    assert "engine-version-placeholder" in errors(checked(loaded))


def test_b095_the_libraries_without_nvidias_licence() -> None:
    found = of(checked("0.25.2"), "known-trouble")

    assert {finding.target for finding in found} == {"win-x64-cuda", "linux-x64-cuda"}
    assert of(checked("0.25.2", set=["additional-libraries=0.2.1"]), "known-trouble") == []


def test_b114_the_newest_by_date_is_not_chosen_as_nothing_is_left_to_choose(release: Make) -> None:
    loaded = release('[components.core]\nversion = "latest"\n', extends="0.25.2")

    assert {"downloader-latest-drift", "unbounded-pin"} <= errors(checked(loaded))


def test_b121_an_archive_that_its_host_makes_anew(release: Make) -> None:
    row = '[[artifacts]]\ncomponent = "zlibwapi"\ntargets = ["win-x64-cuda"]\nmax_size = "1MiB"\n'
    head = '[components.zlibwapi]\nversion = "1"\nsource = "url"\n'
    url = 'references = ["https://github.com/o/r/archive/refs/{}.zip"]\n'

    tagged = release(head + row + url.format("tags/1"), extends="0.25.2")

    (warned,) = of(checked(tagged), "reference-made-anew")
    assert (warned.severity, warned.target) == ("warning", "win-x64-cuda")
    branch = release(head + row + url.format("heads/main"), extends="0.25.2")
    assert "reference-moves" in errors(checked(branch))


def test_b122_a_core_under_the_name_of_the_other_era() -> None:
    assert "core-asset-name" in errors(checked("0.24.1", set=["core=0.17.0"]))
    assert "core-asset-name" in errors(checked("0.25.2", set=["core=0.15.9"]))
    assert "core-asset-name" not in errors(checked("0.25.2", set=["core=0.17.0"]))


def test_b125_voices_of_another_product_are_kept_out(release: Make) -> None:
    mixed = checked("0.25.0", set=["models=0.16.2"])

    assert "models-mixed" in errors(mixed)
    assert errors(checked("0.25.0")) == set()
    assert errors(checked("nemo-0.26.0-preview.0")) == set()


def test_b132_the_release_that_was_taken_back_the_same_day() -> None:
    found = of(checked("0.15.0"), "known-bad-version")

    assert {finding.target for finding in found} == {"macos-x64-cpu"}
    assert all("0.15.1" in (finding.waived or "") for finding in found)
    assert of(checked("0.15.1"), "known-bad-version") == []


def test_b138_the_gpu_libraries_are_those_of_the_onnxruntime() -> None:
    """A base image without them made the engine fall back to the processor."""
    found = checked("sample", set=["cuda=11.8.0", "cudnn=8.9.2.26"], targets=["linux-x64-cuda"])

    assert errors(found) == {"cuda-major", "cudnn-major"}


def test_b150_cores_that_were_slow_with_cuda() -> None:
    found = of(checked("0.25.2", set=["core=0.16.1"]), "known-bad-version")

    assert {finding.target for finding in found} == {"win-x64-cuda", "linux-x64-cuda"}
    assert of(checked("0.25.2"), "known-bad-version") == []


def test_b151_the_newer_onnxruntime_with_the_settings_of_the_older_core() -> None:
    changed = ["onnxruntime=1.23.2", "additional-libraries=0.2.1"]
    found = of(checked("0.25.2", set=changed, targets=["win-x64-cuda"]), "known-trouble")

    assert ["fallback mode" in finding.message for finding in found] == [True]


def test_cuda_12_for_an_onnxruntime_of_cuda_11() -> None:
    judged = checked("0.24.1", set=["cuda=12.2"])

    found = of(judged, "cuda-major")
    assert {finding.target for finding in found} == {"win-x64-cuda", "linux-x64-cuda"}
    assert all("1.13.1 (microsoft) is built for CUDA 11" in each.message for each in found)


def test_cuda_of_the_downloader_era_is_chosen_with_the_additional_libraries() -> None:
    with pytest.raises(UsageError, match="additional-libraries"):
        checked("0.25.2", set=["cuda=12.8.1"])


def test_the_main_branch_with_the_core_before_is_told_which_onnxruntime_serves_both() -> None:
    (finding,) = {
        each.message
        for each in of(checked("main", set=["extra-cores=0.16.2"]), "cores-onnxruntime")
    }

    assert finding.endswith("voicevox_onnxruntime 1.17.3 serves all")
    none = checked("main", set=["extra-cores=0.16.2", "extra-cores=0.15.9"])
    assert {"cores-onnxruntime", "cores-cuda"} <= errors(none)
    assert of(none, "cores-onnxruntime")[0].message.endswith("no ONNX Runtime serves all")
