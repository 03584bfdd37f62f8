"""Fixtures for every test; they live beside what they are about."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parent.parent)
if _ROOT not in sys.path:
    # `pytest` does not look into the working directory, `python -m pytest` does.
    sys.path.insert(0, _ROOT)

# A shell that starts the tests in the background lets them ignore Ctrl-C, and every child would
# inherit that; the tests of interruptions need the usual meaning.
signal.signal(signal.SIGINT, signal.default_int_handler)

# On GitHub Actions the commands under test would speak its language, and write into the summary
# of the job that tests them; the tests of that set these variables themselves.
for _name in [name for name in os.environ if name.startswith("GITHUB_")]:
    del os.environ[_name]

pytest_plugins = ["tests.server.plugin", "tests.workshop"]
