"""Published scores of hyperparameter configurations of one algorithm, for replays of optimizers.

Five sources below the metadata folder:

- `svm`, `adaboost`: ``svm_adaboost``, 50 data sets x 288 and x 108 configurations on a grid;
- `flow_forest`, `flow_adaboost`, `flow_svc`: ``openml_sklearn_flows``, 94 to 100 tasks x 500, 400
  and 250 random configurations.

The score is the accuracy. A configuration that stands more than once in a table counts once, with
its first score. A table is used if it has more than `FEWEST_SCORES` different scores and fewer
than half of its configurations are optimal. Of a source's data sets the first `N_TABLES` by a hash
of the data set's name are used; another hash of the name decides on the half, so that a data set
is in the same half for all sources that know it by this name. `svm` and `adaboost` have names and the
flows have numbers of tasks: a data set that both have may be in both halves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from automl.recommendation.meta_learner import common_scores
from automl.records import Configuration, FloatArray
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree
from automl.surrogates.earlier_data import Sources

FEWEST_SCORES = 20
N_TABLES = 25
LEAST_TOLERANCE = 1e-6
"""Tolerances are written with six digits; 0 counts as this."""
TWIN = "twin"
KNOWN = ("tuning", "others", TWIN)
"""What a table may know: the other usable tables of its source that are in the tuning half, or all others, or those
that another collection has of the same algorithm."""
TWINS = {
    "svm": "flow_svc",
    "flow_svc": "svm",
    "adaboost": "flow_adaboost",
    "flow_adaboost": "adaboost",
}
ALIKE = {"iterations": "n_estimators", "n_estimators": "iterations"}
"""Other names of a hyperparameter in the other collection."""
SAME_DATA = {
    "a9a": "adult",
    "breast-cancer": "breast-w",
    "chess": "kr-vs-kp",
    "crx": "credit-approval",
    "german-numer": "credit-g",
    "led7digit": "led-display-domain-7digit",
    "magic": "magictelescope",
    "monk-2": "monks-problems-2",
    "pima": "diabetes",
    "wisconsin": "breast-w",
}
"""Names by which the collections know the same data, in small letters."""
TASK_NAMES = "openml_sklearn_flows/task_metadata_pgijsbers.csv"
Values = dict[str, Any]


def _number(low: float, high: float, default: float, *, log: bool = False) -> Values:
    kind = "loguniform" if log else "uniform"
    return {"type": kind, "low": low, "high": high, "default": default}


def _integer(low: int, high: int, default: int, *, log: bool = False) -> Values:
    return {**_number(low, high, default, log=log), "integer": True}


def _choice(*choices: str | bool) -> Values:
    return {
        "type": "categorical",
        "branch": False,
        "default": choices[0],
        "choices": list(choices),
    }


SVM = {
    "C": _number(2**-5, 2**6, 1.0, log=True),
    "kernel": {
        "type": "categorical",
        "default": "rbf",
        "choices": {
            "linear": {"weight": 1},
            "poly": {"weight": 9, "tree": {"degree": _integer(2, 10, 3)}},
            "rbf": {"weight": 14, "tree": {"gamma": _number(1e-4, 1e3, 1.0, log=True)}},
        },
    },
}
ADABOOST = {
    "iterations": _integer(2, 10000, 50, log=True),
    "product_terms": _integer(2, 30, 4, log=True),
}
FLOW_FOREST = {
    "max_features": _number(0.01, 1.0, 0.3),
    "min_samples_leaf": _integer(1, 20, 1),
    "min_samples_split": _integer(2, 20, 2),
    "bootstrap": _choice(True, False),
    "criterion": _choice("gini", "entropy"),
    "imputer": _choice("mean", "median", "most_frequent"),
}
FLOW_ADABOOST = {
    "algorithm": _choice("SAMME", "SAMME.R"),
    "learning_rate": _number(0.01, 2.0, 0.1, log=True),
    "max_depth": _integer(1, 10, 1),
    "n_estimators": _integer(50, 500, 50),
    "imputer": _choice("mean", "median", "most_frequent"),
}
_COEF0 = {"tree": {"coef0": _number(-1.0, 1.0, 0.0)}}
FLOW_SVC = {
    "C": _number(2**-5, 2**15, 1.0, log=True),
    "gamma": _number(2**-15, 2**3, 0.1, log=True),
    "tol": _number(LEAST_TOLERANCE, 0.1, 1e-3, log=True),
    "kernel": {
        "type": "categorical",
        "default": "rbf",
        "choices": {"rbf": {}, "sigmoid": _COEF0, "poly": _COEF0},
    },
}


@dataclass(frozen=True)
class Source:
    """Where the tables of one algorithm stand and what they vary.

    Parameters
    ----------
    tree : search space in the form of a family's text
    renamed : names of the space by column of the file
    """

    file: str
    data_set: str
    score: str
    tree: Mapping[str, Any]
    renamed: Mapping[str, str]


_OLD, _FLOWS = "svm_adaboost", "openml_sklearn_flows"
_IMPUTER = {"imputer__strategy": "imputer"}
_TASK = ("task_id", "predictive_accuracy")
SOURCES = {
    "svm": Source(f"{_OLD}/svm.csv.gz", "dataset", "accuracy", SVM, {}),
    "adaboost": Source(f"{_OLD}/adaboost.csv.gz", "dataset", "accuracy", ADABOOST, {}),
    "flow_forest": Source(f"{_FLOWS}/random_forest.csv.gz", *_TASK, FLOW_FOREST, _IMPUTER),
    "flow_adaboost": Source(
        f"{_FLOWS}/adaboost.csv.gz",
        *_TASK,
        FLOW_ADABOOST,
        {**_IMPUTER, "base_estimator__max_depth": "max_depth"},
    ),
    "flow_svc": Source(f"{_FLOWS}/svc_250.csv.gz", *_TASK, FLOW_SVC, {}),
}


@dataclass(frozen=True)
class ScoreTable:
    """Scores of the configurations of one algorithm on one data set.

    Parameters
    ----------
    candidates : n different configurations of the space
    scores : (n,) accuracies
    """

    source: str
    name: str
    space: SpaceTree
    parameters: list[Values]
    candidates: list[Configuration]
    scores: FloatArray

    @property
    def scale(self) -> float:
        """Best minus median score: the regret of a typical configuration."""
        return float(self.scores.max() - np.median(self.scores))

    @cached_property
    def ranks(self) -> FloatArray:
        """(n,) rank of each configuration by score, 1 the best; equal ones share theirs."""
        ranks: FloatArray = rankdata(-self.scores)
        return ranks


def _hash(name: str, purpose: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{purpose}:{name}".encode(), digest_size=8).digest())


def half_of(name: str) -> str:
    """Half that a data set belongs to: `tuning` or `reported`."""
    return "tuning" if _hash(name, "half 2") % 2 else "reported"


def flat_parameters(tree: Mapping[str, Any]) -> list[Values]:
    """Parameters of a space for other libraries, parents before their children.

    Each is a mapping of `name`, `kind` (`float`, `int` or `nominal`), `default`, `low`, `high`
    and `log` or `choices` and `weights`, and `parent`: None, or a name and its values for which
    the parameter is active.
    """
    found: dict[str, Values] = {}
    for parameter in _walk(tree, None):
        known = found.setdefault(parameter["name"], parameter)
        if known is not parameter:
            known["parent"][1].extend(parameter["parent"][1])
    return list(found.values())


def _walk(tree: Mapping[str, Any], parent: list[Any] | None) -> Iterator[Values]:
    for name, node in tree.items():
        entry: Values = {"name": name, "default": node["default"], "parent": parent}
        if node["type"] != "categorical":
            kind = "int" if node.get("integer") else "float"
            is_log = node["type"] == "loguniform"
            yield {**entry, "kind": kind, "low": node["low"], "high": node["high"], "log": is_log}
            continue
        choices = node["choices"]
        below = choices if isinstance(choices, dict) else {key: {} for key in choices}
        weights = [choice.get("weight", 1) for choice in below.values()]
        yield {**entry, "kind": "nominal", "choices": list(below), "weights": weights}
        for value, choice in below.items():
            yield from _walk(choice.get("tree", {}), [name, [value]])


def _values(row: Values, parameters: list[Values]) -> Values:
    """Active hyperparameters of a row of a file, as the space has them."""
    cast: dict[str, Callable[[Any], Any]] = {"int": int, "float": float}
    found: Values = {}
    for parameter in parameters:
        name, parent = parameter["name"], parameter["parent"]
        if parent is not None and found.get(parent[0]) not in parent[1]:
            continue
        value = row[name]
        if name == "tol":
            value = max(value, LEAST_TOLERANCE)
        if isinstance(value, np.bool_):
            value = bool(value)
        found[name] = cast.get(parameter["kind"], lambda x: x)(value)
    return found


@cache
def _frame(metadata: Path, source: str) -> dict[str, pd.DataFrame]:
    """Rows of every data set of a source."""
    entry = SOURCES[source]
    frame = pd.read_csv(metadata / entry.file).rename(
        columns={**entry.renamed, entry.score: "score", entry.data_set: "data_set"}
    )
    return {str(name): rows for name, rows in frame.groupby("data_set")}


def table_names(metadata: Path, source: str, n_tables: int = N_TABLES) -> list[str]:
    """The fixed random data sets of a source; fewer are the first of more."""

    def is_usable(scores: pd.Series[float]) -> bool:
        return bool(scores.nunique() > FEWEST_SCORES and scores.max() > scores.median())

    names = [n for n, rows in _frame(metadata, source).items() if is_usable(rows["score"])]
    return sorted(names, key=lambda name: _hash(name, "order"))[:n_tables]


def read_table(metadata: Path, source: str, name: str) -> ScoreTable:
    """Table of one data set."""
    tree = SOURCES[source].tree
    space, parameters = SpaceTree.build(source, tree), flat_parameters(tree)
    scores: dict[Configuration, float] = {}
    for row in _frame(metadata, source)[name].to_dict("records"):
        values = _values({str(key): value for key, value in row.items()}, parameters)
        scores.setdefault(space.complete(values), float(row["score"]))
    return ScoreTable(
        source, name, space, parameters, list(scores), np.array(list(scores.values()))
    )


def known_tables(metadata: Path, source: str, name: str, known: str) -> list[str]:
    """Usable tables of the same source other than the one that is searched, in their order."""
    names = table_names(metadata, source, len(_frame(metadata, source)))
    return [n for n in names if n != name and (known == "others" or half_of(n) == known)]


def sources_for(metadata: Path, source: str, name: str, known: str) -> Sources:
    """Scores of what a table may know, standardized per table, without meta-features."""
    if known == TWIN:
        data = data_name(metadata, name)
        twins = _read_twin(metadata, source).items()
        others = [told for twin, told in twins if data_name(metadata, twin) != data]
    else:
        tables = _read_all(metadata, source)
        others = [tables[n] for n in known_tables(metadata, source, name, known)]
    task = np.repeat(np.arange(len(others)), [len(scores) for _, scores in others])
    scores = np.concatenate([scores for _, scores in others])
    nothing = np.zeros((len(others), 0))
    rows = np.concatenate([X for X, _ in others])
    return Sources(rows, common_scores(scores, task), task, nothing, np.zeros(0))


@cache
def _read_all(metadata: Path, source: str) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Encoded configurations (n, d) and scores (n,) of every usable table of a source."""
    encoder = ConfigurationEncoder(SpaceTree.build(source, SOURCES[source].tree)).fit()
    found: dict[str, tuple[FloatArray, FloatArray]] = {}
    for name in table_names(metadata, source, len(_frame(metadata, source))):
        table = read_table(metadata, source, name)
        found[name] = (encoder.transform(table.candidates), table.scores)
    return found


