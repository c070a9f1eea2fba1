"""What the report says of the families' defaults."""

from __future__ import annotations

from automl.reports.sections.defaults import _scores_of
from automl.selection.defaults import BoostRow


def test_one_default_is_no_best_and_worst_of_several():
    several = BoostRow("t", 0.2, 0.5, "svm", 0.6, "svm", worst_default="stump", n_defaults=3)
    assert _scores_of(several) == (
        "the best default of 3 families is svm with a score of 0.5, the worst stump with 0.2"
    )
    one = BoostRow("t", 0.5, 0.5, "svm", 0.6, "svm", worst_default="svm", n_defaults=1)
    assert _scores_of(one) == "svm alone has a default with a score, 0.5"
