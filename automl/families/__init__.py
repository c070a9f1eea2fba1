"""Algorithm families: one text file each, and the registry that reads them (B14, appendix A)."""

from automl.families.family import Family
from automl.families.portfolio import portfolio
from automl.families.registry import families, get_family, load_families

__all__ = [
    "Family",
    "families",
    "get_family",
    "load_families",
    "portfolio",
]
