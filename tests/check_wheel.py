"""`nox -s build`: the wheel works by itself, without the checkout around it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def main(directory: Path) -> None:
    (wheel,) = directory.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        venv.create(room / "venv", with_pip=True)
        python = room / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True)

        def run(*arguments: str) -> dict[str, object]:
            done = subprocess.run(
                [python, "-m", "vvbuild", *arguments, "--json"],
                cwd=room,
                stdout=subprocess.PIPE,
                check=True,
            )
            return json.loads(done.stdout)

        releases = run("releases")["releases"]
        targets = run("targets")["targets"]
        here = next(each["name"] for each in targets if each["freezes_here"])
        steps = run("plan", "--target", here)["steps"]
    print(f"{wheel.name}: {len(releases)} releases, {len(targets)} targets, {len(steps)} steps")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
