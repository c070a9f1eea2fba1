"""Where the seconds of a run went, from trials made by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.records import Configuration, Fidelity, FoldResult, Trial, TrialStatus
from automl.reports.seconds import PARTS, seconds_report

FOLDS = (
    FoldResult(0, 0, 0.5, 10, 2.0, 0.25, preprocessing_seconds=0.5, scoring_seconds=0.125),
    FoldResult(0, 1, 0.7, 10, 1.0, 0.25, preprocessing_seconds=0.0, scoring_seconds=0.125),
)
INSIDE = 3.75
"""Seconds of `FOLDS`: 0.5 of preprocessing, 2.5 of fits, 0.5 of predictions, 0.25 of scores."""


def make(index: int, family: str = "svm", **given: object) -> Trial:
    made = {"seconds": 4.0, "folds": FOLDS, "started_at": 100.0 + index, "origin": "gp", **given}
    status = made.pop("status", TrialStatus.COMPLETE)
    score = made.pop("score", 0.6 if status is TrialStatus.COMPLETE else None)
    configuration = made.pop("configuration", Configuration(family, {"C": index}))
    return Trial("r", index, configuration, status, score, **made)


def test_a_family_has_its_trials_by_their_end_and_its_seconds_by_their_part() -> None:
    timed_out = make(2, status=TrialStatus.TIMED_OUT, folds=FOLDS[:1], seconds=10.0)
    raced = make(3, status=TrialStatus.RACED, score=0.1)
    report = seconds_report([make(0, "knn", seconds=3.75), make(1), timed_out, raced])
    svm, knn = report.families
    assert (svm.family, svm.complete, svm.raced, svm.failed) == ("svm", 1, 1, 1)
    assert (svm.spent.trials, svm.spent.seconds, svm.spent.median_seconds) == (3, 18.0, 4.0)
    assert (svm.spent.preprocessing, svm.spent.fitting) == (1.5, 6.5)
    assert (svm.spent.predicting, svm.spent.scoring) == (1.25, 0.625)
    assert svm.spent.other == 0.25 + 0.25 + (10.0 - 2.375)  # the fold that was cut short
    assert svm.best_score == 0.6
    assert (knn.family, knn.spent.other) == ("knn", 0.0)
    assert report.tells_preprocessing


def test_a_family_has_what_its_trials_were_expected_to_take() -> None:
    planned = [make(0, expected_seconds=3.0), make(1, expected_seconds=0.5), make(2)]
    svm, knn = seconds_report([*planned, make(3, "knn")]).families
    assert (svm.planned, svm.planned_seconds, svm.spent.trials) == (2, 3.5, 3)
    assert (knn.planned, knn.planned_seconds) == (0, None)


def test_folds_statuses_origins_and_stages_are_told_apart() -> None:
    trials = [
        make(0, origin="floor", seconds=5.0),
        make(1, status=TrialStatus.RACED, folds=FOLDS[:1], seconds=2.5),
        make(0, stage="candidates", seconds=8.0),
    ]
    report = seconds_report(trials)
    assert [(fold.fold, fold.fits, fold.fitting) for fold in report.folds] == [
        (0, 2, 3.0),
        (1, 1, 1.0),
    ]
    assert [(g.name, g.trials, g.seconds) for g in report.statuses] == [
        ("complete", 1, 5.0),
        ("raced", 1, 2.5),
    ]
    assert [(g.name, g.seconds) for g in report.origins] == [("floor", 5.0), ("gp", 2.5)]
    assert [(g.name, g.seconds) for g in report.stages] == [("candidates", 8.0), ("search", 7.5)]


def test_folds_that_were_taken_over_count_once() -> None:
    configuration = Configuration("svm", {"C": 1})
    first = make(
        0, configuration=configuration, status=TrialStatus.PARTIAL, score=0.5,
        folds=FOLDS[:1], seconds=2.5, fidelity=Fidelity(folds=1),
    )  # fmt: skip
    whole = make(1, configuration=configuration, seconds=4.0, reused_seconds=2.5)
    report = seconds_report([whole, first])
    assert report.total.seconds == 4.0
    assert [fold.fits for fold in report.folds] == [1, 1]
    assert report.total.other == pytest.approx(4.0 - INSIDE)


def test_the_slots_of_each_process_are_busy_asking_or_idle() -> None:
    trials = [
        make(0, started_at=10.0, seconds=4.0),
        make(1, started_at=10.0, seconds=2.0),
        make(2, started_at=13.0, seconds=1.0),
        make(3, started_at=1000.0, seconds=5.0),
    ]
    processes = [{"started_at": 9.0, "slots": 2}, {"started_at": 900.0, "slots": 1}]
    slots = seconds_report(trials, processes=processes, asking=0.4).slots
    assert slots is not None
    assert (slots.slots, slots.slot_seconds, slots.busy) == (1, 2 * 4.0 + 5.0, 12.0)
    assert (slots.asking, slots.idle) == pytest.approx((0.4, 0.6))


def test_a_run_that_does_not_tell_its_slots_or_its_parts_says_so() -> None:
    old = (FoldResult(0, 0, 0.5, 10, 2.0, 0.25),)
    report = seconds_report([make(0, folds=old)])
    assert report.slots is None
    assert not report.tells_preprocessing
    assert seconds_report([]).total.median_seconds is None


TRIALS = st.lists(
    st.builds(
        lambda family, status, n_folds, extra: (
            family,
            status,
            FOLDS[:n_folds],
            sum(f.fit_seconds + f.predict_seconds + f.scoring_seconds for f in FOLDS[:n_folds])
            + extra,
        ),
        st.sampled_from(["svm", "knn", "lda"]),
        st.sampled_from(list(TrialStatus)),
        st.integers(0, 2),
        st.floats(0, 10),
    ),
    max_size=12,
)


@given(TRIALS)
def test_every_second_is_in_one_family_one_status_and_one_part(drawn: list[tuple]) -> None:
    report = seconds_report(
        [
            make(index, family, status=status, folds=folds, seconds=seconds)
            for index, (family, status, folds, seconds) in enumerate(drawn)
        ]
    )
    total = sum(seconds for *_, seconds in drawn)
    assert report.total.seconds == pytest.approx(total)
    assert sum(entry.spent.seconds for entry in report.families) == pytest.approx(total)
    assert sum(group.seconds for group in report.statuses) == pytest.approx(total)
    parts = [getattr(report.total, name) for name in (*PARTS, "other")]
    assert sum(parts) == pytest.approx(total)
    assert min(parts) >= 0
