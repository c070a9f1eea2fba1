"""Only an error of the table itself refuses it; one of the champion or of another table is another matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from prefect import State, flow
from prefect.settings import PREFECT_API_URL, temporary_settings

from automl.errors import DataError, ServiceError, SettingsError
from automl.home import Home, RunFolder
from automl.run.preparation import prepare
from automl.settings import Settings
from automl_flows import retrain_flows, retraining_ways
from automl_flows.arrived_tables import ArrivedTable, take
from automl_flows.services.end_states import BROKEN, REFUSED


@flow(name="ends")
def ends(error: Exception) -> State[Any]:
    return retrain_flows._ending(error)


@pytest.mark.integration
@pytest.mark.timeout(600)
def test_only_an_error_of_the_table_itself_refuses_it(prefect_url: str) -> None:
    table, other = DataError("no target"), DataError("t.csv: no column 'x'", setting="test")
    for error, name in ((table, REFUSED), (other, BROKEN), (SettingsError("no"), BROKEN)):
        with temporary_settings({PREFECT_API_URL: prefect_url}):
            state = ends(error, return_state=True)
        assert (state.name, state.message) == (name, str(error))


def test_a_damaged_champion_is_no_error_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: Any) -> Any:
        raise DataError("the bundle of model beans/1 in x is not the one registered")

    monkeypatch.setattr(retraining_ways, "champion_bundle", damaged)
    with pytest.raises(SettingsError, match="not the one registered; retrain with --how search"):
        retraining_ways._champions_recipe("beans", Home(tmp_path))


@pytest.mark.parametrize("base", ["gone.csv", "gone", "empty"])
def test_a_table_that_is_appended_to_and_cannot_be_read_is_no_fault_of_the_file(
    tmp_path: Path, base: str
) -> None:
    home, inbox = Home(tmp_path / "home"), tmp_path / "inbox"
    for folder in (inbox, tmp_path / "empty"):
        folder.mkdir()
    (inbox / "new.csv").write_text("x,y\n1,a\n")
    digest = take(home, "beans", str(inbox / "new.csv"), "")
    arrived = ArrivedTable(home, "beans", digest, "append", base=str(tmp_path / base))
    with pytest.raises(ServiceError, match=rf"new files are appended to .*{tmp_path / base}"):
        arrived.read()
    back = tmp_path / base if base == "gone.csv" else tmp_path / base / "old.csv"
    back.parent.mkdir(exist_ok=True)
    back.write_text("x,y\n2,b\n")
    assert len(arrived.read()) == 2


def test_a_file_that_does_not_fit_the_table_it_is_appended_to_is_at_fault(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    (tmp_path / "old.csv").write_text("x,y\n2,b\n")
    (tmp_path / "new.csv").write_text("x,z\n1,a\n")
    digest = take(home, "beans", str(tmp_path / "new.csv"), "")
    arrived = ArrivedTable(home, "beans", digest, "append", base=str(tmp_path / "old.csv"))
    with pytest.raises(DataError, match=r"new\.csv has other columns than .*old\.csv"):
        arrived.read()


def test_an_error_of_the_test_table_names_its_setting_and_one_that_is_away_is_waited_for(
    tmp_path: Path,
) -> None:
    folder = RunFolder(tmp_path / "runs" / "one")
    folder.path.mkdir(parents=True)
    frame = pd.DataFrame({"x": [i * 37 % 23 for i in range(60)], "y": ["a", "b", "b"] * 20})
    settings = Settings(table="t", target="y", folds=3, test=str(tmp_path / "gone.csv"))
    with pytest.raises(DataError, match=r"gone\.csv") as caught:
        prepare(folder, settings, frame=frame)
    assert caught.value.setting == "test"
    with pytest.raises(ServiceError, match=r"there is no file .*gone\.csv"):
        retrain_flows._ending(caught.value)
    with pytest.raises(DataError) as caught:
        prepare(folder, settings, frame=frame.drop(columns="y"))
    assert "setting" not in caught.value.fields
