"""Plain words of a result that deserves little trust."""

from dataclasses import replace

import pytest

from automl.optimizers.registry import optimizer_name
from automl.records import Configuration, Fidelity, FoldResult, Trial, TrialStatus
from automl.run_records.final import FinalMember
from automl.selection.dispositions import Disposition, Place
from automl.settings import Settings
from automl.settings.sources import resolve_settings
from automl.stages.result import FEW_TRIALS, few_trials, never_partial, remarks, unasked


def trial(index, origin, family, scores):
    folds = tuple(FoldResult(0, i, score, 40, 0.1, 0.01) for i, score in enumerate(scores))
    return Trial(
        "r",
        index,
        Configuration(family, {}),
        TrialStatus.COMPLETE,
        sum(scores) / len(scores),
        folds,
        origin=origin,
        seconds=1.0,
    )


FLOOR = trial(0, "floor", "lightgbm", [0.1, 0.5, 0.2, 0.6, 0.3])
CHAMPION = trial(1, "smac", "svm", [0.6, 0.5, 0.7, 0.6, 0.5])
ALONE = (FinalMember(CHAMPION.id, 1.0, "svm"),)


@pytest.mark.parametrize(
    ("status", "is_told"), [("worse", False), ("screened_out", False), ("finalist", True)]
)
def test_a_default_that_the_selection_has_dropped_is_not_called_as_good(status, is_told):
    decided = {FLOOR.id: Disposition(status, Place.SELECTION)}
    found = remarks([FLOOR, CHAMPION], CHAMPION, decided, ALONE)
    assert any("indistinguishable from a default LightGBM" in text for text in found) is is_told


@pytest.mark.parametrize(
    ("status", "is_told"), [("worse", False), ("screened_out", False), ("finalist", True)]
)
def test_a_champion_that_could_be_the_constant_is_told(status, is_told):
    constant = trial(0, "floor", "constant", [0.5, 0.5, 0.5, 0.5, 0.4])
    decided = {constant.id: Disposition(status, Place.SELECTION)}
    found = remarks([constant, CHAMPION], CHAMPION, decided, ALONE)
    assert any("from predicting the same for every row" in text for text in found) is is_told


@pytest.mark.parametrize(
    ("members", "subject"),
    [
        (ALONE, "the champion is"),
        (
            (FinalMember(CHAMPION.id, 0.5, "svm"), FinalMember(FLOOR.id, 0.5, "lightgbm")),
            "the champion, in whose place an ensemble is deployed, is",
        ),
        (
            (FinalMember(FLOOR.id, 1.0, "lightgbm"),),
            f"the champion, in whose place trial {FLOOR.id} is deployed, is",
        ),
    ],
)
def test_a_remark_says_what_is_deployed(members, subject):
    decided = {FLOOR.id: Disposition("finalist", Place.SELECTION)}
    found = remarks([FLOOR, CHAMPION], CHAMPION, decided, members)
    assert found[-1] == f"{subject} indistinguishable from a default LightGBM on these folds"


def test_a_constant_champion_is_not_compared_with_a_learner():
    constant = trial(1, "floor", "constant", [0.3, 0.3, 0.3, 0.3, 0.3])
    decided = {FLOOR.id: Disposition("finalist", Place.SELECTION)}
    found = remarks([FLOOR, constant], constant, decided, (FinalMember(constant.id, 1.0),))
    assert not any("LightGBM" in sentence for sentence in found)


def test_few_trials_are_named():
    champion = trial(0, "floor", "lightgbm", [0.1, 0.2])
    (told,) = few_trials(Settings(table="t.csv", target="y", trials=3), [champion])
    assert told == "only 1 trial was completed; more trials would make the choice mean more"
    (told,) = few_trials(Settings(table="t.csv", target="y"), [champion] * 2)
    assert told == "only 2 trials were completed; more time would make the choice mean more"
    many = [trial(i, "smac", "svm", [0.1, 0.2]) for i in range(FEW_TRIALS)]
    assert few_trials(Settings(table="t.csv", target="y"), many) == []
    assert remarks(many, many[0], {}, ALONE) == []


def test_an_optimizer_that_was_chosen_and_proposed_nothing_is_named():
    def told(*origins, **given):
        settings = resolve_settings({"table": "t.csv", "target": "y", **given}, environment={})
        trials = [trial(i, origin, "svm", [0.1]) for i, origin in enumerate(origins)]
        return unasked(settings, trials)

    assert told("floor", "knowledge") == told("floor", "fmlp", optimizer="fmlp") == []
    assert told("floor", "hypercube", preset="thesis", optimizer="hypercube") == []
    (sentence,) = told("floor", "default", optimizer="fmlp")
    assert "fmlp proposed none of the trials" in sentence


@pytest.mark.parametrize("preset", ["balanced", "thesis"])
def test_an_allocator_that_was_chosen_and_had_no_turn_is_named(preset):
    settings = resolve_settings(
        {"table": "t.csv", "target": "y", "preset": preset, "allocator": "halving"}, environment={}
    )
    begun = [trial(0, "floor", "svm", [0.1]), trial(1, "default", "knn", [0.1])]
    (sentence,) = unasked(settings, begun)
    assert sentence.startswith("setting allocator: halving chose the family of none")
    name = optimizer_name(settings.optimizer)
    assert unasked(settings, [*begun, trial(2, name, "svm", [0.1])]) == []


def test_a_fidelity_that_was_chosen_and_made_no_partial_trial_is_named():
    settings = resolve_settings(
        {"table": "t.csv", "target": "y", "optimizer": "hyperband", "fidelity": "rows"},
        environment={},
    )
    whole = trial(0, "hyperband", "svm", [0.1])
    (sentence,) = never_partial(settings, [whole])
    assert sentence.startswith("setting fidelity: no trial was partial; rows skips")
    assert never_partial(settings, [whole, replace(whole, fidelity=Fidelity(row_share=0.3))]) == []
    usual = resolve_settings({"table": "t.csv", "target": "y"}, environment={})
    assert never_partial(usual, [whole]) == []
