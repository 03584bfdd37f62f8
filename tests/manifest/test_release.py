from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifest.conftest import edited
from vvbuild.errors import ManifestError, UnknownNameError
from vvbuild.manifest.meaning import expand
from vvbuild.manifest.release import find_release, load_release, release_names

Write = Callable[[str | bytes], Path]
Refusal = Callable[..., ManifestError]


def test_a_good_manifest_is_read(tiny: str, write: Write) -> None:
    loaded = load_release(write(tiny))

    assert loaded.name == "tiny"
    assert [str(target) for target in loaded.targets] == ["linux-x64-cpu", "win-x64-cpu"]
    assert loaded.epoch == 1_795_996_800
    assert [(item.name, item.targets) for item in loaded.artifacts] == [
        ("linux-1.23.2.whl", ("linux-x64-cpu",)),
        ("win.whl", ("win-x64-cpu",)),
    ]
    assert loaded.artifacts[1].max_size == 20 << 20
    assert loaded.row.components["onnxruntime"].targets == ["*"]


# One mistake each: what is replaced, by what, the line that must be named by what stands on it,
# and what must be said.
MISTAKES = {
    "an unknown key names the nearest": (
        'summary = ', 'sumary = "x"\nsummary = ', 'sumary = "x"',
        "sumary: unknown key 'sumary'; did you mean summary?",
    ),
    "an unknown key in a row": (
        'max_size = "20MiB"', 'maxsize = "20MiB"', "maxsize",
        "artifacts[1].maxsize: unknown key 'maxsize'; did you mean max_size?",
    ),
    "a key that is like none lists them all": (
        'requires = ">=3.10"', 'requires = ">=3.10"\nqqq = 1', "qqq",
        "python.qqq: unknown key 'qqq'; expected one of requires",
    ),
    "an unknown component": (
        "[components.onnxruntime]", "[components.onnxruntimes]", "onnxruntimes",
        "components.onnxruntimes: unknown name 'onnxruntimes'; did you mean onnxruntime?",
    ),
    "a missing key": (
        'source = "package"\n', "", "[engine]", "engine: the key 'source' is missing",
    ),
    "a missing table": (
        '[python]\nrequires = ">=3.10"', "", 'schema = "', "the key 'python' is missing",
    ),
    "a string where a list belongs": (
        'targets = ["win-x64-cpu"]', 'targets = "win-x64-cpu"', 'targets = "win-x64-cpu"',
        "artifacts[1].targets: expected an array, got a string",
    ),
    "a number where a string belongs": (
        'version = "1.23.2"', "version = 1.23", "version = 1.23",
        "components.onnxruntime.version: expected a string, got a number",
    ),
    "a table where a string belongs": (
        'summary = "A release to break"', "summary = {a = 1}", "summary = {",
        "summary: expected a string, got a table",
    ),
    "a string where a table belongs": (
        '[engine.files]\n"." = "sample_engine"', 'files = "sample_engine"', "files = ",
        "engine.files: expected a table, got a string",
    ),
    "a list where a row belongs": (
        "[components.onnxruntime]", "[components]\ncuda = []\n[components.onnxruntime]", "cuda = ",
        "components.cuda: expected a table, got an array",
    ),
    "a text that must not be empty": (
        'summary = "A release to break"', 'summary = ""', "summary = ",
        "summary: expected a string of length >= 1",
    ),
    "a value of a list of values": (
        'source = "package"', 'source = "pakage"', "pakage",
        "engine.source: unknown value 'pakage'; did you mean package?",
    ),
    "an archive format": (
        'stem = "tiny', 'kinds = ["vvpp", "zip"]\nstem = "tiny', "kinds",
        "archives.kinds[1]: unknown value 'zip'; expected one of vvpp, 7z",
    ),
    "an archive format twice": (
        'stem = "tiny', 'kinds = ["7z", "7z"]\nstem = "tiny', "kinds",
        "archives.kinds: a format stands twice",
    ),
    "no archive format": (
        'stem = "tiny', 'kinds = []\nstem = "tiny', "kinds",
        "archives.kinds: expected an array of length >= 1",
    ),
    "a level out of range": (
        'stem = "tiny', 'zip_level = 13\nstem = "tiny', "zip_level",
        "expected a whole number <= 12",
    ),
    "a boolean is no number": (
        'stem = "tiny', 'zip_level = true\nstem = "tiny', "zip_level",
        "expected a whole number, got a boolean",
    ),
    "another schema": (
        "vvbuild.release/1", "vvbuild.release/9", "vvbuild.release/9",
        "schema: unknown value 'vvbuild.release/9'; did you mean vvbuild.release/1?",
    ),
    "a name that is not the file's": (
        'name = "tiny"', 'name = "other"', 'name = "other"',
        "name: expected 'tiny', the file's name, got 'other'",
    ),
    "a name with a path": (
        'name = "tiny"', 'name = "../tiny"', "../tiny", "name: expected a string matching regex",
    ),
    "an unknown target": (
        'targets = ["linux-x64-cpu", "win-x64-cpu"]', 'targets = ["linux-x64-cpu", "win-x86-cpu"]',
        "win-x86-cpu", "targets[1]: unknown target 'win-x86-cpu'; did you mean win-x64-cpu",
    ),
    "a target twice": (
        'targets = ["linux-x64-cpu", "win-x64-cpu"]',
        'targets = ["linux-x64-cpu", "win-x64-cpu", "win-x64-cpu"]',
        "targets = ", "targets[2]: 'win-x64-cpu' stands twice",
    ),
    "a pattern that matches no target": (
        'targets = ["linux-*"]', 'targets = ["linux-*", "macos-*"]', '"macos-*"',
        "artifacts[0].targets: 'macos-*' matches no target of this release",
    ),
    "no target": (
        'targets = ["linux-*"]', "targets = []", "targets = []",
        "artifacts[0].targets: expected an array of length >= 1",
    ),
    "no reference": (
        '["pypi:onnxruntime/{version}/linux-{version}.whl"]', "[]", "references = []",
        "artifacts[0].references: expected an array of length >= 1",
    ),
    "a component that is not pinned": (
        'component = "onnxruntime"', 'component = "cuda"', 'component = "cuda"',
        "artifacts[0].component: no [components.cuda] pins its version",
    ),
    "a Python specifier": (
        ">=3.10", "3.10 or so", "3.10 or so",
        "python.requires: expected a version specifier such as ==3.11.9, got '3.10 or so'",
    ),
    "a time without a zone": (
        "00:00:00Z", "00:00:00", "time = ", "engine.time: expected a time with a zone",
    ),
    "a time that no zip can hold": (
        "2026-11-30", "1970-01-01", "time = ", "engine.time: a zip holds the years 1980 to 2107",
    ),
    "a date that is no time": (
        "2026-11-30T00:00:00Z", "2026-11-30", "time = ", "engine.time: expected",
    ),
    "two artifacts of one name": (
        "win.whl", "linux-1.23.2.whl", "[[artifacts]]",
        "'linux-1.23.2.whl' is also the name of artifacts[0]",
    ),
    "a name that is a path": (
        'max_size = "20MiB"', 'name = "../../etc/passwd"', "passwd",
        "artifacts[1].name: not a plain file name: '../../etc/passwd'",
    ),
    "a name reserved on Windows": (
        'max_size = "20MiB"', 'name = "nul.zip"', "nul.zip",
        "artifacts[1].name: 'nul.zip' is a reserved name on Windows",
    ),
    "a size in decimal units": (
        "20MiB", "20MB", "20MB", "artifacts[1].max_size: expected a size such as 1900MiB",
    ),
    "a size of thousands of digits": (
        "20MiB", "9" * 400, "max_size", "artifacts[1].max_size: expected a size",
    ),
    "a part of 2 GiB, which GitHub refuses (B043)": (
        'stem = "tiny', 'volume_size = "2GiB"\nstem = "tiny', "volume_size",
        "archives.volume_size: must be below 2 GiB",
    ),
    "a part of no bytes": (
        'stem = "tiny', 'volume_size = "0"\nstem = "tiny', "volume_size", "must be below 2 GiB",
    ),
    "a stem that is a path": (
        "tiny-{target}", "../tiny-{target}", "stem", "archives.stem: not a plain file name",
    ),
    "a placeholder that does not exist": (
        "tiny-{target}", "{os}", "stem",
        "archives.stem: only {target}, {upstream} and {version} can stand in it",
    ),
    "a placeholder that looks inside": (
        "tiny-{target}", "{target.__class__}", "stem",
        "archives.stem: only {target}, {upstream} and {version} can stand in it",
    ),
    "a placeholder that fills the memory": (
        "tiny-{target}", "{target:>999999999}", "stem",
        "archives.stem: only {target}, {upstream} and {version} can stand in it",
    ),
    "an engine version that is a path": (
        'version = "0.1.0"', 'version = "../0.1.0"', "../0.1.0", "engine.version: not a plain file",
    ),
    "a program that is a path": (
        'recipe = "sample"', 'recipe = "sample"\nprogram = "bin/run"', "bin/run",
        "engine.program: not a plain file name",
    ),
    "engine files that leave the engine": (
        '"." = "sample_engine"', '"../x" = "sample_engine"', '"../x"',
        "expected a path inside, got '../x'",
    ),
    "engine files from outside the package": (
        '"." = "sample_engine"', '"." = "../../etc"', '"../../etc"',
        "expected a path inside, got '../../etc'",
    ),
    "absolute engine files": (
        '"." = "sample_engine"', '"." = "/etc"', '"/etc"', "expected a path inside, got '/etc'",
    ),
    "an unknown tool": (
        "[tools]", '[tools]\nzigg = "1"', "zigg",
        "tools.zigg: unknown tool 'zigg'; did you mean zig?",
    ),
    "a compiler that is not among the tools": (
        'summary = ', 'bootloader = "gcc"\nsummary = ', "[tools]",
        "tools: the key 'gcc' is missing",
    ),
    "a source and a reference that disagree": (
        'references = ["pypi:onnxruntime/{version}/linux-{version}.whl"]',
        'references = ["npm:onnxruntime/{version}"]', "npm:onnxruntime",
        "the source is 'pypi', but the first reference is npm:onnxruntime/1.23.2",
    ),
    "a reference of no form": (
        "pypi:onnxruntime/{version}/win.whl", "pypi:onnxruntime", '"pypi:onnxruntime"',
        "artifacts[1].references: expected pypi:project/version/file",
    ),
    "a URL with a password": (
        "https://host.example/win.whl", "https://me:secret@host.example/win.whl", "host.example",
        "artifacts[1].references: a URL in a manifest must not hold a user name or a password",
    ),
    "plain HTTP": (
        "https://host.example/win.whl", "http://host.example/win.whl", "host.example",
        "artifacts[1].references: expected pypi:",
    ),
    "plain HTTP on this machine": (
        "https://host.example/win.whl", "http://127.0.0.1:1/win.whl", "127.0.0.1",
        "'http://127.0.0.1:1/win.whl' is local; only https:// is allowed here",
    ),
    "a local file": (
        "https://host.example/win.whl", "file:///tmp/win.whl", "file:///",
        "'file:///tmp/win.whl' is local; only https:// is allowed here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_line(
    mistake: tuple[str, str, str, str], tiny: str, refusal: Refusal, tmp_path: Path
) -> None:
    old, new, on_line, words = mistake
    text = edited(tiny, old, new)
    error = refusal(text)

    assert words in error.message
    lines = [n for n, line in enumerate(text.splitlines(), 1) if on_line in line]
    places = [f"{tmp_path / 'tiny.toml'}:{line}:" for line in lines]
    assert any(place in error.message for place in places), error.message


def test_a_password_is_not_repeated(tiny: str, refusal: Refusal) -> None:
    text = edited(tiny, "https://host.example", "https://me:secret@host.example")

    assert "secret" not in refusal(text).message


def test_local_places_are_admitted_where_they_are_asked_for(tiny: str, write: Write) -> None:
    text = edited(tiny, "https://host.example/", "http://127.0.0.1:8/")

    (_, win) = load_release(write(text), allow_local=True).artifacts

    assert str(win.references[1]) == "http://127.0.0.1:8/win.whl"


def test_every_mistake_is_named_at_once(tiny: str, refusal: Refusal) -> None:
    text = edited(edited(tiny, "summary =", "sumary ="), ">=3.10", "old")
    lines = refusal(text.replace('version = "1.23.2"', "version = 1")).message.splitlines()

    assert [line.split(": ", 1)[1] for line in lines] == [
        "sumary: unknown key 'sumary'; did you mean summary?",
        "the key 'summary' is missing",
        "components.onnxruntime.version: expected a string, got a whole number",
    ]


def test_a_thousand_mistakes_are_counted_and_not_all_told(tiny: str, refusal: Refusal) -> None:
    text = "\n".join(f"key{number} = 1" for number in range(1000)) + "\n" + tiny
    lines = refusal(text).message.splitlines()

    assert len(lines) < 20
    assert lines[-1] == "… and 988 more"


def test_a_long_word_is_not_repeated_whole(tiny: str, refusal: Refusal) -> None:
    message = refusal(f'"{"x" * 100_000}" = 1\n{tiny}').message

    assert "unknown key" in message
    assert len(message) < 1000


def test_a_key_with_a_line_end_cannot_forge_a_line(tiny: str, refusal: Refusal) -> None:
    message = refusal(f'"a\\nerror: all is well" = 1\n{tiny}').message

    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "column", "broken"),
    [(1, 10, "schema = oops"), (4, 1, "a = 1\nb = 2\nc = 3\n= 4"), (2, 10, 'a = 1\nb = "open\n')],
)
def test_what_is_no_toml_is_told_with_line_and_column(
    line: int, column: int, broken: str, refusal: Refusal, tmp_path: Path
) -> None:
    message = refusal(broken).message

    assert message.startswith(f"{tmp_path / 'tiny.toml'}:{line}:{column}: ")
    assert len(message.splitlines()) == 1


