"""M6: fewer columns, by principal components or by the best single columns."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from automl.errors import SettingsError
from automl.preprocessing.blocks import BlockTransformer, Numbers, class_codes

DEFAULT_SHARES = {"none": 1.0, "pca": 0.95, "select_k": 0.5, "select_few": 0.1}
"""Of the variance for ``pca``, else of the columns. On tables of 60 x 2,000 and 200 x 10,000 the best numbers of columns
lay between a tenth and the half of the number of rows."""
SELECTIONS = ("select_k", "select_few")


class Reducer(BlockTransformer):
    """Reduces the number of numeric columns.

    Parameters
    ----------
    method : ``none``, ``pca``, ``select_k`` or ``select_few``
        ``pca`` keeps the fewest principal components that explain `share` of the variance. The other two keep the
        ceil(share x min(columns, rows)) columns with the greatest F statistic against the target (one-way analysis
        of variance for classes, correlation for numbers).
    share : in (0, 1]
        None takes 0.95 for ``pca``, 0.5 for ``select_k`` and 0.1 for ``select_few``.
    target_type : ``auto``, ``classes`` or ``number``
        See `class_codes`.

    Notes
    -----
    Values must be complete. Principal components cost O(n p min(n, p)).
    """

    def __init__(
        self, method: str = "none", share: float | None = None, *, target_type: str = "auto"
    ) -> None:
        self.method = method
        self.share = share
        self.target_type = target_type

    def fit_block(self, values: Numbers, y: ArrayLike | None = None) -> Self:
        """Learn the components or the columns.

        Raises
        ------
        SettingsError
            If the method is not known, the share not in (0, 1], or a selection gets no target.
        """
        if self.method not in DEFAULT_SHARES:
            allowed = ", ".join(DEFAULT_SHARES)
            raise SettingsError(f"method must be one of {allowed}; got {self.method!r}")
        share = DEFAULT_SHARES[self.method] if self.share is None else self.share
        if not 0.0 < share <= 1.0:
            raise SettingsError(f"share must be in (0, 1]; got {share!r}")
        self.means_ = np.zeros(values.shape[1])
        self.components_ = np.zeros((0, values.shape[1]))
        self.chosen_ = np.arange(values.shape[1])
        if not values.size:
            return self
        if self.method == "pca":
            self.means_ = values.mean(axis=0, dtype=np.float64)
            self.components_ = _components(values - self.means_, share)
        elif self.method in SELECTIONS:
            if y is None:
                raise SettingsError(f"{self.method} needs a target; got none")
            scores = _f_statistics(values, y, self.target_type)
            n_kept = int(np.ceil(share * min(values.shape)))
            self.chosen_ = np.sort(np.argsort(-scores, kind="stable")[:n_kept])
        return self

    def transform_block(self, values: Numbers) -> Numbers:
        """Components or chosen columns."""
        if self.method == "pca":
            return np.asarray((values - self.means_) @ self.components_.T)
        return values if len(self.chosen_) == values.shape[1] else values[:, self.chosen_]

    def block_names(self, names: list[str]) -> list[str]:
        """``component0``, … or the names of the chosen columns."""
        if self.method == "pca":
            return [f"component{i}" for i in range(len(self.components_))]
        return [names[i] for i in self.chosen_]


def _components(centered: Numbers, share: float) -> Numbers:
    """(n_components, n_columns) orthonormal rows, each with its largest entry positive."""
    n_rows, n_columns = centered.shape
    if n_columns <= n_rows:
        variances, vectors = np.linalg.eigh(centered.T @ centered)
        vectors = vectors.T
    else:
        variances, left = np.linalg.eigh(centered @ centered.T)
        vectors = left.T @ centered
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(lengths > 0, lengths, 1.0)
    order = np.argsort(-variances, kind="stable")
    variances, vectors = np.maximum(variances[order], 0.0), vectors[order]
    total = variances.sum()
    explained = np.cumsum(variances) / total if total > 0 else np.ones_like(variances)
    kept = vectors[: int(np.searchsorted(explained, share - 1e-12)) + 1]
    signs = np.sign(kept[np.arange(len(kept)), np.abs(kept).argmax(axis=1)])
    return np.asarray(kept * np.where(signs == 0, 1.0, signs)[:, None])


def _f_statistics(values: Numbers, y: ArrayLike, target_type: str) -> NDArray[np.float64]:
    """F statistic of each column up to a common factor; 0 where it is not defined."""
    centered = values - values.mean(axis=0)
    total = (centered**2).sum(axis=0)
    classes = class_codes(y, target_type)
    if classes is None:
        target = np.asarray(y, dtype=np.float64)
        target = target - target.mean()
        between = (target @ centered) ** 2 / max(float(target @ target), np.finfo(float).tiny)
    else:
        codes, n_classes = classes
        counts = np.bincount(codes, minlength=n_classes)
        members = np.zeros((n_classes, len(codes)))
        members[codes, np.arange(len(codes))] = 1.0
        sums = members @ centered
        between = (sums**2 / np.maximum(counts, 1)[:, None]).sum(axis=0)
    within = np.maximum(total - between, 1e-12 * total)
    return np.asarray(np.divide(between, within, out=np.zeros_like(total), where=total > 0))
