"""The error rate that each test of an unlimited series may spend."""

from __future__ import annotations

from typing import Final

from scipy.special import zeta

EXPONENT: Final = 1.5
"""A greater one is hardly better at the first look and much worse at the twelfth, a smaller one the reverse
(`benchmarks/promotion`)."""


def level_of_look(alpha: float, look: int, exponent: float = EXPONENT) -> float:
    """Level of the k-th test: alpha k^-s / zeta(s); all levels together are alpha.

    By the union bound the chance of any false rejection in the whole series is at most alpha, however the
    tests depend on each other and however long the series is. Where the count begins anew after a
    rejection the rule is LORD's, which keeps the share of false rejections at alpha for independent tests.

    Parameters
    ----------
    alpha : in (0, 1)
    look : k, at least 1
    exponent : s, above 1

    Raises
    ------
    ValueError
        If a number is out of its range.

    References
    ----------
    .. [1] Javanmard and Montanari (2018), Online rules for control of false discovery rate and false discovery
       exceedance, section 2.1.
    """
    if not 0 < alpha < 1 or not exponent > 1 or look < 1:
        raise ValueError(f"no level for alpha {alpha}, look {look} and exponent {exponent}")
    return float(alpha * look**-exponent / zeta(exponent))
