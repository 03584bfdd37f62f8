import os
import subprocess
import sys
import time

import pytest

from vvbuild.runtime.cancel import Cancel
from vvbuild.smoke import processes
from vvbuild.smoke.quiet import RestFinder, Sample, Watch

linux = pytest.mark.skipif(not processes.visible(), reason="needs /proc")


def feed(states, step=0.002):
    """The moment of rest that a series of looks gives, as the number of a look."""
    finder, ticks = RestFinder(), 0.0
    for number, running in enumerate(states):
        ticks += step * 100 if running else 0
        rest = finder.feed(Sample(number * step, running, int(ticks)))
        if rest is not None:
            return round(rest.at / step)
    return None


def test_rest_begins_where_computing_ended():
    assert feed([True] * 30 + [False] * 60) == 30


def test_an_engine_that_computes_without_a_break_never_rests():
    assert feed([True] * 1000) is None


def test_a_short_pause_is_no_rest():
    assert feed(([True] * 10 + [False] * 20) * 20) is None


def test_a_servers_own_tick_does_not_end_the_rest():
    assert feed([True] * 10 + [False] * 20 + [True] + [False] * 60) == 10


def test_processor_time_without_a_running_thread_in_sight_is_no_rest():
    finder = RestFinder()
    assert not any(finder.feed(Sample(n * 0.002, False, n)) for n in range(200))


def test_a_thread_that_waits_for_a_processor_is_not_at_rest():
    finder = RestFinder()
    assert not any(finder.feed(Sample(n * 0.002, True, 0)) for n in range(200))


def test_few_looks_on_a_busy_machine_still_tell():
    assert feed([True] * 4 + [False] * 8, step=0.03) == 4


BURN = "import time\nend = time.thread_time() + {}\nwhile time.thread_time() < end: pass\n"


@pytest.fixture
def child():
    started = []

    def start(code):
        process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        started.append(process)
        return process

    yield start
    for process in started:
        os.killpg(process.pid, 9)
        process.wait()


@linux
def test_a_real_child_rests_after_the_processor_time_it_wanted(child):
    process = child(BURN.format(0.5) + "time.sleep(600)")
    watch = Watch(process.pid)
    time.sleep(0.1)
    rest = watch.wait_for_rest(time.perf_counter(), 60, Cancel())
    assert rest is not None
    # Its own start costs processor time too, more of it on a busy machine.
    assert 0.4 < rest.spent / processes.ticks_per_second() < 3


@linux
def test_a_child_that_goes_on_is_not_at_rest_within_the_limit(child):
    process = child(BURN.format(600))
    time.sleep(0.3)
    assert Watch(process.pid).wait_for_rest(time.perf_counter(), 0.5, Cancel()) is None


@linux
def test_a_worker_that_was_ended_is_at_rest_though_its_successor_computes(child):
    code = (
        "import subprocess, sys, time\n"
        f"burn = [sys.executable, '-c', {BURN.format(600)!r}]\n"
        "worker = subprocess.Popen(burn)\n"
        "sys.stdin.readline()\n"
        "worker.kill(); worker.wait(); subprocess.Popen(burn); time.sleep(600)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        watch = Watch(process.pid)
        while watch.spent() < 20:
            time.sleep(0.05)
        worker = set(processes.group_members(process.pid)) - {process.pid}
        left = time.perf_counter()
        process.stdin.write(b"\n")
        process.stdin.flush()
        while not (successor := set(processes.group_members(process.pid)) - {process.pid} - worker):
            time.sleep(0.01)
        assert watch.wait_for_rest(left, 30, Cancel()) is not None
        assert successor <= set(processes.group_members(process.pid))
    finally:
        os.killpg(process.pid, 9)
        process.wait()
        process.stdin.close()
