"""Typed frame to matrix (X20, section II-A; B14, section 6.1): encode, impute, filter, scale, reduce.

Every step is a scikit-learn transformer that also works alone on any DataFrame;
`TablePreprocessor` runs them in that order on blocks of numbers, category codes and texts.
"""

from automl.preprocessing.encoding import OTHER, Encoder
from automl.preprocessing.filtering import VarianceFilter
from automl.preprocessing.imputation import MISSING, Imputer
from automl.preprocessing.pipeline import TablePreprocessor, build_preprocessor
from automl.preprocessing.reduction import Reducer
from automl.preprocessing.scaling import Scaler
from automl.preprocessing.texts import TextEncoder
from automl.preprocessing.value_counts import ValueCounts

__all__ = [
    "MISSING",
    "OTHER",
    "Encoder",
    "Imputer",
    "Reducer",
    "Scaler",
    "TablePreprocessor",
    "TextEncoder",
    "ValueCounts",
    "VarianceFilter",
    "build_preprocessor",
]
