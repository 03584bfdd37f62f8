import http.client
import json
import re
import signal
import time
from contextlib import suppress

import pytest

# Over forty minutes of sound: whoever waits for it waits for much longer than any timeout here.
ENDLESS = "じゅげむじゅげむごこうのすりきれ" * 1250
CANCELLED = r"cancelled after (\d+) ms"


@pytest.fixture(scope="module")
def busy(launch, engine_root):
    """An engine with two workers for tests that leave it idle again."""
    return launch(engine_root, "--cpu_num_threads", "1")  # never fewer than two


@pytest.fixture(scope="module")
def long_query(busy):
    return json.dumps(busy.query(ENDLESS))


class Cancelled:
    """The cancellations that an engine has logged since this was made."""

    def __init__(self, engine):
        self.engine = engine
        self.before = len(re.findall(CANCELLED, engine.read_log()))

    def wait_for(self, count, seconds=60):
        self.engine.wait_for(CANCELLED, self.before + count, seconds)


def begin(engine, body, path="/cancellable_synthesis"):
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=60)
    connection.request("POST", f"{path}?speaker=0", body, {"content-type": "application/json"})
    return connection


def wait_until_computing(engine, count):
    """Until the process has spent processor time on inference."""
    import psutil

    process = psutil.Process(engine.process.pid)
    start = sum(process.cpu_times()[:2])
    while sum(process.cpu_times()[:2]) < start + 0.5 * count:
        time.sleep(0.02)


def test_a_client_that_leaves_stops_the_inference_and_frees_the_worker(busy, long_query):
    cancelled = Cancelled(busy)
    for turn in (1, 2):
        # As many as there are workers, so that a single one that goes on would be noticed.
        leaving = [begin(busy, long_query) for _ in range(2)]
        wait_until_computing(busy, 2)
        for connection in leaving:
            connection.close()
        cancelled.wait_for(2 * turn)
        assert len(busy.speak(busy.query("つぎ"))) > 1000


def test_a_request_that_waits_for_a_worker_is_forgotten_when_its_client_leaves(busy, long_query):
    cancelled = Cancelled(busy)
    computing = [begin(busy, long_query) for _ in range(2)]
    wait_until_computing(busy, 2)
    # When exactly a request is in the queue is not ours to know: before that it is dropped
    # without a word.
    for patience in (0.1, 0.3, 1.0, 3.0):
        waiting = begin(busy, long_query)
        time.sleep(patience)
        waiting.close()
        with suppress(AssertionError):
            cancelled.wait_for(1, seconds=3)
            break
    cancelled.wait_for(1)
    for connection in computing:
        connection.close()
    cancelled.wait_for(3)
    assert len(busy.speak(busy.query("つぎ"))) > 1000


def test_questions_are_answered_while_all_workers_compute(busy, long_query):
    cancelled = Cancelled(busy)
    computing = [begin(busy, long_query) for _ in range(2)]
    wait_until_computing(busy, 2)
    assert busy.client.get("/version").status_code == 200
    assert busy.query("まだ")["accent_phrases"]
    for connection in computing:
        connection.close()
    cancelled.wait_for(2)


def test_two_requests_are_computed_at_once(busy, long_query):
    cancelled = Cancelled(busy)
    long = begin(busy, long_query)
    wait_until_computing(busy, 1)
    assert len(busy.speak(busy.query("となり"))) > 1000
    long.close()
    cancelled.wait_for(1)


@pytest.mark.parametrize(
    ("number", "path"),
    [(signal.SIGTERM, "/synthesis"), (signal.SIGINT, "/cancellable_synthesis")],
)
def test_a_signal_ends_the_engine_during_an_inference(
    start_engine, engine_root, long_query, number, path
):
    engine = start_engine(engine_root)
    connection = begin(engine, long_query, path)
    wait_until_computing(engine, 1)
    assert engine.stop(number) == 0
    answer = connection.getresponse()
    assert (answer.status, json.load(answer)) == (503, {"detail": "the engine is about to end"})
    assert "Traceback" not in engine.read_log()


def test_a_signal_ends_an_idle_engine(start_engine, engine_root):
    engine = start_engine(engine_root)
    assert engine.client.get("/version").status_code == 200  # and its connection stays open
    assert engine.stop() == 0
    assert "Traceback" not in engine.read_log()