def test_toml_that_ends_too_early_is_told_with_the_last_line(refusal: Refusal) -> None:
    assert "tiny.toml:3: " in refusal("a = 1\nb = 2\nc = [").message


def test_a_key_twice_is_refused(tiny: str, refusal: Refusal) -> None:
    assert "Cannot overwrite" in refusal(tiny + '\nmax_size = "1MiB"\n').message


def test_a_number_of_thousands_of_digits_is_refused(tiny: str, refusal: Refusal) -> None:
    refusal(edited(tiny, 'version = "1.23.2"', f"version = {'9' * 5000}"))


def test_a_deep_nest_is_refused(refusal: Refusal) -> None:
    refusal(f"a = {'[' * 100_000}")


def test_other_encodings_are_refused_with_the_line(tiny: str, refusal: Refusal) -> None:
    text = edited(tiny, "A release to break", "音声").encode("cp932")

    assert "tiny.toml:3: expected UTF-8, got byte 0x89" in refusal(text).message


def test_a_byte_order_mark_is_refused(tiny: str, refusal: Refusal) -> None:
    assert "tiny.toml:1:1: " in refusal(b"\xef\xbb\xbf" + tiny.encode()).message


def test_a_huge_manifest_is_refused_unread(refusal: Refusal) -> None:
    assert "at most 4194304" in refusal(b"#" * (4 << 20) + b"\n").message


