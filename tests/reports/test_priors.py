"""Pictures of learned priors."""

import numpy as np
import pytest

from automl.errors import DataError
from automl.priors.general import LearnedPrior
from automl.reports.priors import prior_picture, save_prior_pictures
from automl.spaces.distributions import GaussianMixture, LogUniform, Uniform

LOG = LogUniform(0.01, 100)
PEAK = GaussianMixture(
    weights=(0.8, 0.2), means=(0.0, 0.0), sds=(0.3, 20.0), low=0.01, high=100, log=True
)
WHOLE = Uniform(1, 5, integer=True)
STEPS = GaussianMixture(weights=(1,), means=(3,), sds=(1,), low=1, high=5, integer=True)


def prior(signature, name, original, distribution):
    values = original.ppf(np.linspace(0.3, 0.7, 50))
    return LearnedPrior("classification", signature, name, original, distribution, values, 9, 90)


PRIORS = [
    prior("svm/kernel=linear", "C", LOG, PEAK),
    prior("svm/kernel=rbf", "C", LOG, PEAK),
    prior("knn", "k", WHOLE, STEPS),
]


def test_there_is_a_picture_for_each_hyperparameter(tmp_path):
    files = save_prior_pictures(PRIORS, tmp_path / "new")
    assert [file.name for file in files] == ["classification-svm-C.png", "classification-knn-k.png"]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)


def test_each_signature_has_a_panel_with_the_density_relative_to_the_range():
    figure = prior_picture(PRIORS[:2])
    panels = figure.axes
    assert [panel.get_title().splitlines()[0] for panel in panels] == [
        "kernel=linear",
        "kernel=rbf",
    ]
    x, density = panels[0].lines[0].get_data()
    assert panels[0].get_xscale() == "log"
    assert np.trapezoid(density, np.log(x)) / np.log(1e4) == pytest.approx(1.0, abs=0.02)
    assert panels[0].get_ylim()[1] > density.max()


def test_whole_numbers_are_steps():
    x, density = prior_picture(PRIORS[2:]).axes[0].lines[0].get_data()
    assert list(x) == [1, 2, 3, 4, 5]
    assert density.mean() == pytest.approx(1.0)


def test_nothing_to_draw_is_refused():
    with pytest.raises(DataError, match="at least one"):
        prior_picture([])
