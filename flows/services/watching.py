"""Takes what arrives at a place, begins a run for every new content, and sets bad files aside.

A file counts when it is complete: unchanged for a while, or its marker is there. Then it is copied into
the home, and Prefect begins one run for its content. A file that cannot be used is moved into the
folder ``failed`` of the place, with its reason beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from automl.errors import DataError, ServiceError
from automl_flows.services.drop_place import DONE, Drop, DropChangedError, DropPlace
from automl_flows.services.drop_runs import Emit, RunNow
from automl_flows.services.drop_store import DropStore, Waited

LOOK_AFTER_SECONDS = 2.0
"""Between looks after runs under way, each of which asks the server."""
PATIENCE_SECONDS = 3600.0
"""The longest copy over a slow line that anybody waits for."""
SET_ASIDE, GONE = "automl.drop.set-aside", "automl.drop.gone"


class Runs(Protocol):
    """Where runs are begun and looked after; see `automl_flows.services.drop_runs.DropRuns`."""

    def begin(self, digest: str, parameters: dict[str, Any], *, n_set_aside: int) -> str:
        """Id of the run for a content that was set aside so often before."""

    def state(self, run: str) -> RunNow | None:
        """State of a run."""

    def again(self, run: str) -> None:
        """Let a run that is over be done once more."""


@dataclass(frozen=True)
class Completeness:
    """When a file is taken for complete.

    Parameters
    ----------
    settle_seconds : how long it must not change
    needs_marker : whether ``FILE.done`` must be there and be no older than the file, instead
    patience_seconds : after which a file that is not complete is set aside
    """

    settle_seconds: float = 5.0
    needs_marker: bool = False
    patience_seconds: float = PATIENCE_SECONDS

    def complaint(self) -> str:
        """Why a file is set aside that was not complete in time."""
        waited = f"within {self.patience_seconds:g} s"
        if self.needs_marker:
            return (
                f"its marker, a file of its name with {DONE} at the end that is no older, "
                f"did not arrive {waited}"
            )
        return f"it kept changing and was not complete {waited}"


@dataclass
class _Waiting:
    """A file that is not complete yet: its version, since when, when it was first seen, and when by this process."""

    drop: Drop
    since: float
    first: float
    seen: float


@dataclass
class _Taken:
    """A file whose content has a run; `told` is what was last said of it."""

    drop: Drop
    digest: str
    run: str
    is_open: bool = True
    told: str = ""


@dataclass
class Watcher:
    """One look after the other at a place; `step` is called about once a second.

    Parameters
    ----------
    emit
        Tells Prefect of an event.
    say
        Told of every change once.
    clock : monotonic seconds
    """

    place: DropPlace
    store: DropStore
    runs: Runs
    completeness: Completeness
    emit: Emit
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _taken: dict[tuple[str, str], _Taken] = field(default_factory=dict)
    _troubles: dict[str, str] = field(default_factory=dict)
    _looked_at: float = float("-inf")
    _kept: dict[str, Waited] = field(init=False)

    def __post_init__(self) -> None:
        self._kept = self.store.waiting(self.place)

    def step(self) -> None:
        """Take what is complete, look after the runs, and tell of both.

        What a service that is away does not let happen is tried again in the next step.
        """
        with self._trying("listing"):
            self._look()
        if self.clock() - self._looked_at < LOOK_AFTER_SECONDS:
            return
        self._looked_at = self.clock()
        for key, taken in list(self._taken.items()):
            if taken.is_open:
                with self._trying(taken.drop.name):
                    self._follow(key, taken)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is waited for: no file to become complete, no run to end."""
        return not self._waiting and not any(taken.is_open for taken in self._taken.values())

    def close(self) -> None:
        """Runs that were stopped with the service are to be begun again by the next one."""
        self._looked_at = float("-inf")
        self.step()
        with self._trying("waiting"):
            self._keep_waiting()

    @contextmanager
    def _trying(self, what: str) -> Iterator[None]:
        """Tell once of a service that is away; other files go on."""
        try:
            yield
        except (DataError, ServiceError) as error:
            if self._troubles.get(what) != error.message:
                self.say(f"waiting: {error.message}")
            self._troubles[what] = error.message
        else:
            self._troubles.pop(what, None)

    def _look(self) -> None:
        drops, written = self.place.listing()
        now = self.clock()
        for name in set(self._waiting) - set(drops):
            self._lost(self._waiting.pop(name).drop)
        for name, drop in drops.items():
            if (name, drop.version) in self._taken:
                self._waiting.pop(name, None)
                continue
            before = self._waiting.get(name) or self._at_first_sight(drop, now)
            is_same = before.drop.version == drop.version
            since = before.since if is_same else now
            self._waiting[name] = _Waiting(drop, since, before.first, before.seen)
            with self._trying(name):
                self._judge(self._waiting[name], written, now)
        if self._waiting.keys() != self._kept.keys():
            self._keep_waiting()

    def _at_first_sight(self, drop: Drop, now: float) -> _Waiting:
        """A file as another process, or the time it was written, makes this one know it."""
        began = time.time() - now
        kept = self._kept.get(drop.name)
        if kept is not None:
            since = kept.since - began if kept.version == drop.version else now
            return _Waiting(drop, since, kept.first - began, now)
        is_known = self.completeness.needs_marker and drop.written > 0
        first = min(now, drop.written - began) if is_known else now
        return _Waiting(drop, now, first, now)

    def _keep_waiting(self) -> None:
        """Another process may be the next to look: under a work pool each look has its own."""
        began = time.time() - self.clock()
        kept = {
            name: Waited(each.drop.version, began + each.since, began + each.first)
            for name, each in self._waiting.items()
        }
        if kept or self._kept:
            self.store.keep_waiting(self.place, kept)
        self._kept = kept

    def _judge(self, waiting: _Waiting, written: Mapping[str, float], now: float) -> None:
        drop = waiting.drop
        if drop.fault:
            self._set_aside(drop, f"{drop.name} {drop.fault}", "")
        elif self._is_complete(waiting, written, now):
            self._take(drop)
        elif self._is_hopeless(waiting, now):
            self._set_aside(drop, f"{drop.name}: {self.completeness.complaint()}", "")

    def _is_hopeless(self, waiting: _Waiting, now: float) -> bool:
        """Whether it has had its time, and this process has looked long enough to see it settle."""
        needed = 0.0 if self.completeness.needs_marker else self.completeness.settle_seconds
        has_had_time = now - waiting.first >= self.completeness.patience_seconds
        return has_had_time and now - waiting.seen >= needed

    def _is_complete(self, waiting: _Waiting, written: Mapping[str, float], now: float) -> bool:
        if self.completeness.needs_marker:
            marked = written.get(waiting.drop.name + DONE)
            return marked is not None and marked >= waiting.drop.written
        return now - waiting.since >= self.completeness.settle_seconds

    def _take(self, drop: Drop) -> None:
        try:
            digest = self.store.digest_of(self.place, drop) or self.store.take(self.place, drop)
        except DropChangedError:
            return  # it is looked at again
        first = next((t.drop.name for t in self._taken.values() if t.digest == digest), "")
        run = self.runs.begin(
            digest,
            {"table": f"{self.place.shown}/{drop.name}"},
            n_set_aside=self.store.n_set_aside(digest),
        )
        self._waiting.pop(drop.name)
        self._taken[drop.name, drop.version] = _Taken(drop, digest, run)
        if first and first != drop.name:
            self.say(f"{drop.name}: the same content as {first}")

    def _follow(self, key: tuple[str, str], taken: _Taken) -> None:
        """Check the state of a run; report it, begin it again, or set its file aside."""
        now = self.runs.state(taken.run)
        if now is None:  # somebody deleted the flow run: its content is new again
            self._taken.pop(key)
            return
        self._tell(taken, now)
        if now.is_due_again:
            self.runs.again(taken.run)
        elif now.refusal:
            self._set_aside(taken.drop, now.refusal, taken.digest)
            self._taken.pop(key)  # it may arrive again, in an object store with the same version
        elif now.kind in ("completed", "cancelled"):
            self.store.tidy(taken.digest)
            taken.is_open = False

    def _tell(self, taken: _Taken, now: RunNow) -> None:
        text = f"{now.kind} {now.n_begun}"
        if text == taken.told:
            return
        taken.told = text
        name = taken.drop.name
        if now.kind == "running":
            self.say(f"{name}: a run has begun")
        elif now.is_over and not now.refusal:
            self.say(f"{name}: {now.name.lower()}{': ' if now.message else ''}{now.message}")

    def _lost(self, drop: Drop) -> None:
        sentence = f"{drop.name} was moved or deleted before it was complete"
        aside = self.place.set_aside(drop.name, sentence, version=None, copy=None)
        self.emit(GONE, {"file": drop.name, "reason": sentence, "aside": aside})
        self.say(f"{drop.name}: it was moved or deleted before it was complete")

    def _set_aside(self, drop: Drop, reason: str, digest: str) -> None:
        copy = self.store.path(digest) if digest else None
        aside = self.place.set_aside(drop.name, reason, version=drop.version, copy=copy)
        self._waiting.pop(drop.name, None)
        if digest:
            self.store.give_up(digest)
        self.emit(SET_ASIDE, {"file": drop.name, "reason": reason, "aside": aside})
        self.say(f"{drop.name}: set aside in {aside}: {reason}")
