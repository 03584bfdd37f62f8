"""What people read: both READMEs say the same, links lead somewhere, and names are real."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest

import vvbuild
from vvbuild.bundle import describe, inputs
from vvbuild.bundle.plan import plan_bundle
from vvbuild.cli.reference import documented_commands
from vvbuild.errors import MissingError
from vvbuild.fetch.session import Session
from vvbuild.fetch.store import Store
from vvbuild.manifest.choose import choose_release
from vvbuild.model.digest import Digest
from vvbuild.report.reference.markdown import anchor

ROOT = Path(vvbuild.__file__).parents[1]
READMES = (ROOT / "README.md", ROOT / "README.ja.md")
TEXTS = (*READMES, *sorted((ROOT / "docs").rglob("*.md")))

FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_code(text: str) -> str:
    return FENCED.sub("", text)


def links(path: Path) -> list[str]:
    return LINK.findall(without_code(read(path)))


def anchors(path: Path) -> set[str]:
    return {anchor(heading) for _, heading in HEADING.findall(without_code(read(path)))}


def first_columns(text: str) -> list[str]:
    """The first cell of every row of every table, headings and rules included."""
    return re.findall(r"^\| *(.*?) *(?<!\\)\|", text, re.MULTILINE)


def test_both_readmes_have_the_same_outline() -> None:
    outlines = [[mark for mark, _ in HEADING.findall(without_code(read(it)))] for it in READMES]

    assert outlines[0] == outlines[1]
    assert len(outlines[0]) > 5


def test_both_readmes_have_the_same_code_byte_for_byte() -> None:
    english, japanese = (FENCED.findall(read(path)) for path in READMES)

    assert english == japanese
    assert len(english) == 3


def test_the_manifest_in_the_readme_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", read(READMES[0]), re.MULTILINE | re.DOTALL)
    (tmp_path / "vvbuild.toml").write_text(text, encoding="utf-8")

    chosen = choose_release(None, tmp_path)
    assert (chosen.release.name, chosen.release.row.extends) == ("my-fork", "0.25.2")
    assert chosen.release.row.components["models"].version == "0.16.5"


def test_both_readmes_link_to_the_same_places_and_to_each_other() -> None:
    english, japanese = (Counter(links(path)) for path in READMES)

    assert english.pop("README.ja.md") == japanese.pop("README.md") == 1
    assert english == japanese


def test_both_readmes_have_tables_of_the_same_length() -> None:
    english, japanese = (re.findall(r"^\|.*\|$", read(path), re.MULTILINE) for path in READMES)

    assert [line.count("|") for line in english] == [line.count("|") for line in japanese]


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_a_readme_names_every_command_and_no_other(readme: Path) -> None:
    cells = "\n".join(first_columns(read(readme)))
    named = re.findall(r"`vvbuild ([a-z][a-z-]*(?: [a-z][a-z-]*)*)", cells)

    assert sorted(named) == sorted(command.name for command in documented_commands())


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_places_to_add_something_exist(readme: Path) -> None:
    rows = [line for line in read(readme).splitlines() if line.startswith("|")]
    places = re.findall(r"`((?:vvbuild|manifests|bootloader_extra)/[^` ]*)`", "\n".join(rows))

    assert len(places) >= 7
    for place in places:
        known = place.replace("NAME", "sample")
        assert (ROOT / known).exists(), place


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    for link in links(path):
        if re.match(r"[a-z]+:", link):
            assert link.startswith("https://"), link
            continue
        place, _, fragment = unquote(link).partition("#")
        target = (path.parent / place).resolve() if place else path
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if fragment:
            assert fragment in anchors(target), link


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    queue = [READMES[0]]
    while queue:
        path = queue.pop()
        if path not in reached:
            reached.add(path)
            targets = ((path.parent / link.partition("#")[0]).resolve() for link in links(path))
            queue += [target for target in targets if target in TEXTS]

    assert reached == set(TEXTS)


def test_every_field_of_vvbuild_json_is_explained() -> None:
    text = read(ROOT / "docs/bundle.md").partition("## vvbuild.json")[2].partition("\n## ")[0]
    explained = [name for cell in first_columns(text) for name in re.findall(r"`(\w+)`", cell)]

    written: list[str] = []
    for node in ast.walk(ast.parse(read(Path(describe.__file__)))):
        names = [it.id for it in getattr(node, "targets", []) if isinstance(it, ast.Name)]
        if names == ["document"] and isinstance(node.value, ast.Dict):
            written = [key.value for key in node.value.keys]
    assert written == explained


def test_the_picture_shows_the_steps_of_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Neither changes an arrow: one reads all of Python, the other asks for programs.
    monkeypatch.setattr(inputs, "python_identity", lambda *_: Digest.of_bytes(b"Python"))
    monkeypatch.setattr(inputs, "require_needs", lambda _: None)
    try:
        gathered = inputs.gather_inputs(
            release=choose_release("sample", tmp_path),
            target="linux-x64-cpu",
            store=Store(tmp_path),
        )
    except MissingError as error:
        pytest.skip(f"nothing can be planned here: {error}")
    with Session(offline=True) as session:
        plan = plan_bundle(gathered, session)
    planned = {
        (above, step.name)
        for step in plan.steps
        for above in step.inputs
        if not step.name.startswith("unpack ")
    }

    (picture,) = re.findall(r"```mermaid\n(.*?)```", read(ROOT / "docs/architecture.md"), re.DOTALL)
    labels = dict(re.findall(r"(\w+)\[([^\]]+)\]", picture))
    arrows = re.findall(r"^ *(\w+)(?:\[.*?\])? --> (\w+)", picture, re.MULTILINE)
    drawn = [(labels.get(left, left), labels.get(right, right)) for left, right in arrows]

    assert sorted(drawn) == sorted(planned)
