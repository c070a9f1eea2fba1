"""Files of runs on a host that does not see their folder: each content is fetched once and named by its digest.

::

    cache/                      `AUTOML_CLUSTER_CACHE`, else $XDG_CACHE_HOME/automl/cluster
      objects/DIGEST            what was fetched; removed a week after it was last used
      runs/TOKEN-PROCESS/RUN/   links to it under the names of the run folder, while a worker serves the run
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from automl.content_digests import content_digest
from automl.durable import write_whole
from automl.privacy import make_private_folder
from automl_tasks.cluster.orders import FileReference

VARIABLE = "AUTOML_CLUSTER_CACHE"
KEPT_SECONDS = 7 * 24 * 3600.0
"""A table is often trained on again within days; what is older only fills the disk."""


class FileCache:
    """The cache of this host and user.

    Raises
    ------
    OSError
        If its folders cannot be made.
    """

    def __init__(self) -> None:
        named = os.environ.get(VARIABLE)
        usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.folder = Path(named) if named else usual / "automl" / "cluster"
        self._objects = self.folder / "objects"
        make_private_folder(self._objects)

    def run_folder(self, token: str, run_id: str) -> Path:
        """New folder for what this process needs of a run; its name is the run's own."""
        folder = self.folder / "runs" / f"{token}-{os.getpid()}" / run_id
        make_private_folder(folder)
        return folder

    def remove_run(self, folder: Path) -> None:
        """Remove a folder of `run_folder`; the contents stay."""
        shutil.rmtree(folder.parent, ignore_errors=True)

    def keep(self, digest: str, content: bytes) -> None:
        """Take the content of a file.

        Raises
        ------
        ValueError
            If it does not have that digest.
        StorageError
            If it cannot be written.
        """
        if content_digest(content) != digest:
            raise ValueError(f"a file of {len(content)} bytes does not have the digest {digest}")
        write_whole(self._objects / digest, [content], "a file of a run")

    def place(self, folder: Path, files: tuple[FileReference, ...]) -> tuple[str, ...]:
        """Link files into the folder of a run; digests of those that are not in the cache."""
        return tuple(file.digest for file in files if not self._place(folder, file))

    def _place(self, folder: Path, file: FileReference) -> bool:
        path = folder / file.path
        if path.exists():
            return True
        stored = self._objects / file.digest
        try:
            os.utime(stored)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.hardlink_to(stored)
        except FileExistsError:  # another slot was first
            return True
        except FileNotFoundError:
            return False
        return True

    def remove_old(self) -> None:
        """Remove what has not been used for `KEPT_SECONDS`."""
        oldest = time.time() - KEPT_SECONDS
        for path in self._objects.iterdir():
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()
