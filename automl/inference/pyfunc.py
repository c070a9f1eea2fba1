"""Entry point for MLflow's generic model flavor: ``loader_module="automl.inference.pyfunc"``.

The bundle is the flavor's data path, and its ``code/automl`` the code path. Nothing here imports MLflow.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.inference.bundle import load_bundle
from automl.inference.model import TableModel

TRUST_VARIABLE = "AUTOML_TRUST"


class TablePyfunc:
    """What MLflow calls: a `TableModel` whose `predict` takes parameters.

    Parameters
    ----------
    model
        Also there for callers who unwrap it.
    """

    def __init__(self, model: TableModel) -> None:
        self.model = model

    def predict(
        self, model_input: pd.DataFrame, params: Mapping[str, Any] | None = None
    ) -> NDArray[Any] | pd.DataFrame:
        """Labels or numbers (n_rows,); with ``params={"proba": True}`` a frame with one column per class.

        Columns in which values may be missing may be left out: all of their values are missing then.

        Raises
        ------
        DataError
            If a column is missing or has values of a wrong type.
        SettingsError
            If probabilities are asked of a regression.
        """
        frame = model_input if isinstance(model_input, pd.DataFrame) else pd.DataFrame(model_input)
        frame = self._with_optional(frame)
        if not (params or {}).get("proba", False):
            return np.asarray(self.model.predict(frame))
        shares = self.model.predict_proba(frame)
        return pd.DataFrame(shares, columns=[str(label) for label in self.model.classes_.tolist()])

    def _with_optional(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with its optional columns; the signature says that they may be left out."""
        there = set(map(str, frame.columns))
        columns = self.model.schema.columns
        absent = [c.name for c in columns if c.is_optional and c.name not in there]
        return frame.assign(**dict.fromkeys(absent, None)) if absent else frame


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> TablePyfunc:
    """Load a bundle for MLflow.

    Parameters
    ----------
    model_config
        ``{"trust": True}`` admits pickles, as does the environment variable ``AUTOML_TRUST=1``.
    """
    trust = bool((model_config or {}).get("trust", False)) or os.environ.get(TRUST_VARIABLE) == "1"
    return TablePyfunc(load_bundle(path, trust=trust))
