"""Fitted models of random configurations on a small table that has every kind of column."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from automl.families.family import Family
from automl.families.registry import families
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.schema import TableSchema
from automl.inference.second_layer import StackInputs
from automl.preprocessing import build_preprocessor
from automl.records import Configuration, Task

ROLES = {
    "size": "numeric",
    "count": "numeric",
    "price": "numeric",
    "color": "nominal",
    "is new?": "nominal",
    "code": "nominal",
    "seen": "date",
    'naïve [m²], "x"': "numeric",
}
LABELS: dict[Task, list[Any] | None] = {
    Task.BINARY: ["no", "yes"],
    Task.MULTICLASS: [10, 20, 30],
    Task.REGRESSION: None,
}
# what no space varies, and the settings of a run do
SETTINGS: dict[str, list[Any]] = {
    "prep.nominal_imputer": ["category", "most_frequent", "null"],
    "prep.variance": [0.0, 0.01],
    "prep.variance_raw": [False, True],
}


def raw_rows(n_rows: int = 120, seed: int = 11) -> pd.DataFrame:
    """Rows with missing values, categories of several types, dates and odd names of columns."""
    rng = np.random.default_rng(seed)

    def holed(values: Any, hole: Any = None) -> Any:
        return np.where(rng.random(n_rows) < 0.1, hole, np.asarray(values, dtype=object))

    days = pd.to_timedelta(rng.integers(0, 900, n_rows), unit="D")
    dates = (pd.Timestamp("2024-01-01") + days).strftime("%Y-%m-%d")
    return pd.DataFrame(
        {
            "size": holed(rng.normal(size=n_rows), np.nan).astype(float),
            "count": pd.array(holed(rng.integers(0, 9, n_rows)), dtype="Int64"),
            "price": holed(rng.integers(1, 99, n_rows).astype(str), "?"),
            "color": holed(rng.choice(["red", "green", "blue", "grün"], n_rows)),
            "is new?": rng.random(n_rows) < 0.5,
            "code": rng.integers(1, 4, n_rows),
            "seen": holed(dates),
            'naïve [m²], "x"': rng.normal(size=n_rows),
        }
    )


def strange_rows(raw: pd.DataFrame) -> pd.DataFrame:
    """Rows with unseen categories, missing values, another order of columns and other types."""
    rows = raw.head(6).iloc[:, ::-1].copy()
    rows["color"] = ["purple", None, "red", "?", "blue", ""]
    rows["code"] = ["1", "2.0", "9", None, "3", "x"]
    rows["size"] = ["1.5", "?", "", "2", None, "-1"]
    rows["seen"] = [None, "2030-12-31", "2024-01-01", "2024-02-29", None, "1999-01-01"]
    return rows


class Models:
    """Fits random configurations of families on one table.

    Parameters
    ----------
    n_rows
        Of the table.
    iteration_share : in (0, 1]
        Share of the trees, rounds or epochs; fewer do not change what has to be stored.
    """

    def __init__(self, n_rows: int = 120, *, iteration_share: float = 1.0) -> None:
        self.iteration_share = iteration_share
        self.raw = raw_rows(n_rows)
        self.schema = TableSchema.fit(self.raw, ROLES)
        self.typed = self.schema.transform(self.raw)
        color = (self.typed["color"] == "red").to_numpy()
        signal = self.typed["size"].fillna(0.0).to_numpy() + color
        signal = signal + np.random.default_rng(12).normal(0.0, 0.5, n_rows)
        self.targets: dict[Task, NDArray[Any]] = {
            Task.BINARY: (signal > 0.3).astype(np.int32),
            Task.MULTICLASS: np.digitize(signal, [-0.3, 0.8]).astype(np.int32),
            Task.REGRESSION: signal,
        }

    def configuration(self, family: Family, task: Task, rng: np.random.Generator) -> Configuration:
        """Random configuration of the family's space, with preprocessing that settings can add."""
        size = {"n_rows": len(self.raw), "n_columns": self.typed.shape[1]}
        space = family.space(task).with_facts(**size, n_classes=len(LABELS[task] or ()))
        drawn = space.sample(rng)
        added = {name: values[rng.integers(len(values))] for name, values in SETTINGS.items()}
        if drawn.values.get("prep.reducer", "none") != "none":
            added["prep.reducer_share"] = float(rng.uniform(0.3, 1.0))
        return replace(drawn, values={**added, **drawn.values})

    def pipeline(
        self,
        family: Family,
        configuration: Configuration,
        task: Task,
        *,
        rows: NDArray[Any] | None = None,
        inputs: list[NDArray[Any]] | None = None,
        seed: int = 1,
    ) -> FittedPipeline:
        """Fitted preprocessor and estimator, of the second layer where there are `inputs`.

        Parameters
        ----------
        rows : positions, or None for all
        inputs : each (len(rows), n_classes) or (len(rows),)
        """
        chosen = np.arange(len(self.raw)) if rows is None else rows
        y = self.targets[task][chosen]
        stack = None if inputs is None else StackInputs.fit(inputs)
        preprocessor = build_preprocessor(
            {k: v for k, v in configuration.values.items() if k.startswith("prep.")}, seed=seed
        )
        with warnings.catch_warnings(), np.errstate(all="ignore"), threadpool_limits(1):
            warnings.simplefilter("ignore")  # convergence on so small a table is not the point
            X: Any = preprocessor.fit_transform(self.typed.iloc[chosen].reset_index(drop=True), y)
            if stack is not None and inputs is not None:
                X = stack.transform(inputs, X)
            size = {"n_rows": len(y), "n_columns": X.shape[1]}
            n_classes = len(LABELS[task] or ())
            estimator = family.build(
                configuration,
                task=task,
                n_classes=n_classes,
                seed=seed,
                iteration_share=self.iteration_share,
                **size,
            )
            family.fit(estimator, X, y)
        return FittedPipeline(preprocessor, estimator, stack)

    def model(self, members: list[Member], task: Task, combine: Any = "mean") -> TableModel:
        """Model of fitted members."""
        return TableModel(
            self.schema,
            members,
            task=str(task),
            target="label",
            classes=LABELS[task],
            combine=combine,
        )

    def single(self, family: Family, task: Task, rng: np.random.Generator) -> TableModel:
        """Model of one random configuration, a bag of two in one case of four."""
        configuration = self.configuration(family, task, rng)
        if rng.random() < 0.25:
            pipelines = self._bag(family, configuration, task)
        else:
            pipelines = [self.pipeline(family, configuration, task)]
        return self.model([Member(1.0, pipelines, family.name)], task)

    def blend(self, task: Task, rng: np.random.Generator) -> TableModel:
        """Random blend: two or three bags or refits, by mean, vote or median, in half with a second layer."""
        usable = [f for f in families(task).values() if f.unavailable is None]
        members = []
        for place in rng.choice(len(usable), int(rng.integers(2, 4)), replace=False):
            family = usable[place]
            configuration = self.configuration(family, task, rng)
            is_bag = rng.random() < 0.5
            pipelines = (
                self._bag(family, configuration, task)
                if is_bag
                else [self.pipeline(family, configuration, task)]
            )
            members.append(Member(float(rng.uniform(0.1, 1.0)), pipelines, family.name))
        if rng.random() < 0.5:
            members.append(self._second(usable[rng.integers(len(usable))], members, task, rng))
        other = "median" if task is Task.REGRESSION else "vote"
        return self.model(members, task, ["mean", other][rng.integers(2)])

    def _bag(
        self, family: Family, configuration: Configuration, task: Task
    ) -> list[FittedPipeline]:
        place = np.arange(len(self.raw))
        return [
            self.pipeline(
                family, configuration, task, rows=np.flatnonzero(place % 2 != fold), seed=fold
            )
            for fold in range(2)
        ]

    def _second(
        self, family: Family, members: list[Member], task: Task, rng: np.random.Generator
    ) -> Member:
        n_classes = len(LABELS[task] or ()) or None
        inputs = [member.predict(self.typed, n_classes, {}) for member in members]
        configuration = self.configuration(family, task, rng)
        pipeline = self.pipeline(family, configuration, task, inputs=list(inputs))
        return Member(1.0, [pipeline], family.name, inputs=tuple(range(len(members))))
