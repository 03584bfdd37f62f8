"""The policy of updates: what it may say, and where it is wrong."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.manifest.conftest import edited, line_of
from vvbuild.errors import ManifestError
from vvbuild.manifest.policy import followed, load_policy, update_policy
from vvbuild.model.policy import ComponentPolicy, Held, parse_age

GOOD = """\
schema = "vvbuild.policy/1"

[default]
series = "minor"
prereleases = false
min_age = "7d"

[components.core]
series = "patch"
min_age = "12h"
held = { version = "<=0.16", reason = "0.17 is another format", until = 2027-01-31 }

[components.models]
follows = "github:VOICEVOX/voicevox_vvm@{version}"

[[together]]
components = ["core", "models"]
why = "formats"
steps = ["look"]
"""


@pytest.fixture
def policy(tmp_path: Path) -> Callable[[str], Path]:
    def policy(text: str) -> Path:
        path = tmp_path / "policy.toml"
        path.write_text(text)
        return path

    return policy


def test_a_policy_is_read(policy: Callable[[str], Path]) -> None:
    loaded = load_policy(policy(GOOD))

    assert loaded.default.series == "minor"
    assert loaded.of("core").held == Held(
        version="<=0.16", reason="0.17 is another format", until=date(2027, 1, 31)
    )
    assert loaded.of("pyinstaller") == ComponentPolicy()
    assert loaded.together[0].components == ["core", "models"]


def test_the_packaged_policy_loads() -> None:
    loaded = update_policy()

    assert parse_age(loaded.default.min_age) >= timedelta(days=1)
    assert not loaded.default.prereleases
    for row in loaded.components.values():
        assert row.follows or row.not_followed or row.held or row.series


@pytest.mark.parametrize(
    ("old", "new", "at", "expected"),
    [
        ('series = "patch"', 'series = "patsch"', "patsch", "did you mean patch?"),
        ('series = "minor"\n', "", "[default]", "the key 'series' is missing"),
        ("[components.core]", "[components.cor]", "components.cor]", "did you mean core"),
        ("prereleases = false", 'prereleases = "no"', "prereleases", "expected a boolean"),
        ('min_age = "7d"', 'min_age = "7 days"', '"7 days"', "an age such as 12h, 7d or 2w"),
        ('min_age = "12h"', 'min_age = "12"', '"12"', "components.core.min_age: expected an age"),
        ('"<=0.16"', '"0.16.x"', "held =", "held.version: expected a range of versions"),
        ('reason = "0.17 is another format", ', "", "held =", "the key 'reason' is missing"),
        ("2027-01-31", '"soon"', "held =", "until"),
        ("@{version}", "", "follows", "expected github:owner/repo@{version}, pypi:project or npm"),
        ('follows = "github', 'not_followed = "x"\nfollows = "github', "not_followed",
         "cannot stand beside 'follows'"),
        ('["core", "models"]', '["core", "core"]', '"core"]', "a component stands twice"),
        ('["core", "models"]', '["core"]', '["core"]', "expected two components or more"),
        ('why = "formats"', 'wy = "formats"', "wy", "unknown key 'wy'; did you mean why?"),
        ("vvbuild.policy/1", "vvbuild.policy/2", "schema", "vvbuild.policy/2"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(
    policy: Callable[[str], Path], old: str, new: str, at: str, expected: str
) -> None:
    text = edited(GOOD, old, new)

    with pytest.raises(ManifestError) as caught:
        load_policy(policy(text))

    assert caught.value.exit_status == 2
    assert expected in caught.value.message
    assert f"policy.toml:{line_of(text, at)}: " in caught.value.message


def test_text_that_is_no_toml_is_told_with_its_column(policy: Callable[[str], Path]) -> None:
    with pytest.raises(ManifestError, match=r"policy\.toml:3:\d+: "):
        load_policy(policy(edited(GOOD, "[default]", "[default")))


@pytest.mark.parametrize(
    ("text", "age"),
    [("12h", timedelta(hours=12)), ("7d", timedelta(days=7)), ("2w", timedelta(days=14)),
     ("0d", timedelta(0))],
)  # fmt: skip
def test_an_age_is_hours_days_or_weeks(text: str, age: timedelta) -> None:
    assert parse_age(text) == age


@pytest.mark.parametrize("text", ["", "7", "d", "7m", "-7d", "7 d", "7d ", "1.5d", "99999d", "٧d"])
def test_another_age_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="12h, 7d or 2w"):
        parse_age(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("github:a/b@{version}", ("github", "a/b", "{version}")),
        ("github:a/b@v{version}", ("github", "a/b", "v{version}")),
        ("pypi:some-thing", ("pypi", "some-thing", "{version}")),
        ("npm:@scope/thing", ("npm", "@scope/thing", "{version}")),
    ],
)
def test_a_project_can_be_followed(text: str, place: tuple[str, str, str]) -> None:
    assert followed(text) == place


@pytest.mark.parametrize(
    "text",
    ["", "github:a/b", "github:a@{version}", "github:{version}/b@v1", "pypi:", "pypi:{version}",
     "pypi:a/b", "https://host.example/{version}/x", "file:///{version}/x", "npm:a/{version}",
     "0VERSION0"],
)  # fmt: skip
def test_what_cannot_be_followed_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected github:owner/repo@\{version\}"):
        followed(text)
