"""Snapshot of the experience for one run: read once, named by a digest, and unchanged when it resumes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from automl.content_digests import content_digest
from automl.experience.data_set import Experience
from automl.experience.entries import digest_of
from automl.stage_record import StageRecord

LEAST_DIGITS = 6
"""Fewest digits of a fingerprint or layout that is given by its beginning."""


@dataclass(frozen=True)
class SnapshotEntry:
    """Record of one experience in a run.

    Parameters
    ----------
    trials : how many
    """

    id: str
    name: str
    origin: str
    trials: int
    digest: str


@dataclass(frozen=True)
class ExperienceRecord(StageRecord):
    """Experience that a run began with.

    Parameters
    ----------
    digest : of all entries; empty if nothing is known
    trials : of all entries
    left_out : ids of those that were not wanted
    """

    stage: ClassVar[str] = "experience"

    digest: str = ""
    entries: tuple[SnapshotEntry, ...] = ()
    trials: int = 0
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """Experiences in the order of their ids.

    Parameters
    ----------
    left_out : ids of those that were not wanted
    unknown : what was named to be left out, and is not there
    """

    experiences: tuple[Experience, ...] = ()
    left_out: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, experiences: Iterable[Experience], excluded: Sequence[str] = ()) -> Snapshot:
        """Snapshot without the data sets that `excluded` names; of equal ids the first counts."""
        by_id: dict[str, Experience] = {}
        for experience in experiences:
            by_id.setdefault(experience.id, experience)
        ordered = [by_id[identity] for identity in sorted(by_id)]
        left_out = {e.id for e in ordered if any(is_named(e, text) for text in excluded)}
        return cls(
            tuple(e for e in ordered if e.id not in left_out),
            tuple(sorted(left_out)),
            tuple(text for text in excluded if not any(is_named(e, text) for e in ordered)),
        )

    @cached_property
    def digests(self) -> dict[str, str]:
        """Digest by id."""
        return {experience.id: digest_of(experience) for experience in self.experiences}

    @property
    def digest(self) -> str:
        """32 hexadecimal digits over ids and digests; empty if nothing is known."""
        if not self.experiences:
            return ""
        text = json.dumps(self.digests, sort_keys=True)
        return content_digest(text.encode("utf-8", "surrogatepass"))

    @property
    def record(self) -> ExperienceRecord:
        """What a run records of it: the digest, and what it is made of."""
        entries = tuple(
            SnapshotEntry(
                experience.id,
                experience.data.name,
                experience.origin,
                len(experience.trials),
                self.digests[experience.id],
            )
            for experience in self.experiences
        )
        trials = sum(entry.trials for entry in entries)
        return ExperienceRecord(self.digest, entries, trials, self.left_out)


def is_named(experience: Experience, text: str) -> bool:
    """Whether a text names an experience.

    It does as name of the data set, id, origin, or beginning of the fingerprint or layout.
    """
    data = experience.data
    if text in (data.name, experience.id, experience.origin):
        return True
    digits = text.lower()
    return len(digits) >= LEAST_DIGITS and (
        data.fingerprint.startswith(digits) or data.layout.startswith(digits)
    )
