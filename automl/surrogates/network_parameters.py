"""The parameters of networks: their arrays, where they start, and how to take one network apart.

The notation is that of `automl.surrogates.network`; P is the number of a network's parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray

_RANGE = 0.7
"""Range of Nguyen and Widrow (1990): 0.7 N^(1 / n)."""
_FACTOR_SPREAD = 0.1
"""Spread of the latent factors at the start: small, since they are multiplied, and unequal, so that they can part
(by judgement)."""
_BY_MEMBER = ("hidden", "out")
"""Arrays whose first axis is the network; in the others the last one goes over all units."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a network.

    Parameters
    ----------
    columns, tasks, meta : d, t, p
    units : N
    layers : hidden layers; 0: the first layer's single unit is the prediction
    factors : K; 0: none
    """

    columns: int
    tasks: int
    meta: int
    units: int
    layers: int
    factors: int

    def sizes(self, members: int) -> dict[str, tuple[int, ...]]:
        """Shape of each array of the parameters of `members` networks, in their order."""
        K, U = self.factors, members * self.units
        sizes: dict[str, tuple[int, ...]] = {
            "bias": (U,),
            "w": (self.columns, U),
            "w_task": (self.tasks, U),
            "w_meta": (self.meta, U),
            "v": (K, self.columns, U),
            "v_task": (K, self.tasks, U),
            "v_meta": (K, self.meta, U),
        }
        for layer in range(1, self.layers):
            sizes[f"hidden_{layer}"] = (members, self.units, self.units)
            sizes[f"hidden_bias_{layer}"] = (members, self.units)
        if self.layers:
            sizes["out"] = (members, self.units)
            sizes["out_bias"] = (members,)
        return sizes

    def n_parameters(self, members: int = 1) -> int:
        """How many numbers `members` networks have."""
        return sum(math.prod(size) for size in self.sizes(members).values())


Parameters = dict[str, FloatArray]
"""Arrays by the names of `Shape.sizes`; views of one flat array."""


def views(theta: FloatArray, shape: Shape, members: int) -> Parameters:
    """The parts of a flat array of all parameters, or of its gradient."""
    parts, begin = {}, 0
    for name, size in shape.sizes(members).items():
        end = begin + math.prod(size)
        parts[name] = theta[begin:end].reshape(size)
        begin = end
    return parts


def start(shape: Shape, members: int, rng: np.random.Generator) -> FloatArray:
    """Flat parameters of new networks, float64.

    Each unit's weights have a random direction and the length 0.7 N^(1/n), n its inputs, its bias
    is uniform up to this length; the factors are normal, with standard deviation 0.1.

    References
    ----------
    .. [1] Nguyen and Widrow (1990), Improving the learning speed of 2-layer neural networks by
       choosing initial values of the adaptive weights.
    """
    theta = np.zeros(shape.n_parameters(members))
    parts = views(theta, shape, members)
    N, U = shape.units, members * shape.units
    n = shape.columns + shape.tasks + shape.meta
    length = _RANGE * N ** (1.0 / n)
    weights = rng.uniform(-1.0, 1.0, (n, U))
    weights *= length / np.linalg.norm(weights, axis=0)
    split = np.split(weights, [shape.columns, shape.columns + shape.tasks])
    for name, part in zip(("w", "w_task", "w_meta"), split, strict=True):
        parts[name][...] = part
    parts["bias"][...] = rng.uniform(-length, length, U)
    for name in ("v", "v_task", "v_meta"):
        parts[name][...] = _FACTOR_SPREAD * rng.standard_normal(parts[name].shape)
    for layer in range(1, shape.layers):
        length = _RANGE * N ** (1.0 / N)
        inner = rng.uniform(-1.0, 1.0, (members, N, N))
        parts[f"hidden_{layer}"][...] = length * inner / np.linalg.norm(inner, axis=1)[:, None]
        parts[f"hidden_bias_{layer}"][...] = rng.uniform(-length, length, (members, N))
    if shape.layers:
        parts["out"][...] = rng.uniform(-1.0, 1.0, (members, N)) / np.sqrt(N)
    return theta


def by_member(theta: FloatArray, shape: Shape, members: int) -> FloatArray:
    """(M, P) parameters, or derivatives by them, one row per network."""
    parts = []
    for name, part in views(theta, shape, members).items():
        if name.startswith(_BY_MEMBER):
            parts.append(part.reshape(members, -1))
        else:
            units = part.reshape(-1, members, shape.units)
            parts.append(units.transpose(1, 0, 2).reshape(members, -1))
    return np.concatenate(parts, axis=1)


def repeated(theta: FloatArray, shape: Shape, times: int) -> FloatArray:
    """Flat parameters of so many copies of a single network."""
    theta_of_all = np.empty(shape.n_parameters(times), dtype=theta.dtype)
    copies = views(theta_of_all, shape, times)
    for name, part in views(theta, shape, 1).items():
        if name.startswith(_BY_MEMBER):
            copies[name][...] = part
        else:
            copies[name][...] = np.tile(part, times)
    return theta_of_all
