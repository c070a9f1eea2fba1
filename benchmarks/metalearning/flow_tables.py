"""Runs of three scikit-learn flows on OpenML with the meta-features of their data sets, as arrays.

The folder METADATA holds ``openml_sklearn_flows``: random forest, AdaBoost and SVC, which H18
(chapter 6) calls 6969, 6970 and 8317; 250 to 500 random configurations on each of 94 to 100 tasks.
Meta-features are those of H18: its table 6.3, the autocorrelation of the class, and the landmarkers
of its table B.1, as OpenML gives them.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.append(str(Path(__file__).parents[1] / "search"))

from tables import FEWEST_SCORES, SOURCES, ScoreTable, read_table

from automl.randomness import Purpose, stream
from automl.records import FloatArray, IntArray
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.surrogates.score_targets import standard

FLOWS = ("flow_forest", "flow_adaboost", "flow_svc")
TABLE_6_3 = (
    "NumberOfInstances",
    "NumberOfFeatures",
    "NumberOfClasses",
    "Dimensionality",
    "ClassEntropy",
    "PercentageOfBinaryFeatures",
    "PercentageOfInstancesWithMissingValues",
    "PercentageOfMissingValues",
    "PercentageOfNumericFeatures",
    "PercentageOfSymbolicFeatures",
    "MajorityClassPercentage",
)
LANDMARKS = (
    "CfsSubsetEval_DecisionStump",
    "CfsSubsetEval_NaiveBayes",
    "CfsSubsetEval_kNN1N",
    "DecisionStump",
    "J48.00001.",
    "J48.0001.",
    "J48.001.",
    "NaiveBayes",
    "REPTreeDepth1",
    "REPTreeDepth2",
    "REPTreeDepth3",
    "RandomTreeDepth1",
    "RandomTreeDepth2",
    "RandomTreeDepth3",
    "kNN1N",
)
OTHERS = ("AutoCorrelation", "StdvNominalAttDistinctValues")


@dataclass(frozen=True)
class FlowData:
    """All runs of a flow; n runs of t data sets.

    Parameters
    ----------
    X : (n, d) encoded configurations, the runs of a data set one after the other
    scores : (n,) accuracies
    task : (n,) position of the data set
    meta : (t, p) meta-features, NaN where unknown
    meta_names : (p,)
    names_of_x : (d,) columns of X
    """

    flow: str
    tables: list[ScoreTable]
    X: FloatArray
    scores: FloatArray
    task: IntArray
    meta: FloatArray
    meta_names: tuple[str, ...]
    names_of_x: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Numbers of the tasks."""
        return [table.name for table in self.tables]

    @cached_property
    def y(self) -> FloatArray:
        """(n,) scores standardized per data set."""
        y = np.empty(len(self.scores))
        for number in range(len(self.tables)):
            y[self.rows(number)] = standard(self.scores[self.rows(number)])
        return y

    def rows(self, number: int) -> IntArray:
        """Positions of the runs of a data set."""
        return np.flatnonzero(self.task == number)

    def sample(self, share: float) -> IntArray:
        """Positions of a fixed random share of the runs of every data set."""
        if share >= 1.0:
            return np.arange(len(self.task))
        parts = []
        for number in range(len(self.tables)):
            rows = self.rows(number)
            rng = stream(0, Purpose.SAMPLE, number)
            parts.append(np.sort(rng.permutation(rows)[: max(round(share * len(rows)), 1)]))
        return np.concatenate(parts)


def wanted_meta_features() -> tuple[str, ...]:
    """Names of H18's meta-features at OpenML."""
    landmarks = [f"{one}{what}" for one in LANDMARKS for what in ("AUC", "ErrRate", "Kappa")]
    return (*TABLE_6_3, *OTHERS, *landmarks)


def read_flow(metadata: Path, flow: str) -> FlowData:
    """Runs and meta-features of one flow."""
    source = SOURCES[flow]
    numbers = pd.read_csv(metadata / source.file, usecols=[source.data_set])[source.data_set]
    names = [str(number) for number in sorted(numbers.unique())]
    tables = [read_table(metadata, flow, name) for name in names]
    encoder = ConfigurationEncoder(tables[0].space).fit()
    qualities = pd.read_csv(
        metadata / "openml_sklearn_flows" / "task_qualities.csv.gz", index_col="task_id"
    )
    meta_names = tuple(name for name in wanted_meta_features() if name in qualities)
    return FlowData(
        flow,
        tables,
        np.concatenate([encoder.transform(table.candidates) for table in tables]),
        np.concatenate([table.scores for table in tables]),
        np.repeat(np.arange(len(tables)), [len(table.candidates) for table in tables]),
        qualities.loc[[int(name) for name in names], list(meta_names)].to_numpy(float),
        meta_names,
        encoder.feature_names,
    )


def stored_flow(metadata: Path, flow: str, out: Path) -> FlowData:
    """The same from OUT/FLOW.pickle, which is made at the first call and faster to read."""
    path = out / f"{flow}.pickle"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".part")
        draft.write_bytes(pickle.dumps(read_flow(metadata, flow)))
        draft.rename(path)
    data: FlowData = pickle.loads(path.read_bytes())
    return data


def usable_numbers(data: FlowData) -> list[int]:
    """Positions of the data sets on which a search can be compared, in a fixed random order."""
    order = stream(0, Purpose.SAMPLE).permutation(len(data.tables))
    return [
        int(number)
        for number in order
        if len(np.unique(data.tables[number].scores)) > FEWEST_SCORES
        and data.tables[number].scale > 0.0
    ]
