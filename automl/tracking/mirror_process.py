"""The driver's side of the mirror: start it, ask it to finish, be rid of it. Loads no mlflow."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

from automl.home import RunFolder
from automl.privacy import UMASK
from automl.run_records.final import FinalRecord
from automl.run_records.registration import RegistrationRule
from automl.tracking.holders import CHAMPION
from automl.tracking.outbox import Outbox

ANSWER_SECONDS = 0.5
"""What the mirror needs to leave off in good order when its time is over."""

State = Literal["done", "pending"]


@dataclass(frozen=True)
class Registration:
    """State of a run in the tracking store.

    Parameters
    ----------
    status : `done`, `pending` or `off` (no model was to be registered)
    registered : such as ``name/3@champion``; None if it is not
    reason : one sentence, why it is pending
    alias_stays : one sentence, why the model did not take the alias after all; empty if it did
    trials : number of trials written
    alias_reason : one sentence, why it has the alias that it has, or none
    """

    status: Literal["done", "pending", "off"]
    registered: str | None
    reason: str
    trials: int
    alias_stays: str = ""
    alias_reason: str = ""

    @property
    def is_champion(self) -> bool:
        """Whether the model took the alias `champion` when it was registered."""
        return (self.registered or "").endswith(f"@{CHAMPION}")


def registration(folder: RunFolder) -> Registration:
    """What the outbox of a run says; costs one small file."""
    outbox = Outbox.load(folder.path / "outbox.json")
    version, alias = outbox.done.get("version"), outbox.done.get("alias")
    name = outbox.done.get("registered_name", "")
    registered = f"{name}/{version}" + (f"@{alias}" if alias else "") if version else None
    if FinalRecord.read(folder) is None or not RegistrationRule.of(folder).register:
        status: Literal["done", "pending", "off"] = "off"
    else:
        status = "done" if registered and "published" in outbox.done else "pending"
    stays, why = (outbox.done.get(event, "") for event in ("alias_stays", "alias_reason"))
    return Registration(status, registered, outbox.reason, len(outbox.trials), stays, why)


def n_unwritten(folder: RunFolder, trials: Iterable[str]) -> int:
    """How many of these trials, by id, are not in the tracking store."""
    written = Outbox.load(folder.path / "outbox.json").trials
    return sum(trial not in written for trial in trials)


def complete_apart(folder: RunFolder, seconds: float) -> None:
    """Register the model of a run in a process of its own, which is killed when the time is over."""
    process = _started(folder, "--model", "--seconds", f"{seconds:g}", stdin=subprocess.DEVNULL)
    with process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    shutil.rmtree(folder.mirror, ignore_errors=True)


def _started(folder: RunFolder, *options: str, stdin: int) -> subprocess.Popen[bytes]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with (folder.path / "mirror.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "automl.tracking.mirror", str(folder.path), *options],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            umask=UMASK,
            env={**os.environ, **threads},
        )


class MirrorProcess:
    """The mirror of one run, in a session of its own so that Ctrl-C does not hit it.

    It ends when the driver ends, however that happens, since its standard input ends then; only one
    that was detached does not.

    Parameters
    ----------
    folder
        Run folder with `run.json`.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._number = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """Process id while it lives."""
        alive = self._process is not None and self._process.poll() is None
        return self._process.pid if self._process and alive else None

    def start(self) -> None:
        """Begin to follow the run's journal; does nothing if it already does."""
        if self.pid is not None:
            return
        self._process = _started(self.folder, "--follow", stdin=subprocess.PIPE)

    def finish(self, seconds: float) -> State:
        """Copy everything that is in the run folder; call it when `result.json` is written.

        Parameters
        ----------
        seconds : longest wait

        Returns
        -------
            `pending` if the store is away or the time did not suffice; the mirror then goes on
            until `stop`, and `automl sync` completes what is missing. Where no time is left, none is
            started.
        """
        if seconds <= 0 and self.pid is None:
            return "pending"
        self.start()
        own = max(seconds - ANSWER_SECONDS, 0.0)
        answer = self._ask({"finish": own}, seconds)
        return "done" if answer.get("status") == "done" else "pending"

    def end(self, seconds: float) -> None:
        """End the run in the store as its folder says, if the store is open; nothing is copied.

        Parameters
        ----------
        seconds : longest wait
        """
        if self._process is not None:
            self._ask({"end": True}, seconds)

    def detach(self, seconds: float) -> None:
        """Let the process complete everything that is in the run folder after this one has ended.

        Parameters
        ----------
        seconds : after which it ends in any case
        """
        self.start()
        self._send({"detach": seconds})
        process = self._process
        assert process is not None
        threading.Thread(
            target=process.wait, daemon=True
        ).start()  # no zombie of a long-lived caller
        self._forget()

    def stop(self, grace: float = 1.0) -> None:
        """End the process; what it had not written yet stays pending."""
        process = self._process
        if process is None:
            return
        self._send({"stop": True})
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder.mirror, ignore_errors=True)  # it may have been killed by others
        self._forget()

    def _forget(self) -> None:
        process, self._process = self._process, None
        for stream in filter(None, (process.stdin, process.stdout) if process else ()):
            with contextlib.suppress(OSError):  # what a dead mirror was not told is still buffered
                stream.close()

    def _ask(self, command: dict[str, object], seconds: float) -> dict[str, object]:
        """Answer to a command; empty if none comes in time."""
        deadline = time.monotonic() + seconds
        self._number += 1
        if not self._send({**command, "number": self._number}):
            return {}
        return self._answer(deadline)

    def _send(self, command: dict[str, object]) -> bool:
        stream = self._process.stdin if self._process else None
        if stream is None:
            return False
        try:
            stream.write(json.dumps(command).encode() + b"\n")
            stream.flush()
        except (OSError, ValueError):
            return False
        return True

    def _answer(self, deadline: float) -> dict[str, object]:
        """Answer to the last command; empty if none comes in time."""
        assert self._process is not None
        assert self._process.stdout is not None
        descriptor, text = self._process.stdout.fileno(), b""
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                return {}
            chunk = os.read(descriptor, 4096)
            if not chunk:
                return {}
            text += chunk
            *lines, text = text.split(b"\n")
            for line in lines:
                answer: dict[str, object] = json.loads(line)
                if answer.get("number") == self._number:
                    return answer
