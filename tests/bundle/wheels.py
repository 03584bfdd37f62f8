"""Writes small wheels, and serves them as a package index on loopback."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.server.http import LoopbackServer, Resource


@dataclass(frozen=True)
class Wheel:
    """A file of an index, and the package that it is."""

    project: str
    version: str
    path: Path

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    @property
    def requirement(self) -> str:
        return f"{self.project}=={self.version} --hash=sha256:{self.sha256}\n"


def write_wheel(
    folder: Path,
    project: str,
    version: str = "1.0",
    *,
    files: Mapping[str, str] | None = None,
    tag: str = "py3-none-any",
    scripts: Iterable[str] = (),
    requires: Iterable[str] = (),
) -> Wheel:
    """A wheel with some files and console scripts."""
    info = f"{project}-{version}.dist-info"
    contents = dict(files or {f"{project}/__init__.py": f"NAME = {project!r}\n"})
    lines = ["Metadata-Version: 2.1", f"Name: {project}", f"Version: {version}"]
    lines += [f"Requires-Dist: {name}" for name in requires]
    contents[f"{info}/METADATA"] = "\n".join(lines) + "\n"
    contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"
    if scripts:
        entries = "\n".join(f"{name} = {project}:main" for name in scripts)
        contents[f"{info}/entry_points.txt"] = f"[console_scripts]\n{entries}\n"
    record = "".join(f"{name},{_digest(text)},{len(text)}\n" for name, text in contents.items())
    contents[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    path = folder / f"{project}-{version}-{tag}.whl"
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in contents.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), text)
    return Wheel(project, version, path)


def serve(server: LoopbackServer, wheels: Iterable[Wheel]) -> str:
    """Put wheels on a server as a simple index; returns its address."""
    pages: dict[str, list[str]] = {}
    for wheel in wheels:
        server.resources[f"/files/{wheel.path.name}"] = Resource(wheel.path)
        address = server.url(f"/files/{wheel.path.name}")
        link = f'<a href="{address}#sha256={wheel.sha256}">{wheel.path.name}</a>'
        pages.setdefault(wheel.project, []).append(link)
    for project, links in pages.items():
        body = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()
        server.resources[f"/simple/{project}/"] = Resource(body, content_type="text/html")
    return server.url("/simple/")


def _digest(text: str) -> str:
    raw = hashlib.sha256(text.encode()).digest()
    return f"sha256={base64.urlsafe_b64encode(raw).rstrip(b'=').decode()}"
