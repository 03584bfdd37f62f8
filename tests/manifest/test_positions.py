from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.manifest.positions import Path, key_lines, line_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Each `@` stands at a key whose path is the comment's.
MARKED = {
    "keys and tables": """\
a = 1              # a
b.c = 2            # b/c
"d e" = 3          # d e
'f.g' = 4          # f.g
"h\\"i" = 5        # h"i
"\\u3042" = 6      # あ
[t]                # t
x = 1              # t/x
[t.u."v.w"]        # t/u/v.w
y = 1              # t/u/v.w/y
  [ t . z ]        # t/z
  k = 1            # t/z/k
""",
    "arrays of tables": """\
[[p]]              # p/0
q = 1              # p/0/q
[[p]]              # p/1
q = 2              # p/1/q
[p.s]              # p/1/s
r = 3              # p/1/s/r
[[p.t]]            # p/1/t/0
r = 1              # p/1/t/0/r
[[p.t]]            # p/1/t/1
r = 2              # p/1/t/1/r
[[p.t.w]]          # p/1/t/1/w/0
r = 2              # p/1/t/1/w/0/r
[[p]]              # p/2
[[p.t]]            # p/2/t/0
r = 4              # p/2/t/0/r
""",
    "long strings hide what looks like a key": '''\
a = """            # a
[not.a.table]
b = 1
\\""" still inside
"""
c = \'\'\'
d = """
\'\'\'
e = """on one line""" # e
f = """two quotes at the end"""""
g = \'\'\'it"""s\'\'\' # g
h = 1              # h
''',
    "arrays hide what looks like a table": """\
a = [              # a
  [1, 2],
  [3]
]
b = [ "]", '[', # c = 1 ]
  { d = 1 },
]
e = 1              # e
f = "a # b [ c"    # f
g = 1              # g
""",
}


def path_of(comment: str, data: dict[str, object]) -> Path:
    """A marked path, with numbers where the data has arrays."""
    here: object = data
    path: Path = ()
    for part in comment.split("/"):
        key: str | int = int(part) if isinstance(here, list) else part
        here = here[key]
        path += (key,)
    return path


@pytest.mark.parametrize("text", MARKED.values(), ids=MARKED)
def test_every_key_is_found_at_its_line(text: str) -> None:
    data = tomllib.loads(text)
    found = key_lines(text)
    marked = 0
    for number, line in enumerate(text.split("\n"), 1):
        _, mark, comment = line.rpartition("# ")
        if mark and "=" not in comment and "[" not in comment and comment:
            marked += 1
            assert found.get(path_of(comment.strip(), data)) == number, line
    assert marked >= 4


@pytest.mark.parametrize("text", MARKED.values(), ids=MARKED)
def test_nothing_is_found_that_is_not_there(text: str) -> None:
    data = tomllib.loads(text)

    for path in key_lines(text):
        here: object = data
        for part in path:
            here = here[part]


def test_a_path_that_is_not_found_is_pointed_at_from_above() -> None:
    lines = key_lines("a = 1\n[t]\nlist = [\n1,\n2]\n[[rows]]\n[[rows]]\nb = 1\n")

    assert line_of(lines, ()) == 1
    assert line_of(lines, ("t", "missing")) == 2
    assert line_of(lines, ("t", "list", 1)) == 3
    assert line_of(lines, ("rows",)) == 6
    assert line_of(lines, ("rows", 1, "b", "deeper")) == 8
    assert line_of(lines, ("nowhere", 3)) == 1


def test_parents_that_have_no_line_are_where_they_are_first_named() -> None:
    lines = key_lines("# no keys\n[a.b]\nc = 1\n[a]\nd.e = 1\n")

    assert line_of(lines, ("a", "b")) == 2
    assert line_of(lines, ("a",)) == 4
    assert line_of(lines, ("a", "d")) == 5


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b", "\x0c", "\x1c"])
def test_only_line_ends_of_toml_end_a_line(separator: str) -> None:
    assert key_lines(f"a = 1 # x{separator}y\nb = 2\n")[("b",)] == 2


def test_windows_line_ends_are_line_ends() -> None:
    assert key_lines("a = 1\r\n[t]\r\nb = 2\r\n")[("t", "b")] == 3


BARE = st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True)


@given(st.lists(st.tuples(BARE, BARE), unique=True, max_size=6))
def test_any_table_of_tables_is_found(keys: list[tuple[str, str]]) -> None:
    text = "".join(
        f'[{table}_{index}.x]\n{key} = "[y] = 1"\n' for index, (table, key) in enumerate(keys)
    )
    tomllib.loads(text)
    lines = key_lines(text)

    for index, (table, key) in enumerate(keys):
        assert lines[(f"{table}_{index}", "x")] == 2 * index + 1
        assert lines[(f"{table}_{index}", "x", key)] == 2 * index + 2


@given(st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    assert line_of(key_lines(text), ("a", 0, "b")) >= 1
