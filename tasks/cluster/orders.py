"""Messages between the driver of a run and the Dask workers, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from automl.evaluation.slots import JobOutcome

TOPIC = "automl-jobs"
"""Topic of the events by which workers tell that a job has begun."""


@dataclass(frozen=True)
class RunOnCluster:
    """A run as every worker of the cluster gets to know it.

    Parameters
    ----------
    token
        Names this attempt of the run; it cannot be guessed.
    folder
        Run folder, as the driver sees it.
    probe
        Name of a file in the folder: who finds it there sees the same folder.
    threads : per trial
    memory_mib : limit of one trial; None for its part of the worker's memory
    hash_seed
        `PYTHONHASHSEED` of the driver's own slots.
    """

    token: str
    folder: str
    probe: str
    threads: int
    memory_mib: int | None
    hash_seed: str


@dataclass(frozen=True)
class Opened:
    """Report of a worker once it can run trials.

    Parameters
    ----------
    n_slots : trials at a time
    cache
        Host and folder of its cache; workers with the same one share their files.
    sees_folder
        Whether it sees the run's folder, and can write there.
    key_proof
        HMAC of the token by the worker's key, by which the driver sees whether it has the same one; empty
        where it has none.
    """

    n_slots: int
    cache: str
    sees_folder: bool
    key_proof: str


@dataclass(frozen=True)
class FileReference:
    """A file of the run folder by its path there and the digest of its content."""

    path: str
    digest: str


@dataclass(frozen=True)
class Order:
    """A job for one worker.

    Parameters
    ----------
    number
        Of this attempt; no other of the run has it.
    job : pickle of (target, payload)
    files
        That the worker needs beside what it sees itself.
    returns_files
        Whether what the job writes comes back in the answer.
    """

    number: int
    job: bytes
    limit_seconds: float | None
    files: tuple[FileReference, ...]
    returns_files: bool


@dataclass(frozen=True)
class Answer:
    """Outcome of an order.

    Parameters
    ----------
    outcome
        None if the worker could not run the job.
    files
        What the job has written, by path; see `automl.evaluation.job_files.outputs_of`.
    missing : digests of files that the worker must be sent first
    unstored
        Why what the job keeps could not be written.
    failure
        Why the worker cannot run jobs.
    """

    outcome: JobOutcome | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    unstored: str = ""
    failure: str = ""
