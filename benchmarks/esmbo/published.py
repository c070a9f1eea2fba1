"""The numbers that document L14 prints in tables 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """One printed table.

    Parameters
    ----------
    n_tables : data sets
    order : methods by expected rank
    frequency
        Winning frequency of each method against those of `order`.
    rank : expected rank
    """

    n_tables: int
    order: Sequence[str]
    frequency: Mapping[str, Sequence[float]]
    rank: Mapping[str, float]


def _printed(n_tables: int, text: str) -> Printed:
    rows = [line.split() for line in text.strip().splitlines()]
    return Printed(
        n_tables,
        [row[0] for row in rows],
        {row[0]: [float(value) for value in row[1:-1]] for row in rows},
        {row[0]: float(row[-1]) for row in rows},
    )


N_REGRESSION, N_CLASSIFICATION = 22, 39

PUBLISHED = {
    ("regression", "svm"): _printed(
        N_REGRESSION,
        """
        ESMBO 0.50 0.66 0.82 0.86 1.66
        ERS   0.34 0.50 0.50 0.77 2.38
        SMBO  0.18 0.50 0.50 0.64 2.68
        RS    0.14 0.23 0.36 0.50 3.27
        """,
    ),
    ("regression", "boosting"): _printed(
        N_REGRESSION,
        """
        ERS   0.50 0.52 0.77 0.86 1.84
        ESMBO 0.48 0.50 0.77 0.91 1.85
        RS    0.23 0.23 0.50 0.42 3.12
        SMBO  0.14 0.09 0.58 0.50 3.19
        """,
    ),
    ("regression", "forest"): _printed(
        N_REGRESSION,
        """
        ESMBO 0.50 0.53 0.76 0.91 1.80
        ERS   0.47 0.50 0.72 1.00 1.81
        SMBO  0.24 0.28 0.50 0.66 2.82
        RS    0.09 0.00 0.34 0.50 3.57
        """,
    ),
    ("classification", "svm"): _printed(
        N_CLASSIFICATION,
        """
        ESMBO 0.50 0.54 0.55 0.56 2.35
        RS    0.46 0.50 0.51 0.51 2.52
        SMBO  0.45 0.49 0.50 0.53 2.54
        ERS   0.44 0.49 0.47 0.50 2.59
        """,
    ),
    ("classification", "boosting"): _printed(
        N_CLASSIFICATION,
        """
        ESMBO 0.50 0.51 0.59 0.65 2.25
        ERS   0.49 0.50 0.59 0.64 2.28
        RS    0.41 0.41 0.50 0.55 2.64
        SMBO  0.35 0.36 0.45 0.50 2.83
        """,
    ),
    ("classification", "forest"): _printed(
        N_CLASSIFICATION,
        """
        ERS   0.50 0.52 0.60 0.64 2.24
        ESMBO 0.48 0.50 0.60 0.67 2.25
        RS    0.40 0.40 0.50 0.57 2.63
        SMBO  0.36 0.33 0.43 0.50 2.89
        """,
    ),
    ("classification", "mlp"): _printed(
        N_CLASSIFICATION,
        """
        ESMBO 0.50 0.57 0.76 0.75 1.92
        SMBO  0.43 0.50 0.68 0.68 2.21
        ERS   0.24 0.32 0.50 0.54 2.91
        RS    0.25 0.32 0.46 0.50 2.96
        """,
    ),
}
