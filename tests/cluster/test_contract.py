"""What every provider of slots keeps to: this machine's pool, and a Dask cluster."""

from __future__ import annotations

import importlib
import threading
import time
from pathlib import Path

import pytest
from distributed import Client
from waiting import until

from automl.errors import AutoMLError, StorageError
from automl.evaluation.exchange import OVER
from automl.evaluation.slots import Job
from automl.home import RunFolder
from automl.records import TrialStatus
from automl.settings import Settings
from automl_tasks.run_slots import run_slots

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

SABOTEURS = Path(__file__).parents[1] / "evaluation"
LIMIT_MIB = 150
LONG = 60.0
"""Limit of jobs that should end by other means; beyond what a busy machine needs for a message."""


def make_slots(folder: Path, address: str | None):
    folder.mkdir()
    settings = Settings(table="t.csv", target="y", workers=2, memory_mib=LIMIT_MIB, cluster=address)
    return run_slots(settings, RunFolder(folder), starts_at_once=True)


@pytest.fixture(scope="module", params=["this machine", "Dask"])
def slots(request, tmp_path_factory):
    address = request.getfixturevalue("cluster").address if request.param == "Dask" else None
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SABOTEURS))
        made = make_slots(tmp_path_factory.mktemp("slots") / "20260101-000000-abcd", address)
        until(lambda: made.is_ready(0.5), 240.0)
        yield made
        made.close()


@pytest.fixture
def slot(slots):
    taken = slots.acquire(LONG)
    yield taken
    slots.release(taken)


@pytest.fixture
def pids(tmp_path):
    """Where a job writes its process once it runs."""
    path = tmp_path / "pids"
    path.touch()
    return path


def job(name, **payload):
    return Job(f"saboteurs:{name}", payload)


def assert_next_works(slots, slot):
    outcome = slots.run(slot, job("echo", number=7), limit_seconds=LONG)
    assert outcome.status is TrialStatus.COMPLETE, outcome
    assert outcome.results[0][1] == {"number": 7}


def test_a_job_gets_the_run_folder_and_its_payload(slots, slot):
    outcome = slots.run(slot, job("echo", x=[1, 2]), limit_seconds=LONG)
    assert outcome.status is TrialStatus.COMPLETE
    ((context, payload),) = outcome.results
    assert Path(context).name == "20260101-000000-abcd"
    assert payload == {"x": [1, 2]}
    assert 0.0 < outcome.seconds < LONG


@pytest.mark.parametrize(
    ("name", "payload", "limit", "status", "reason"),
    [
        ("hang", {}, 0.3, TrialStatus.TIMED_OUT, "over the time limit of 0.3 s"),
        ("hog", {"mib": 900}, LONG, TrialStatus.OUT_OF_MEMORY, f"limit of {LIMIT_MIB} MiB"),
        ("segfault", {}, None, TrialStatus.CRASHED, "SIGSEGV"),
        ("kill_group", {}, None, TrialStatus.KILLED, "SIGKILL"),
        ("no_such_job", {}, None, TrialStatus.FAILED, "AttributeError"),
    ],
)
def test_a_job_that_ends_badly_costs_itself_alone(
    slots, slot, name, payload, limit, status, reason
):
    outcome = slots.run(slot, job(name, **payload), limit_seconds=limit)
    assert outcome.status is status, outcome
    assert reason in outcome.reason
    assert not outcome.is_cancelled
    assert_next_works(slots, slot)


def test_results_stay_when_the_thread_that_waits_for_the_job_cancels_it(slots, slot, pids):
    def cancel():
        if pids.read_text():
            slots.cancel(slot)
        return False

    stream = job("stream_then_hang", n=3, pids=str(pids))
    outcome = slots.run(slot, stream, limit_seconds=LONG, is_over=cancel)
    assert outcome.results == [0, 1, 2]
    assert outcome.is_cancelled
    assert outcome.status is TrialStatus.FAILED
    assert_next_works(slots, slot)


def test_a_job_ends_when_its_time_is_over_before_its_limit(slots, slot, pids):
    stream = job("stream_then_hang", n=2, pids=str(pids))
    started = time.monotonic()
    outcome = slots.run(slot, stream, limit_seconds=LONG, is_over=lambda: bool(pids.read_text()))
    assert time.monotonic() - started < LONG
    assert outcome.status is TrialStatus.TIMED_OUT
    assert outcome.reason == OVER
    assert not outcome.is_cancelled
    assert outcome.results == [0, 1]
    assert_next_works(slots, slot)


def test_a_job_that_ends_in_time_is_complete(slots, slot):
    outcome = slots.run(slot, job("echo"), limit_seconds=LONG, is_over=lambda: False)
    assert outcome.status is TrialStatus.COMPLETE


def test_a_job_that_ends_before_it_can_be_ended_is_complete(slots, slot):
    asked = []

    def is_over():
        asked.append(time.sleep(3.0))  # the job ends meanwhile
        return True

    outcome = slots.run(slot, job("pause", seconds=1.5), limit_seconds=LONG, is_over=is_over)
    assert asked
    assert outcome.status is TrialStatus.COMPLETE, outcome
    assert outcome.results == ["done"]
    assert_next_works(slots, slot)


