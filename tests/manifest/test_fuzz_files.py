"""Whatever is written into the other files, and whichever way releases extend each other."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from vvbuild import resources
from vvbuild.errors import ExitStatus, ManifestError, VvbuildError
from vvbuild.manifest.compat import TABLES, load_compat
from vvbuild.manifest.lock import load_lock, lock_path
from vvbuild.manifest.release import find_release, load_release

COMPAT = resources.manifests_dir() / "compat"
TEXTS = {name: (COMPAT / f"{name}.toml").read_text(encoding="utf-8") for name in TABLES}
TOKENS = {
    name: re.findall(r'"[^"\n]*"|[A-Za-z0-9_.-]+|\n|[^\sA-Za-z0-9]|[ ]+|#[^\n]*', text)
    for name, text in TEXTS.items()
}
VALUES = st.one_of(
    st.sampled_from([
        '""', '"x"', "1", "-1", "1.5", "nan", "true", "[]", "{}", "[[]]", "{a = 1}", "2026-01-01",
        '">=1,<1"', '">=1"', '"=="', '"<0"', '"["', '"*"', '"\\u0000"', "99999999999999999999",
        '">=' + "9" * 300 + '"', "=", "[", "]", "\n[[cuda]]\n", "\n[generation]\n",
        '[["a"]]', '{ core = 1 }', '{ cores = ">=1" }', "\nsource = 1\n", '"1.0.0.0.0.0.0.0.0.0"',
    ]),
    st.text(max_size=8),
)  # fmt: skip
SLIPS = st.lists(
    st.tuples(
        st.sampled_from(["delete", "duplicate", "replace", "insert"]),
        st.integers(0, 1 << 20),
        VALUES,
    ),
    min_size=1,
    max_size=3,
)


def slipped(tokens: list[str], slips: list[tuple[str, int, str]]) -> str:
    changed = list(tokens)
    for how, place, value in slips:
        at = place % len(changed)
        changed[at] = {
            "delete": "",
            "duplicate": changed[at] * 2,
            "replace": value,
            "insert": changed[at] + value,
        }[how]
    return "".join(changed)


def refusal(load: Callable[[], object]) -> VvbuildError | None:
    try:
        load()
    except VvbuildError as error:
        return error
    return None


@settings(
    max_examples=250, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.sampled_from(sorted(TABLES)), SLIPS)
@example("gpu", [("replace", TOKENS["gpu"].index('"6.1"'), '"9.9"')])
@example("onnxruntime", [("insert", len(TOKENS["onnxruntime"]) - 1, "\ncuda = 1\n")])
def test_a_table_with_any_slip_loads_or_is_refused_with_its_line(
    name: str, slips: list[tuple[str, int, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for each, text in TEXTS.items():
            Path(folder, f"{each}.toml").write_text(text, encoding="utf-8")
        text = slipped(TOKENS[name], slips)
        path = Path(folder, f"{name}.toml")
        path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")

        error = refusal(lambda: load_compat(Path(folder)))

    if error is not None:
        assert error.exit_status is ExitStatus.USAGE
        assert re.match(rf"{re.escape(str(path))}:\d+:", error.message), error.message


NAMES = [f"r{number}" for number in range(5)]
HEAD = 'schema = "vvbuild.release/1"\nname = "{0}"\nsummary = "{0}"\nextends = "{1}"\n'
PARENTS = st.sampled_from([*NAMES, "main", "0.25.2", "r9", "../r0", "R1", "", "r0.toml"])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.fixed_dictionaries(dict.fromkeys(NAMES, PARENTS)))
@example(dict.fromkeys(NAMES, "r0"))
@example(dict(zip(NAMES, [*NAMES[1:], "r0"], strict=True)))
def test_releases_that_extend_each_other_load_or_are_refused(parents: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, parent in parents.items():
            Path(folder, f"{name}.toml").write_text(HEAD.format(name, parent), encoding="utf-8")
        for name in NAMES:
            chain = chain_of(name, parents)
            error = refusal(lambda name=name: load_release(Path(folder, f"{name}.toml")))

            assert (error is None) is (chain[-1] in ("main", "0.25.2")), (chain, error)
            if error is not None:
                assert error.exit_status is ExitStatus.USAGE
                blamed = next(each for each in reversed(chain) if each in parents)
                last = [each for each in chain if each in parents]
                circle = "goes in a circle" in error.message
                assert circle is (chain[-1] in parents)
                assert re.match(
                    rf"{re.escape(folder)}/({blamed}|{last[-2] if circle else blamed})\.toml:4: "
                    "extends: ",
                    error.message,
                ), error.message


def chain_of(name: str, parents: dict[str, str]) -> list[str]:
    """The names on the way up; the last is none of ours, or one that was there before."""
    chain = [name]
    while chain[-1] in parents and chain[-1] not in chain[:-1]:
        chain.append(parents[chain[-1]])
    return chain


def test_two_releases_of_one_name_are_told_apart_by_their_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(HEAD.format("one", "0.25.2"), encoding="utf-8")

    assert load_release(tmp_path / "one.toml").name == "one"
    with pytest.raises(ManifestError) as caught:
        load_release(tmp_path / "two.toml")
    assert caught.value.message == (
        f"{tmp_path / 'two.toml'}:2: name: expected 'two', the file's name, got 'one'"
    )


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(50 << 20)


def test_a_manifest_of_fifty_megabytes_is_not_read(tmp_path: Path) -> None:
    huge(tmp_path / "big.toml")
    child = tmp_path / "child.toml"
    child.write_text(HEAD.format("child", "big"), encoding="utf-8")

    for path in (tmp_path / "big.toml", child):
        with pytest.raises(ManifestError) as caught:
            load_release(path)
        assert caught.value.message.startswith(f"{tmp_path / 'big.toml'}: 52428800 bytes")
        assert "at most" in caught.value.message


def test_a_table_of_fifty_megabytes_is_not_read(tmp_path: Path) -> None:
    shutil.copytree(COMPAT, tmp_path / "compat")
    huge(tmp_path / "compat" / "core.toml")

    with pytest.raises(ManifestError, match=r"core\.toml: 52428800 bytes"):
        load_compat(tmp_path / "compat")


DEEP = 100_000
# The standard library's parser takes a time that grows with the square of a key's parts.
PARTS = 1000


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * DEEP,
        "a = " + "[" * DEEP + "]" * DEEP,
        "a = " + "{a = " * DEEP,
        "[" + ".".join("a" * PARTS) + "]",
        ".".join("a" * PARTS) + " = 1",
        "[engine.files]\n" + ".".join("a" * PARTS) + " = 1",
        "[components.core]\nversion." + ".".join("a" * PARTS) + " = 1",
    ],
    ids=["open", "arrays", "tables", "header", "key", "in-table", "in-value"],
)
def test_depth_is_refused_in_words(tmp_path: Path, text: str) -> None:
    for extends in ("0.25.2", None):
        path = tmp_path / "deep.toml"
        head = HEAD.format("deep", extends)
        path.write_text(
            (head if extends else head.rpartition("extends")[0]) + text, encoding="utf-8"
        )

        error = refusal(lambda path=path: load_release(path))

        assert error is not None
        assert error.exit_status is ExitStatus.USAGE
        assert re.match(rf"{re.escape(str(path))}:\d+", error.message)
        assert len(error.message) < 4000


# --- locks -----------------------------------------------------------------------------------

SAMPLE = find_release("sample")
LOCK = json.loads(lock_path("sample").read_bytes())
KEYS = ["name", "component", "version", "references", "sha256", "size", "max_size", "targets"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


def lock_refusal(data: bytes, *, digest: object = None) -> VvbuildError | None:
    handle, name = tempfile.mkstemp(suffix=".lock.json")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    try:
        return refusal(
            lambda: load_lock(
                Path(name),
                expected=SAMPLE.pins_digest,
                release="sample",
                pinned=SAMPLE.artifacts,
            )
        )
    finally:
        Path(name).unlink()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 200), st.sampled_from(KEYS), JSON)
def test_a_row_of_a_lock_with_any_value_loads_or_is_refused(
    place: int, key: str, value: object
) -> None:
    changed = json.loads(json.dumps(LOCK))
    changed["artifacts"][place % len(changed["artifacts"])][key] = value

    error = lock_refusal(json.dumps(changed).encode())

    if error is not None:
        assert error.exit_status is ExitStatus.INTEGRITY
        assert ".lock.json" in error.message
        assert error.hint


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.binary(max_size=40), st.integers(0, 1 << 20), st.booleans())
def test_a_lock_with_any_bytes_in_it_is_refused_or_read(junk: bytes, place: int, cut: bool) -> None:
    data = json.dumps(LOCK).encode()
    at = place % len(data)

    error = lock_refusal(data[:at] + junk + (b"" if cut else data[at:]))

    assert error is None or error.exit_status is ExitStatus.INTEGRITY


@pytest.mark.parametrize("other", ["0.25.2", "main", "tools"])
def test_the_lock_of_another_manifest_is_named(other: str) -> None:
    error = lock_refusal(lock_path(other).read_bytes())

    assert error is not None
    assert error.exit_status is ExitStatus.INTEGRITY
    assert other in error.message


def test_a_lock_of_fifty_megabytes_is_not_read(tmp_path: Path) -> None:
    huge(tmp_path / "sample.lock.json")

    error = refusal(
        lambda: load_lock(
            tmp_path / "sample.lock.json",
            expected=SAMPLE.pins_digest,
            release="sample",
            pinned=SAMPLE.artifacts,
        )
    )

    assert error is not None
    assert "52428800 bytes" in error.message
