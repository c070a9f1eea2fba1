"""Ways to blend the trials of a search, on rows that the search never saw.

    python benchmarks/ensembles/blends.py DATA_FOLDER OUT_FOLDER [--trials 20,50] [--tables cmc] [--metric index]

Takes the searches that `searches.py` leaves in OUT_FOLDER and makes those that are missing. Every way learns from
out-of-fold predictions and is scored by log loss or root mean squared error on the untouched rows; with
``--metric`` the weights are learned, and scored, by another metric. One line per (table, seed, trials, way) in
OUT_FOLDER/blends-METRIC.jsonl; `blends_report.py` compares them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from libraries import Library, layers_of, load_library, second_layer
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar, nnls
from searches import TABLES

from automl.ensembles.diversity import diverse_library
from automl.ensembles.evidence import other_rows
from automl.ensembles.member_limits import limit_members
from automl.ensembles.problem import EnsembleProblem
from automl.ensembles.registry import get_ensemble
from automl.records import FloatArray, IntArray

Learn = Callable[[Library, IntArray], FloatArray]
LEAST = 1e-15


def greedy(library: Library, rows: IntArray, n_bags: int = 5, limit: int = 12) -> FloatArray:
    """Weights as the presets learn them."""
    method = get_ensemble("greedy")
    problem = EnsembleProblem(
        list(library.out_of_fold),
        library.y,
        library.index,
        np.random.default_rng(0),
        rows=rows,
        groups=library.groups,
    )
    weights = np.mean([method.weights(problem, bag) for bag in range(n_bags)], axis=0)
    return limit_members(weights, limit)


def of_diverse(size: int) -> Learn:
    """Greedy weights of a small library of the best and the best of each kind."""

    def learn(library: Library, rows: IntArray) -> FloatArray:
        scores = -np.arange(len(library.groups), dtype=float)
        members = diverse_library(scores, library.groups, library.kinds, size)
        return _spread(library, members, greedy(library.taken(list(members)), rows))

    return learn


def leaders(library: Library, rows: IntArray) -> FloatArray:
    """Greedy weights of the best of each family and preprocessing."""
    members = [i for i, kind in enumerate(library.kinds) if kind not in library.kinds[:i]]
    return _spread(library, members, greedy(library.taken(members), rows))


def convex(n_rounds: int, *, is_limited: bool = True) -> Learn:
    """Weights that minimize log loss (by expectation maximization from equal ones) or squared error."""

    def learn(library: Library, rows: IntArray) -> FloatArray:
        weights = _mixture(library, rows, n_rounds)
        return limit_members(weights, 12) if is_limited else weights

    return learn


def _mixture(library: Library, rows: IntArray, n_rounds: int) -> FloatArray:
    y, m = library.y[rows], len(library.groups)
    if not library.is_classification:
        matrix = library.out_of_fold[:, rows].T.astype(np.float64)
        scale = matrix.std() * len(y) ** 0.5 * 100.0
        centered = np.vstack([matrix - y[:, None], np.full((1, m), scale)])
        weights = nnls(centered, np.r_[np.zeros(len(y)), scale])[0]
        return np.asarray(weights / weights.sum())
    chosen = np.maximum(library.out_of_fold[:, rows, y].astype(np.float64), LEAST)
    weights = np.full(m, 1.0 / m)
    for _ in range(n_rounds):
        weights = weights * (chosen / (weights @ chosen)).mean(axis=1)
    return np.asarray(weights / weights.sum())


def both(library: Library, rows: IntArray) -> FloatArray:
    """Mean of greedy and convex weights."""
    mean = (greedy(library, rows) + _mixture(library, rows, 100)) / 2.0
    return limit_members(mean, 12)


def single(library: Library, rows: IntArray) -> FloatArray:
    """The member with the least loss."""
    losses = [library.loss(library.y[rows], p[rows]) for p in library.out_of_fold]
    return np.asarray(np.eye(len(losses))[int(np.argmin(losses))])


def equal(library: Library, rows: IntArray) -> FloatArray:
    """The best of each family, equally."""
    members = [i for i, group in enumerate(library.groups) if group not in library.groups[:i]][:8]
    return _spread(library, members, np.full(len(members), 1.0 / len(members)))


def _spread(library: Library, members: Any, part: FloatArray) -> FloatArray:
    weights = np.zeros(len(library.groups))
    weights[list(members)] = part
    return weights


def blend(predictions: NDArray[Any], weights: FloatArray) -> NDArray[Any]:
    """Weighted mean of members' predictions."""
    return np.tensordot(weights, predictions.astype(np.float64), axes=1)


