"""What an optimizer that wants scores on bootstraps changes in a search."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from automl.home import Home
from automl.record_files import StageRecords
from automl.stages.searching import Search


@pytest.fixture
def search_of(session_of, tmp_path):
    """Function that makes a search without processes, with an optimizer."""

    def make(optimizer):
        home = Home(tmp_path / "home")
        session = session_of(families=("knn", "ridge"), trials=10, racing=True, optimizer=optimizer)
        more = {"home": home, "run_id": "run", "records": StageRecords(home.path), "earlier": []}
        return Search(SimpleNamespace(**{**vars(session), "journal": None, **more}))

    return make


@pytest.mark.parametrize(
    ("optimizer", "n"),
    [("esmbo", 50), ({"base": "smac", "n_histories": 6}, 6), ("gp_ei", 0), ("random", 0)],
)
def test_the_plan_says_how_many_and_no_trial_is_raced_then(search_of, optimizer, n):
    search = search_of(optimizer)
    assert search.session.plan.settings.n_bootstraps == n
    assert search.runner.races == (n == 0)
