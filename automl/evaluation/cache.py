"""Preprocessed folds, least recently used out first, bounded in bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PreprocessedFold:
    """A fitted preprocessor and both parts of a fold as it gives them.

    Parameters
    ----------
    training, validation : (n, n_outputs)
        float32 matrices, or frames with category columns.
    """

    preprocessor: Any
    training: Any
    validation: Any

    @property
    def size_bytes(self) -> int:
        """Memory of both parts."""
        return _size(self.training) + _size(self.validation)


class FoldCache:
    """Least-recently-used cache of preprocessed folds.

    Parameters
    ----------
    capacity_bytes
        Sum of the sizes kept; a fold larger than this is not kept at all.
    """

    def __init__(self, capacity_bytes: float) -> None:
        self._capacity = capacity_bytes
        self._folds: OrderedDict[Hashable, PreprocessedFold] = OrderedDict()
        self._size = 0

    def get(self, key: Hashable) -> PreprocessedFold | None:
        """The fold of a key, now the most recently used."""
        fold = self._folds.get(key)
        if fold is not None:
            self._folds.move_to_end(key)
        return fold

    def put(self, key: Hashable, fold: PreprocessedFold) -> None:
        """Keep a fold and drop what no longer fits."""
        if fold.size_bytes > self._capacity:
            return
        replaced = self._folds.pop(key, None)
        self._size -= replaced.size_bytes if replaced is not None else 0
        self._folds[key] = fold
        self._size += fold.size_bytes
        while self._size > self._capacity:
            _, dropped = self._folds.popitem(last=False)
            self._size -= dropped.size_bytes


def _size(part: Any) -> int:
    if hasattr(part, "memory_usage"):
        return int(part.memory_usage(index=False).sum())
    return int(part.nbytes)
