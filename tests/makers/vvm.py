"""Voice models as small as they can be."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence


def vvm_bytes(
    *,
    format: object = 1,  # noqa: A002 - what it is called
    characters: Mapping[str, Sequence[int]] | None = None,
    kind: str = "talk",
    without: str = "",
    **files: bytes,
) -> bytes:
    """A ``.vvm`` with characters: uuid → numbers of their styles, all of one ``kind``.

    ``format`` is its ``vvm_format_version``, ``None`` for none; ``without`` leaves a file out.
    """
    metas = [
        {"name": uuid[:4], "speaker_uuid": uuid, "version": "0.0.1",
         "styles": [{"name": str(number), "id": number, "type": kind} for number in numbers]}
        for uuid, numbers in (characters or {}).items()
    ]  # fmt: skip
    manifest: dict[str, object] = {"id": "x", "metas_filename": "metas.json"}
    if format is not None:
        manifest["vvm_format_version"] = format
    members = {
        "manifest.json": json.dumps(manifest).encode(),
        "metas.json": json.dumps(metas).encode(),
        **{name.replace("_", "."): data for name, data in files.items()},
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            if name != without:
                archive.writestr(name, data)
    return out.getvalue()
