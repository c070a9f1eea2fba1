"""Worker slots against jobs that hang, grow, crash, multiply and lie."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import until

from automl.errors import AutoMLError, SettingsError, StorageError
from automl.evaluation.launch import SupervisorProcess
from automl.evaluation.slots import Job, JobOutcome
from automl.evaluation.worker_pool import WorkerPool
from automl.records import TrialStatus

LIMIT_MIB = 150
LONG = 60.0
"""Limit of jobs that should end by other means; beyond what a busy machine needs for a message."""
HERE = Path(__file__).parent


def job(name: str, **payload: Any) -> Job:
    return Job(f"saboteurs:{name}", payload)


def make_pool(n_slots: int = 1, **options: Any) -> WorkerPool:
    settings: dict[str, Any] = {"libraries": ("numpy",), "memory_limit_mib": LIMIT_MIB, **options}
    return WorkerPool(n_slots, context="the table", **settings)


def is_alive(pid: int) -> bool:
    """Whether a process runs; an ended one that init has not yet collected does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def marked(marker: str) -> list[int]:
    """Processes that were started below a pool."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if marker.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        yield


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("slots") / "workers.log"


@pytest.fixture(scope="module")
def pool(importable: None, log: Path) -> Iterator[WorkerPool]:
    with make_pool(2, log_path=log) as pool:
        yield pool


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    path = tmp_path / "pids"
    path.touch()
    return path


def left(pids: Path) -> list[int]:
    return [pid for pid in map(int, pids.read_text().split()) if is_alive(pid)]


def assert_next_works(pool: WorkerPool, slot: int = 0) -> None:
    outcome = pool.run(slot, job("echo", number=7), limit_seconds=LONG)
    assert outcome.status is TrialStatus.COMPLETE, outcome
    assert outcome.results == [("the table", {"number": 7})]


def test_a_job_gets_context_and_payload_and_returns_one_result(pool: WorkerPool) -> None:
    outcome = pool.run(0, job("echo", x=[1, 2]), limit_seconds=LONG)
    assert outcome.status is TrialStatus.COMPLETE
    assert outcome.results == [("the table", {"x": [1, 2]})]
    assert outcome.reason == ""
    assert 0.0 < outcome.seconds < 30.0


CLOSING_SECONDS = 1.5
"""A job of these tests runs for a minute."""
SOON_SECONDS = 20.0
"""For the end of what nobody drives any more; it takes no second, and would last a minute by itself."""

ENDS: list[tuple[str, dict[str, Any], float | None, TrialStatus, str]] = [
    ("hang", {}, 0.2, TrialStatus.TIMED_OUT, "time limit"),
    ("spin_in_c", {}, 0.2, TrialStatus.TIMED_OUT, "time limit"),
    ("ignore_sigterm", {}, 0.2, TrialStatus.TIMED_OUT, "time limit"),
    ("block_signals", {}, 0.2, TrialStatus.TIMED_OUT, "time limit"),
    ("stop_itself", {}, 0.2, TrialStatus.TIMED_OUT, "time limit"),
    ("hog", {"mib": 10 * LIMIT_MIB}, 20.0, TrialStatus.OUT_OF_MEMORY, f"limit of {LIMIT_MIB} MiB"),
    ("hog_in_children", {"mib": 2 * LIMIT_MIB}, 20.0, TrialStatus.OUT_OF_MEMORY, "limit of"),
    ("ask_for_too_much", {}, 5.0, TrialStatus.OUT_OF_MEMORY, "Unable to allocate"),
    ("segfault", {}, None, TrialStatus.CRASHED, "SIGSEGV"),
    ("abort", {}, None, TrialStatus.CRASHED, "SIGABRT"),
    ("kill_group", {}, None, TrialStatus.KILLED, "SIGKILL"),
    ("leave", {}, None, TrialStatus.CRASHED, "code 3"),
    ("become_sleep", {}, None, TrialStatus.CRASHED, "channel"),
    ("close_descriptors", {}, None, TrialStatus.CRASHED, "channel"),
    ("write_everywhere", {}, None, TrialStatus.CRASHED, "channel"),
    ("system_exit", {}, None, TrialStatus.FAILED, "SystemExit: enough"),
    ("interrupt", {}, None, TrialStatus.FAILED, "KeyboardInterrupt"),
    ("mute", {}, None, TrialStatus.FAILED, "MuteError"),
    ("recurse", {}, None, TrialStatus.FAILED, "RecursionError"),
    ("unpicklable", {}, None, TrialStatus.FAILED, "TypeError"),
    ("unreadable", {}, None, TrialStatus.FAILED, "wrong place"),
    ("read_input", {}, None, TrialStatus.FAILED, "EOFError"),
    ("no_such_job", {}, None, TrialStatus.FAILED, "AttributeError"),
    ("fork_many", {"n": 20, "seconds": 60.0}, 0.4, TrialStatus.TIMED_OUT, "time limit"),
    ("rabbit", {"seconds": 60.0}, 0.3, TrialStatus.TIMED_OUT, "time limit"),
    ("change_session", {"seconds": 60.0}, 0.3, TrialStatus.TIMED_OUT, "time limit"),
]


@pytest.mark.parametrize(("name", "payload", "limit", "status", "reason"), ENDS)
def test_a_saboteur_ends_with_the_right_status_and_costs_only_its_own_trial(
    pool: WorkerPool,
    pids: Path,
    name: str,
    payload: dict[str, Any],
    limit: float | None,
    status: TrialStatus,
    reason: str,
) -> None:
    other: list[JobOutcome] = []
    bystander = threading.Thread(
        target=lambda: other.append(pool.run(1, job("surroundings"), limit_seconds=LONG))
    )
    bystander.start()
    outcome = pool.run(0, job(name, pids=str(pids), **payload), limit_seconds=limit)
    assert left(pids) == []
    bystander.join()
    assert outcome.status is status, outcome
    assert reason in outcome.reason
    assert outcome.seconds < (3.0 if limit is None or limit > 1.0 else limit + 1.0)
    assert other[0].status is TrialStatus.COMPLETE
    assert_next_works(pool)


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("change_session", {"seconds": 0.1}),
        ("change_session", {"seconds": 0.1, "daemonize": False}),
        ("fork_many", {"n": 10, "seconds": 0.0}),
        ("rabbit", {"seconds": 0.05}),
        ("share_with_children", {"mib": LIMIT_MIB // 2}),
        ("fork_and_return", {}),
    ],
)
def test_processes_left_by_a_complete_job_are_gone_when_run_returns(
    pool: WorkerPool, pids: Path, name: str, payload: dict[str, Any]
) -> None:
    outcome = pool.run(0, job(name, pids=str(pids), **payload), limit_seconds=LONG)
    assert left(pids) == []
    assert outcome.status is TrialStatus.COMPLETE, outcome
    assert outcome.results != ["child"]
    assert len(outcome.results) == 1
    assert_next_works(pool)
    assert pids.read_text()


def test_results_streamed_before_a_kill_survive(pool: WorkerPool, pids: Path) -> None:
    outcome = pool.run(0, job("stream_then_hang", n=3, pids=str(pids)), limit_seconds=3.0)
    assert outcome.status is TrialStatus.TIMED_OUT
    assert outcome.results == [0, 1, 2]


def test_an_exception_is_reported_with_its_first_line_and_traceback(pool: WorkerPool) -> None:
    outcome = pool.run(0, job("stream_then_raise"), limit_seconds=LONG)
    assert outcome.status is TrialStatus.FAILED
    assert outcome.reason == "ValueError: second"
    assert "stream_then_raise" in outcome.traceback
    assert outcome.results == [1]


def test_a_result_that_is_not_a_number_is_a_result(pool: WorkerPool) -> None:
    outcome = pool.run(0, job("not_a_number"), limit_seconds=LONG)
    assert outcome.status is TrialStatus.COMPLETE
    assert math.isnan(outcome.results[0])


def test_a_failed_job_keeps_its_worker(pool: WorkerPool) -> None:
    before = pool.run(0, job("worker_pid"), limit_seconds=LONG).results
    for name in ("system_exit", "interrupt", "unpicklable", "no_such_job", "mute"):
        pool.run(0, job(name), limit_seconds=LONG)
    assert pool.run(0, job("worker_pid"), limit_seconds=LONG).results == before


def test_what_a_job_changes_in_its_process_is_put_back(pool: WorkerPool) -> None:
    before = pool.run(0, job("surroundings"), limit_seconds=LONG)
    changed = pool.run(0, job("change_surroundings", seed=3), limit_seconds=LONG)
    after = pool.run(0, job("surroundings"), limit_seconds=LONG)
    assert changed.status is after.status is TrialStatus.COMPLETE
    assert after.results == before.results
    assert after.results[0]["folder"] == str(Path.cwd())


@pytest.mark.parametrize("name", ["leave_thread", "close_output"])
def test_a_worker_in_doubt_is_replaced(pool: WorkerPool, name: str) -> None:
    before = pool.run(0, job("worker_pid"), limit_seconds=LONG).results
    assert pool.run(0, job(name), limit_seconds=LONG).status is TrialStatus.COMPLETE
    assert pool.run(0, job("worker_pid"), limit_seconds=LONG).results != before


def test_a_worker_that_keeps_memory_is_replaced(pool: WorkerPool) -> None:
    before = pool.run(0, job("worker_pid"), limit_seconds=LONG).results
    outcome = pool.run(0, job("keep", mib=LIMIT_MIB * 2 // 3), limit_seconds=LONG)
    assert outcome.status is TrialStatus.COMPLETE
    assert outcome.peak_memory_mib == pytest.approx(LIMIT_MIB * 2 // 3, abs=10)
    assert pool.run(0, job("worker_pid"), limit_seconds=LONG).results != before


def test_much_output_goes_to_the_log_and_stays_bounded(pool: WorkerPool, log: Path) -> None:
    outcome = pool.run(0, job("flood", mib=40), limit_seconds=LONG)
    assert outcome.status is TrialStatus.COMPLETE
    until(lambda: log.stat().st_size < 64 << 20)
    assert_next_works(pool)


def test_warnings_are_collected_once_each_and_bounded(pool: WorkerPool) -> None:
    outcome = pool.run(0, job("warn", n=3), limit_seconds=LONG)
    assert outcome.warnings == tuple(f"UserWarning: number {i}" for i in range(3))
    assert len(pool.run(0, job("warn", n=1000), limit_seconds=LONG).warnings) == 20


def test_an_array_of_two_hundred_megabytes_comes_back_whole() -> None:
    with make_pool(memory_limit_mib=1000) as pool:
        outcome = pool.run(0, job("large", n=25_000_000), limit_seconds=LONG)
        assert outcome.status is TrialStatus.COMPLETE, outcome
        (values,) = outcome.results
        assert values.nbytes == 200_000_000
        assert values[-1] == 24_999_999
        values[0] = 1.0  # writable
        back = pool.run(0, job("echo", values=values), limit_seconds=LONG)
        assert back.results[0][1]["values"][0] == 1.0


def test_a_trivial_round_trip_is_short(pool: WorkerPool) -> None:
    seconds = [pool.run(0, job("echo"), limit_seconds=LONG).seconds for _ in range(200)]
    assert float(np.median(seconds)) < 0.005  # measured 0.0006; a busy machine is slower


def test_cancel_ends_the_running_job_only(pool: WorkerPool, pids: Path) -> None:
    pool.cancel(0)  # nothing runs: nothing happens
    assert_next_works(pool)
    canceller = threading.Thread(target=lambda: until(pids.read_text) and pool.cancel(0))
    canceller.start()
    outcome = pool.run(0, job("stream_then_hang", n=2, pids=str(pids)), limit_seconds=LONG)
    canceller.join()
    assert outcome.status is TrialStatus.FAILED
    assert outcome.is_cancelled
    assert outcome.reason == "cancelled"
    assert outcome.results == [0, 1]
    assert_next_works(pool)


def test_a_job_can_be_cancelled_by_the_thread_that_waits_for_it(pool: WorkerPool) -> None:
    def cancel() -> bool:
        pool.cancel(0)
        return False

    outcome = pool.run(0, job("hang"), limit_seconds=LONG, is_over=cancel)
    assert outcome.is_cancelled
    assert_next_works(pool)


def test_an_exception_while_waiting_ends_the_job_and_is_raised(
    pool: WorkerPool, pids: Path
) -> None:
    def refuse() -> bool:
        if pids.read_text():
            raise KeyboardInterrupt
        return False

    endless = job("announce", pids=str(pids), seconds=2 * LONG)
    with pytest.raises(KeyboardInterrupt):
        pool.run(0, endless, limit_seconds=LONG, is_over=refuse)
    assert left(pids) == []
    assert_next_works(pool)


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_full_disk_is_no_fault_of_the_job(pool: WorkerPool, is_ours: bool) -> None:
    with pytest.raises(StorageError, match="No space left on device"):
        pool.run(0, job("fill_disk", is_ours=is_ours), limit_seconds=LONG)
    assert_next_works(pool)


def test_an_idle_worker_that_is_killed_costs_no_trial(pool: WorkerPool) -> None:
    (pid,) = pool.run(0, job("worker_pid"), limit_seconds=LONG).results
    os.kill(pid, signal.SIGKILL)
    until(lambda: not is_alive(pid), pause=0.005)
    assert_next_works(pool)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize(
    ("n_kills", "status", "results"),
    [(1, TrialStatus.COMPLETE, ["awake"]), (2, TrialStatus.KILLED, [])],
)
def test_a_job_that_is_killed_from_outside_is_begun_once_more(
    pool: WorkerPool, pids: Path, number: int, n_kills: int, status: TrialStatus, results: list[str]
) -> None:
    outcomes: list[JobOutcome] = []
    waiting = job("announce", pids=str(pids), seconds=3.0)
    thread = threading.Thread(
        target=lambda: outcomes.append(pool.run(0, waiting, limit_seconds=LONG))
    )
    thread.start()
    for n_begun in range(1, n_kills + 1):
        until(lambda n=n_begun: len(pids.read_text().split()) == n, pause=0.005)
        os.kill(int(pids.read_text().split()[-1]), number)
    thread.join(LONG)
    (outcome,) = outcomes
    assert (outcome.status, outcome.results) == (status, results)
    assert len(pids.read_text().split()) == 2
    assert status is TrialStatus.COMPLETE or f"signal {number:d}" in outcome.reason


def test_a_job_that_is_killed_has_no_more_than_its_time(pool: WorkerPool, pids: Path) -> None:
    outcomes: list[JobOutcome] = []
    endless = job("announce", pids=str(pids), seconds=60.0)
    thread = threading.Thread(
        target=lambda: outcomes.append(pool.run(0, endless, limit_seconds=6.0))
    )
    started = time.monotonic()
    thread.start()
    until(lambda: len(pids.read_text().split()) == 1, 5.0, pause=0.005)
    os.kill(int(pids.read_text()), signal.SIGKILL)
    thread.join(LONG)
    assert outcomes[0].status is TrialStatus.TIMED_OUT
    assert time.monotonic() - started < 12.0


def test_many_threads_share_the_slots(pool: WorkerPool) -> None:
    counts = [0, 0]
    faults: list[JobOutcome] = []

    def work(number: int) -> None:
        for i in range(40):
            slot = pool.acquire()
            counts[slot] += 1
            assert counts[slot] == 1, "two jobs in one slot"
            outcome = pool.run(slot, job("echo", i=i, number=number), limit_seconds=LONG)
            counts[slot] -= 1
            pool.release(slot)
            if outcome.results != [("the table", {"i": i, "number": number})]:
                faults.append(outcome)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    slots = {pool.acquire(), pool.acquire()}
    assert slots == {0, 1}
    with pytest.raises(TimeoutError):
        pool.acquire(timeout=0.01)
    for slot in slots:
        pool.release(slot)


def test_random_cancels_never_confuse_a_slot(pool: WorkerPool) -> None:
    stop = threading.Event()

    def disturb() -> None:
        rng = np.random.default_rng(0)
        while not stop.wait(float(rng.uniform(0.0, 0.004))):
            pool.cancel(0)

    thread = threading.Thread(target=disturb)
    thread.start()
    outcomes = [pool.run(0, job("echo", i=i), limit_seconds=LONG) for i in range(150)]
    stop.set()
    thread.join()
    for i, outcome in enumerate(outcomes):
        assert outcome.is_cancelled or outcome.results == [("the table", {"i": i})]
    assert_next_works(pool)


def test_a_killed_or_stopped_supervisor_is_replaced(pids: Path) -> None:
    with make_pool(2) as pool:
        marker = pool._holder.supervisor.marker
        outcome = pool.run(
            0, job("kill_supervisor", pids=str(pids), with_child=True), limit_seconds=None
        )
        assert outcome.status is TrialStatus.KILLED
        assert "supervisor" in outcome.reason
        assert left(pids) == []
        assert marked(marker) == []
        assert_next_works(pool)
        stopped = pool.run(0, job("stop_supervisor_and_stream"), limit_seconds=0.2)
        assert stopped.status is TrialStatus.KILLED
        assert stopped.seconds < 6.0
        assert_next_works(pool, 1)


def test_a_supervisor_lost_again_and_again_is_an_error() -> None:
    with make_pool() as pool:
        for _ in range(2):  # each job is begun twice
            outcome = pool.run(0, job("kill_supervisor"), limit_seconds=None)
            assert outcome.status is TrialStatus.KILLED
        with pytest.raises(AutoMLError, match="lost 4 times in a row"):
            pool.run(0, job("echo"), limit_seconds=None)


def test_close_is_quick_cancels_what_runs_and_leaves_nothing(pids: Path) -> None:
    pool = make_pool(2)
    marker = pool._holder.supervisor.marker
    outcomes: list[JobOutcome] = []
    thread = threading.Thread(
        target=lambda: outcomes.append(
            pool.run(0, job("change_session", pids=str(pids), seconds=60.0), limit_seconds=None)
        )
    )
    thread.start()
    until(lambda: len(pids.read_text().split()) == 4)
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < CLOSING_SECONDS
    thread.join(LONG)
    assert outcomes[0].is_cancelled
    assert left(pids) == []
    assert marked(marker) == []
    pool.close()
    with pytest.raises(AutoMLError, match="closed"):
        pool.run(0, job("echo"), limit_seconds=1.0)
    with pytest.raises(AutoMLError, match="closed"):
        pool.acquire()


def test_a_supervisor_may_start_with_the_first_that_asks_for_a_worker() -> None:
    with WorkerPool(1, context="the table", libraries=(), starts_at_once=False) as pool:
        assert pool._holder.supervisor is None
        assert pool.run(0, job("echo"), limit_seconds=LONG).status is TrialStatus.COMPLETE
    with WorkerPool(1, context="", libraries=(), starts_at_once=False) as pool:
        until(lambda: pool.is_ready(0.1))
        assert pool._holder.supervisor.is_running
    pool = WorkerPool(1, context="", starts_at_once=False)
    pool.close()
    assert pool.is_ready(0.0)  # who then runs a job is told that it is closed
    assert pool._holder.supervisor is None


def test_close_does_not_wait_for_the_start() -> None:
    pool = WorkerPool(1, context="")
    outcomes: list[JobOutcome] = []
    thread = threading.Thread(
        target=lambda: outcomes.append(pool.run(0, job("echo"), limit_seconds=1.0))
    )
    thread.start()
    time.sleep(0.2)
    pool.close()
    assert not pool._holder.supervisor._ready  # its imports take seconds
    thread.join(LONG)
    assert outcomes[0].is_cancelled


def test_a_supervisor_that_is_killed_while_it_starts_is_replaced() -> None:
    with WorkerPool(1, context="the table") as pool:
        first = pool._holder.supervisor
        first.process.kill()
        assert pool.run(0, job("echo"), limit_seconds=LONG).status is TrialStatus.COMPLETE
        assert pool._holder.supervisor is not first


def test_supervisors_that_are_killed_again_and_again_while_they_start_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def started(*arguments: Any, **options: Any) -> SupervisorProcess:
        process = SupervisorProcess(*arguments, **options)
        process.process.kill()
        return process

    monkeypatch.setattr("automl.evaluation.worker_pool.SupervisorProcess", started)
    with (
        WorkerPool(1, context="") as pool,
        pytest.raises(AutoMLError, match="lost 4 times in a row"),
    ):
        pool.run(0, job("echo"), limit_seconds=LONG)


def test_a_supervisor_that_cannot_start_is_an_error_that_says_why() -> None:
    with make_pool(preload=("no_such_module",)) as pool:
        for _ in range(2):
            with pytest.raises(AutoMLError, match="No module named 'no_such_module'"):
                pool.run(0, job("echo"), limit_seconds=1.0)


def test_impossible_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="n_slots"):
        WorkerPool(0, context="")
    with pytest.raises(SettingsError, match="memory_limit_mib"):
        WorkerPool(1, context="", memory_limit_mib=0)
    with pytest.raises(SettingsError, match="log"):
        WorkerPool(1, context="", log_path=tmp_path / "missing" / "log")


def test_the_libraries_work_with_their_threads_after_the_fork() -> None:
    with WorkerPool(1, context="", threads=2) as pool:
        assert pool.run(0, job("supervisor_threads"), limit_seconds=LONG).results == [1]
        outcome = pool.run(0, job("libraries"), limit_seconds=LONG)
        assert outcome.status is TrialStatus.COMPLETE, outcome
        assert outcome.results == [{"finite": True, "threads": [2]}]


def start_script(text: str, folder: Path) -> subprocess.Popen[str]:
    path = folder / "script.py"
    path.write_text(textwrap.dedent(text))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    return subprocess.Popen(
        [sys.executable, str(path)],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def test_nothing_is_left_soon_after_the_driver_was_killed(tmp_path: Path, pids: Path) -> None:
    script = f"""
    import threading, time
    from automl.evaluation.slots import Job
    from automl.evaluation.worker_pool import WorkerPool
    pool = WorkerPool(3, context="", libraries=("numpy",))
    print(pool._holder.supervisor.marker, flush=True)
    jobs = [
        Job("saboteurs:change_session", {{"pids": {str(pids)!r}, "seconds": 60.0}}),
        Job("saboteurs:ignore_sigterm", {{}}),
        Job("saboteurs:fork_many", {{"pids": {str(pids)!r}, "n": 3, "seconds": 60.0}}),
    ]
    for slot, job in enumerate(jobs):
        threading.Thread(target=pool.run, args=(slot, job), kwargs={{"limit_seconds": None}}).start()
    time.sleep(60)
    """
    with start_script(script, tmp_path) as driver:
        assert driver.stdout is not None
        marker = driver.stdout.readline().strip()
        until(lambda: len(pids.read_text().split()) == 10)
        assert len(marked(marker)) >= 4
        driver.kill()
        driver.wait()
        until(lambda: not marked(marker) and not left(pids), SOON_SECONDS)


def test_a_driver_killed_while_its_supervisor_starts_leaves_nothing(tmp_path: Path) -> None:
    script = """
    import time
    from automl.evaluation.worker_pool import WorkerPool
    pool = WorkerPool(1, context="")
    print(pool._holder.supervisor.marker, flush=True)
    time.sleep(60)
    """
    with start_script(script, tmp_path) as driver:
        assert driver.stdout is not None
        marker = driver.stdout.readline().strip()
        until(lambda: marked(marker), pause=0.005)
        driver.kill()
        driver.wait()
        until(lambda: not marked(marker), SOON_SECONDS)


def test_an_unguarded_script_runs_once_survives_ctrl_c_and_leaves_nothing(
    tmp_path: Path, pids: Path
) -> None:
    script = f"""
    import signal
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    print("imported", __name__, flush=True)
    from automl.evaluation.slots import Job
    from automl.evaluation.worker_pool import WorkerPool
    pool = WorkerPool(1, context="", libraries=("numpy",))
    print(pool._holder.supervisor.marker, flush=True)
    print(pool.run(0, Job("operator:is_", {{}}), limit_seconds=60).results, flush=True)
    endless = Job("saboteurs:announce", {{"pids": {str(pids)!r}, "seconds": 600.0}})
    try:
        pool.run(0, endless, limit_seconds=None)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    print(pool.run(0, Job("operator:is_", {{}}), limit_seconds=60).results, flush=True)
    """
    with start_script(script, tmp_path) as driver:
        assert driver.stdout is not None
        lines = [driver.stdout.readline().strip() for _ in range(3)]
        until(pids.read_text)
        os.killpg(driver.pid, signal.SIGINT)
        rest, _ = driver.communicate(timeout=LONG)
    assert lines[0] == "imported __main__"
    assert lines[2] == "[False]"
    assert rest.split("\n") == ["interrupted", "[False]", ""]
    assert driver.returncode == 0
    assert marked(lines[1]) == []