# --- calibration ---------------------------------------------------------------------------------


def temperature(library: Library, prediction: NDArray[Any], rows: IntArray) -> Any:
    """Power of the probabilities with the least log loss; slope and intercept of values."""
    y = library.y[rows]
    if not library.is_classification:
        slope, intercept = np.polyfit(prediction[rows], y, 1)
        return lambda p: slope * p + intercept
    logs = np.log(np.maximum(prediction[rows], LEAST))

    def loss(log_power: float) -> float:
        return float(_log_loss(np.exp(log_power) * logs, y))

    power = np.exp(minimize_scalar(loss, bounds=(-1.5, 1.5), method="bounded").x)
    return lambda p: _softmax(power * np.log(np.maximum(p, LEAST)))


def vector(library: Library, prediction: NDArray[Any], rows: IntArray) -> Any:
    """Power and a bias of each class, drawn to none as by ten rows' worth of a penalty."""
    if not library.is_classification:
        return temperature(library, prediction, rows)
    y, logs = library.y[rows], np.log(np.maximum(prediction[rows], LEAST))

    def loss(x: FloatArray) -> float:
        penalty = 10.0 * (x @ x) / len(y)
        return float(_log_loss(np.exp(x[0]) * logs + x[1:], y) + penalty)

    x = minimize(loss, np.zeros(1 + logs.shape[1]), method="L-BFGS-B").x
    return lambda p: _softmax(np.exp(x[0]) * np.log(np.maximum(p, LEAST)) + x[1:])


def _softmax(z: NDArray[Any]) -> NDArray[Any]:
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _log_loss(z: NDArray[Any], y: NDArray[Any]) -> float:
    z = z - z.max(axis=1, keepdims=True)
    return float((np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y]).mean())


# --- ways ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """What a way says: cross-fitted on the training rows, and on the untouched ones."""

    cross_fitted: NDArray[Any]
    untouched: NDArray[Any]
    weights: FloatArray


def fitted(library: Library, learn: Learn, calibrate: Any = None) -> Fitted:
    """Weights of each fold's others for the evidence, those of all rows for the untouched ones."""
    cross = np.empty(library.out_of_fold.shape[1:])
    for fold, rows in zip(np.unique(library.folds), other_rows(library.folds), strict=True):
        own = library.folds == fold
        blended = blend(library.out_of_fold, learn(library, rows))
        change = calibrate(library, blended, rows) if calibrate else (lambda p: p)
        cross[own] = change(blended)[own]
    everything = np.arange(len(library.y))
    weights = learn(library, everything)
    change = (lambda p: p) if calibrate is None else None
    if change is None:
        change = calibrate(library, blend(library.out_of_fold, weights), everything)
    return Fitted(cross, change(blend(library.untouched, weights)), weights)


def within(limit: int) -> Learn:
    """Greedy weights of at most so many members, the inputs of a second layer among them."""

    def learn(library: Library, rows: IntArray) -> FloatArray:
        weights = greedy(library, rows, limit=len(library.groups))
        return limit_members(weights, limit, inputs=library.inputs)

    return learn


JOINED = {
    "linear, trees": ["linear", "trees"],
    "trees features": ["trees features"],
    "linear, boosted features": ["linear", "boosted features"],
    "features": ["linear", "trees features", "boosted features"],
    "wide": ["trees features wide"],
    "all": [
        *("linear", "linear logs", "trees", "trees features"),
        *("trees features wide", "boosted features"),
    ],
}
CHOICES = {
    "single | greedy": ["single", "greedy"],
    "one bag | greedy": ["greedy, one bag", "greedy"],
    "one bag | two bags": ["greedy, one bag", "greedy, two bags"],
    "greedy | greedy, vector": ["greedy", "greedy, vector"],
    "greedy | + features": ["greedy", "greedy + features"],
    "greedy | + features, 12": ["greedy", "greedy + features, 12 with inputs"],
    "greedy | + features, 16": ["greedy", "greedy + features, 16 with inputs"],
    "greedy | + wide": ["greedy", "greedy + wide"],
    "greedy | + all": ["greedy", "greedy + all"],
    "greedy, vector | + features, vector": ["greedy, vector", "greedy + features, vector"],
}


