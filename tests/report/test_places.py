"""How findings about manifests name their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from vvbuild import resources
from vvbuild.model.finding import Finding
from vvbuild.report.document import Reported
from vvbuild.report.places import checkout_root, in_manifests


def reported(path: Path | None, directory: Path, line: int = 7) -> Reported:
    place = f"{path}:{line}" if path else None
    found = Finding("cuda-major", "error", "m", path=place)
    (each,) = in_manifests([("0.25.2", found)], directory)
    assert (each.release, each.finding) == ("0.25.2", found)
    return each


def where(each: Reported) -> tuple[str | None, int | None, bool]:
    return each.file, each.line, each.in_checkout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "音声 repo"
    (root / ".git").mkdir(parents=True)
    (root / "engine" / "deep").mkdir(parents=True)
    return root


def test_files_of_the_checkout_are_named_from_its_root_wherever_the_command_runs(
    repository: Path,
) -> None:
    file = repository / "engine" / "vvbuild.toml"
    for directory in (repository, repository / "engine", repository / "engine" / "deep"):
        assert where(reported(file, directory)) == ("engine/vvbuild.toml", 7, True)


def test_without_a_repository_it_is_what_actions_works_on_and_else_where_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "work" / "part"
    inside.mkdir(parents=True)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    assert checkout_root(inside) == inside.resolve()

    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "work"))
    assert where(reported(inside / "a.toml", inside)) == ("part/a.toml", 7, True)


def test_packaged_manifests_are_named_from_their_root_and_are_not_of_the_checkout(
    repository: Path,
) -> None:
    file = resources.manifests_dir() / "releases" / "0.25.2.toml"
    assert where(reported(file, repository)) == ("manifests/releases/0.25.2.toml", 7, False)


def test_manifests_laid_over_are_named_from_theirs(repository: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    resources.lay_over(own)
    try:
        each = reported(own / "releases" / "a.toml", repository)
    finally:
        resources.lay_over(None)
    assert where(each) == ("releases/a.toml", 7, False)


def test_a_file_elsewhere_is_named_without_its_directory(repository: Path, tmp_path: Path) -> None:
    assert where(reported(tmp_path / "secret" / "a.toml", repository)) == ("a.toml", 7, False)


def test_a_finding_without_a_place_has_none(repository: Path) -> None:
    assert where(reported(None, repository)) == (None, None, False)


def test_a_checkout_behind_a_link_is_still_the_checkout(repository: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(repository, target_is_directory=True)
    assert where(reported(link / "vvbuild.toml", repository)) == ("vvbuild.toml", 7, True)
