"""Typed frames to preprocess."""

import numpy as np
import pandas as pd
import pytest


def categories(values, known):
    """Column of categories with the given list."""
    return pd.Categorical(values, categories=pd.Index(known, dtype=object))


@pytest.fixture
def typed():
    """200 rows: two numeric columns and two nominal ones, with missing values everywhere."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "size": rng.normal(10.0, 3.0, 200),
            "weight": rng.exponential(2.0, 200),
            "color": categories(
                rng.choice(["red", "green", "blue"], 200), ["blue", "green", "red", "<unseen>"]
            ),
            "shape": categories(
                rng.choice(["round", "square"], 200), ["round", "square", "<unseen>"]
            ),
        }
    )
    for name in frame.columns:
        frame.loc[rng.choice(200, 15, replace=False), name] = np.nan
    return frame


@pytest.fixture
def labels():
    """Class codes of the 200 rows."""
    return np.random.default_rng(8).integers(0, 2, 200).astype(np.int32)
