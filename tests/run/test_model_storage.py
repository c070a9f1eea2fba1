"""Own families whose models nobody could load without trust are refused before a run begins."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from automl.errors import SettingsError
from automl.families.registry import forget_families
from automl.run.model_storage import check_storage
from automl.settings import Settings

FAMILY = """
name: {name}
title: A family of mine
estimators: {{classification: "{estimator}"}}
simplicity: 0.5
interpretability: 0.5
tree: {{}}
"""
MODULE = """
from sklearn.linear_model import LogisticRegression

class Mine(LogisticRegression):
    pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Three families: of scikit-learn, of LightGBM, and of a module of the user's own."""
    estimators = {
        "forest": "sklearn.ensemble:BaggingClassifier",
        "leaves": "lightgbm:LGBMClassifier",
        "mine": "own_estimators_of_a_user:Mine",
    }
    for name, estimator in estimators.items():
        (tmp_path / f"{name}.yaml").write_text(FAMILY.format(name=name, estimator=estimator))
    (tmp_path / "own_estimators_of_a_user.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("own_estimators_of_a_user", None)
    forget_families()


def settings(folder: Path, **given: object) -> Settings:
    return Settings(table="t", target="y", family_folder=str(folder), **given)


def test_a_family_that_only_a_pickle_holds_is_refused_with_what_helps(folder: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        check_storage(settings(folder))
    assert caught.value.message == (
        "family mine: own_estimators_of_a_user.Mine can be stored only as a pickle, which is never "
        "loaded without trust; give --trust to store it so, or leave the family out"
    )


@pytest.mark.parametrize(
    "given",
    [
        {"trust": True},
        {"exclude": ("mine",)},
        {"families": ("forest", "leaves", "ridge")},
        {"task": "regression"},
    ],
)
def test_a_run_without_it_or_with_trust_may_begin(folder: Path, given: dict[str, object]) -> None:
    check_storage(settings(folder, **given))
