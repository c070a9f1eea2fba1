"""Which rows are held back, who is compared on them, and who has the alias."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automl.data.table import Table, prepare_table
from automl.errors import ServiceError, SettingsError
from automl.home import Home, RunFolder
from automl.inference.model import TableModel
from automl.metrics.building import build_index
from automl.record_files import StageRecords
from automl.records import IntArray
from automl.run import challenge
from automl.run.challenge import LEAST_ROWS, NO_ROWS, choose_rows, n_held_back, rows_folder
from automl.run_records.final import FinalRecord
from automl.run_records.promotion import PromotionRecord
from automl.run_records.registration import RegistrationRule
from automl.settings import Settings
from automl.stages import promotion
from automl.statistics.spending import level_of_look
from automl.tracking import looks
from automl.tracking.holders import Holders
from automl.tracking.layout import RUN_ID_TAG
from automl.tracking.looks import COMPARED_TAG


class Oracle(TableModel):  # type: ignore[misc]
    """A model that is right for a share of the rows, by the parity of a column."""

    def __init__(self, table: Table, right: float) -> None:
        self.schema = table.schema
        self.task = str(table.task)
        self.target = table.target
        self.classes_ = None if table.class_labels is None else table.class_labels
        self.threshold_ = 0.5
        self.strict = False
        self._right = right

    def raw_typed(self, typed: pd.DataFrame) -> np.ndarray:
        positive = typed["x"].to_numpy() > 0
        n_wrong = round(len(typed) * (1 - self._right))
        positive[:n_wrong] = ~positive[:n_wrong]
        return np.column_stack([~positive, positive]).astype(np.float32)


def frame_of(n_rows: int, *, first: int = 0) -> pd.DataFrame:
    numbers = np.arange(first, first + n_rows)
    x = np.where(numbers % 2, 1.0, -1.0) * (1 + numbers)
    target = np.where(x > 0, "yes", "no")
    return pd.DataFrame({"x": x, "z": np.sin(numbers), "target": target})


def table_of(frame: pd.DataFrame) -> Table:
    return prepare_table(frame, target="target")


class Duel:
    """A run folder, its challenge, and a registry that holds what the test puts into it."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder: RunFolder = Home(home).create_run()
        self.settings = Settings(table="t.csv", target="target", name="p", challenge=True)
        self.champion: TableModel | None = None
        self.digests: Any = None
        self.holders = Holders({"champion": "3"}, ("3",))
        self.new: TableModel | None = None
        found = SimpleNamespace(label="p/3", folder=home / "champion", load=self._load_champion)
        monkeypatch.setattr(challenge, "holders", lambda name, home: self.holders)
        monkeypatch.setattr(promotion, "holders", lambda name, home: self.holders)
        monkeypatch.setattr(challenge, "champion_bundle", lambda name, home: found)
        monkeypatch.setattr(challenge, "row_digests_of", lambda found, home: self.digests)
        monkeypatch.setattr(promotion, "load_bundle", lambda folder, **_: self.new)

    def under(self, **settings: Any) -> None:
        """Settings that differ from the usual ones."""
        self.settings = self.settings.model_copy(update=settings)

    def begin(
        self, old: pd.DataFrame, new: pd.DataFrame, *, right: float = 0.8, test: IntArray = NO_ROWS
    ) -> Table:
        """Hold rows back; the champion was trained on `old`, the new table is `new`."""
        trained = table_of(old)
        self.champion = self.champion or Oracle(trained, right)
        self.digests = trained.row_digests if self.digests is None else self.digests
        self.table = table_of(new)
        return self.hold_back(new, test)

    def hold_back(self, new: pd.DataFrame, test: IntArray = NO_ROWS) -> Table:
        """Rows to train on, as the preparation of a run leaves them."""
        home = self.folder.path.parents[1]
        raw = new if challenge.has_champion(self.settings, home) else None
        held = challenge.hold_back(self.folder, self.settings, raw, self.table, test)
        return self.table.subset(np.setdiff1d(np.arange(len(self.table)), np.union1d(held, test)))

    def end(self, *, right: float = 1.0) -> dict[str, Any]:
        """Compare, with a new model that is right for this share of the rows."""
        self.new = Oracle(self.table, right)
        index = build_index("accuracy", task=self.table.task, y_all=self.table.y, n_classes=2)
        session: Any = SimpleNamespace(
            records=self.records,
            folder=self.folder,
            plan=SimpleNamespace(index=index),
            settings=self.settings,
            home=Home(self.folder.path.parents[1]),
            run_id=self.folder.run_id,
        )
        final = FinalRecord(())
        return promotion.decide_promotion(session, [], final).to_json()

    @property
    def records(self) -> StageRecords:
        return StageRecords(self.folder.stages)

    def _load_champion(self, *, trust: bool) -> Any:
        if self.champion is None:
            raise SettingsError("there is no bundle")
        return self.champion