def data_name(metadata: Path, name: str) -> str:
    """What a data set is called whatever the collection: flows have numbers of tasks."""
    text = _task_names(metadata).get(name, name).lower()
    return SAME_DATA.get(text, text)


@cache
def _task_names(metadata: Path) -> dict[str, str]:
    file = metadata / TASK_NAMES
    if not file.exists():
        raise SystemExit(
            f"{file} is missing; without it a twin may know the table that is searched"
        )
    names = pd.read_csv(file).set_index("task_id")["task_name"]
    return {str(task): str(name) for task, name in names.items()}


@cache
def _read_twin(metadata: Path, source: str) -> dict[str, tuple[FloatArray, FloatArray]]:
    """As `_read_all`, of the same algorithm in another collection, as configurations of this source's space."""
    twin = TWINS[source]
    space = SpaceTree.build(source, SOURCES[source].tree)
    parameters = flat_parameters(SOURCES[source].tree)
    encoder = ConfigurationEncoder(space).fit()
    found: dict[str, tuple[FloatArray, FloatArray]] = {}
    for name in table_names(metadata, twin, len(_frame(metadata, twin))):
        table = read_table(metadata, twin, name)
        told = [translated(dict(one.values), parameters) for one in table.candidates]
        kept = [i for i, values in enumerate(told) if values is not None]
        rows = [space.complete(values) for values in told if values is not None]
        found[name] = (encoder.transform(rows), table.scores[kept])
    return found


def translated(values: Values, parameters: list[Values]) -> Values | None:
    """Values of another collection's space that this one has too; None where a choice is not in it.

    Numbers beyond the range are set to its end. What the other space lacks is left out.
    """
    found: Values = {}
    for parameter in parameters:
        name = str(parameter["name"])
        known = name if name in values else ALIKE.get(name, name)
        if known not in values:
            continue
        value = values[known]
        if parameter["kind"] == "nominal":
            if value not in parameter["choices"]:
                return None
        else:
            value = min(max(value, parameter["low"]), parameter["high"])
        found[name] = value
    return found
