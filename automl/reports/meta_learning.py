"""Pictures of what a meta-learner predicts, and of searches that begin with it (H18, figures 6.1 to 6.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.stats import rankdata

from automl.errors import DataError
from automl.records import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_BOOTSTRAPS = 2000
"""Number of bootstraps of the data sets: fifty draws lie beyond either bound."""
MOST_IMPORTANT = 10
"""Features in a panel: names are still read."""
LOSS_SCALE = "asinh"
"""Logarithmic above about 1 and linear near 0, which a search that has found the best reaches."""
INPUTS = {
    "none": "none/accuracy",
    "meta-features": "meta/accuracy/4",
    "hyperparameters": "configuration/accuracy/4",
    "both": "both/accuracy/4",
}
"""Learner by what it is told; all of 4 leaves, with the score itself as target."""
RIVALS = {
    "KNN": "knn/standardized",
    "KNN + LightGBM": "knn_lightgbm/standardized",
    "LightGBM, 4 leaves": "both/standardized/4",
    "LightGBM, 16 leaves": "both/standardized/16",
}


@dataclass(frozen=True)
class LeftOut:
    """What learners predicted of one data set, having learned from the others.

    Parameters
    ----------
    error : non-negative, by learner
        Root mean squared error, in units of the learner's target.
    tau : in [-1, 1], by learner
        Kendall's tau-b of predictions and scores.
    """

    error: Mapping[str, float]
    tau: Mapping[str, float]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From ``{"learners": {learner: {"rmse": ..., "tau": ...}}}``."""
        learners = data["learners"]
        return cls(
            {name: float(measures["rmse"]) for name, measures in learners.items()},
            {name: float(measures["tau"]) for name, measures in learners.items()},
        )


