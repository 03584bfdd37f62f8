"""Each rule with what it lets pass and what it stops.

Tests are named after the bug that taught the rule, where it is one of the known reports.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from vvbuild.binary.elf import ElfFacts
from vvbuild.model.digest import Digest
from vvbuild.model.finding import Finding
from vvbuild.model.target import Target
from vvbuild.rules.bundle import rule
from vvbuild.rules.evidence import BundleEvidence, FileFacts, JsonFile
from vvbuild.rules.registry import RULES, judge, rules_over

LINUX = Target.parse("linux-x64-cpu")
SHA = {name: Digest.of_bytes(name.encode()) for name in ("a", "b", "text", "other")}


def elf(machine: str = "x64", soname: str | None = None) -> ElfFacts:
    return ElfFacts(machine, "dyn", None, soname, (), (), (), ())


def file(path: str, **changes: Any) -> FileFacts:
    return FileFacts(**{"path": path, "kind": "file", "size": 3, "sha256": SHA["a"], **changes})


def link(path: str, target: str) -> FileFacts:
    return FileFacts(path, "link", link=target)


MANIFEST = {
    "manifest_version": "0.13.1", "name": "n", "brand_name": "b", "uuid": "u", "version": "1.0",
    "url": "", "command": "run", "port": 1, "icon": "resources/icon.png",
    "default_sampling_rate": 24000, "frame_rate": 93.75, "terms_of_service": "terms.md",
    "update_infos": "infos.json", "dependency_licenses": "licenses.json", "supported_features": {},
}  # fmt: skip
GOOD = [
    file("run", kind="program", elf=elf(), text=SHA["text"]),
    file("libonnxruntime.so", elf=elf(soname="libonnxruntime.so.1.23.2")),
    file("engine_manifest.json"),
    *(file(str(MANIFEST[key])) for key in
      ("icon", "terms_of_service", "update_infos", "dependency_licenses")),
    file("model/0.vvm"),
]  # fmt: skip


def described(files: list[FileFacts]) -> dict[str, dict[str, object]]:
    """What vvbuild.json says of files, see ``bundle/describe.py``."""
    rows: dict[str, dict[str, object]] = {}
    for each in files:
        if each.kind == "link":
            rows[each.path] = {"kind": "link", "link": each.link}
        elif each.kind == "directory":
            rows[each.path] = {"kind": "directory"}
        else:
            rows[each.path] = {"kind": each.kind, "size": each.size, "sha256": each.sha256.hex}
    return rows


def bundle(
    *changes: FileFacts,
    without: str = "",
    target: Target | None = LINUX,
    program: str = "run",
    manifest: dict[str, object] | JsonFile | None = None,
    promised: list[FileFacts] | None = None,
    **description: object,
) -> BundleEvidence:
    """A good bundle with some files changed, added or taken away, and vvbuild.json in step."""
    files = {each.path: each for each in [*GOOD, *changes] if each.path != without}
    if not isinstance(manifest, JsonFile):
        manifest = JsonFile({**MANIFEST, **(manifest or {})})
    about = {
        "engine": {"version": "1.0"},
        "components": {"onnxruntime": "1.23.2"},
        "bootloader": {"text_sha256": SHA["text"].hex},
        "files": described(list(files.values()) if promised is None else promised),
        **description,
    }
    return BundleEvidence(target, program, files, manifest, JsonFile(about))


def found(evidence: BundleEvidence) -> list[tuple[str, str | None]]:
    return [(finding.rule, finding.path) for finding in judge(evidence)]


def only(evidence: BundleEvidence, name: str) -> Finding:
    """The finding of ``name``, which must be alone."""
    (finding,) = judge(evidence)
    assert finding.rule == name
    return finding


def test_a_good_bundle_has_no_findings() -> None:
    assert found(bundle()) == []
    assert found(bundle(target=None)) == []


# Program


def test_a_bundle_without_its_program_is_stopped() -> None:
    finding = only(bundle(without="run"), "program-missing")

    assert finding.severity == "error"
    assert "'run'" in finding.message


def test_an_empty_program_is_stopped() -> None:
    only(bundle(file("run", kind="program", size=0, text=None)), "program-missing")


def test_b090_a_windows_bundle_needs_an_exe() -> None:
    windows = Target.parse("win-x64-cpu")
    evidence = bundle(file("onnxruntime.dll"), target=windows, program="run.exe")

    assert found(evidence) == [
        ("manifest-command", "engine_manifest.json"), ("program-missing", None),
    ]  # fmt: skip
    good = bundle(
        file("onnxruntime.dll"), file("run.exe"), target=windows, program="run.exe",
        manifest={"command": "run.exe"},
    )  # fmt: skip
    assert found(good) == []


def test_b090_a_linux_bundle_must_not_start_an_exe() -> None:
    finding = only(bundle(manifest={"command": "run.exe"}), "manifest-command")

    assert finding.message == "starts 'run.exe', but the program is 'run'"


def test_b039_a_program_without_its_execute_bit_is_stopped() -> None:
    only(bundle(dataclasses.replace(GOOD[0], kind="file")), "exec-bit-missing")


# Manifest


def test_b086_a_bundle_without_a_manifest_is_stopped() -> None:
    evidence = bundle(without="engine_manifest.json", manifest=JsonFile())

    assert only(evidence, "manifest-invalid").message == "is missing"


@pytest.mark.parametrize("key", MANIFEST)
def test_b087_a_manifest_that_lacks_a_field_is_stopped(key: str) -> None:
    manifest = JsonFile({name: value for name, value in MANIFEST.items() if name != key})

    finding = only(bundle(manifest=manifest), "manifest-invalid")
    assert finding.message == f"lacks {key}"
    assert finding.path == "engine_manifest.json"


def test_a_manifest_that_is_no_json_is_stopped() -> None:
    problem = "is not JSON: byte order mark"

    assert only(bundle(manifest=JsonFile(problem=problem)), "manifest-invalid").message == problem


@pytest.mark.parametrize("key", ["icon", "terms_of_service", "update_infos", "dependency_licenses"])
def test_a_file_that_the_manifest_names_must_be_there(key: str) -> None:
    finding = only(bundle(manifest={key: "nowhere.txt"}), "manifest-invalid")

    assert finding.message == f"names 'nowhere.txt' as {key}, which is not there"


def test_a_file_that_the_manifest_names_in_a_roundabout_way_is_there() -> None:
    assert found(bundle(manifest={"icon": "./resources/../resources/icon.png"})) == []


def test_b016_a_version_that_is_not_what_was_built_is_stopped() -> None:
    finding = only(bundle(engine={"version": "0.20.0"}), "version-disagrees")

    assert finding.message == "says '1.0', but it was built as '0.20.0'"
    assert found(bundle(engine={})) == []


# ONNX Runtime and models


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("linux-x64-cuda", "libonnxruntime.so"),
        ("macos-arm64-cpu", "libonnxruntime.dylib"),
        ("win-x64-directml", "onnxruntime.dll"),
    ],
)
def test_b005_onnx_runtime_must_lie_beside_the_program(target: str, name: str) -> None:
    chosen = Target.parse(target)
    program = "run.exe" if chosen.os == "win" else "run"
    other = [file(program, kind="program", elf=elf("arm64"), text=SHA["text"])]
    if chosen.arch == "x64":
        other = [dataclasses.replace(other[0], elf=elf())]
    options: dict[str, Any] = {
        "target": chosen, "program": program, "manifest": {"command": program},
        "without": "libonnxruntime.so",
    }  # fmt: skip

    deep = file(f"lib/{name}", elf=elf(chosen.arch) if chosen.os == "linux" else None)
    assert only(bundle(*other, deep, **options), "provider-missing").message == (
        f"there is no {name} in the bundle's root"
    )


def test_b003_onnx_runtime_must_carry_its_full_version() -> None:
    """Core asks for libonnxruntime.so.1.23.2, and the loader compares SONAMEs."""
    for soname in ("libonnxruntime.so.1", "libonnxruntime.so.1.17.3", None):
        evidence = bundle(file("libonnxruntime.so", elf=elf(soname=soname)))
        assert only(evidence, "ort-name").evidence == {"soname": str(soname)}


def test_b055_a_library_for_another_processor_is_stopped() -> None:
    evidence = bundle(file("lib/deep/x.so", elf=elf("arm64")))

    finding = only(evidence, "wrong-arch")
    assert finding.path == "lib/deep/x.so"
    assert finding.evidence == {"machine": "arm64"}


@pytest.mark.parametrize(
    "models",
    [
        [],
        [file("model/0.vvm", size=0)],
        [file("model/README.md")],
        [file("models/0.vvm")],
        [file("model/deep/0.vvm")],
    ],
    ids=["none", "empty", "no model", "another folder", "too deep"],
)
def test_a_bundle_without_a_voice_is_stopped(models: list[FileFacts]) -> None:
    files = [each for each in GOOD if each.path != "model/0.vvm"] + models
    evidence = dataclasses.replace(
        bundle(promised=files), files={each.path: each for each in files}
    )

    only(evidence, "models-missing")


# Links


@pytest.mark.parametrize(
    "target",
    ["/home/runner/libcublas.so.11", "../libcublas.so", "lib/../../x", "..", "../../etc/passwd"],
)
def test_b036_a_link_that_leaves_the_bundle_is_stopped(target: str) -> None:
    finding = only(bundle(link("libcublas.so.11", target)), "link-escapes")

    assert finding.message == f"links to {target!r}, outside the bundle"


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("a", "nowhere"),
        ("lib/a", "run"),
        ("a", "..hidden"),
        ("a", "a"),
        ("a", "run/below"),
    ],
)
def test_b036_a_link_to_nothing_is_stopped(path: str, target: str) -> None:
    only(bundle(link(path, target)), "link-dangling")


def test_b036_links_in_a_ring_are_stopped() -> None:
    evidence = bundle(link("a", "b"), link("b", "a"))

    assert found(evidence) == [("link-dangling", "a"), ("link-dangling", "b")]


@pytest.mark.parametrize(
    "links",
    [
        [link("a", "run")],
        [link("lib/a", "../run")],
        [link("a", "model")],
        [link("a", ".")],
        [link("lib/a", "..")],
        [link("a", "./model/../run")],
        [link("a", "b"), link("b", "run")],
        [link("Versions/Current", "3.11"), file("Versions/3.11/Python"),
         link("Python", "Versions/Current/Python")],
        [link("a", "empty"), FileFacts("empty", "directory")],
        [link("..a", "run"), link("b", "..a")],
    ],
    ids=["a file", "up and down", "a folder", "the root", "up to the root", "roundabout",
         "a link", "through a link to a folder", "an empty folder", "a name with dots"],
)  # fmt: skip
def test_links_inside_the_bundle_pass(links: list[FileFacts]) -> None:
    assert found(bundle(*links)) == []


# Bytes


@pytest.mark.parametrize("path", ["run", "libonnxruntime.so", "lib/x.so", "lib/x.so.1.2"])
def test_b115_what_was_cut_off_or_is_an_error_page_is_stopped(path: str) -> None:
    kind = "program" if path == "run" else "file"

    assert ("binary-malformed", path) in found(bundle(file(path, kind=kind)))


@pytest.mark.parametrize("path", ["x.sofa", "x.so.txt", "so", "x.py", "lib.so.d/readme"])
def test_files_that_are_no_libraries_need_not_be(path: str) -> None:
    assert found(bundle(file(path))) == []


def test_b149_a_stock_bootloader_is_stopped() -> None:
    evidence = bundle(dataclasses.replace(GOOD[0], text=SHA["other"]))

    finding = only(evidence, "bootloader-not-ours")
    assert finding.evidence == {"expected": SHA["text"].hex, "found": SHA["other"].hex}


def test_a_bundle_that_promises_no_bootloader_passes() -> None:
    assert found(bundle(bootloader={})) == []


def test_a_bundle_that_says_nothing_of_itself_is_a_warning() -> None:
    evidence = dataclasses.replace(bundle(), description=JsonFile())

    finding = only(evidence, "description-missing")
    assert (finding.severity, finding.message) == ("warning", "is missing")


def test_b119_a_file_of_the_same_size_with_other_bytes_is_stopped() -> None:
    promised = [*GOOD[:-1], file("model/0.vvm", sha256=SHA["b"])]

    finding = only(bundle(promised=promised), "content-differs")
    assert finding.path == "model/0.vvm"


@pytest.mark.parametrize(
    ("now", "then", "words"),
    [
        (file("x", kind="program"), file("x"), "was a file, is a program"),
        (link("x", "run"), link("x", "model"), "differs"),
        (link("x", "run"), file("x"), "differs"),
        (file("x"), FileFacts("x", "directory"), "differs"),
        (FileFacts("x", "directory"), file("x"), "differs"),
    ],
)
def test_a_file_that_became_another_kind_is_stopped(
    now: FileFacts, then: FileFacts, words: str
) -> None:
    finding = only(bundle(now, promised=[*GOOD, then]), "content-differs")

    assert words in finding.message


def test_b019_a_file_that_was_built_and_is_gone_is_stopped() -> None:
    promised = [*GOOD, file("cudnn_adv_infer64_8.dll")]

    finding = only(bundle(promised=promised), "file-missing")
    assert finding.path == "cudnn_adv_infer64_8.dll"


def test_b028_a_file_that_was_not_built_is_stopped() -> None:
    finding = only(bundle(file("libcudart.so.11", elf=elf()), promised=GOOD), "file-extra")

    assert finding.path == "libcudart.so.11"


def test_an_empty_folder_that_was_built_is_neither_missing_nor_extra() -> None:
    assert found(bundle(FileFacts("empty", "directory"))) == []
    assert found(bundle(FileFacts("empty", "directory"), promised=GOOD)) == []
    assert found(bundle(promised=[*GOOD, FileFacts("empty", "directory")])) == [
        ("file-missing", "empty")
    ]


def test_vvbuild_json_need_not_list_itself() -> None:
    assert found(bundle(file("vvbuild.json"), promised=GOOD)) == []


# Hostile descriptions


@pytest.mark.parametrize(
    "description",
    [
        {"files": None}, {"files": []}, {"files": {"run": 1}}, {"files": {"run": {}}},
        {"files": {"run": {"sha256": ["x"], "kind": {}}}}, {"engine": []},
        {"engine": {"version": []}},
        {"components": {"onnxruntime": {}}}, {"bootloader": {"text_sha256": {"a": 1}}},
        {"bootloader": "x"}, {"components": 3},
    ],
    ids=str,
)  # fmt: skip
def test_a_description_of_any_shape_is_judged(description: dict[str, object]) -> None:
    for finding in judge(bundle(**description)):
        json.dumps(dataclasses.asdict(finding))


@pytest.mark.parametrize("value", [None, 1, [], {}, "", "/", "..", "x" * 10_000, "\0"])
def test_a_manifest_of_any_shape_is_judged(value: object) -> None:
    for key in MANIFEST:
        judge(bundle(manifest={key: value}))


# The registry


def test_findings_say_all_that_their_rule_says() -> None:
    finding = only(bundle(without="run"), "program-missing")
    known = RULES["program-missing"]

    assert (finding.why, finding.source, finding.fix) == (known.why, known.source, known.fix)
    assert finding.target == "linux-x64-cpu"


def test_errors_stand_first_then_rules_then_paths() -> None:
    evidence = bundle(link("z", "/x"), link("b", "/x"), file("a.so"))
    evidence = dataclasses.replace(evidence, description=JsonFile())

    assert found(evidence) == [
        ("binary-malformed", "a.so"), ("link-escapes", "b"), ("link-escapes", "z"),
        ("description-missing", "vvbuild.json"),
    ]  # fmt: skip


@pytest.mark.parametrize("known", rules_over(BundleEvidence), ids=lambda known: known.name)
def test_a_rule_explains_itself(known) -> None:
    assert known.name == known.name.lower().replace("_", "-")
    assert known.why.endswith(".")
    assert known.fix.endswith(".")
    assert known.source
    assert known.check.__doc__


def test_two_rules_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="two rules are called 'ort-name'"):
        rule("ort-name", "error", why="", source="", fix="")(lambda evidence: iter(()))


def test_every_rule_is_seen_to_stop_something() -> None:
    """By this file: the name of each stands in a test."""
    import pathlib

    text = pathlib.Path(__file__).read_text(encoding="utf-8")

    assert [r.name for r in rules_over(BundleEvidence) if f'"{r.name}"' not in text] == []