class Ways:
    """Ways to blend one library, each made when it is asked for."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._found: dict[str, Fitted] = {}
        self._layers: dict[str, tuple[str, NDArray[Any], NDArray[Any]]] = {}
        first: dict[str, tuple[Learn, Any]] = {
            "single": (single, None),
            "equal leaders": (equal, None),
            "greedy": (greedy, None),
            "greedy, one bag": (lambda lib, rows: greedy(lib, rows, 1), None),
            "greedy, two bags": (lambda lib, rows: greedy(lib, rows, 2), None),
            "greedy of 12 diverse": (of_diverse(12), None),
            "greedy of 24 diverse": (of_diverse(24), None),
            "greedy of leaders": (leaders, None),
            "convex, 30 rounds": (convex(30), None),
            "convex, 300 rounds": (convex(300), None),
            "convex, no limit": (convex(100, is_limited=False), None),
            "greedy and convex": (both, None),
            "greedy, temperature": (greedy, temperature),
            "greedy, vector": (greedy, vector),
            "convex, temperature": (convex(100), temperature),
            "greedy and convex, vector": (both, vector),
        }
        self._makers: dict[str, Callable[[], Fitted]] = {
            name: partial(fitted, library, learn, calibrate)
            for name, (learn, calibrate) in first.items()
        }
        for name in layers_of(library):
            self._makers[f"layer {name}"] = partial(self._alone, name)
        for name in JOINED:
            self._makers[f"greedy + {name}"] = partial(self._joined, name, greedy)
        self._makers |= {
            "convex + features": partial(self._joined, "features", convex(100)),
            "both + features": partial(self._joined, "features", both),
            "greedy + features, 12 with inputs": partial(self._joined, "features", within(12)),
            "greedy + features, 16 with inputs": partial(self._joined, "features", within(16)),
            "greedy + features, vector": partial(self._joined, "features", greedy, vector),
        }
        for name, ways in CHOICES.items():
            self._makers[f"choice {name}"] = partial(self._choice, ways)

    @property
    def names(self) -> list[str]:
        """All ways."""
        return list(self._makers)

    def fitted(self, name: str) -> Fitted:
        """What a way says."""
        if name not in self._found:
            self._found[name] = self._makers[name]()
        return self._found[name]

    def _layer(self, name: str) -> tuple[str, NDArray[Any], NDArray[Any]]:
        if name not in self._layers:
            self._layers[name] = second_layer(self._library, name)
        return self._layers[name]

    def _alone(self, name: str) -> Fitted:
        layer = self._layer(name)
        return Fitted(layer[1], layer[2], np.ones(1))

    def _joined(self, name: str, learn: Learn, calibrate: Any = None) -> Fitted:
        larger = self._library.joined([self._layer(each) for each in JOINED[name]])
        return fitted(larger, learn, calibrate)

    def _choice(self, ways: list[str]) -> Fitted:
        """The way with the best cross-fitted score."""
        found = [self.fitted(way) for way in ways]
        scores = [self._library.index.score(self._library.y, one.cross_fitted) for one in found]
        return found[int(np.argmax(scores))]


def line_of(library: Library, way: str, said: Fitted) -> dict[str, Any]:
    """Losses and scores of a way."""
    return {
        "way": way,
        "loss": library.loss(library.test_y, said.untouched),
        "cross_fitted": library.loss(library.y, said.cross_fitted),
        "score": library.index.score(library.test_y, said.untouched),
        "members": int((said.weights > 0).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--trials", type=lambda t: [int(n) for n in t.split(",")], default=[20, 50])
    parser.add_argument("--metric", default=None)
    parser.add_argument("--ways", type=lambda text: text.split(";"), default=None)
    parser.add_argument("--no-search", action="store_true", help="only searches that are there")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if not options.no_search:
        command = [sys.executable, str(Path(__file__).with_name("searches.py"))]
        command += [str(options.data), str(options.out), "--seeds", str(options.seeds)]
        subprocess.run([*command, "--tables", ",".join(options.tables)], check=True)
    lines = options.out / f"blends-{options.metric or 'loss'}.jsonl"
    text = lines.read_text() if lines.exists() else ""
    keys = ("table", "seed", "trials", "way")
    known = {tuple(r[key] for key in keys) for r in map(json.loads, text.splitlines())}
    for seed in range(options.seeds):
        for name in options.tables:
            file = options.out / "searches" / f"{name}-{seed}.npz"
            for n_trials in options.trials:
                if not file.exists():
                    continue
                library = load_library(file, n_trials, options.metric)
                ways = Ways(library)
                wanted = options.ways or ways.names
                missing = [w for w in wanted if (name, seed, n_trials, w) not in known]
                key = {"table": name, "seed": seed, "trials": n_trials}
                with lines.open("a") as stream:
                    for way in missing:
                        line = {**key, **line_of(library, way, ways.fitted(way))}
                        stream.write(json.dumps(line) + "\n")
                print(name, seed, n_trials, flush=True)


if __name__ == "__main__":
    main()
