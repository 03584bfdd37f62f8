"""A stand-in for the core's downloader, by its contract of each generation, faults included.

It is written from what is known of the program's behaviour, not from its source. It is started
by a small file that ``world.install`` writes, which says the generation, where GitHub's API is,
and where the dictionary; so it needs nothing but the standard library.

What it copies of the original's faults: nobody looks at an HTTP status of a download, archives
are in memory as a whole, links and execute bits are lost, files are written piece by piece under
their final names, the additional libraries are looked up for every device but the CPU even where
they are not wanted, and up to 0.15 everything lies in one directory.
"""

from __future__ import annotations

import argparse
import fnmatch
import io
import json
import os
import platform
import re
import stat
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

from tests.standins.notes import library_in, terms_in

TARGETS = ("c-api", "onnxruntime", "additional-libraries", "models", "dict")
REPOSITORIES = {
    "c_api": "VOICEVOX/voicevox_core",
    "onnxruntime_builder": "VOICEVOX/onnxruntime-builder",
    "additional_libraries": "VOICEVOX/voicevox_additional_libraries",
    "models": "VOICEVOX/voicevox_vvm",
}
FOLDERS = {
    "c-api": "c_api", "onnxruntime": "onnxruntime",
    "additional-libraries": "additional_libraries", "models": "models", "dict": "dict",
}  # fmt: skip
DICTIONARY = "open_jtalk_dic_utf_8-1.11"
MODELS = {"first": ((0, 1), (0, 2)), "tries": ((0, 16), (0, 17)), "semver": ((0, 16), (0, 18))}
MAGIC = {"zip": b"PK\x03\x04", "tgz": b"\x1f\x8b\x08"}
HEADING = "# VOICEVOX"
_SEMVER = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_PIECE = 1 << 16


class Failed(Exception):
    """Ends the program with status 1."""


@dataclass
class World:
    """What the file that starts this knows."""

    generation: str
    api: str
    dictionary: str


def main(generation: str, *, api: str, dictionary: str = "", argv: list[str] | None = None) -> int:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # The original writes UTF-8 everywhere.
        stream.reconfigure(encoding="utf-8")
    world = World(generation, api, dictionary)
    arguments = parse(generation, sys.argv[1:] if argv is None else argv)
    try:
        (flat if generation == "flat" else foldered)(world, arguments)
    except Failed as failure:
        print(f"Error: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"Error: {error.strerror} (os error {error.errno})", file=sys.stderr)
        return 1
    return 0


# Arguments


def parse(generation: str, argv: list[str]) -> argparse.Namespace:
    """Like the original, it ends with status 2 for arguments that it does not take."""
    parser = argparse.ArgumentParser(prog="download", allow_abbrev=False)
    parser.add_argument("-o", "--output", default="./voicevox_core")
    parser.add_argument("--min", action="store_true")
    parser.add_argument("--cpu-arch", choices=["x86", "x64", "arm64"], default=host_arch())
    oses = ["windows", "linux", "osx"]
    oses += ["android", "ios"] if generation == "semver" else []
    parser.add_argument("--os", choices=oses, default=host_os())
    parser.add_argument("--additional-libraries-version", type=version(generation))
    devices = ["cpu", "cuda", "directml"]
    if generation == "flat":
        parser.add_argument("-v", "--version", default="latest")
        parser.add_argument("--device", choices=devices, default="cpu")
        return parser.parse_args(argv)
    parser.add_argument("--only", action="append", choices=TARGETS)
    parser.add_argument("--exclude", action="append", choices=TARGETS)
    parser.add_argument("--devices", action="append", choices=devices)
    parser.add_argument("--c-api-version", type=version(generation))
    parser.add_argument("--onnxruntime-version", type=version(generation))
    for name, repository in REPOSITORIES.items():
        parser.add_argument(f"--{name.replace('_', '-')}-repo", default=repository)
    if generation != "first":
        parser.add_argument("--models-version", type=version("semver"))
        parser.add_argument("--models-pattern", default="*")
        parser.add_argument("-t", "--tries", default="5", type=tries)
        parser.add_argument("-V", "--version", action="version", version="stand-in")
    if generation == "semver":
        kinds = ["voicevox-onnxruntime", "onnxruntime"]
        parser.add_argument("--onnxruntime-type", choices=kinds, default=kinds[0])
    found = parser.parse_args(argv)
    if sum(map(bool, (found.only, found.exclude, found.min))) > 1:
        parser.error("--only, --exclude and --min cannot be used with each other")
    if found.min and found.additional_libraries_version:
        parser.error("--min cannot be used with --additional-libraries-version")
    return found


def version(generation: str):
    def bare(text: str) -> str:
        if generation == "semver" and not _SEMVER.fullmatch(text):
            raise argparse.ArgumentTypeError(f"{text!r} is no semantic version")
        return text

    return bare


def tries(text: str) -> float:
    if text == "inf" or text == "0":
        return float("inf")
    if not text.isdigit():
        raise argparse.ArgumentTypeError("a number, or inf")
    return int(text)


def host_os() -> str:
    return {"win32": "windows", "darwin": "osx"}.get(sys.platform, "linux")


def host_arch() -> str:
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x64"


# GitHub


def ask(world: World, path: str) -> object:
    """The API, whose status it does look at."""
    request = urllib.request.Request(f"{world.api}repos/{path}")
    request.add_header("Accept", "application/vnd.github+json")
    names = ["GITHUB_TOKEN"] if world.generation in ("flat", "first") else []
    for name in names or ["GH_TOKEN", "GITHUB_TOKEN"]:
        if os.environ.get(name):
            request.add_header("Authorization", f"Bearer {os.environ[name]}")
            break
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        try:
            message = json.loads(error.read())["message"]
        except (ValueError, KeyError):
            message = error.reason
        raise Failed(f"GitHub: {error.code} {message}") from None
    except (OSError, HTTPException) as error:
        # Nothing before the progress bar is tried again.
        raise Failed(f"GitHub: {error}") from None


def release(world: World, project: str, tag: str | None, within=None) -> dict:
    """A release by its tag, or the newest that is neither a draft nor a pre-release."""
    if tag is not None and tag != "latest":
        return ask(world, f"{project}/releases/tags/{tag}")
    rows = [
        row for row in ask(world, f"{project}/releases")
        if not row["draft"] and not row["prerelease"]
        and (within is None or within(row["tag_name"]))
    ]  # fmt: skip
    if not rows:
        raise Failed(f"{project}: could not find a release")
    return rows[0] if within is None else max(rows, key=lambda row: numbers(row["tag_name"]))


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:3]))


