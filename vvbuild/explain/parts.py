"""The other components: voice models, PyInstaller, Python, the engine, and plain files."""

from __future__ import annotations

from collections.abc import Iterator

from vvbuild.explain.downloaders import downloaders
from vvbuild.explain.explanation import Explanation, Fact, Relation
from vvbuild.explain.judging import chosen, oldest, unknown, verdict
from vvbuild.explain.pinned import all_releases, pinned
from vvbuild.explain.summaries import SUMMARIES
from vvbuild.explain.troubles import troubles
from vvbuild.manifest.compat import compat_tables
from vvbuild.model.release import ComponentName

_MIXED = "other products' voices too, so that a pattern chooses"


def explain_models(version: str | None) -> Explanation:
    """What is known of the voice models of a release."""
    table = compat_tables().models.models
    rows = chosen(table, version)
    facts = [Fact("format", str(row.format), row.source, versions=row.versions) for row in rows]
    facts += [Fact("holds", _MIXED, row.source, versions=row.versions) for row in rows if row.mixed]
    return Explanation(
        "component",
        "models",
        SUMMARIES["models"],
        version=version,
        remarks=() if rows or version is None else (unknown(f"models {version}", table, version),),
        facts=(*facts, *troubles("models", version)),
        needed_by=tuple(_users_of_models(version)),
        releases=pinned("models", version),
    )


def explain_pyinstaller(version: str | None) -> Explanation:
    """Which Pythons a PyInstaller takes."""
    table = compat_tables().pyinstaller.pyinstaller
    rows = chosen(table, version)
    return Explanation(
        "component",
        "pyinstaller",
        SUMMARIES["pyinstaller"],
        version=version,
        remarks=()
        if rows or version is None
        else (unknown(f"pyinstaller {version}", table, version),),
        facts=tuple(troubles("pyinstaller", version)),
        needs=tuple(
            Relation("python", row.python, row.source, versions=row.versions) for row in rows
        ),
        releases=pinned("pyinstaller", version),
    )


def explain_python(version: str | None) -> Explanation:
    """Which PyInstallers take a Python."""
    return Explanation(
        "component",
        "python",
        SUMMARIES["python"],
        version=version,
        facts=tuple(troubles("python", version)),
        needed_by=tuple(_users_of_python(version)),
        releases=pinned("python", version),
    )


def explain_engine(version: str | None) -> Explanation:
    """What the releases of an engine pin."""
    places = pinned("engine", version)
    names = {place.release for place in places} if version else set()
    rows = [each for each in all_releases() if each.name in names]
    return Explanation(
        "component",
        "engine",
        SUMMARIES["engine"],
        version=version,
        remarks=() if places else (f"No release is of engine {version}.",),
        facts=tuple(
            Fact("commit", row.row.engine.commit, str(row.path.name), row.name)
            for row in rows
            if row.row.engine.commit
        ),
        needs=tuple(
            Relation(name, f"{component.version}", row.path.name, row.name)
            for row in rows
            for name, component in row.row.components.items()
        ),
        releases=places,
    )


def explain_plain(name: ComponentName, version: str | None) -> Explanation:
    """A component that no table is about: who pins it."""
    remark = f"No table is about {name}: the releases that pin it are all that is known."
    return Explanation(
        "component",
        name,
        SUMMARIES[name],
        version=version,
        remarks=(remark,),
        facts=tuple(troubles(name, version)),
        releases=pinned(name, version),
    )


def _users_of_models(version: str | None) -> Iterator[Relation]:
    for row in compat_tables().core.core:
        formats = ", ".join(map(str, row.models))
        words = f"loads format {formats}" if formats else "takes no such files"
        said = ""
        if version is not None:
            pins = {"core": oldest(row.versions), "models": version}
            said = verdict(("models-format", "models-lockstep"), "cpu", pins)
        yield Relation("core", f"{row.versions} {words}", row.source, "", said)
    yield from downloaders("models", version)


def _users_of_python(version: str | None) -> Iterator[Relation]:
    for row in compat_tables().pyinstaller.pyinstaller:
        said = ""
        if version is not None:
            pins = {"pyinstaller": oldest(row.versions), "python": version}
            said = verdict(("python-pyinstaller",), "cpu", pins)
        what = f"{row.versions} takes {row.python}"
        yield Relation("pyinstaller", what, row.source, "", said)
