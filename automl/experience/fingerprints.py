"""Two digests that identify a data set: one of its content, one of its columns.

The *fingerprint* is of the content: typed features and target. It is the same for every file
format, order of rows and order of columns, and under other names of columns: a column is told from
the others by its values. Another target, another role of a column, or one other value is another
content.

The *layout* is of the names: all raw columns, used or not, and which of them are target, groups,
time and weights. It says nothing of rows, so that a later version of a data set has it too. Roles
that are detected from values are not part of it: a column that is constant in a small sample, or an
identifier in a large one, must not make a new data set of a later version.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.content_digests import content_digest, new_digest
from automl.data.digests import value_hashes
from automl.data.table import Table
from automl.inference.raw_table import Column

Hashes = NDArray[np.uint64]

_TARGET = np.uint64(0xD6E8FEB86659FD93)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def fingerprint(table: Table) -> str:
    """32 hexadecimal digits over the typed features and the target; O(rows (columns + log rows)).

    A value's hash is salted with its column's, which is a sum over the rows; a row's hash is the
    sum over its salted values; the rows' hashes are digested in ascending order. So no order
    matters, and a value that moves to another row or another column changes the whole.
    """
    rows = _salted(value_hashes(Column(_target(table)))) ^ _TARGET
    for position in range(table.frame.shape[1]):
        rows += _salted(value_hashes(Column(table.frame.iloc[:, position])))
    rows = np.sort(_mixed(rows))
    digest = new_digest(str(table.frame.shape[1]).encode())
    digest.update(rows.astype("<u8").tobytes())
    return digest.hexdigest()


def layout(table: Table) -> str:
    """32 hexadecimal digits over the names of all raw columns, in no order, and their use."""
    names = {column.name for column in table.schema.columns} | set(table.schema.ignored)
    content = {
        "names": sorted(names | {name for name in table.columns.to_json().values() if name}),
        "columns": table.columns.to_json(),
        "classes": table.task.is_classification,
    }
    text = json.dumps(content, sort_keys=True)
    return content_digest(text.encode("utf-8", "surrogatepass"))


def _target(table: Table) -> pd.Series:
    if table.classes is None:
        return pd.Series(table.y)
    labels = pd.Index(table.classes, dtype=object)
    return pd.Series(pd.Categorical(labels[table.y], categories=labels))


def _salted(hashes: Hashes) -> Hashes:
    """Hashes of a column's values, different from those of equal values in another column."""
    return _mixed(hashes ^ _mixed(hashes).sum(dtype=np.uint64))


def _mixed(hashes: Hashes) -> Hashes:
    """The finalizer of splitmix64, a permutation of the 64-bit numbers."""
    mixed: Hashes = hashes ^ (hashes >> np.uint64(30))
    mixed *= _FIRST
    mixed ^= mixed >> np.uint64(27)
    mixed *= _SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed
