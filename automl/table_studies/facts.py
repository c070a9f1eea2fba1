"""Facts of a table in the experience, beside its trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from automl.data.collections import target_of
from automl.data.table import Table, prepare_table
from automl.experience.data_set import DataSetFacts
from automl.experience.fingerprints import fingerprint, layout
from automl.meta_features import describe
from automl.preprocessing.matrix_facts import matrix_facts
from automl.randomness import Purpose, stream

PREPARED_BY = ("task", "roles", "groups", "time", "weights", "positive")
"""Settings that belong to a table and that its preparation depends on."""


def target_for(data: Mapping[str, Any], frame: pd.DataFrame) -> str:
    """Column to predict of a table with these settings."""
    return str(data.get("target") or target_of(list(frame.columns), str(data["table"])))


def content_of(data: Mapping[str, Any], frame: pd.DataFrame) -> str:
    """Fingerprint of a table with these settings.

    Raises
    ------
    DataError
        With every problem of the table.
    """
    return fingerprint(_whole(data, frame, target_for(data, frame)))


def _whole(data: Mapping[str, Any], frame: pd.DataFrame, target: str) -> Table:
    options = {key: data[key] for key in PREPARED_BY if key in data}
    return prepare_table(frame, target=target, **options)


def facts_of(name: str, data: Mapping[str, Any], used: Table, frame: pd.DataFrame) -> DataSetFacts:
    """Facts of a table: digests of the whole, sizes of the part that is used.

    Parameters
    ----------
    data : settings that belong to the table
    used : the part
    frame : the whole, raw
    """
    whole = used
    if len(frame) > len(used):
        whole = _whole(data, frame, used.target)
    return DataSetFacts(
        name,
        fingerprint(whole),
        layout(whole),
        used.task,
        len(used),
        used.frame.shape[1],
        used.n_classes,
        describe(used, rng=stream(0, Purpose.META_FEATURES)).values,
        matrix_facts(used.frame),
    )
