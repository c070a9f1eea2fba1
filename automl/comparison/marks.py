"""How sure a test is: not significant, significant or highly significant (L14, section 6.2)."""

from __future__ import annotations

from enum import StrEnum


class Mark(StrEnum):
    """Result of a test in L14's two levels; its dots are orange and green."""

    NONE = ""
    SIGNIFICANT = "significant"
    HIGHLY = "highly significant"

    @classmethod
    def of_pvalue(cls, pvalue: float) -> Mark:
        """Sign test: highly significant below 0.05, significant below 0.1."""
        if pvalue < 0.05:
            return cls.HIGHLY
        return cls.SIGNIFICANT if pvalue < 0.1 else cls.NONE

    @classmethod
    def of_probability(cls, probability: float) -> Mark:
        """Poisson-binomial test: highly significant above 0.9, significant above 0.8."""
        if probability > 0.9:
            return cls.HIGHLY
        return cls.SIGNIFICANT if probability > 0.8 else cls.NONE
