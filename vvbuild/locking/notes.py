"""The text of a GitHub release, and the block of terms in it."""

from __future__ import annotations

from html.parser import HTMLParser

# Of ONNX Runtime's builder: `<pre data-voicevox-onnxruntime-terms><code>…`.
_TERMS = "data-voicevox-onnxruntime-terms"


def terms_block(body: str) -> str | None:
    """What the block of terms says; ``None`` where there is none.

    Raises ``ValueError`` where it is not clear what must be accepted: several blocks that differ,
    or one that never ends.
    """
    reader = _Blocks()
    reader.feed(body)
    reader.close()
    if reader.is_open:
        raise ValueError("its block of terms never ends")
    if len(set(reader.found)) > 1:
        raise ValueError(f"it has {len(reader.found)} blocks of terms that differ")
    return reader.found[0] if reader.found else None


class _Blocks(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._block = self._code = False

    def set_cdata_mode(self, elem: str, **_: object) -> None:
        """Stay in the mode of plain HTML: an open ``<script>`` must not swallow the block."""

    @property
    def is_open(self) -> bool:
        """Whether a block has begun and not ended."""
        return self._block

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "pre":
            self._block = self._block or _TERMS in dict(attrs)
        elif tag == "code" and self._block:
            self.found.append("")
            self._code = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "code":
            self._code = False
        elif tag == "pre":
            self._block = self._code = False

    def handle_data(self, data: str) -> None:
        if self._code:
            self.found[-1] += data