@pytest.fixture
def duel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Duel:
    return Duel(tmp_path, monkeypatch)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_never_more_rows_are_held_back_than_are_fresh_or_a_third_of_the_table(
    n_fresh: int, n_other: int
) -> None:
    n_held = n_held_back(n_fresh, n_fresh + n_other)
    assert n_held == 0 or LEAST_ROWS <= n_held <= min(n_fresh, (n_fresh + n_other) / 3)


def test_held_back_rows_are_fresh_the_same_each_time_and_share_the_classes() -> None:
    table = table_of(frame_of(600))
    fresh = np.arange(600) >= 200
    _, held = choose_rows(table, fresh, seed=3)
    assert len(held) == n_held_back(400, 600)
    assert fresh[held].all()
    assert np.array_equal(held, choose_rows(table, fresh, seed=3)[1])
    assert not np.array_equal(held, choose_rows(table, fresh, seed=4)[1])
    assert abs(table.y[held].mean() - 0.5) < 0.02


def test_groups_with_a_row_known_to_the_champion_are_not_held_back() -> None:
    table = dataclasses.replace(table_of(frame_of(600)), groups=np.arange(600) // 4)
    fresh = np.arange(600) % 4 > 0
    fresh[300:] = True
    _, held = choose_rows(table, fresh, seed=0)
    assert (held >= 300).all()
    assert all((table.groups == g).sum() == (held // 4 == g).sum() for g in set(held // 4))  # type: ignore[operator]


def test_in_time_order_the_last_rows_are_held_back() -> None:
    table = dataclasses.replace(table_of(frame_of(600)), time=np.arange(600.0))
    _, held = choose_rows(table, np.arange(600) >= 200, seed=0)
    assert held.min() == 600 - len(held)


def test_a_row_equal_to_a_training_row_is_not_held_back() -> None:
    frame = pd.concat([frame_of(300), frame_of(300)], ignore_index=True)
    table = dataclasses.replace(table_of(frame), groups=None)
    _, held = choose_rows(table, np.ones(600, dtype=bool), seed=0)
    rest = np.setdiff1d(np.arange(600), held)
    assert not np.isin(table.row_digests[held], table.row_digests[rest]).any()


def test_fresh_test_rows_count_first_and_only_what_lacks_is_held_back() -> None:
    table = table_of(frame_of(600))
    fresh = np.arange(600) >= 200
    wanted = n_held_back(400, 600)
    for n_test in (0, 20, wanted, 200):
        test = np.arange(600 - n_test, 600)
        compared, held = choose_rows(table, fresh, seed=3, test=test)
        assert np.isin(test, compared).all()
        assert len(held) == max(0, wanted - n_test)
        assert len(compared) == len(held) + n_test
        assert not np.isin(held, test).any()


def test_test_rows_that_the_champion_was_trained_on_do_not_count() -> None:
    table = table_of(frame_of(600))
    compared, held = choose_rows(table, np.arange(600) >= 200, seed=3, test=np.arange(100))
    assert np.array_equal(compared, held)
    assert held.min() >= 200


def test_the_same_table_with_the_same_test_rows_trains_on_the_same_rows(duel: Duel) -> None:
    new, test = frame_of(500), np.arange(400, 500)
    left = duel.begin(new.iloc[:400], new, test=test)
    assert len(left) == 400
    record = duel.end()
    assert (record["rows"], record["held_rows"], record["promote"]) == (100, 0, True)


def test_training_keeps_every_class() -> None:
    frame = frame_of(90)
    frame.loc[60:, "target"] = "new"
    table = table_of(frame)
    _, held = choose_rows(table, np.arange(90) >= 60, seed=0)
    assert len(held) == 0


def test_the_better_model_takes_the_alias(duel: Duel) -> None:
    left = duel.begin(frame_of(200), frame_of(500), right=0.8)
    record = duel.end(right=1.0)
    assert record["promote"]
    assert record["reason"].startswith("not worse than p/3 on 100 rows new to both: 1.0000 against")
    assert record["rows"] == n_held_back(300, 500) == 500 - len(left)
    assert record["fresh_rows"] == 300
    assert record["score"] == pytest.approx(1.0)
    assert record["score"] > record["champion_score"]
    assert RegistrationRule.read(duel.folder) == RegistrationRule(
        promote=True, reason=record["reason"], compared_with="3", is_compared=True, is_open=True
    )


def test_a_model_that_is_much_worse_does_not(duel: Duel) -> None:
    duel.begin(frame_of(200), frame_of(500), right=0.8)
    record = duel.end(right=0.5)
    assert not record["promote"]
    assert "perhaps worse than p/3" in record["reason"]
    assert "for a margin of 0.025 accuracy" in record["reason"]
    rule = RegistrationRule.of(duel.folder)
    assert (rule.promote, rule.is_compared, rule.is_open) == (False, True, False)


@pytest.mark.parametrize(("rule", "promotes"), [("superior", False), ("not_worse", True)])
def test_an_equal_model_is_not_worse_and_not_proven_better(
    duel: Duel, rule: str, *, promotes: bool
) -> None:
    duel.under(promotion=rule)
    duel.begin(frame_of(200), frame_of(500), right=0.8)
    record = duel.end(right=0.8)
    assert record["promote"] == promotes
    assert record["rule"] == rule


def test_the_margin_is_in_units_of_the_metric(duel: Duel) -> None:
    duel.under(promotion_margin=0.6)
    duel.begin(frame_of(200), frame_of(500), right=0.8)
    record = duel.end(right=0.5)
    assert (record["promote"], record["margin"], record["unit"]) == (True, 0.6, "accuracy")
    # accuracy from 1/2 (the constant) to 1 is an index from 0 to 1
    assert record["difference_in_units"] == pytest.approx(
        (record["score"] - record["champion_score"]) / 2
    )


def test_always_takes_the_alias_and_holds_nothing_back(duel: Duel) -> None:
    duel.under(promotion="always")
    left = duel.begin(frame_of(200), frame_of(500), right=1.0)
    record = duel.end(right=0.5)
    assert (len(left), record["held_rows"], record["rows"]) == (500, 0, 0)
    assert record["promote"]
    assert RegistrationRule.of(duel.folder).compared_with == "3"


@pytest.mark.parametrize(("rule", "promotes"), [("always", True), ("not_worse", False)])
def test_a_champion_whose_bundle_is_gone_is_replaced_by_always_alone(
    duel: Duel, monkeypatch: pytest.MonkeyPatch, rule: str, *, promotes: bool
) -> None:
    def gone(*_: object) -> None:
        raise ServiceError("the bundle of p/3 is gone")

    monkeypatch.setattr(challenge, "champion_bundle", gone)
    duel.under(promotion=rule)
    duel.begin(frame_of(200), frame_of(500))
    record = duel.end()
    assert record["promote"] == promotes
    assert "cannot be compared: the bundle of p/3 is gone" in record["reason"]
    if promotes:
        assert RegistrationRule.of(duel.folder).compared_with == "3"


def test_always_leaves_an_alias_that_was_moved_meanwhile(duel: Duel) -> None:
    duel.under(promotion="always")
    duel.begin(frame_of(200), frame_of(500))
    duel.holders = Holders({"champion": "2"})
    record = duel.end()
    assert not record["promote"]
    assert "from version 3 to 2 meanwhile" in record["reason"]


def test_every_comparison_with_a_champion_is_a_look_and_spends_error(duel: Duel) -> None:
    duel.under(promotion="superior")
    home = Home(duel.folder.path.parents[1])
    for champion, is_compared in (("p/3", True), ("p/3", True), ("p/2", True), ("p/3", False)):
        earlier = PromotionRecord(False, "r", champion, is_compared=is_compared)
        earlier.write(StageRecords(home.create_run().stages))
    duel.begin(frame_of(200), frame_of(500), right=0.8)
    record = duel.end(right=1.0)
    assert record["look"] == 3
    assert record["level"] == pytest.approx(level_of_look(0.05, 3))
    assert f"{record['level']:.2g} is allowed at look 3" in record["reason"]


def test_looks_of_other_homes_are_counted_by_the_registry(
    duel: Duel, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(duel.folder.path.parents[1])
    own = home.create_run()
    PromotionRecord(False, "r", "p/3", is_compared=True).write(StageRecords(own.stages))
    tags = [(own.run_id, "3"), ("elsewhere", "3"), ("another", "2"), ("this", "3")]
    monkeypatch.setattr(
        looks, "version_tags", lambda *_: [{RUN_ID_TAG: r, COMPARED_TAG: v} for r, v in tags]
    )
    assert looks.earlier_looks(home, "p/3", but="this") == 2


def test_rows_of_a_few_groups_are_no_evidence(duel: Duel) -> None:
    new = frame_of(500)
    duel.begin(frame_of(200), new, right=0.5)
    held = rows_folder(duel.folder)
    rows = dataclasses.replace(Table.load(held), groups=np.arange(100) // 34)
    rows.write(held)
    record = duel.end(right=1.0)
    assert not record["promote"]
    assert not record["is_compared"]
    assert "are 3 groups, of which at least 5 are needed" in record["reason"]


def test_rows_held_back_are_in_neither_training_table(duel: Duel) -> None:
    left = duel.begin(frame_of(200), frame_of(500))
    held = Table.load(duel.folder.path / "challenge")
    assert not np.isin(held.row_digests, duel.digests).any()
    assert not np.isin(held.row_digests, left.row_digests).any()


def test_until_the_comparison_is_finished_the_alias_must_not_move(duel: Duel) -> None:
    duel.begin(frame_of(200), frame_of(500))
    registration = duel.records.read("registration")
    assert registration is not None
    assert registration["promote"] is False


def test_too_few_fresh_rows_leave_the_alias_and_all_rows_train(duel: Duel) -> None:
    left = duel.begin(frame_of(200), frame_of(229))
    record = duel.end()
    assert len(left) == 229
    assert not record["promote"]
    assert "too few fresh rows: 29 of 229" in record["reason"]


def test_a_missing_column_of_the_champion_is_named(duel: Duel) -> None:
    duel.begin(frame_of(200), frame_of(500).drop(columns="z"))
    record = duel.end()
    assert not record["promote"]
    assert "lacks: 'z'" in record["reason"]


def test_new_columns_do_not_hinder_the_comparison(duel: Duel) -> None:
    new = frame_of(500)
    new.insert(0, "extra", np.cos(np.arange(500)))
    with pytest.warns(match="does not know"):
        duel.begin(frame_of(200), new)
    record = duel.end()
    assert record["promote"]
    assert record["fresh_rows"] == 300


def test_a_class_that_only_the_champion_knows_is_named(duel: Duel) -> None:
    old = frame_of(200)
    old.loc[:40, "target"] = "old"
    duel.begin(old, frame_of(500))
    record = duel.end()
    assert not record["promote"]
    assert "knows class 'old'" in record["reason"]


def test_a_new_class_counts_against_the_champion_with_probability_zero(duel: Duel) -> None:
    new = frame_of(500)
    new.loc[::3, "target"] = "new"
    duel.begin(frame_of(200), new)
    predictions = np.load(duel.folder.path / "challenge" / "champion_predictions.npy")
    assert predictions.shape[1] == 3
    assert (predictions[:, list(duel.table.classes or ()).index("new")] == 0).all()


def test_unknown_training_rows_leave_the_alias(duel: Duel) -> None:
    duel.champion = Oracle(table_of(frame_of(200)), 0.8)
    duel.table = table_of(frame_of(500))
    duel.hold_back(frame_of(500))
    assert "trained on are not known" in duel.end()["reason"]


def test_a_champion_without_a_bundle_leaves_the_alias(duel: Duel) -> None:
    duel.table = table_of(frame_of(500))
    duel.hold_back(frame_of(500))
    record = duel.end()
    assert not record["promote"]
    assert "cannot be loaded: there is no bundle" in record["reason"]


def test_an_absent_store_leaves_the_alias(duel: Duel) -> None:
    duel.begin(frame_of(200), frame_of(500))
    duel.holders = Holders({"champion": "3"}, ("3",), is_current=False)
    record = duel.end()
    assert not record["promote"]
    assert "the registry cannot be reached" in record["reason"]


def test_without_a_champion_the_new_model_takes_the_alias(duel: Duel) -> None:
    duel.holders = Holders()
    duel.begin(frame_of(200), frame_of(500))
    # whoever publishes the run before its end finds the same rule
    rule = RegistrationRule.read(duel.folder)
    assert rule is not None
    assert (rule.promote, rule.compared_with) == (True, "")
    record = duel.end()
    assert record["promote"]
    assert record["rows"] == 0
    assert record["reason"] == "first model of 'p': there was none to compare with"


def test_an_alias_that_moved_meanwhile_stays_where_it_is(duel: Duel) -> None:
    duel.begin(frame_of(200), frame_of(500))
    duel.holders = Holders({"champion": "2"})
    record = duel.end()
    assert not record["promote"]
    assert "from version 3 to 2 meanwhile" in record["reason"]


def test_rows_without_a_target_do_not_shift_the_others(duel: Duel) -> None:
    new = frame_of(500)
    new.loc[[0, 100, 499], "target"] = None
    left = duel.begin(frame_of(200), new)
    assert duel.records.read("challenge")["fresh_rows"] == 299  # type: ignore[index]
    assert len(left) == 497 - n_held_back(299, 497)
    assert duel.end()["promote"]
