import http.client
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

import vvbuild

PACKAGE = Path(vvbuild.__file__).parent
LIBRARY = {"win32": "onnxruntime.dll", "darwin": "libonnxruntime.dylib"}.get(
    sys.platform, "libonnxruntime.so"
)
NO_CACHE = shutil.ignore_patterns("__pycache__")


def stage(root):
    """Put the engine's files and what it needs of vvbuild where a build would put them."""
    shutil.copytree(PACKAGE / "sample_engine", root, ignore=NO_CACHE)
    (root / "vvbuild").mkdir()
    shutil.copy(PACKAGE / "__init__.py", root / "vvbuild")
    shutil.copytree(PACKAGE / "ort", root / "vvbuild" / "ort", ignore=NO_CACHE)
    return root


@pytest.fixture(scope="session")
def ort_path():
    spec = importlib.util.find_spec("onnxruntime")
    capi = Path(spec.submodule_search_locations[0]) / "capi"
    for pattern in ("libonnxruntime.so.*", "libonnxruntime.*.dylib", "onnxruntime.dll"):
        for path in capi.glob(pattern):
            return path
    raise AssertionError("the onnxruntime wheel holds no library")


@pytest.fixture(scope="session")
def bare_root(tmp_path_factory):
    """An engine without ONNX Runtime. Tests that change it take a copy."""
    return stage(tmp_path_factory.mktemp("bare") / "engine")


@pytest.fixture(scope="session")
def library_dir(tmp_path_factory, ort_path):
    """A directory with ONNX Runtime under the name that the engine opens."""
    directory = tmp_path_factory.mktemp("runtime")
    shutil.copy(ort_path, directory / LIBRARY)
    return directory


@pytest.fixture(scope="session")
def engine_root(tmp_path_factory, library_dir):
    root = stage(tmp_path_factory.mktemp("whole") / "engine")
    shutil.copy(library_dir / LIBRARY, root / LIBRARY)
    return root


@pytest.fixture
def altered_root(bare_root, tmp_path):
    """A copy of the engine to break; it needs ``--runtime_dir``."""
    return Path(shutil.copytree(bare_root, tmp_path / "engine"))


def run_engine(root, *arguments, env=None, timeout=60):
    """Run the engine to its end."""
    return subprocess.run(
        [sys.executable, str(root / "run.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=_environment(env),
        cwd=root.parent,
    )


@pytest.fixture(scope="session")
def run_to_end():
    return run_engine


def _environment(extra):
    # Without PYTHONPATH the staged copy of vvbuild is the only one.
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" and not k.startswith("VV_")}
    return {**kept, "PYTHONUNBUFFERED": "1", **(extra or {})}


class Engine:
    """A running engine."""

    def __init__(self, root, log, *arguments, env=None):
        self.log = log
        with log.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, str(root / "run.py"), *map(str, arguments)],
                stdout=subprocess.DEVNULL,
                stderr=sink,
                env=_environment(env),
                cwd=root.parent,
            )
        try:
            self.url = self.wait_for(r"running on (http://[^ ]+)")[1]
        except BaseException:
            self.kill()
            raise
        self.client = httpx.Client(base_url=self.url, timeout=60, trust_env=False)

    @property
    def port(self):
        return int(self.url.rsplit(":", 1)[1])

    def read_log(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, pattern, count=1, seconds=60):
        """The ``count``-th match of a pattern in the log, as soon as it is there."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = list(re.finditer(pattern, self.read_log()))
            if len(found) >= count:
                return found[count - 1]
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"{pattern!r} is not {count} times in the log:\n{self.read_log()}")

    def query(self, text, speaker=0, **changes):
        status, answer = self.ask_query(text, speaker)
        assert status == 200, answer
        return {**answer, **changes}

    def ask_query(self, text, speaker=0):
        # httpx refuses addresses as long as the longest text makes them.
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with closing(connection):
            params = urlencode({"text": text, "speaker": speaker})
            connection.request("POST", f"/audio_query?{params}")
            answer = connection.getresponse()
            return answer.status, json.load(answer)

    def speak(self, query, speaker=0, path="/synthesis"):
        answer = self.client.post(path, params={"speaker": speaker}, json=query)
        answer.raise_for_status()
        return answer.content

    def stop(self, number=signal.SIGTERM, seconds=30):
        """Ask it to end; gives the exit status."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Launcher:
    """Starts engines, each on a free port of its own choice, and ends them."""

    def __init__(self, directory):
        self.directory = directory
        self.running = []

    def __call__(self, root, *arguments, env=None):
        log = self.directory / f"engine{len(self.running)}.log"
        if "--port" not in arguments and "VV_PORT" not in (env or {}):
            arguments = ("--port", "0", *arguments)
        self.running.append(Engine(root, log, *arguments, env=env))
        return self.running[-1]

    def end(self):
        for engine in self.running:
            engine.client.close()
            engine.kill()


@pytest.fixture
def start_engine(tmp_path):
    """Start engines that do not outlive the test."""
    launcher = Launcher(tmp_path)
    yield launcher
    launcher.end()


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    """Start engines that do not outlive the module."""
    launcher = Launcher(tmp_path_factory.mktemp("engines"))
    yield launcher
    launcher.end()


@pytest.fixture(scope="session")
def engine(engine_root, tmp_path_factory):
    """One engine for all tests that only ask it something."""
    launcher = Launcher(tmp_path_factory.mktemp("engine"))
    yield launcher(engine_root, "--cpu_num_threads", "2")
    launcher.end()
