"""Records travel as JSON and as pickles without change."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.records import Configuration, Fidelity, FoldResult, Task, Trial, TrialStatus

NAMES = st.text("abcdef._", min_size=1, max_size=8)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
)
NUMBERS = st.floats(-1e9, 1e9)
CONFIGURATIONS = st.builds(
    Configuration, NAMES, st.dictionaries(NAMES, SCALARS, max_size=5), st.tuples(NAMES, NAMES)
)
FOLDS = st.builds(
    FoldResult,
    st.integers(0, 3),
    st.integers(0, 9),
    NUMBERS,
    st.integers(1, 10**6),
    st.floats(0, 1e4),
    st.floats(0, 1e4),
)
TRIALS = st.builds(
    Trial,
    run_id=NAMES,
    index=st.integers(0, 99_999),
    configuration=CONFIGURATIONS,
    status=st.sampled_from(TrialStatus),
    score=st.none() | NUMBERS,
    folds=st.lists(FOLDS, max_size=3).map(tuple),
    fidelity=st.builds(Fidelity, st.none() | st.integers(1, 5), st.floats(0.1, 1.0)),
    metrics=st.dictionaries(NAMES, NUMBERS, max_size=3),
    seconds=st.floats(0, 1e5),
    origin=NAMES,
    stage=st.sampled_from(["search", "candidates", "stack"]),
    reason=st.text(max_size=10),
    bootstrap_scores=st.lists(NUMBERS, max_size=3).map(tuple),
)


@given(CONFIGURATIONS)
def test_a_configuration_survives_json_and_pickle(configuration):
    for copy in (
        Configuration.from_json(json.loads(json.dumps(configuration.to_json()))),
        pickle.loads(pickle.dumps(configuration)),
    ):
        assert copy == configuration
        assert copy.id == configuration.id
        assert hash(copy) == hash(configuration)


@given(TRIALS)
def test_a_trial_survives_json_and_pickle(trial):
    copy = Trial.from_json(json.loads(json.dumps(trial.to_json())))
    assert copy == trial
    assert copy.id == trial.id
    assert pickle.loads(pickle.dumps(trial)) == trial


@given(st.dictionaries(NAMES, SCALARS, max_size=5), st.randoms())
def test_the_identity_does_not_depend_on_the_order_of_the_values(values, random):
    items = list(values.items())
    random.shuffle(items)
    assert Configuration("svm", dict(items)).id == Configuration("svm", values).id


def test_the_identity_depends_on_family_and_values():
    ids = {
        Configuration("svm", {"C": 1.0}).id,
        Configuration("svm", {"C": 2.0}).id,
        Configuration("svm", {"C": 1.0, "gamma": None}).id,
        Configuration("nu_svm", {"C": 1.0}).id,
    }
    assert len(ids) == 4


def test_a_configuration_cannot_be_changed():
    configuration = Configuration("svm", {"C": 1.0})
    with pytest.raises(TypeError):
        configuration.values["C"] = 2.0


def test_changing_the_mapping_that_made_it_does_not_change_a_configuration():
    values = {"C": 1.0}
    configuration = Configuration("svm", values)
    values["C"] = 2.0
    assert configuration.values["C"] == 1.0


def test_a_signature_is_the_family_and_its_choices():
    configuration = Configuration("svm", {}, ("kernel=poly", "coef0_used=true"))
    assert configuration.signature == "svm/kernel=poly/coef0_used=true"
    assert Configuration("ridge").signature == "ridge"


def test_trial_ids_sort_in_the_order_of_the_decisions():
    trials = [
        Trial("r", i, Configuration("svm"), TrialStatus.COMPLETE, 0.5) for i in (0, 9, 10, 12_345)
    ]
    ids = [trial.id for trial in trials]
    assert ids == sorted(ids)
    stages = ("search", "candidates", "stack")
    others = {
        Trial("r", 0, Configuration("svm"), TrialStatus.COMPLETE, 0.5, stage=stage).id
        for stage in stages
    }
    assert len(others) == len(stages)


def test_seconds_and_milliseconds_are_sums_over_the_folds():
    folds = (FoldResult(0, 0, 0.5, 100, 1.0, 0.2), FoldResult(0, 1, 0.7, 300, 2.0, 0.6))
    trial = Trial("r", 0, Configuration("svm"), TrialStatus.COMPLETE, 0.6, folds)
    assert trial.fit_seconds == 3.0
    assert trial.predict_milliseconds == pytest.approx(2.0)
    assert trial.fold_scores == (0.5, 0.7)
    failed = Trial("r", 0, Configuration("svm"), TrialStatus.FAILED, None)
    assert failed.predict_milliseconds == 0.0


def test_a_journal_that_does_not_tell_the_parts_of_a_fold_is_read():
    trial = Trial(
        "r",
        0,
        Configuration("svm"),
        TrialStatus.COMPLETE,
        0.5,
        (FoldResult(0, 0, 0.5, 9, 1.0, 0.2),),
    )
    data = trial.to_json()
    for name in ("preprocessing_seconds", "scoring_seconds"):
        assert data["folds"][0].pop(name) == 0.0
    assert Trial.from_json(data) == trial


@pytest.mark.parametrize("status", TrialStatus)
def test_only_complete_trials_are_complete(status):
    trial = Trial("r", 0, Configuration("svm"), status, None)
    assert trial.is_complete == (status == "complete")


@pytest.mark.parametrize(
    ("fidelity", "is_full"),
    [(Fidelity(), True), (Fidelity(folds=2), False), (Fidelity(row_share=0.5), False)],
)
def test_full_fidelity_is_every_fold_and_every_row(fidelity, is_full):
    assert fidelity.is_full is is_full


def test_every_task_but_regression_has_classes():
    assert [task.is_classification for task in Task] == [True, True, False]
