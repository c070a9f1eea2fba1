"""Why a family has no trial."""

from __future__ import annotations

import pytest

from automl.records import Configuration, Trial, TrialStatus
from automl.search.untried import NO_TRIALS, TOO_SLOW, why_untried


def trial(index: int, family: str, seconds: float) -> Trial:
    return Trial(
        run_id="r",
        index=index,
        configuration=Configuration(family, {"c": index}, ()),
        status=TrialStatus.COMPLETE,
        score=0.5,
        seconds=seconds,
        started_at=100.0 + 10.0 * index,
    )


SEARCH = [trial(0, "knn", 3.0), trial(1, "svm", 9.0), trial(2, "svm", 8.0), trial(3, "qda", 4.0)]


def test_a_family_that_others_were_preferred_to_is_not_called_slow() -> None:
    others = "the search spent its time on svm, qda, knn"
    assert why_untried(SEARCH, 0.4) == others
    assert why_untried(SEARCH, None) == others
    more = [*SEARCH, trial(4, "lda", 1.0)]
    assert (
        why_untried(more, 0.4) == "the search spent its time on others, most of it on svm, qda, knn"
    )


def test_a_trial_longer_than_the_search_is_the_reason() -> None:
    assert why_untried(SEARCH, 34.5) == TOO_SLOW  # the search took 34 s
    assert why_untried(SEARCH, 33.5) != TOO_SLOW


@pytest.mark.parametrize("trials", [[], [trial(0, "constant", 0.1)]])
def test_a_search_of_the_constant_alone_had_no_time(trials: list[Trial]) -> None:
    assert why_untried(trials, None) == NO_TRIALS
