"""Options that several commands share, each spelled once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Target = Annotated[
    str, typer.Option("--target", "-t", help="What the bundle is for; `vvbuild targets` lists.")
]
Release = Annotated[
    str | None,
    typer.Option(
        "--release",
        "-r",
        help="A release or a manifest's file; by default the checkout's vvbuild.toml, else sample.",
    ),
]
Python = Annotated[
    Path | None,
    typer.Option("--python", help="The Python to freeze with, instead of the one that runs this."),
]
Archive = Annotated[
    str | None,
    typer.Option("--archive", help="Formats, such as vvpp,7z; by default the release's."),
]
Fetch = Annotated[
    Literal["auto", "downloader", "direct"],
    typer.Option("--fetcher", help="Who brings what the core's own downloader can bring."),
]
AcceptTerms = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-terms",
        metavar="[SHA256]",
        help="Accept the terms in the lock, or with a digest that text. Repeatable.",
    ),
]
AllowUnlocked = Annotated[
    bool,
    typer.Option(
        "--allow-unlocked", help="Take what no lock vouches for as it is now; it is recorded."
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Use only what is in the store.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Steps side by side.")]
