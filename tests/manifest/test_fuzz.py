"""Whatever is written into a manifest, it loads or it is refused in words."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from vvbuild import resources
from vvbuild.errors import ExitStatus, VvbuildError
from vvbuild.manifest.release import load_release

TEXT = (resources.manifests_dir() / "releases" / "sample.toml").read_text(encoding="utf-8")
# Words, strings, numbers and signs: what a slip of the hand changes.
TOKENS = re.findall(r'"[^"\n]*"|[A-Za-z0-9_.-]+|\n|[^\sA-Za-z0-9]|[ ]+|#[^\n]*', TEXT)
VALUES = st.one_of(
    st.sampled_from([
        '""', '"x"', "1", "-1", "1.5", "nan", "inf", "true", "[]", "{}", "[[]]", "{a = 1}",
        "2026-01-01", "07:32:00", "1979-05-27T07:32:00", "'''\n'''", "99999999999999999999",
        '"../../x"', '"{"', '"{version.real}"', '"\\u0000"', '"\\u202e"', '"*"', '"["', "=",
        "[", "]", '"https://u:p@h/x"', '"http://127.0.0.1/x"', '"pypi:a/1/b"', "\n[engine]\n",
        '"' + "9" * 500 + '"', '\nextends = "sample"\n', '\nextends = "\\u0000"\n',
    ]),
    st.text(max_size=8),
    st.sampled_from(TOKENS),
)  # fmt: skip


def loads(text: str) -> VvbuildError | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sample.toml")
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
        try:
            loaded = load_release(path)
        except VvbuildError as error:
            return error
        # What has loaded can be used.
        assert loaded.pins_digest
        assert loaded.epoch
        return None


def judge(text: str) -> None:
    error = loads(text)
    if error is not None:
        assert error.exit_status is ExitStatus.USAGE
        assert re.match(r".*sample\.toml:\d+:", error.message), error.message


MUTATION = st.tuples(
    st.sampled_from(["delete", "duplicate", "replace", "insert"]),
    st.integers(0, len(TOKENS) - 1),
    VALUES,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(st.lists(MUTATION, min_size=1, max_size=3))
@example([("replace", TOKENS.index('"sample"'), '"Sample"')])
def test_a_manifest_with_any_slip_loads_or_is_refused_with_its_line(
    mutations: list[tuple[str, int, str]],
) -> None:
    tokens = list(TOKENS)
    for how, at, value in mutations:
        tokens[at] = {
            "delete": "",
            "duplicate": tokens[at] * 2,
            "replace": value,
            "insert": tokens[at] + value,
        }[how]
    judge("".join(tokens))


LINES = TEXT.split("\n")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, len(LINES) - 1), st.integers(0, len(LINES) - 1), st.booleans())
def test_a_manifest_with_a_line_lost_or_moved_loads_or_is_refused(
    source: int, target: int, keep: bool
) -> None:
    lines = list(LINES)
    line = lines[source] if keep else lines.pop(source)
    lines.insert(min(target, len(lines)), line)
    judge("\n".join(lines))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, len(TEXT)))
def test_a_manifest_that_ends_anywhere_loads_or_is_refused(end: int) -> None:
    judge(TEXT[:end])


def test_the_manifest_itself_loads() -> None:
    assert "".join(TOKENS).split() == TEXT.split()
    assert loads(TEXT) is None
