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
    """Adapter for MLflow: a `TableModel` whose `predict` takes parameters.

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

        Raises
        ------
        DataError
            As `TableModel.predict`.
        SettingsError
            If probabilities are asked of a regression.
        """
        frame = model_input if isinstance(model_input, pd.DataFrame) else pd.DataFrame(model_input)
        if not (params or {}).get("proba", False):
            return np.asarray(self.model.predict(frame))
        shares = self.model.predict_proba(frame)
        return pd.DataFrame(shares, columns=[str(label) for label in self.model.classes_.tolist()])


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> TablePyfunc:
    """Load a bundle for MLflow.

    Parameters
    ----------
    model_config
        ``{"trust": True}`` admits pickles, as does the environment variable ``AUTOML_TRUST=1``.
    """
    trust = bool((model_config or {}).get("trust", False)) or os.environ.get(TRUST_VARIABLE) == "1"
    return TablePyfunc(load_bundle(path, trust=trust))
