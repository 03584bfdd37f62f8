"""A GitHub on loopback: releases as its REST API tells them, downloads as its web server does."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from itertools import count

from tests.server.faults import Fault, Redirect, Status
from tests.server.http import LoopbackServer

_JSON = "application/json; charset=utf-8"


@dataclass
class Upload:
    """An asset: what is downloaded, and what the API says of it."""

    id: int
    body: bytes
    digest: str | None
    size: int
    state: str = "uploaded"
    updated_at: str = "2026-01-02T03:04:05Z"


@dataclass
class Published:
    """A release of a repository."""

    id: int
    tag: str
    assets: dict[str, Upload]
    prerelease: bool = False
    draft: bool = False
    published_at: str | None = "2026-01-02T03:04:05Z"
    body: str | None = None


@dataclass
class LoopbackGitHub:
    """Serves releases below ``/api/`` and their assets below ``/gh/``.

    Downloads are redirected to ``storage``, another origin, as GitHub's are.
    """

    server: LoopbackServer
    storage: LoopbackServer
    per_page: int = 100
    _repositories: dict[str, dict[str, Published]] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def api(self) -> str:
        return self.server.url("/api/")

    @property
    def web(self) -> str:
        return self.server.url("/gh/")

    # What is there

    def release(
        self,
        project: str,
        tag: str,
        files: Mapping[str, bytes],
        *,
        digests: Mapping[str, str | None] | None = None,
        sizes: Mapping[str, int] | None = None,
        states: Mapping[str, str] | None = None,
        updated_at: str = "2026-01-02T03:04:05Z",
        **facts: object,
    ) -> None:
        """Publish a release, or publish it anew under the same tag.

        ``digests``, ``sizes`` and ``states`` replace what the API says of single assets.
        """
        assets = {}
        for name, body in files.items():
            digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
            assets[name] = Upload(
                id=next(self._ids),
                body=body,
                digest=(digests or {}).get(name, digest),
                size=(sizes or {}).get(name, len(body)),
                state=(states or {}).get(name, "uploaded"),
                updated_at=updated_at,
            )
        releases = self._repositories.setdefault(project, {})
        releases[tag] = Published(next(self._ids), tag, assets, **facts)
        self._publish(project)

    def replace(self, project: str, tag: str, name: str, body: bytes) -> None:
        """Upload other bytes under the name of an asset that is there."""
        release = self._repositories[project][tag]
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        release.assets[name] = Upload(next(self._ids), body, digest, len(body))
        self._publish(project)

    def delete(self, project: str, tag: str) -> None:
        """Take a release away with all its assets."""
        release = self._repositories[project].pop(tag)
        self.server.resources.pop(self._by_tag(project, tag))
        for name in release.assets:
            self.server.resources.pop(self._download(project, tag, name))
        self._publish(project)

    def play(
        self, project: str, tag: str | None, *script: Fault, always: Fault | None = None
    ) -> None:
        """Let the API play faults before it tells of a release, or of the list (``None``)."""
        path = self._list(project) if tag is None else self._by_tag(project, tag)
        resource = self.server.resources[path]
        resource.script.extend(script)
        if always is not None:
            resource.always = always

    # What was asked

    def asked(self, project: str, tag: str | None) -> int:
        """How often the API was asked for a release, or for the list (``None``)."""
        path = self._list(project) if tag is None else self._by_tag(project, tag)
        return len(self.server.asked(path))

    def downloads(self, name: str) -> int:
        """How often the bytes of an asset were asked for."""
        return len([each for each in self.storage.requests if each.path.endswith(f"/{name}")])

    # How it is served

    @staticmethod
    def _list(project: str) -> str:
        return f"/api/repos/{project}/releases"

    @classmethod
    def _by_tag(cls, project: str, tag: str) -> str:
        return f"{cls._list(project)}/tags/{tag}"

    @staticmethod
    def _download(project: str, tag: str, name: str) -> str:
        return f"/gh/{project}/releases/download/{tag}/{name}"

    def _publish(self, project: str) -> None:
        rows = []
        for release in reversed(self._repositories[project].values()):
            assets = self._assets(project, release)
            row = self._row(project, release, assets)
            rows.append(row)
            if not release.draft:
                self._json(self._by_tag(project, release.tag), row)
            self._pages(f"{self._list(project)}/{release.id}/assets", assets)
            for name, asset in release.assets.items():
                kept = self.storage.serve(f"/storage/{asset.id}/{name}", asset.body)
                path = self._download(project, release.tag, name)
                self.server.serve(path, b"", always=Redirect(f"{kept}?sig=secret"))
        self._pages(self._list(project), rows)
        tags: list[dict[str, object]] = [{"name": row["tag_name"]} for row in rows]
        self._pages(f"/api/repos/{project}/tags", tags)

    def _assets(self, project: str, release: Published) -> list[dict[str, object]]:
        return [
            {
                "id": asset.id,
                "name": name,
                "size": asset.size,
                "digest": asset.digest,
                "state": asset.state,
                "updated_at": asset.updated_at,
                "browser_download_url": self.server.url(self._download(project, release.tag, name)),
            }
            for name, asset in release.assets.items()
        ]

    def _row(
        self, project: str, release: Published, assets: list[dict[str, object]]
    ) -> dict[str, object]:
        return {
            "id": release.id,
            "tag_name": release.tag,
            "prerelease": release.prerelease,
            "draft": release.draft,
            "published_at": release.published_at,
            "body": release.body,
            "assets_url": self.server.url(f"{self._list(project)}/{release.id}/assets"),
            "assets": assets[: self.per_page],
        }

    def _pages(self, path: str, rows: list[dict[str, object]]) -> None:
        """A list in documents that name the next one."""
        size = self.per_page
        parts = [rows[first : first + size] for first in range(0, len(rows), size)] or [[]]
        for number, part in enumerate(parts, 1):
            where = path if number == 1 else f"{path}?per_page={size}&page={number}"
            following = self.server.url(f"{path}?per_page={size}&page={number + 1}")
            more = {"Link": f'<{following}>; rel="next"'} if number < len(parts) else {}
            self._json(where, part, headers=more)

    def _json(self, path: str, value: object, **facts: object) -> None:
        """Serve a document; what a test lets the path play stays."""
        before = self.server.resources.get(path)
        self.server.serve(path, json.dumps(value).encode(), content_type=_JSON, **facts)
        if before is not None:
            self.server.resources[path].script = before.script
            self.server.resources[path].always = before.always


def limit_reached(seconds: float, *, status: int = 403, skew: float = 0.0) -> Status:
    """The answer of GitHub's API to one request too many: again in ``seconds``, by its clock."""
    now = time.time() + skew
    headers = {
        "Date": formatdate(now, usegmt=True),
        "x-ratelimit-limit": "60",
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": str(int(now + seconds)),
    }
    return Status(status, headers, b'{"message": "API rate limit exceeded for 192.0.2.1."}')


def too_fast(retry_after: int | None, *, status: int = 403) -> Status:
    """Its answer to requests that follow each other too fast, a secondary limit."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Status(status, headers, b'{"message": "You have exceeded a secondary rate limit."}')