@dataclass(frozen=True)
class Searches:
    """Searches of one data set among the configurations whose scores are known.

    Parameters
    ----------
    regret : (T,) by ``surrogate/start``
        Of the best trial so far, over the distance from the best to the median configuration; the
        mean over seeds.
    """

    regret: Mapping[str, FloatArray]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From ``{"best": ..., "median": ..., "curves": {"surrogate/start/seed": [...]}}``."""
        scale = data["best"] - data["median"]
        by_name: dict[str, list[FloatArray]] = {}
        for name, curve in data["curves"].items():
            regret = (data["best"] - np.asarray(curve, dtype=float)) / scale
            by_name.setdefault(name.rpartition("/")[0], []).append(regret)
        return cls({name: np.mean(curves, axis=0) for name, curves in by_name.items()})


def error_and_correlation(flows: Mapping[str, Sequence[LeftOut]]) -> Figure:
    """Error (above) and rank correlation (below) by what the learner is told, a column each flow.

    References
    ----------
    .. [1] van Hoof (2018), figure 6.1.
    """
    figure, every = _panels(flows, rows=2)
    for column, (flow, measured) in enumerate(flows.items()):
        for row, (measure, label) in enumerate((("error", "RMSE"), ("tau", "Kendall's tau-b"))):
            values = {name: _values(measured, measure, learner) for name, learner in INPUTS.items()}
            _bars(every[row][column], values)
            every[row][column].set_ylabel(label if column == 0 else "")
        every[0][column].set_title(f"{flow} ({len(measured)} data sets)", fontsize="medium")
    return figure


def gain_of_standardizing(flows: Mapping[str, Sequence[LeftOut]]) -> Figure:
    """Gain of correlation by a target standardized per data set, and by 16 leaves beside it.

    References
    ----------
    .. [1] van Hoof (2018), figure 6.2.
    """
    figure, (every,) = _panels(flows, rows=1)
    for axes, (flow, measured) in zip(every, flows.items(), strict=True):
        gains = {
            f"{name},\n{leaves} leaves": _values(measured, "tau", f"{kind}/standardized/{leaves}")
            - _values(measured, "tau", f"{kind}/accuracy/4")
            for name, kind in (("hyperparameters", "configuration"), ("both", "both"))
            for leaves in (4, 16)
        }
        _bars(axes, gains)
        axes.set_title(flow, fontsize="medium")
    every[0].set_ylabel("gain of tau-b over the plain score, 4 leaves")
    return figure


def important_features(flows: Mapping[str, Mapping[str, float]]) -> Figure:
    """The most important features for predicting standardized scores, a panel each flow.

    Parameters
    ----------
    flows : non-negative importance by feature, by flow
        Shares of the total are drawn, of the `MOST_IMPORTANT` greatest.

    References
    ----------
    .. [1] van Hoof (2018), figure 6.3.
    """
    figure, (every,) = _panels(flows, rows=1)
    for axes, (flow, importances) in zip(every, flows.items(), strict=True):
        total = sum(importances.values()) or 1.0
        shown = sorted(importances.items(), key=lambda item: (-item[1], item[0]))[:MOST_IMPORTANT]
        names, values = [name for name, _ in shown], [value / total for _, value in shown]
        axes.barh(range(len(names)), values, color="tab:blue")
        axes.set_yticks(range(len(names)), names, fontsize="small")
        axes.invert_yaxis()
        axes.set_title(flow, fontsize="medium")
        axes.set_xlabel("share of the gain")
    return figure


def against_nearest(flows: Mapping[str, Sequence[LeftOut]]) -> Figure:
    """Rank correlation of the meta-learner and of what the nearest data set alone teaches.

    References
    ----------
    .. [1] van Hoof (2018), figure 6.4.
    """
    figure, (every,) = _panels(flows, rows=1)
    for axes, (flow, measured) in zip(every, flows.items(), strict=True):
        _bars(axes, {name: _values(measured, "tau", learner) for name, learner in RIVALS.items()})
        axes.set_title(flow, fontsize="medium")
    every[0].set_ylabel("Kendall's tau-b, standardized scores")
    return figure


def ranking_and_loss(searches: Sequence[Searches], methods: Mapping[str, str]) -> Figure:
    """Mean rank among the methods (left) and mean regret (right) over trials.

    Parameters
    ----------
    methods
        ``surrogate/start`` by the name that is drawn; at least one.

    Raises
    ------
    DataError
        If there are no searches, or one lacks a method.

    References
    ----------
    .. [1] van Hoof (2018), figures 6.5 and 6.6.
    """
    from matplotlib.figure import Figure

    regrets = _regrets(searches, methods)
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    ranks = rankdata(np.stack(list(regrets.values())), axis=0)
    for k, name in enumerate(regrets):
        trials = np.arange(1, ranks.shape[2] + 1)
        left.plot(trials, ranks[k].mean(axis=0), label=name, color=f"C{k % 10}")
        _loss(right, trials, regrets[name], name, k)
    left.set(xlabel="trials", ylabel="mean rank (1 is best)")
    right.set(xlabel="trials", ylabel="scaled regret", yscale=LOSS_SCALE)
    left.legend(fontsize="small")
    figure.suptitle(f"{len(searches)} data sets", fontsize="medium")
    return figure


def loss_by_start(flows: Mapping[str, Sequence[Searches]], methods: Mapping[str, str]) -> Figure:
    """Mean regret over trials, a panel each flow; areas are 95 % intervals over data sets.

    Raises
    ------
    DataError
        If there are no searches, or one lacks a method.

    References
    ----------
    .. [1] van Hoof (2018), figure 6.7.
    """
    figure, (every,) = _panels(flows, rows=1)
    for axes, (flow, searches) in zip(every, flows.items(), strict=True):
        for k, (name, values) in enumerate(_regrets(searches, methods).items()):
            _loss(axes, np.arange(1, values.shape[1] + 1), values, name, k)
        axes.set(xlabel="trials", yscale=LOSS_SCALE)
        axes.set_title(f"{flow} ({len(searches)} data sets)", fontsize="medium")
    every[0].set_ylabel("scaled regret")
    every[0].legend(fontsize="small")
    return figure


def _panels(flows: Mapping[str, Any], *, rows: int) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    if not flows or not all(flows.values()):
        raise DataError("a picture of meta-learning needs records of at least one flow")
    figure = Figure(figsize=(3.9 * len(flows), 0.6 + 3.3 * rows), layout="constrained")
    return figure, figure.subplots(rows, len(flows), squeeze=False)


def _values(measured: Sequence[LeftOut], measure: str, learner: str) -> FloatArray:
    """(n data sets,) measures of a learner.

    Raises
    ------
    DataError
        If a record lacks the learner.
    """
    try:
        return np.array([getattr(one, measure)[learner] for one in measured])
    except KeyError:
        raise DataError(f"a record of meta-learning lacks the learner {learner!r}") from None


def _regrets(searches: Sequence[Searches], methods: Mapping[str, str]) -> dict[str, FloatArray]:
    """(n data sets, T) by the name that is drawn."""
    if not searches:
        raise DataError("a picture of searches needs at least one record")
    lacking = {key for key in methods.values() for one in searches if key not in one.regret}
    if lacking:
        raise DataError(f"a record of searches lacks {min(lacking)!r}")
    return {name: np.stack([one.regret[key] for one in searches]) for name, key in methods.items()}


def _interval(values: FloatArray) -> FloatArray:
    """(2, ...) bounds of the mean over the first axis, by the bootstrap over data sets."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(values), size=(N_BOOTSTRAPS, len(values)))
    return np.asarray(np.quantile(values[drawn].mean(axis=1), [0.025, 0.975], axis=0))


def _bars(axes: Axes, values: Mapping[str, FloatArray]) -> None:
    """Means with 95 % intervals over data sets."""
    means = np.array([sample.mean() for sample in values.values()])
    bounds = np.array([_interval(sample) for sample in values.values()]).T
    errors = np.maximum(np.stack([means - bounds[0], bounds[1] - means]), 0.0)
    axes.bar(range(len(means)), means, yerr=errors, color="tab:blue", capsize=3)
    axes.set_xticks(range(len(means)), list(values), rotation=30, ha="right", fontsize="small")
    axes.axhline(0.0, color="black", linewidth=0.8)


def _loss(axes: Axes, trials: Any, values: FloatArray, name: str, k: int) -> None:
    axes.plot(trials, values.mean(axis=0), label=name, color=f"C{k % 10}")
    axes.fill_between(trials, *_interval(values), color=f"C{k % 10}", alpha=0.12, linewidth=0)
