"""What a trial will take, of fewer folds, rows or iterations too."""

from dataclasses import replace

import pytest

from automl.families.registry import families
from automl.optimizers.protocol import Proposal
from automl.records import Configuration, Fidelity, FoldResult, Trial, TrialStatus
from automl.stages.trial_costs import TrialCosts

FULL = Fidelity()
ONE, TWO = Fidelity(folds=1), Fidelity(folds=2)
THIRD_OF_ROWS, TENTH_OF_ROUNDS = Fidelity(row_share=1 / 3), Fidelity(iteration_share=0.1)


@pytest.fixture
def costs():
    return TrialCosts(families("binary"), n_rows=800, n_columns=10, n_folds=5)


def trial(family, seconds, *, fidelity=FULL, status=TrialStatus.COMPLETE, n_folds=5):
    if status is TrialStatus.COMPLETE and not fidelity.is_full:
        status = TrialStatus.PARTIAL
    folds = tuple(FoldResult(0, i, 0.5, 100, 0.1, 0.01) for i in range(n_folds))
    configuration = Configuration(family)
    return Trial("run", 0, configuration, status, 0.5, folds, fidelity, seconds=seconds)


def proposal(family, fidelity=FULL):
    return Proposal(Configuration(family), fidelity)


def test_a_complete_trial_takes_the_median_of_the_familys_complete_ones(costs):
    known = [trial("svm", seconds) for seconds in (1.0, 2.0, 9.0)]
    known += [trial("svm", 0.1, fidelity=fidelity) for fidelity in (ONE, THIRD_OF_ROWS)]
    known += [trial("svm", 0.1, status=TrialStatus.RACED, n_folds=2), trial("knn", 0.1)]
    known += [trial("svm", 0.0, status=TrialStatus.FAILED, n_folds=0)]
    assert costs.expected(proposal("svm"), known) == 2.0


@pytest.mark.parametrize(
    ("fidelity", "share"),
    [(ONE, 0.2), (TWO, 0.4), (THIRD_OF_ROWS, 1 / 3), (TENTH_OF_ROUNDS, 0.1), (FULL, 1.0)],
)
def test_a_partial_trial_takes_its_part_of_a_complete_one(costs, fidelity, share):
    assert costs.expected(proposal("svm", fidelity), [trial("svm", 10.0)]) == pytest.approx(
        10.0 * share
    )


def test_trials_of_the_same_fidelity_know_better(costs):
    known = [
        trial("svm", 10.0),
        *(trial("svm", s, fidelity=THIRD_OF_ROWS) for s in (1.0, 1.2, 8.0)),
    ]
    assert costs.expected(proposal("svm", THIRD_OF_ROWS), known) == 1.2


def test_folds_that_are_taken_over_are_not_paid_for_again(costs):
    known = [trial("svm", 10.0)]
    earlier = trial("svm", 4.0, fidelity=ONE, n_folds=1)
    assert costs.expected(proposal("svm"), known, earlier) == 16.0
    assert costs.expected(proposal("svm", Fidelity(folds=3)), known, earlier) == 8.0
    assert costs.expected(proposal("svm"), known, replace(earlier, folds=())) == 10.0


def test_an_unknown_family_is_scaled_from_lightgbm_by_size(costs):
    assert costs.expected(proposal("svm"), []) == 0.0
    known = [trial("lightgbm", 2.0), trial("knn", 50.0)]
    whole = costs.expected(proposal("svm"), known)
    assert whole > 0.0
    assert costs.expected(proposal("svm", ONE), known) == pytest.approx(whole / 5)
    assert costs.expected(proposal("constant of no table"), known) == 0.0
