"""The configurations that all tables of a kind are tried with, so that their scores make a matrix."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping

from automl.families.portfolio import whole_portfolio
from automl.families.registry import families
from automl.randomness import Purpose, stream
from automl.records import Configuration

SHARES: Mapping[str, float] = {
    "svm": 3.0,
    "lightgbm": 2.0,
    "mlp": 1.5,
    "two_layer_perceptron": 1.5,
    "logistic_regression": 1.5,
    "nu_svm": 1.5,
    "knn": 1.5,
    "ridge": 1.0,
    "elastic_net": 1.0,
    "xgboost": 1.0,
    "lda": 1.0,
    "qda": 1.0,
    "decision_tree": 1.0,
    "extra_trees": 0.75,
    "gaussian_process": 0.75,
    "hist_gradient_boosting": 0.75,
    "linear_svm": 0.75,
    "random_forest": 0.5,
    "sgd": 0.5,
    "huber": 0.5,
    "gaussian_nb": 0.5,
    "gradient_boosting": 0.375,
    "adaboost": 0.375,
    "radius_neighbors": 0.375,
    "passive_aggressive": 0.25,
    "catboost": 0.5,
    "tabular_network": 0.125,
}
"""Draws of a family as a share of the setting: more where more is to be won, fewer where dear.

Families that are not listed have their default alone."""


def design(kind: str, *, draws: int, seed: int, only: Collection[str] = ()) -> list[Configuration]:
    """Configurations for a kind of target, no two equal; the first ones tell most.

    Each family's default, then every entry of the portfolio, then draws from the families' priors,
    in rounds: a round has one of each family that has draws left. More draws add to the list and
    change nothing that is in it: a draw depends on seed, family and its number alone.

    Parameters
    ----------
    kind : ``classification`` or ``regression``
    draws : at least 0
        Of a family of share 1, see `SHARES`.
    only
        Families whose configurations are wanted; empty: all.
    """
    configurations = {
        name: family
        for name, family in families(kind).items()
        if name != "constant" and family.unavailable is None and (not only or name in only)
    }
    chosen = [family.space(kind).default() for family in configurations.values()]
    chosen += [entry for entry in whole_portfolio(kind) if not only or entry.family in only]
    counts = {name: round(draws * SHARES.get(name, 0.0)) for name in configurations}
    for number in range(max(counts.values(), default=0)):
        for name, family in configurations.items():
            if number < counts[name]:
                rng = stream(seed, Purpose.DESIGN, zlib.crc32(name.encode()), number)
                chosen.append(family.space(kind).sample(rng))
    return list({configuration.id: configuration for configuration in chosen}.values())
