"""Copies one run into MLflow: ``python -m automl.tracking.mirror RUN_FOLDER [--follow]``.

Without `--follow` it completes everything in the run folder and ends. With it, it copies trials during
the search, within a small share of the machine. It obeys lines of JSON on its standard input:

- ``{"finish": seconds}`` completes at full speed, and answers with a line of JSON.
- ``{"end": true}`` only ends the run in the store, as its folder says, and answers.
- ``{"detach": seconds}`` completes as well, and outlives the process that asked.
- ``{"stop": true}``, or the end of the input, ends the process at once. This is safe at any moment.

Once the store is open, it also ends the runs of the home that were killed.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from filelock import FileLock

from automl.errors import AutoMLError, ServiceError, StoreBusyError
from automl.home import Home, RunFolder
from automl.privacy import make_private_folder
from automl.tracking.outbox import Outbox
from automl.tracking.pace import Pace
from automl.tracking.parent_run import EvidenceWriter
from automl.tracking.publication import Publisher
from automl.tracking.reading import JournalView, records_mark, report_mark
from automl.tracking.store import open_store, service_errors
from automl.tracking.writer import BATCH, RunWriter

POLL_SECONDS = 0.5
"""Between looks at the journal, which are cheap."""
RETRY_SECONDS = 30.0
"""Until a store that was away is tried again."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0
"""Between attempts to write into a store that another process keeps locked; each is twice the last."""
TAKEOVER_SECONDS = 20.0
"""For a mirror before this one to finish what it writes."""
KILLED_SECONDS = 2.0
"""For killed runs of the home; what is not done then is done by the next mirror."""
LOADING_BATCH = 4
"""Trials that are copied at once while the bundle loads: the registration waits for no more."""
LAST_TRIALS = "candidates"
"""Stage after which the cores are no longer taken by trials."""


@dataclass
class Mirror:
    """One run and the store it is copied into.

    Parameters
    ----------
    folder
        Run folder.
    """

    folder: RunFolder
    outbox: Outbox = field(init=False)
    view: JournalView = field(init=False)
    publisher: Publisher = field(init=False)
    writer: RunWriter | None = None

    def __post_init__(self) -> None:
        self.outbox = Outbox.load(self.folder.path / "outbox.json")
        self.view = JournalView(self.folder)
        self.publisher = Publisher(self.folder, self.outbox)

    def open(self) -> RunWriter:
        """Reach the store and make sure that the run exists there.

        A run stays in the store it began in.

        Raises
        ------
        ServiceError
            If the store is away.
        SettingsError
            If the problem's experiment belongs to another target, or the environment lacks user and
            password of the store.
        """
        if self.writer is None:
            started = time.monotonic()
            address = self.outbox.address()
            client = open_store(address)
            self.view.refresh()
            writer = RunWriter(client, address, self.folder, self.outbox, self.view)
            with service_errors(address), address.lock():
                writer.begin()
            self.writer = writer
            self.outbox.seconds["opening"] = time.monotonic() - started
        return self.writer

    def write_some(self, seconds: float = 60.0) -> int:
        """Write the next batch of trials; how many were written."""
        writer = self.open()
        self.view.refresh()
        batch = writer.missing()[:BATCH]
        if batch:
            with self._exclusive(writer, seconds):
                writer.write_trials(batch)
        return len(batch)

    def finish(self, seconds: float, *, is_whole: bool = True) -> bool:
        """Copy everything that exists, what matters most first; whether all of it was copied.

        Parameters
        ----------
        seconds : after which nothing new is begun
        is_whole
            Whether all that exists is to be copied, or the model alone is to be registered.

        Raises
        ------
        StoreBusyError
            If another process kept the store locked all the time.
        ServiceError, SettingsError
            As `open`.
        """
        deadline, pause = time.monotonic() + seconds, FIRST_PAUSE_SECONDS
        self.publisher.start_cold_load()
        try:
            while True:
                try:
                    return self._attempt(deadline, is_whole=is_whole)
                except StoreBusyError:
                    self.writer = None  # what it was writing is looked up when the store is opened
                    if time.monotonic() + pause >= deadline:
                        raise
                time.sleep(pause)
                pause = min(2.0 * pause, LONGEST_PAUSE_SECONDS)
        finally:
            self.publisher.close()

    def _attempt(self, deadline: float, *, is_whole: bool) -> bool:
        """Take the steps that are not done yet; whether nothing is left."""
        writer = self.open()
        self.view.refresh()
        for step in self._steps(writer, deadline, is_whole=is_whole):
            left = deadline - time.monotonic()
            if left <= 0:
                return self._pending("the time for tracking was over")
            with self._exclusive(writer, left):
                step()
        if self.publisher.reason:
            return self._pending(self.publisher.reason)
        if not is_whole:
            return not self.publisher.is_wanted
        self.outbox.status, self.outbox.reason = "done", ""
        self.outbox.save()
        return True

    def _steps(
        self, writer: RunWriter, deadline: float, *, is_whole: bool
    ) -> Iterator[Callable[[], Any]]:
        """The end of the run first, so that nothing stays RUNNING; the promised model before any trial."""
        evidence, began = EvidenceWriter(writer), time.monotonic()

        def batches(size: int = BATCH) -> Iterator[Callable[[], Any]]:
            while batch := writer.missing()[:size]:
                yield lambda batch=batch: writer.write_trials(batch, deadline)  # type: ignore[misc]

        yield writer.end
        yield evidence.write_inputs
        yield lambda: self.publisher.log_model(writer)
        yield from takewhile(lambda _: self.publisher.is_loading, batches(LOADING_BATCH))
        yield lambda: self._register(writer, began)
        yield evidence.write_page
        if not is_whole:
            return
        yield from batches()
        yield evidence.write_summary
        yield evidence.write_records
        yield writer.end

    def _register(self, writer: RunWriter, began: float) -> None:
        """Register the model; later runs plan with the seconds that it took since `began`."""
        self.publisher.register(writer)
        if "published" in self.outbox.done:
            self.outbox.seconds.setdefault("publishing", time.monotonic() - began)
            self.outbox.save()

    @contextmanager
    def _exclusive(self, writer: RunWriter, seconds: float) -> Iterator[None]:
        with service_errors(writer.address), writer.address.lock(seconds):
            yield

    def _pending(self, reason: str) -> bool:
        self.outbox.status, self.outbox.reason = "pending", reason
        self.outbox.save()
        return False

    def is_over(self, stage: str) -> bool:
        """Whether a stage of the run has its record."""
        return (self.folder.stages / f"{stage}.json").exists()

    @property
    def is_up_to_date(self) -> bool:
        """Whether nothing was added since the mirror finished, and the run was ended."""
        self.view.refresh()
        outbox, trials = self.outbox, self.view.trials
        mark = records_mark(self.folder, len(trials))
        marks = (outbox.done.get("records"), outbox.done.get("report", ""))
        is_same = (
            marks == (mark, report_mark(self.folder)) and trials.keys() <= outbox.trials.keys()
        )
        return outbox.status == "done" and "ended" in outbox.done and is_same

    def give_up(self, reason: str) -> None:
        """Record why nothing more is written for now."""
        self.writer = None
        self._pending(reason)


