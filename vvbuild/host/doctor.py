"""``doctor``: everything about this machine that decides what it can build."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Literal

from vvbuild.errors import PythonMissingError
from vvbuild.fetch.indexes import Indexes
from vvbuild.fetch.store import Store
from vvbuild.host.freezing import freezable
from vvbuild.host.needs import NeedState, check_needs, install_hint
from vvbuild.host.python import PythonFacts, find_python
from vvbuild.manifest.release import LoadedRelease, find_release, release_names
from vvbuild.manifest.targets import host_platform, official_targets
from vvbuild.model.size import ByteSize

State = Literal["good", "warn", "bad"]
# A first bundle of the sample takes about 1.2 GB of store, most of it zig.
_COMFORTABLE = 2 << 30


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    found: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checks, and the targets that can be frozen here."""

    checks: tuple[Check, ...]
    targets: tuple[str, ...]


def examine(store: Store) -> Diagnosis:
    """Look at the machine; changes nothing."""
    checks = [Check("machine", "good", str(host_platform()))]
    for release in map(find_release, release_names()):
        # Only what can be built now: the engines of other releases are not fetched yet.
        if release.row.engine.source == "package":
            checks.extend(_release_checks(release))
    checks.append(_store_check(store))
    checks.extend(_index_checks())
    ready = not any(check.state == "bad" for check in checks)
    targets = tuple(str(target) for target in official_targets() if freezable(target))
    return Diagnosis(tuple(checks), targets if ready else ())


def _release_checks(release: LoadedRelease) -> list[Check]:
    what = f"python for {release.name}"
    try:
        python = find_python(release.row.python.requires)
    except PythonMissingError as error:
        return [Check(what, "bad", error.message, error.hint or "")]
    found = f"{python.version} ({python.executable})"
    return [Check(what, "good", found)] + [
        _need_check(state, python) for state in check_needs(python)
    ]


def _need_check(state: NeedState, python: PythonFacts) -> Check:
    if not state.missing:
        return Check(state.need.name, "good", state.where)
    found = f"missing: {', '.join(state.missing)} ({state.need.why})"
    return Check(state.need.name, "bad", found, install_hint([state.need], python))


def _store_check(store: Store) -> Check:
    place = store.root
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    found = f"{store.root}, {ByteSize(free)} free"
    if not os.access(place, os.W_OK):
        return Check("store", "bad", f"{found}, not writable", "Set VVBUILD_CACHE_DIR.")
    if free < _COMFORTABLE:
        return Check("store", "warn", found, "A first bundle needs about 2 GiB.")
    return Check("store", "good", found)


def _index_checks() -> list[Check]:
    indexes = Indexes.configured()
    return [
        Check("PyPI index", "good", f"{indexes.pypi.url} ({indexes.pypi.configured_by})"),
        Check("npm registry", "good", f"{indexes.npm.url} ({indexes.npm.configured_by})"),
    ]
