"""The text of a release of the ONNX Runtime builder: a table of libraries, a block of terms."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

OSES = {"windows": "Windows", "linux": "Linux", "osx": "macOS", "android": "Android", "ios": "iOS"}
ARCHES = {"x86": "x86", "x64": "x86_64", "arm64": "AArch64"}
DEVICES = {"cpu": "CPU", "cuda": "CUDA", "directml": "DirectML"}
_VERSION = "data-voicevox-onnxruntime-specs-format-version"
_TYPE = "data-voicevox-onnxruntime-specs-type"
_TERMS = "data-voicevox-onnxruntime-terms"


def write_notes(rows: list[tuple[str, str, list[str], str, str]], terms: str | None) -> str:
    """A release's text from rows of system, processor, devices, address and asset name."""
    body = "".join(
        f"<tr><td>{os}</td><td>{arch}</td><td>{'/'.join(devices)}</td>"
        f'<td><a href="{escape(url)}">{escape(name)}</a></td></tr>\n'
        for os, arch, devices, url, name in rows
    )
    head = "<thead><tr><th>OS</th><th>arch</th><th>devices</th><th>file</th></tr></thead>"
    tables = "".join(
        f'<table {_VERSION}="1" {_TYPE}="{kind}">{head}<tbody>\n{part}</tbody></table>\n\n'
        for kind, part in (("dylibs", body), ("xcframeworks", ""))
    )
    block = f"<pre {_TERMS}><code>{escape(terms)}</code></pre>\n" if terms is not None else ""
    return f"# Libraries\n\n{tables}{block}"


def library_in(notes: str, os: str, arch: str, devices: list[str] | None) -> str:
    """The asset for a target: every device that is wanted, as few others as possible.

    Raises ``ValueError`` where the text has not exactly one table, or no row fits.
    """
    found = _read(notes)
    if found.tables != 1:
        raise ValueError(f"expected one table of libraries, found {found.tables}")
    wanted = {DEVICES[device] for device in devices or ["cpu"]}
    rows = [
        (row[2].split("/"), row[3]) for row in found.rows
        if row[:2] == [OSES[os], ARCHES[arch]] and wanted <= set(row[2].split("/"))
    ]  # fmt: skip
    if not rows:
        raise ValueError(f"could not find ONNX Runtime for {os}, {arch} and {sorted(wanted)}")
    return min(rows, key=lambda row: len(row[0]))[1]


def terms_in(notes: str) -> str | None:
    """The terms that must be accepted, if the text has them."""
    return _read(notes).terms


def _read(notes: str) -> _Reader:
    reader = _Reader()
    reader.feed(notes)
    reader.close()
    return reader


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tables = 0
        self.rows: list[list[str]] = []
        self.terms: str | None = None
        self._within = self._body = self._cell = self._block = self._code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        if tag == "table":
            self._within = facts.get(_VERSION) == "1" and facts.get(_TYPE) == "dylibs"
            self.tables += self._within
        elif tag == "tbody":
            self._body = self._within
        elif tag == "tr" and self._body:
            self.rows.append([])
        elif tag == "td" and self._body:
            self.rows[-1].append("")
            self._cell = True
        elif tag == "pre":
            self._block = _TERMS in facts
        elif tag == "code" and self._block:
            self.terms, self._code = "", True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("table", "tbody"):
            self._body = False
        elif tag == "td":
            self._cell = False
        elif tag == "code":
            self._code = False
        elif tag == "pre":
            self._block = False

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.rows[-1][-1] += data
        if self._code:
            self.terms = (self.terms or "") + data