class Commands:
    """Lines of the standard input; the process ends with it, unless it was detached.

    Parameters
    ----------
    folder
        Run folder.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._queue: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            command = json.loads(line)
            if "stop" in command:
                break
            self._queue.put(command)
            if "detach" in command:
                return
        shutil.rmtree(self._folder.mirror, ignore_errors=True)
        os._exit(0)  # the driver is gone or wants us gone; the outbox makes any moment safe

    @property
    def are_waiting(self) -> bool:
        """Whether there is a next command."""
        return not self._queue.empty()

    def wait(self, seconds: float) -> dict[str, Any] | None:
        """Next command, or None after so many seconds."""
        try:
            return self._queue.get(timeout=seconds)
        except queue.Empty:
            return None


def follow(mirror: Mirror, commands: Commands, pace: Pace) -> float:
    """Copy trials until told to finish, then answer and go on waiting; seconds when it is detached.

    While trials run it is within the allowance. Once the store is open, and after the search in any
    case, a clean process is started that will wait for the bundle.
    """
    retry_at = 0.0
    looked_for_killed = False
    while True:
        if mirror.writer is not None and not looked_for_killed and not mirror.is_over("search"):
            looked_for_killed = True
            end_killed_runs(home_of(mirror.folder))
        command = commands.wait(POLL_SECONDS) or {}
        if "detach" in command:
            return float(command["detach"])
        if "end" in command:
            _end_if_open(mirror)
            _answer(mirror.outbox.status == "done", mirror.outbox, command.get("number"))
            continue
        if "finish" in command:
            is_done = _complete_and_look_around(mirror, float(command["finish"]))
            _answer(is_done, mirror.outbox, command.get("number"))
            continue
        if mirror.writer is not None or mirror.is_over("search"):
            mirror.publisher.prepare()  # on a busy machine its imports take longer than what is left
        if time.monotonic() < retry_at or not _may_go_on(mirror, pace):
            continue
        try:
            while mirror.write_some() and not commands.are_waiting and _may_go_on(mirror, pace):
                pass
        except AutoMLError as error:
            mirror.give_up(error.message)
            retry_at = time.monotonic() + RETRY_SECONDS


def _complete_and_look_around(mirror: Mirror, seconds: float) -> bool:
    """`complete`, and what is left of the time for other runs that were killed."""
    deadline = time.monotonic() + seconds
    is_done = complete(mirror, seconds)
    if is_done:
        end_killed_runs(home_of(mirror.folder), min(KILLED_SECONDS, deadline - time.monotonic()))
    return is_done


def complete(mirror: Mirror, seconds: float, *, is_whole: bool = True) -> bool:
    """`Mirror.finish`, with a store that is away recorded instead of raised."""
    try:
        return mirror.finish(seconds, is_whole=is_whole)
    except AutoMLError as error:
        mirror.give_up(error.message)
        return False


def home_of(folder: RunFolder) -> Home:
    """Home that a run folder is in."""
    return Home(folder.path.parents[1])


def end_killed_runs(home: Home, seconds: float = KILLED_SECONDS) -> list[str]:
    """End in the store what runs of the home left `RUNNING`; their ids.

    These are runs that the store knows and that no process drives or mirrors any more. Nothing else
    of them is copied; who resumes one opens it again.

    Parameters
    ----------
    seconds : after which no further run is begun; the next mirror of the home comes to it
    """
    ended: list[str] = []
    deadline = time.monotonic() + seconds
    for folder in reversed(home.run_folders()):
        if time.monotonic() > deadline:
            break
        outbox = Outbox.load(folder.path / "outbox.json")
        if not outbox.parent or ("ended" in outbox.done and not outbox.writing):
            continue
        with suppress(AutoMLError):  # driven, mirrored or broken: not for us to end
            if not folder.is_driven():
                with only_mirror(folder, seconds=0.0):
                    _end(Mirror(folder))
                ended.append(folder.run_id)
    return ended


def _end_if_open(mirror: Mirror) -> None:
    """End the run in a store that was reached; the next command informs one that was not."""
    if mirror.writer is not None:
        with suppress(AutoMLError):
            _end(mirror)


def _end(mirror: Mirror) -> None:
    writer = mirror.open()
    with service_errors(writer.address), writer.address.lock():
        writer.end()


@contextmanager
def only_mirror(folder: RunFolder, *, seconds: float = TAKEOVER_SECONDS) -> Iterator[None]:
    """Be the only mirror of a run; nothing stays in the folder of what is being copied.

    Parameters
    ----------
    seconds : longest wait for the end of another one

    Raises
    ------
    ServiceError
        If another one lives on.
    """
    lock = FileLock(folder.path / "mirror.lock")
    try:
        lock.acquire(timeout=seconds)
    except TimeoutError:
        raise ServiceError(f"run {folder.run_id} is being mirrored by another process") from None
    try:
        shutil.rmtree(folder.mirror, ignore_errors=True)  # of one that was killed
        yield
    finally:
        shutil.rmtree(folder.mirror, ignore_errors=True)
        lock.release()


def _may_go_on(mirror: Mirror, pace: Pace) -> bool:
    """Whether trials may be written, or the store be opened for them."""
    if mirror.writer is None:
        return pace.may_open or mirror.is_over("search")
    return pace.may_write or mirror.is_over(LAST_TRIALS)


def _answer(is_done: bool, outbox: Outbox, number: int | None = None) -> None:
    status = "done" if is_done else "pending"
    answer = {"status": status, "reason": outbox.reason, "number": number}
    with suppress(OSError):  # who asked may be gone
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def main(arguments: list[str] | None = None) -> int:
    """Entry point of the module."""
    parser = argparse.ArgumentParser(prog="python -m automl.tracking.mirror")
    parser.add_argument("run_folder", type=Path)
    parser.add_argument("--follow", action="store_true")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--model", action="store_true", help="only register the model")
    options = parser.parse_args(arguments)
    folder = RunFolder(options.run_folder.absolute())
    commands, seconds = Commands(folder) if options.follow else None, options.seconds
    with only_mirror(folder):
        make_private_folder(folder.mirror)
        tempfile.tempdir = str(folder.mirror)
        mirror = Mirror(folder)
        if commands:
            budget = folder.read_facts().get("settings", {}).get("budget_seconds")
            seconds = follow(mirror, commands, Pace(budget_seconds=budget))
        is_done = complete(mirror, seconds, is_whole=not options.model)
    _answer(is_done, mirror.outbox)
    return 0 if is_done else ServiceError.exit_code


if __name__ == "__main__":
    sys.exit(main())