def test_a_directory_is_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="expected a file"):
        load_release(tmp_path)


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"tiny\.toml: there is no such file"):
        load_release(tmp_path / "tiny.toml")


def test_comments_and_order_of_tables_do_not_change_the_pins(tiny: str, write: Write) -> None:
    before = load_release(write(tiny)).pins_digest
    moved = tiny.replace('[python]\nrequires = ">=3.10"\n', "") + '[python]\nrequires = ">=3.11"\n'
    after = load_release(write("# a comment\n" + moved.replace("[[", "# more\n[["))).pins_digest

    assert after == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('version = "1.23.2"', 'version = "1.23.3"'),
        ("win.whl", "win2.whl"),
        ("host.example", "other.example"),
        ('["linux-*"]', '["linux-*", "win-*"]'),
        ("20MiB", "21MiB"),
        ('max_size = "20MiB"', 'max_size = "20MiB"\nname = "other.whl"'),
    ],
)
def test_whatever_decides_the_bytes_changes_the_pins(
    old: str, new: str, tiny: str, write: Write
) -> None:
    before = load_release(write(tiny)).pins_digest

    assert load_release(write(edited(tiny, old, new))).pins_digest != before


def test_an_unknown_release_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        find_release("smaple")

    assert caught.value.message == "There is no release 'smaple'; did you mean sample?"
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("name", ["../sample", "sample.toml", "", "/etc/passwd", "SAMPLE"])
def test_only_names_of_the_list_are_releases(name: str) -> None:
    with pytest.raises(UnknownNameError):
        find_release(name)


