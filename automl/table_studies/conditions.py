"""How tables are tried: limits, folds, and the part of a large table that is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from automl.data.target import MAX_INTEGER_CLASSES
from automl.errors import SettingsError
from automl.randomness import Purpose, stream
from automl.settings import Settings
from automl.settings.sources import resolve_settings

SMALL_ROWS = 1_000
"""Up to so many rows a score of three folds is noisy, and a fold costs little."""
SMALL_FOLDS, LARGE_FOLDS = 5, 3
LEAST_OF_A_CLASS = 5
"""Rows of it in every fold, where it has as many."""


@dataclass(frozen=True)
class Conditions:
    """Design of a study: the trials on each table.

    Parameters
    ----------
    draws : at least 0
        Draws of each family, times its share (`automl.table_studies.design`).
    search_trials : at least 0
        Trials of an ordinary search that follow the list. What is known of all tables guides them.
    families
        Whose configurations are tried, in the list and in the search; empty: all.
    most_rows
        Rows of larger tables are drawn at random, of each class its share.
    trial_seconds : positive
        Wall seconds after which a trial is killed, all folds; generous, as the machine may be busy.
    table_seconds : positive
        Processor seconds of all trials of a table together, after which no other one is begun.
    workers
        Trials at a time; 0: one per core.
    """

    draws: int = 8
    search_trials: int = 0
    most_rows: int = 2_000
    trial_seconds: float = 120.0
    table_seconds: float = 250.0
    seed: int = 0
    workers: int = 0
    families: tuple[str, ...] = ()

    def measure(self) -> dict[str, Any]:
        """Conditions of the scores; scores under other conditions are not comparable."""
        return {"most_rows": self.most_rows, "seed": self.seed, "metric": "index"}

    def settings(self, data: Mapping[str, Any], n_rows: int) -> Settings:
        """Settings of the run on a table.

        Parameters
        ----------
        data : settings that belong to the table, its target among them
        n_rows : of the part that is used

        Raises
        ------
        SettingsError
            If one of them is not usable.
        """
        given = {
            **data,
            "seed": self.seed,
            "workers": self.workers,
            "trial_seconds": self.trial_seconds,
            "trials": 1,  # the list decides how many
            "folds": SMALL_FOLDS if n_rows <= SMALL_ROWS else LARGE_FOLDS,
            "holdout_above_rows": None,
            "racing": False,
            "experience": self.search_trials > 0,
            "families": self.families,
            "ensemble": "none",
            "predictions_quota_mib": 1.0,
        }
        return resolve_settings(given, environment={})

    def to_json(self) -> dict[str, Any]:
        """Plain JSON form."""
        return asdict(self)


def check_measure(
    measure_there: Mapping[str, Any], wanted: Mapping[str, Any], *, where: str, remedy: str
) -> None:
    """Refuse to set scores beside others that were measured otherwise.

    Parameters
    ----------
    measure_there, wanted : as of `Conditions.measure`
    where, remedy : of the sentence: where the known ones are, and what helps

    Raises
    ------
    SettingsError
        With the first difference.
    """
    for key, value in wanted.items():
        if measure_there.get(key) != value:
            raise SettingsError(
                f"in {where} scores were measured with {key} {measure_there.get(key)}, now it is {value}; "
                f"{remedy}"
            )


def sample_rows(frame: pd.DataFrame, target: str, *, most: int, seed: int) -> pd.DataFrame:
    """The table, or `most` of its rows in their order.

    Of a target with few distinct values each keeps its share, and at least `LEAST_OF_A_CLASS`
    rows where it has as many.
    """
    if len(frame) <= most or target not in frame.columns:
        return frame
    rng = stream(seed, Purpose.SAMPLE)
    labels = frame[target]
    codes, distinct = pd.factorize(labels)
    if len(distinct) > MAX_INTEGER_CLASSES and pd.api.types.is_numeric_dtype(labels):
        chosen = rng.choice(len(frame), most, replace=False)
    else:
        chosen = np.concatenate(
            [
                rng.permutation(members)[
                    : max(round(most * len(members) / len(frame)), LEAST_OF_A_CLASS)
                ]
                for code in range(-1, len(distinct))
                if len(members := np.flatnonzero(codes == code))
            ]
        )
    return frame.iloc[np.sort(chosen)].reset_index(drop=True)
