"""Files of a run for workers that do not see its folder: by reference, and their content once for each host."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path

from distributed import Client

from automl.content_digests import file_digest
from automl.evaluation.job_files import inputs_of
from automl.evaluation.slots import Job
from automl_tasks.cluster import worker as far
from automl_tasks.cluster.members import Member
from automl_tasks.cluster.orders import FileReference

SEND_SECONDS = 600.0
"""For one file: a table of a gigabyte over a slow network."""


class Sender:
    """Knows the digests of a run's files, and which host has which; safe for several threads."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._digests: dict[tuple[Path, int, int], str] = {}
        self._sent_at: dict[tuple[str, str], float] = {}
        self._gates: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def references(self, folder: Path, job: Job) -> tuple[FileReference, ...]:
        """What a job reads of the run folder."""
        names = inputs_of(folder, job.payload)
        return tuple(FileReference(name, self._digest(folder / name)) for name in names)

    def send(
        self,
        member: Member,
        folder: Path,
        files: Sequence[FileReference],
        missing: Collection[str],
        *,
        asked_at: float,
    ) -> None:
        """Have files sent to a worker's host, unless another thread has sent them meanwhile.

        Parameters
        ----------
        missing : digests that the worker has asked for
        asked_at
            `time.monotonic()` before it was asked.
        """
        host = member.opened.cache
        with self._gates[host]:
            for file in files:
                is_new = self._sent_at.get((host, file.digest), -1.0) < asked_at
                if file.digest in missing and is_new:
                    self._send(member, folder / file.path, file.digest)
                    self._sent_at[host, file.digest] = time.monotonic()

    def _send(self, member: Member, path: Path, digest: str) -> None:
        target = [member.address]
        (content,) = self._client.scatter([path.read_bytes()], workers=target, hash=False)
        self._client.submit(far.keep_file, digest, content, workers=target, pure=False).result(
            timeout=SEND_SECONDS
        )

    def _digest(self, path: Path) -> str:
        facts = path.stat()
        key = path, facts.st_mtime_ns, facts.st_size
        if key not in self._digests:
            self._digests[key] = file_digest(path)
        return self._digests[key]
