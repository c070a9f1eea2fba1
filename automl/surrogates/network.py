"""Factorization machine, perceptron and factorized perceptron: many networks as one program.

A network reads x = (λ, indicator of the data set, meta-features). Unit u of its first layer takes ::

    s_u = w0 + Σ_i w_iu x_i + Σ_{i<j} <v_iu, v_ju> x_i x_j
        = w0 + Σ_i w_iu x_i + ½ Σ_f [(Σ_i v_fiu x_i)² - Σ_i v_fiu² x_i²]

the second sum only where there are factors. Without hidden layers there is one unit, and its s is
the prediction: a factorization machine. What the indicator and the meta-features add to w'x and
to each Σ_i v_fi x_i is the same for all rows of a data set: rows come in groups of one data set,
and these sums are taken once per group.

Notation
--------
M : networks, trained side by side; N : units of a layer; U = M N : all units of a layer
K : factors; d : columns of λ; t : data sets, the target among them; p : meta-features
G : groups of a batch; n : rows of a group; B = G n
delta : (B, U) derivative of the loss by s

References
----------
.. [1] Schilling et al. (2015), equations 6 to 9 and Algorithm 2. The ½ before the sum over i < j
   is printed too much; the update of v reads x_i (Σ_j v_j x_j - v_i x_i).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from automl.records import FloatArray, IntArray
from automl.surrogates.network_parameters import Parameters, Shape, views


@dataclass(frozen=True)
class Groups:
    """Rows in groups of one data set each.

    Parameters
    ----------
    X : (G, n, d)
    task : (G,)
    meta : (G, p)
        Meta-features of each group's data set.
    """

    X: FloatArray
    task: IntArray
    meta: FloatArray

    @property
    def rows(self) -> FloatArray:
        """(B, d)."""
        return self.X.reshape(-1, self.X.shape[2])


@dataclass(frozen=True)
class Pass:
    """Values of a forward pass that the backward pass needs.

    Parameters
    ----------
    sums : (K, B, U)
        Σ_i v_fi x_i.
    layers : of (B, U)
        Output of each hidden layer.
    prediction : (B, M)
    """

    sums: FloatArray
    layers: Sequence[FloatArray]
    prediction: FloatArray


def forward(parts: Parameters, groups: Groups, shape: Shape) -> Pass:
    """Predictions of every network for every row."""
    s, sums = _first_layer(parts, groups, shape)
    if not shape.layers:
        return Pass(sums, (), s)
    members = len(parts["out_bias"])
    layers = [np.tanh(s, out=s)]
    for layer in range(1, shape.layers):
        inner = np.matmul(_by_member(layers[-1], members), parts[f"hidden_{layer}"])
        inner += parts[f"hidden_bias_{layer}"][:, None]
        layers.append(np.tanh(_flat(inner)))
    prediction = np.matmul(_by_member(layers[-1], members), parts["out"][:, :, None])[:, :, 0].T
    return Pass(sums, layers, prediction + parts["out_bias"])


def _first_layer(parts: Parameters, groups: Groups, shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Sums s (B, U) of the first layer, and those of the factors (K, B, U)."""
    G, n, _ = groups.X.shape
    rows, task, meta = groups.rows, groups.task, groups.meta
    common = parts["bias"] + parts["w_task"][task] + meta @ parts["w_meta"]
    s = rows @ parts["w"]
    if shape.factors:
        squares = np.einsum("fiu,fiu->iu", parts["v"], parts["v"])
        task_squares = np.einsum("ftu,ftu->tu", parts["v_task"], parts["v_task"])
        meta_squares = np.einsum("fpu,fpu->pu", parts["v_meta"], parts["v_meta"])
        common -= 0.5 * (task_squares[task] + (meta**2) @ meta_squares)
        s -= 0.5 * (rows**2) @ squares
    by_group = s.reshape(G, n, -1)
    by_group += common[:, None]
    sums = np.matmul(rows, parts["v"])
    if shape.factors:
        shared = parts["v_task"][:, task] + np.matmul(meta, parts["v_meta"])
        grouped = sums.reshape(shape.factors, G, n, -1)
        grouped += shared[:, :, None]
        half = np.einsum("fbu,fbu->bu", sums, sums)
        half *= 0.5
        s += half
    return s, sums


def backward(
    parts: Parameters, groups: Groups, shape: Shape, passed: Pass, slope: FloatArray
) -> FloatArray:
    """Flat derivative by the parameters of Σ slope ∘ prediction; uses up the forward pass.

    Parameters
    ----------
    slope : (B, M)
        Derivative of the loss by each prediction.
    """
    members = slope.shape[1]
    gradient = np.empty(shape.n_parameters(members), dtype=slope.dtype)
    derivatives = views(gradient, shape, members)
    delta = slope
    if shape.layers:
        last = _by_member(passed.layers[-1], members)
        derivatives["out_bias"][...] = slope.sum(axis=0)
        derivatives["out"][...] = np.matmul(slope.T[:, None], last)[:, 0]
        by_unit = slope[:, :, None] * parts["out"]
        delta = by_unit.reshape(len(slope), -1)
    for layer in range(shape.layers - 1, 0, -1):
        _through_tanh(delta, passed.layers[layer])
        inner = _by_member(delta, members)
        below = passed.layers[layer - 1]
        derivatives[f"hidden_bias_{layer}"][...] = inner.sum(axis=1)
        derivatives[f"hidden_{layer}"][...] = np.matmul(
            _by_member(below, members).transpose(0, 2, 1), inner
        )
        delta = _flat(np.matmul(inner, parts[f"hidden_{layer}"].transpose(0, 2, 1)))
    if shape.layers:
        _through_tanh(delta, passed.layers[0])
    _first_gradient(derivatives, parts, groups, sums=passed.sums, delta=delta)
    return gradient


def _first_gradient(
    found: Parameters,
    parts: Parameters,
    groups: Groups,
    *,
    sums: FloatArray,
    delta: FloatArray,
) -> None:
    """Write the derivatives by the parameters of the first layer."""
    G, n, _ = groups.X.shape
    rows, meta = groups.rows, groups.meta
    members = (groups.task == np.arange(len(parts["w_task"]))[:, None]).astype(delta.dtype)
    by_group = delta.reshape(G, n, -1).sum(axis=1)
    by_task = members @ by_group
    found["bias"][...] = by_group.sum(axis=0)
    found["w"][...] = rows.T @ delta
    found["w_task"][...] = by_task
    found["w_meta"][...] = meta.T @ by_group
    factors = len(parts["v"])
    if not factors:
        return
    slopes = np.multiply(sums, delta, out=sums)
    shared = slopes.reshape(factors, G, n, -1).sum(axis=2)
    found["v"][...] = np.matmul(rows.T, slopes) - parts["v"] * ((rows**2).T @ delta)
    found["v_task"][...] = np.matmul(members, shared) - parts["v_task"] * by_task
    found["v_meta"][...] = np.matmul(meta.T, shared) - parts["v_meta"] * ((meta**2).T @ by_group)


def _through_tanh(delta: FloatArray, output: FloatArray) -> None:
    """Multiply by the derivative 1 - tanh², in place; the output is used up."""
    output *= output
    np.subtract(1.0, output, out=output)
    delta *= output


def _by_member(values: FloatArray, members: int) -> FloatArray:
    """(M, B, N) view of (B, U)."""
    return values.reshape(len(values), members, -1).transpose(1, 0, 2)


def _flat(values: FloatArray) -> FloatArray:
    """(B, U) of (M, B, N)."""
    return np.ascontiguousarray(values.transpose(1, 0, 2)).reshape(values.shape[1], -1)
