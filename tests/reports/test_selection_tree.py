"""The picture of a selection: a box for each member of each decision, colored by its verdict."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import ConnectionPatch

from automl.errors import SettingsError
from automl.records import Configuration
from automl.reports.selection_tree import COLORS, save_selection_tree, selection_tree
from automl.selection.clusters import Candidate
from automl.selection.levels import select
from automl.selection.selection_records import Verdict


def candidate(trial_id: str, family: str, path: tuple[str, ...], mean: float) -> Candidate:
    rng = np.random.default_rng([*trial_id.encode()])
    scores = tuple(mean + 0.01 * rng.normal(size=20))
    return Candidate(f"run-{trial_id}", Configuration(family, {}, path), scores)


@pytest.fixture(scope="module")
def record():
    rbf, poly = ("kernel=rbf",), ("kernel=poly",)
    made = [
        candidate("s1", "svm", rbf, 0.9),
        candidate("s2", "svm", rbf, 0.9),
        candidate("s3", "svm", rbf, 0.5),
        candidate("s4", "svm", poly, 0.89),
        candidate("k1", "knn", (), 0.9),
        candidate("k2", "knn", (), 0.9),
    ]
    return select(made, top_n={"leaf": 1, "root": 2})


def test_every_member_has_a_box_in_the_color_of_its_verdict(record):
    figure = selection_tree(record, title="example")
    panels = figure.axes
    assert [axes.get_title() for axes in panels] == ["leaves", "families", "root"]
    for axes, level in zip(panels, ("leaf", "family", "root"), strict=True):
        members = [m for d in record.decisions if d.level == level for m in d.members]
        boxes = [line for line in axes.lines if len(line.get_xdata()) == 5]
        assert [line.get_color() for line in boxes] == [COLORS[m.verdict] for m in members]
    assert {m.verdict for d in record.decisions for m in d.members} == set(Verdict)


def test_p_values_stand_beside_the_boxes_and_the_champion_is_named(record):
    figure = selection_tree(record)
    sides = [[t.get_text() for t in axes.child_axes[0].get_yticklabels()] for axes in figure.axes]
    assert sides[0].count("best") == 2
    assert any(text.startswith("p = ") and "e-" in text for text in sides[0])
    assert sides[-1][0] == "champion"
    names = [t.get_text() for t in figure.axes[-1].get_yticklabels()]
    assert {name.split()[1] for name in names} == {"svm", "knn"}


def test_every_promoted_member_below_the_root_is_joined_to_its_next_place(record):
    figure = selection_tree(record)
    lines = [artist for artist in figure.artists if isinstance(artist, ConnectionPatch)]
    below = record.decisions[:-1]
    assert len(lines) == sum(len(decision.promoted) for decision in below)


def test_a_selection_of_one_candidate_can_be_drawn(tmp_path):
    record = select([candidate("s1", "svm", (), 0.9)])
    file = tmp_path / "one.svg"
    save_selection_tree(record, file)
    assert "<svg" in file.read_text()


@pytest.mark.parametrize("name", ["tree.jpeg", "tree", "missing/tree.png"])
def test_files_that_cannot_be_written_are_one_sentence(record, tmp_path, name):
    with pytest.raises(SettingsError, match="tree"):
        save_selection_tree(record, tmp_path / name)
