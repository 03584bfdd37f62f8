"""The steps of a build that judge: the bundle before it is packed, and every archive after."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from tests.verify.conftest import describe
from tests.verify.test_verify import LINUX, pack
from vvbuild.bundle.steps.judging import add_verify, add_verify_archive
from vvbuild.errors import FindingsError
from vvbuild.fetch.store import Store
from vvbuild.manifest.release import find_release
from vvbuild.model.events import silent
from vvbuild.model.release import Waiver
from vvbuild.pipeline.runner import Runner, RunResult
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext
from vvbuild.runtime.cancel import Cancel


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.prepare()
    return store


def inputs(*waivers: Waiver, version: str = "1.0") -> Any:
    row = find_release("sample").row
    engine = msgspec.structs.replace(row.engine, version=version)
    release = msgspec.structs.replace(row, engine=engine, waivers=list(waivers))
    return SimpleNamespace(release=SimpleNamespace(row=release), target=LINUX, tools={})


def judge_bundle(store: Store, bundle: Path, asked: Any) -> RunResult:
    """Put a bundle into the store as `assemble` does, and judge it."""
    builder = PlanBuilder()

    def assemble(context: StepContext) -> Facts:
        shutil.copytree(bundle, context.out / "bundle", symlinks=True)
        return {}

    made = builder.add("assemble", assemble, parameters={"from": str(bundle)})
    goal = add_verify(builder, asked, made)
    return Runner(store, emit=silent, cancel=Cancel()).run(builder.plan(goal))


def judge_archive(store: Store, change: Callable[[Path], object], bundle: Path) -> RunResult:
    """Put a .vvpp with its list into the store as `archive` does, and judge it."""
    builder = PlanBuilder()

    def archive(context: StepContext) -> Facts:
        (context.out / "x.vvpp.txt").write_text("x.vvpp\n")
        pack(bundle, context.out / "x.vvpp")
        change(context.out)
        return {}

    made = builder.add("archive vvpp", archive, parameters={"from": str(bundle)})
    goal = add_verify_archive(builder, inputs(), "vvpp", made, {})
    return Runner(store, emit=silent, cancel=Cancel()).run(builder.plan(goal))


def test_a_good_bundle_goes_on(store: Store, bundle: Path) -> None:
    assert judge_bundle(store, bundle, inputs()).made["verify"].facts == {"findings": []}


def test_an_error_stops_the_build_and_keeps_the_tree(store: Store, bundle: Path) -> None:
    (bundle / "empty.txt").write_bytes(b"")
    describe(bundle)

    with pytest.raises(FindingsError, match="has faults and was not packed") as caught:
        judge_bundle(store, bundle, inputs())

    kept = caught.value.context["kept for a look"]
    assert (Path(str(kept)) / "empty.txt").is_file()
    assert caught.value.context["findings"] == "zero-byte-data: empty.txt: is empty"
    assert str(kept) in str(caught.value.hint)


def test_a_warning_does_not_stop_it_and_is_kept(store: Store, bundle: Path) -> None:
    (bundle / ".DS_Store").write_bytes(b"x")
    describe(bundle)

    findings = judge_bundle(store, bundle, inputs()).made["verify"].facts["findings"]
    assert [each["rule"] for each in findings] == ["unneeded-file"]  # type: ignore[attr-defined]


def test_a_waiver_of_the_release_lets_it_go_on(store: Store, bundle: Path) -> None:
    (bundle / "empty.txt").write_bytes(b"")
    describe(bundle)
    waiver = Waiver(rule="zero-byte-data", targets=["*"], reason="known")

    findings: Any = judge_bundle(store, bundle, inputs(waiver)).made["verify"].facts["findings"]
    assert [each["waived"] for each in findings] == ["known"]


def test_b016_a_build_stops_at_another_engine_than_the_releases(store: Store, bundle: Path) -> None:
    with pytest.raises(FindingsError, match="faults") as caught:
        judge_bundle(store, bundle, inputs(version="2.0"))

    assert "engine 2.0 is expected" in str(caught.value.context["findings"])


def test_a_good_archive_goes_on(store: Store, bundle: Path) -> None:
    result = judge_archive(store, lambda out: None, bundle)

    assert result.made["verify vvpp"].facts == {"findings": []}


def test_an_archive_with_faults_stops_the_build(store: Store, bundle: Path) -> None:
    def forget(out: Path) -> None:
        (out / "x.vvpp.txt").write_text("")

    with pytest.raises(FindingsError, match="archive has faults and was not published") as caught:
        judge_archive(store, forget, bundle)

    assert Path(str(caught.value.context["kept for a look"])).name == "x.vvpp"
    assert "list-file-wrong" in str(caught.value.context["findings"])
