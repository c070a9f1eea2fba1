"""How many models have been compared with a champion: every comparison is a look that spends error.

Told by the records of the home's runs, and by the tags of the registered versions, which outlive run folders
and know the runs of other homes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from automl.errors import AutoMLError
from automl.home import Home
from automl.run_records.promotion import PromotionRecord
from automl.tracking.holders import version_tags
from automl.tracking.layout import RUN_ID_TAG

COMPARED_TAG = "automl.promotion.compared_with"
"""Tag of a registered version: the version that it was compared with."""


def earlier_looks(home: Home, champion: str, *, but: str = "") -> int:
    """Runs whose model was compared with this champion.

    Parameters
    ----------
    champion : such as ``beans-label/3``
    but : id of a run that does not count
    """
    return len({*_of_home(home, champion), *_of_registry(home, champion)} - {but})


def _of_home(home: Home, champion: str) -> Iterator[str]:
    for folder in home.run_folders():
        record = PromotionRecord.read(folder)
        if record is not None and record.is_compared and record.champion == champion:
            yield folder.run_id


def _of_registry(home: Home, champion: str) -> Iterator[str]:
    name, _, version = champion.rpartition("/")
    try:
        found = version_tags(name, home.path)
    except (OSError, ValueError, KeyError, sqlite3.Error, AutoMLError):
        return  # a registry that is away moves no alias either
    for tags in found:
        if tags.get(COMPARED_TAG) == version and RUN_ID_TAG in tags:
            yield tags[RUN_ID_TAG]