def asset_url(row: dict, name: str) -> str:
    for asset in row["assets"]:
        if asset["name"] == name:
            return asset["browser_download_url"]
    raise Failed(f"could not find the asset {name} in {row['tag_name']}")


def download(url: str) -> bytes:
    """All of it into memory; whatever the server answers is the file."""
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        return error.read()


# Archives


def extract(data: bytes, kind: str, output: Path, *, strip: bool = True) -> None:
    output.mkdir(parents=True, exist_ok=True)
    try:
        members = zip_members(data) if kind == "zip" else tar_members(data)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        raise Failed(f"invalid archive: {error}") from None
    for name, content in members:
        parts = name.split("/")[1 if strip else 0 :]
        if parts:
            write(output.joinpath(*parts), content)


def zip_members(data: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [
            (info.filename, archive.read(info))
            for info in archive.infolist()
            if not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16)
        ]


def tar_members(data: bytes) -> list[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return [
            (info.name, archive.extractfile(info).read())
            for info in archive.getmembers()
            if info.isfile()
        ]


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        for first in range(0, len(content), _PIECE):
            stream.write(content[first : first + _PIECE])


# Up to 0.15


def flat(world: World, arguments: argparse.Namespace) -> None:
    output = Path(arguments.output)
    core = release(world, REPOSITORIES["c_api"], arguments.version)
    word = arguments.device
    if arguments.os == "linux" and word == "cuda":
        word = "gpu"
    tag = core["tag_name"]
    name = f"voicevox_core-{arguments.os}-{arguments.cpu_arch}-{word}-{tag}.zip"
    jobs = [(asset_url(core, name), "zip", True)]
    if not arguments.min:
        if arguments.device != "cpu":
            jobs.append((libraries(world, arguments, [arguments.device])[0], "zip", True))
        jobs.append((world.dictionary, "tgz", False))
    for url, kind, strip in jobs:
        print(f"[*] {url}", file=sys.stderr)
        try:
            data = download(url)
        except (OSError, HTTPException) as error:
            raise Failed(f"{url}: {error}") from None
        extract(data, kind, output, strip=strip)


def libraries(world: World, arguments: argparse.Namespace, devices: list[str]) -> list[str]:
    project = getattr(arguments, "additional_libraries_repo", REPOSITORIES["additional_libraries"])
    row = release(world, project, arguments.additional_libraries_version)
    words = {"cuda": "CUDA", "directml": "DirectML"}
    return [
        asset_url(row, f"{words[device]}-{arguments.os}-{arguments.cpu_arch}.zip")
        for device in devices
    ]


# From 0.16 on


def foldered(world: World, arguments: argparse.Namespace) -> None:
    wanted = chosen(arguments)
    jobs: dict[str, list[tuple[str, str, str]]] = {}
    if "c-api" in wanted:
        row = release(world, arguments.c_api_repo, arguments.c_api_version)
        tag = row["tag_name"]
        name = f"voicevox_core-{arguments.os}-{arguments.cpu_arch}-{tag}.zip"
        jobs["c-api"] = [(asset_url(row, name), "zip", "")]
    terms = []
    if "models" in wanted:
        jobs["models"], text = models(world, arguments)
        terms.append(("音声モデル 利用規約", text))
    if "onnxruntime" in wanted:
        url, text = onnxruntime(world, arguments)
        jobs["onnxruntime"] = [(url, "tgz", "")]
        if text is not None:
            terms.append(("ONNX Runtime 利用規約", text))
    others = [device for device in arguments.devices or ["cpu"] if device != "cpu"]
    if others:
        # Even if they are not wanted.
        urls = libraries(world, arguments, others)
        if "additional-libraries" in wanted:
            jobs["additional-libraries"] = [(url, "zip", "") for url in urls]
    if "dict" in wanted:
        jobs["dict"] = [(world.dictionary, "tgz", "")]
    if terms:
        confirm(terms)
    for target, files in jobs.items():
        patiently(world, arguments, target, files)


def chosen(arguments: argparse.Namespace) -> list[str]:
    if arguments.min:
        return ["c-api"]
    if arguments.only:
        return arguments.only
    return [target for target in TARGETS if target not in (arguments.exclude or [])]


def onnxruntime(world: World, arguments: argparse.Namespace) -> tuple[str, str | None]:
    tag, prefix = arguments.onnxruntime_version, "voicevox_onnxruntime-"
    if world.generation == "semver" and tag is not None:
        tag = prefix + tag
    row = release(world, arguments.onnxruntime_builder_repo, tag)
    try:
        name = library_in(row["body"], arguments.os, arguments.cpu_arch, arguments.devices)
    except ValueError as error:
        raise Failed(str(error)) from None
    return asset_url(row, name), terms_in(row["body"])


def models(world: World, arguments: argparse.Namespace) -> tuple[list[tuple[str, str, str]], str]:
    low, high = MODELS[world.generation]

    def fits(tag: str) -> bool:
        return bool(_SEMVER.fullmatch(tag)) and low <= numbers(tag) < high

    project = arguments.models_repo
    if world.generation == "first":
        tags = [row["name"] for row in ask(world, f"{project}/tags") if fits(row["name"])]
        if not tags:
            raise Failed("could not find a tag of models")
        row = release(world, project, max(tags, key=numbers))
    else:
        row = release(world, project, arguments.models_version, fits)
    pattern = getattr(arguments, "models_pattern", "*")
    names = [
        asset["name"] for asset in row["assets"]
        if asset["name"].endswith(".vvm")
        and fnmatch.fnmatchcase(asset["name"].removesuffix(".vvm"), pattern)
    ]  # fmt: skip
    files = [(asset_url(row, name), "file", f"vvms/{name}") for name in names]
    texts = [(asset_url(row, name), "text", name) for name in ("README.txt", "TERMS.txt")]
    return [*texts, *files], download(texts[1][0]).decode()


def confirm(terms: list[tuple[str, str]]) -> None:
    """The text goes to standard output, the question to standard error."""
    while True:
        print("\x1b[1mダウンロードには次の利用規約への同意が必要です。\x1b[0m")
        for title, text in terms:
            print(f"{'─' * 40}\n  \x1b[33m{title}\x1b[0m\n{'─' * 40}")
            print(text.replace("\r\n", "\n").rstrip("\n"))
        print("─" * 40, flush=True)
        sys.stderr.write("同意しますか? [y,n,r]: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        answer = line.strip().lower()
        if not line:
            raise Failed("the answer could not be read: end of file")
        if answer in ("y", "yes"):
            return
        if answer in ("n", "no"):
            raise Failed("the terms were declined")
        if answer != "r":
            raise Failed(f"{answer!r} is no answer")


def patiently(
    world: World, arguments: argparse.Namespace, target: str, files: list[tuple[str, str, str]]
) -> None:
    """A target as a whole, again and again from its beginning."""
    output = Path(arguments.output) / FOLDERS[target]
    left = getattr(arguments, "tries", 1)
    while (failure := attempt(world, target, files, output)) is not None:
        left -= 1
        if left <= 0:
            raise failure
        print(f"{target}: {failure}; again", file=sys.stderr)


def attempt(
    world: World, target: str, files: list[tuple[str, str, str]], output: Path
) -> Failed | None:
    try:
        for url, kind, path in files:
            print(f"{target}: {url}", file=sys.stderr)
            bring(world, url, kind, output, path, strip=target != "dict")
    except Failed as failure:
        return failure
    except (urllib.error.URLError, HTTPException, ConnectionError) as error:
        return Failed(f"{url}: {error}")
    return None


def bring(world: World, url: str, kind: str, output: Path, path: str, *, strip: bool) -> None:
    data = download(url)
    if world.generation != "first":
        if kind in MAGIC and not data.startswith(MAGIC[kind]):
            raise Failed(f"{url} is no {kind}")
        if kind == "text" and not data.decode("utf-8", "replace").startswith(HEADING):
            raise Failed(f"{url} does not begin as it should")
    if path:
        write(output / path, data)
    else:
        extract(data, kind, output, strip=strip)