def test_an_exception_of_the_job_has_its_traceback(slots, slot):
    outcome = slots.run(slot, job("stream_then_raise"), limit_seconds=LONG)
    assert outcome.results == [1]
    assert outcome.reason == "ValueError: second"
    assert "stream_then_raise" in outcome.traceback


def test_an_exception_while_waiting_ends_the_job_and_is_raised(slots, slot, pids):
    def refuse():
        if pids.read_text():
            raise RuntimeError("enough")
        return False

    endless = job("announce", pids=str(pids), seconds=2 * LONG)
    with pytest.raises(RuntimeError, match="enough"):
        slots.run(slot, endless, limit_seconds=LONG, is_over=refuse)
    assert not Path("/proc", pids.read_text().strip()).exists()
    assert_next_works(slots, slot)


def test_cancel_ends_the_running_job_only(slots, slot, pids):
    slots.cancel(slot)  # nothing runs
    assert_next_works(slots, slot)
    endless = job("announce", pids=str(pids), seconds=2 * LONG)
    canceller = threading.Thread(target=lambda: until(pids.read_text) and slots.cancel(slot))
    canceller.start()
    outcome = slots.run(slot, endless, limit_seconds=LONG)
    canceller.join()
    assert outcome.is_cancelled
    assert outcome.reason == "cancelled"
    assert_next_works(slots, slot)


def test_a_full_disk_is_no_fault_of_the_job(slots, slot):
    with pytest.raises(StorageError, match="No space left"):
        slots.run(slot, job("fill_disk", is_ours=True), limit_seconds=LONG)
    assert_next_works(slots, slot)


def test_slots_are_taken_one_by_one(slots):
    until(lambda: slots.n_slots >= 2)
    taken = [slots.acquire(LONG), slots.acquire(LONG)]
    assert len(set(taken)) == 2
    with pytest.raises(TimeoutError):
        slots.acquire(0.05)
    slots.release(taken[0])
    again = slots.acquire(LONG)
    for each in (again, taken[1]):
        slots.release(each)


def test_close_ends_jobs_of_other_threads(slots, request, tmp_path):
    is_far = "Dask" in request.node.name
    address = request.getfixturevalue("cluster").address if is_far else None
    others = make_slots(tmp_path / "20260101-000001-abcd", address)
    slot, outcomes = others.acquire(LONG), []
    run = threading.Thread(
        target=lambda: outcomes.append(others.run(slot, job("hang"), limit_seconds=None))
    )
    run.start()
    until(lambda: others.is_ready(0.5), 240.0)
    time.sleep(0.5)
    others.close()
    run.join(LONG)
    assert [outcome.is_cancelled for outcome in outcomes] == [True]
    others.close()  # once more is no matter
    with pytest.raises(AutoMLError, match="closed"):
        others.acquire()
    assert not list((tmp_path / "20260101-000001-abcd").glob(".cluster-*"))


def test_a_job_that_waits_for_another_worker_ends_with_its_time(
    empty_cluster, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(str(SABOTEURS))
    worker = empty_cluster.worker()
    empty_cluster.wait_for_workers(1)
    made = make_slots(tmp_path / "20260101-000000-abcd", empty_cluster.address)
    try:
        taken = made.acquire(LONG)
        lost = threading.Timer(2.0, empty_cluster.stop, [worker])
        lost.start()
        over = time.monotonic() + 8.0
        outcome = made.run(
            taken,
            job("pause", seconds=2 * LONG),
            limit_seconds=2 * LONG,
            is_over=lambda: not made._members.addresses and time.monotonic() > over,
        )
        assert over < time.monotonic() < over + LONG / 2
    finally:
        made.close()
    assert (outcome.status, outcome.reason) == (TrialStatus.TIMED_OUT, OVER)


def test_a_job_has_its_time_from_when_its_worker_says_that_it_began(
    empty_cluster, pids, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(str(SABOTEURS))
    monkeypatch.setattr("automl_tasks.cluster.errands.OVERDUE_SECONDS", 6.0 - LONG)
    empty_cluster.worker()
    empty_cluster.wait_for_workers(1)
    made = make_slots(tmp_path / "20260101-000000-abcd", empty_cluster.address)
    others = tmp_path / "others"
    others.touch()
    try:
        slot = made.acquire(LONG)
        with Client(empty_cluster.address, set_as_default=False) as client:
            announce = importlib.import_module("saboteurs").announce
            other = client.submit(announce, "", {"pids": str(others), "seconds": 4.0})
            until(others.read_text)
            late = job("announce", pids=str(pids), seconds=4.0)
            outcome = made.run(slot, late, limit_seconds=LONG)
            assert other.done()
    finally:
        made.close()
    assert outcome.status is TrialStatus.COMPLETE, outcome
    assert len(pids.read_text().split()) == 1
