"""A name belongs to one problem, in a home and in a store."""

from __future__ import annotations

import pytest

from automl.errors import SettingsError
from automl.settings import Settings
from automl.tracking.mirror import Mirror, complete
from automl.tracking.mirror_process import registration
from automl.tracking.problem_experiment import check_problem


def test_a_name_taken_by_another_target_is_refused_and_recorded(home, runs) -> None:
    first = runs.make(1)
    complete(Mirror(first), 60)
    with pytest.raises(SettingsError, match="give this problem another --name"):
        check_problem(home, Settings(table="x.csv", name="beans-label", target="price"))
    check_problem(home, Settings(table="x.csv", name="beans-label", target="label"))
    second = runs.make(1, settings={"table": "x.csv", "target": "price", "name": "beans-label"})
    assert not complete(Mirror(second), 60)
    assert "predicts 'label'" in registration(second).reason


def test_derived_names_that_become_the_same_do_not_share_an_experiment(home, runs) -> None:
    first = runs.make(1, settings={"table": "my beans.csv", "target": "label", "name": ""})
    assert complete(Mirror(first), 60)
    other = Settings(table="my@beans.csv", target="label")
    assert other.problem == "my-beans-label"
    with pytest.raises(SettingsError, match=r"stands for 'my beans-label'.* --name"):
        check_problem(home, other)
    check_problem(home, Settings(table="data/my beans.parquet", target="label"))
    check_problem(home, Settings(table="new.csv", target="label", name="my-beans-label"))
    second = runs.make(1, settings=other.model_dump(mode="json"))
    assert not complete(Mirror(second), 60)
    assert "stands for 'my beans-label'" in registration(second).reason