@pytest.mark.parametrize("name", release_names())
def test_packaged_releases_load(name: str) -> None:
    loaded = find_release(name)

    assert loaded.artifacts
    assert loaded.path.parent.name == "releases"


def test_only_target_upstream_and_version_are_filled_in() -> None:
    words = {"target": "win-x64-cpu", "upstream": "windows-cpu", "version": "1"}
    assert expand("a-{target}-{version}", **words) == "a-win-x64-cpu-1"
    assert expand("a-{upstream}-{version}", **words) == "a-windows-cpu-1"

    for text in ("{", "}", "{}", "{0}", "{version!r}", "a/{version}", "{target}."):
        with pytest.raises(ValueError, match=r"can stand in it|plain file name"):
            expand(text, **words)


def test_what_is_inherited_may_be_for_targets_that_come_later(
    tiny: str, write: Write, refusal: Callable[..., ManifestError]
) -> None:
    """A base names the files of every target; an old release has fewer of them."""
    base = tiny.replace('targets = ["linux-*"]', 'targets = ["linux-*", "macos-*"]')
    child = 'schema = "vvbuild.release/1"\nname = "tiny"\nsummary = "A part"\nextends = "_base"\n'
    write(child).with_name("_base.toml").write_text(base)

    assert [item.targets for item in load_release(write(child)).artifacts] == [
        ("linux-x64-cpu",), ("win-x64-cpu",),
    ]  # fmt: skip
    write(child).with_name("_base.toml").write_text(base.replace("macos-*", "beos-*"))
    assert "'beos-*' matches no target that there is" in refusal(child).message
