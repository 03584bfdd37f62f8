"""The reference pages: they say what the code says, and the code says something everywhere."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

import vvbuild
from vvbuild.cli.reference import (
    documented_commands,
    documented_errors,
    documented_rules,
    pages,
    write,
)
from vvbuild.errors import ExitStatus, VvbuildError
from vvbuild.report.reference import (
    MANIFEST_FILES,
    CommandDoc,
    ManifestFile,
    OptionDoc,
    commands_page,
    errors_page,
    manifest_page,
)
from vvbuild.report.reference.markdown import anchor, plain, prose, source_link, table
from vvbuild.rules.registry import Rule

REFERENCE = Path(vvbuild.__file__).parents[1] / "docs" / "reference"
PAGES = pages()
COMMANDS = {each.name: each for each in documented_commands()}
ERRORS = {each.code: each for each in documented_errors()}
RULES = {each.name: each for each in documented_rules()}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_the_code_says(name: str) -> None:
    written = (REFERENCE / name).read_text(encoding="utf-8")

    assert written == PAGES[name], f"docs/reference/{name} is old; `nox -s docs` writes it anew"


def test_no_page_is_left_of_what_is_gone() -> None:
    assert {path.name for path in REFERENCE.iterdir()} == set(PAGES)


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    write(tmp_path / "docs")
    before = {path: path.read_bytes() for path in (tmp_path / "docs").iterdir()}
    write(tmp_path / "docs")

    assert {path: path.read_bytes() for path in (tmp_path / "docs").iterdir()} == before


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_command_says_what_it_does_and_shows_how(command: CommandDoc) -> None:
    assert command.summary.endswith(".")
    assert command.examples
    known = {word for option in command.options for word in option.spellings}
    for example in command.examples:
        assert example.startswith(f"vvbuild {command.name}")
        assert set(re.findall(r"(?<=\s)--?[a-z-]+", example)) <= known


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_an_option_says_what_it_means(command: CommandDoc) -> None:
    for option in (*command.arguments, *command.options):
        assert option.meaning.endswith("."), option.spellings


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_variable_is_named_after_its_option(command: CommandDoc) -> None:
    for option in command.options:
        name = option.spellings[0].removeprefix("--").replace("-", "_").upper()
        assert option.variable in (None, f"VVBUILD_{name}")


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_an_error_says_what_it_means(error: type[VvbuildError]) -> None:
    assert (error.__dict__.get("__doc__") or "").endswith(".")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", error.code)


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [each.code for each in documented_errors()]

    assert sorted(codes) == sorted(set(codes))


@pytest.mark.parametrize("name", RULES)
def test_a_rule_says_what_it_demands_why_and_what_to_do(name: str) -> None:
    rule = RULES[name]

    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    for text in (rule.demand, rule.about.why, rule.about.fix):
        assert text.endswith(".")
    assert rule.about.source


def names_of(rule: Rule) -> set[str]:
    """What a rule looks at."""
    return {takes.__name__ for takes in rule.checks}


@pytest.mark.parametrize(
    ("module", "kinds"),
    [
        ("vvbuild.verify.run", {"BundleEvidence", "BundleSetEvidence", "WaiverEvidence"}),
        ("vvbuild.check.run", {"PinEvidence", "WaiverEvidence"}),
        ("vvbuild.bootloader.verify", {"ProgramEvidence"}),
    ],
)
def test_a_command_judges_by_every_rule_of_its_kind(module: str, kinds: set[str]) -> None:
    script = f"import {module}\nfrom vvbuild.rules.registry import RULES\nprint(*sorted(RULES))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    expected = [name for name, each in RULES.items() if kinds & names_of(each)]
    assert done.stdout.split() == sorted(expected)


def test_every_rule_is_judged_by_some_command() -> None:
    kinds = {name for each in RULES.values() for name in names_of(each)}

    assert kinds == {
        "BundleEvidence", "BundleSetEvidence", "PinEvidence", "ProgramEvidence", "WaiverEvidence",
    }  # fmt: skip


def test_options_of_every_command_are_told_once() -> None:
    page = PAGES["commands.md"]

    assert page.count("`--no-color`") == 1
    assert page.index("`--no-color`") < page.index("## vvbuild bundle")


def test_a_usage_line_names_what_must_be_given() -> None:
    needed = OptionDoc(("--target", "-t"), "text", "", "VVBUILD_TARGET", True, "For what.")
    flag = OptionDoc(("--quick",), "", "", None, False, "Hurry.")
    path = OptionDoc(("PATH",), "path", "", None, True, "Where.")
    one = CommandDoc("look at", "Look.", ("Closely.",), ("vvbuild look at x",), (path,), (needed,))
    two = CommandDoc("run", "Run.", (), (), (), (flag,))

    page = commands_page([two, one])

    assert "vvbuild look at PATH --target TARGET [OPTIONS]" in page
    assert "| `--quick` |  |  |  | Hurry. |" in page
    assert page.index("## vvbuild look at") < page.index("## vvbuild run")


def test_errors_stand_below_their_status_and_no_status_is_left_out() -> None:
    class LeafError(VvbuildError):
        """A leaf
        of two lines."""

        code = "leaf"
        exit_status = ExitStatus.NETWORK

    page = errors_page([LeafError])

    below = page.partition("## 3: network\n")[2].partition("\n## ")[0]
    assert "| `leaf` | A leaf of two lines. |" in below
    headings = re.findall(r"^## (\d+)", page, re.MULTILINE)
    assert headings == [str(int(each)) for each in ExitStatus if each is not ExitStatus.DONE]


class Inner(msgspec.Struct):
    """An inner table."""

    size: Annotated[int, Meta(ge=1, le=9, description="How large, in <units>.")] = 3
    when: datetime | None = None


class Outer(msgspec.Struct):
    """The whole file."""

    schema: Literal["outer/1"]
    rows: list[Inner]
    names: dict[str, Inner]
    deep: dict[str, dict[str, Inner]]
    kind: Annotated[Literal["b", "a"] | None, Meta(description="Which.")] = None
    words: Annotated[list[str], Meta(min_length=1)] = msgspec.field(default_factory=lambda: ["x"])
    on: bool = False
    level: Annotated[int, Meta(ge=0)] = 0


def test_a_manifest_page_has_a_table_for_every_table_of_the_file() -> None:
    page = manifest_page((ManifestFile("Outer", "manifests/outer.toml", Outer),))

    assert "`manifests/outer.toml`: The whole file." in page
    for heading in ("[[rows]]", "[names.*]", "[deep.*.*]"):
        assert f"### Outer: `{heading}`\n" in page
    for row in (
        "| `schema` | `outer/1` | required | The format of the file, always this. |",
        "| `rows` | [`[[rows]]`](#outer-rows) | required | An inner table. |",
        "| `kind` | `a`, `b` |  | Which. |",
        '| `words` | list of text, at least one | `["x"]` |  |',
        "| `on` | `true` or `false` | `false` |  |",
        "| `level` | whole number, at least 0 | `0` |  |",
        "| `size` | whole number, 1 to 9 | `3` | How large, in &lt;units>. |",
        "| `when` | date and time |  |  |",
    ):
        assert row in page


def test_a_json_file_has_json_paths() -> None:
    page = manifest_page((ManifestFile("Outer", "outer.json", Outer),))

    assert "### Outer: `rows[]`\n" in page
    assert "### Outer: `names.*`\n" in page


@pytest.mark.parametrize("file", MANIFEST_FILES, ids=lambda file: file.title)
def test_every_key_that_a_file_may_hold_is_on_the_page(file: ManifestFile) -> None:
    section = PAGES["manifest.md"].partition(f"\n## {file.title}\n")[2].partition("\n## ")[0]

    assert section.startswith("\n`manifests/")
    for field in msgspec.structs.fields(file.row):
        assert f"\n| `{field.name}` | " in section


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2)))
def test_no_text_breaks_out_of_its_cell(rows: list[list[str]]) -> None:
    lines = table(("a", "b"), rows).splitlines()

    assert len(lines) == 2 + len(rows)
    for line in lines:
        assert len(re.findall(r"(?<!\\)\|", line)) == 3


def test_docstrings_become_markdown() -> None:
    assert prose("Reads ``a.toml``\n  by :class:`~x.y.Z`.\n\nMore.") == "Reads `a.toml` by `Z`."
    assert prose(None) == ""
    assert plain("<b> & `<i>`") == "&lt;b> &amp; `<i>`"


def test_a_source_becomes_a_link_where_it_is_one() -> None:
    assert source_link("a/b#12") == "[a/b#12](https://github.com/a/b/issues/12)"
    assert source_link("a/b, src/x.py") == "[a/b](https://github.com/a/b), src/x.py"
    assert source_link("a book") == "a book"


@pytest.mark.parametrize(
    ("heading", "fragment"),
    [
        ("vvbuild cache info", "vvbuild-cache-info"),
        ("Release: `[[artifacts]]`", "release-artifacts"),
        ("vvbuild.json", "vvbuildjson"),
    ],
)
def test_a_heading_is_linked_as_github_does(heading: str, fragment: str) -> None:
    assert anchor(heading) == fragment
