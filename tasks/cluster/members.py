"""Which workers of a cluster serve a run, and who sits on their slots."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from distributed import Future

from automl_tasks.cluster.orders import Opened


@dataclass
class Member:
    """A worker that serves the run.

    Parameters
    ----------
    address
        By which the scheduler knows it.
    lease
        Whoever holds it has the worker serve the run.
    returns_files
        Whether what jobs write comes back in the answer.
    n_busy : slots that are taken
    """

    address: str
    opened: Opened
    lease: Future
    returns_files: bool
    n_busy: int = 0
    is_gone: bool = False


@dataclass
class Seat:
    """A slot that was acquired; its member changes where a worker is lost.

    Parameters
    ----------
    inbox
        What the thread that runs a job here waits for.
    number
        Of the order that is under way, 0 without one.
    """

    member: Member
    lock: threading.Lock = field(default_factory=threading.Lock)
    inbox: SimpleQueue[Any] = field(default_factory=SimpleQueue)
    number: int = 0
    is_busy: bool = False
    is_cancelled: bool = False


class Members:
    """Members and seats; not safe by itself, `DaskSlots` holds its lock around every call.

    Parameters
    ----------
    most
        Jobs at a time on all members together; None for as many as they have slots.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._members: dict[str, Member] = {}
        self._expected: dict[str, int] = {}
        self.seats: dict[int, Seat] = {}
        self._numbers = itertools.count()

    @property
    def addresses(self) -> list[str]:
        """Addresses of all members."""
        return list(self._members)

    @property
    def n_slots(self) -> int:
        """Jobs that can run at a time, on members and on workers that are about to be; at least 1."""
        there = sum(member.opened.n_slots for member in self._members.values())
        found = max(there + sum(self._expected.values()), 1)
        return found if self._most is None else min(found, self._most)

    def expect(self, address: str, n_slots: int) -> None:
        """A worker is about to join."""
        self._expected[address] = n_slots

    def join(self, member: Member) -> None:
        """Take a worker."""
        self._expected.pop(member.address, None)
        self._members[member.address] = member

    def leave(self, address: str) -> list[Seat]:
        """Give up a worker; the seats that were on it."""
        self._expected.pop(address, None)
        member = self._members.pop(address, None)
        if member is None:
            return []
        member.is_gone = True
        return [seat for seat in self.seats.values() if seat.member is member]

    def free(self) -> Member | None:
        """The member with the most free slots, if any is free."""
        n_busy = sum(member.n_busy for member in self._members.values())
        if self._most is not None and n_busy >= self._most:
            return None
        best = max(self._members.values(), key=_n_free, default=None)
        return best if best is not None and _n_free(best) > 0 else None

    def sit(self, member: Member) -> int:
        """Take a free slot of a member; the number of the seat."""
        member.n_busy += 1
        number = next(self._numbers)
        self.seats[number] = Seat(member)
        return number

    def move(self, seat: Seat, member: Member) -> None:
        """Give a seat a free slot of another member."""
        seat.member.n_busy -= 1
        member.n_busy += 1
        seat.member = member

    def stand_up(self, number: int) -> None:
        """Give a slot back."""
        if (seat := self.seats.pop(number, None)) is not None:
            seat.member.n_busy -= 1


def _n_free(member: Member) -> int:
    return member.opened.n_slots - member.n_busy
