"""The program that starts."""

from __future__ import annotations

import dataclasses

from tests.rules.bundle.good import GOOD, SHA, bundle, file, found, only, windows


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
    assert found(windows(without="run.exe")) == [("program-missing", None)]
    assert found(windows(program="run", manifest={"command": "run"})) == [("program-missing", None)]
    assert found(windows()) == []


def test_b090_a_linux_bundle_must_not_start_an_exe() -> None:
    finding = only(bundle(manifest={"command": "run.exe"}), "manifest-command")

    assert finding.message == "starts 'run.exe', but the program is 'run'"


def test_b039_a_program_without_its_execute_bit_is_stopped() -> None:
    only(bundle(dataclasses.replace(GOOD[0], kind="file")), "exec-bit-missing")


def test_b149_a_stock_bootloader_is_stopped() -> None:
    evidence = bundle(dataclasses.replace(GOOD[0], text=SHA["other"]))

    finding = only(evidence, "bootloader-not-ours")
    assert finding.evidence == {"expected": SHA["text"].hex, "found": SHA["other"].hex}


def test_a_bundle_that_promises_no_bootloader_passes() -> None:
    assert found(bundle(bootloader={})) == []
