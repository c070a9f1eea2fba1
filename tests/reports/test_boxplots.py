"""The picture of defaults and optimized models: how many boxes, which are blue, what stands beside them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch

from automl.errors import DataError
from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl.reports.boxplots import (
    EQUAL_COLOR,
    FamilyScores,
    compared_rows,
    default_and_optimized,
    family_rows,
    rows_of_run,
)
from automl.selection.clusters import Candidate
from automl.selection.comparison_settings import ComparisonSettings
from automl.selection.comparison_with_best import compare_with_best
from automl.selection.defaults import default_trials
from automl.selection.levels import select


def scores(mean: float, seed: int) -> tuple[float, ...]:
    return tuple(np.random.default_rng(seed).normal(mean, 0.02, 30))


ROWS = [
    FamilyScores("knn", scores(0.5, 0), scores(0.9, 1), None, is_equal=True),
    FamilyScores("svm", scores(0.4, 2), scores(0.89, 3), 0.42, is_equal=True),
    FamilyScores("lda", (), scores(0.6, 4), 1e-4, is_equal=False),
    FamilyScores("sgd", scores(-0.2, 5), ()),
    FamilyScores("qda", (), ()),
]


@pytest.fixture(scope="module")
def figure() -> Figure:
    return default_and_optimized(ROWS, title="wine", alpha=0.05)


def boxes(figure: Figure) -> list[PathPatch]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]


def heights(patches: list[PathPatch]) -> list[float]:
    return [float(np.ptp(patch.get_path().vertices[:, 1])) for patch in patches]


def test_every_default_and_every_optimized_model_has_a_box(figure: Figure) -> None:
    assert len(boxes(figure)) == 3 + 3


def test_boxes_of_defaults_are_thin_and_those_of_optimized_models_are_thick(
    figure: Figure,
) -> None:
    sizes = sorted(heights(boxes(figure)))
    assert len(set(np.round(sizes, 6))) == 2
    assert np.allclose(sizes[:3], sizes[0])
    assert np.allclose(sizes[3:], sizes[5])
    assert sizes[5] > 2 * sizes[0]


def test_only_models_that_are_equal_to_the_best_are_blue(figure: Figure) -> None:
    blue = to_rgba(EQUAL_COLOR)[:3]
    found = [patch for patch in boxes(figure) if patch.get_facecolor()[:3] == blue]
    assert len(found) == 2
    tops = sorted(round(float(patch.get_path().vertices[:, 1].mean())) for patch in found)
    assert tops == [3, 4]


def test_the_baseline_is_dotted_and_families_that_do_not_work_are_points_on_it(
    figure: Figure,
) -> None:
    lines = figure.axes[0].get_lines()
    dotted = [line for line in lines if line.get_linestyle() == ":"]
    assert len(dotted) == 1
    assert list(np.asarray(dotted[0].get_xdata(), float)) == [0.0, 0.0]
    points = [line for line in lines if line.get_marker() == "." and len(line.get_xdata()) == 1]
    at_baseline = [line for line in points if float(np.asarray(line.get_xdata())[0]) == 0.0]
    assert len(at_baseline) == 3  # the default of lda; default and optimized model of qda


def test_families_stand_at_the_left_and_p_values_at_the_right(figure: Figure) -> None:
    left, right = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == [
        "knn",
        "svm",
        "lda",
        "sgd",
        "qda",
    ]
    assert [label.get_text() for label in right.get_yticklabels()] == [
        "best",
        "p = 0.42",
        "p = 0.0001",
        "",
        "does not work",
    ]
    assert "0.05" in left.get_title()


def test_a_default_that_is_not_known_has_no_mark() -> None:
    rows = [FamilyScores("knn", None, scores(0.9, 1), None, is_equal=True)]
    axes = default_and_optimized(rows, title="", alpha=0.05).axes[0]
    points = [line for line in axes.get_lines() if line.get_marker() == "."]
    assert not [line for line in points if list(line.get_xdata()) == [0.0]]


def test_the_picture_can_be_saved(figure: Figure, tmp_path) -> None:
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


def test_rows_carry_the_p_values_of_the_comparison_with_the_best() -> None:
    optimized = {"knn": scores(0.9, 1), "svm": scores(0.89, 3), "lda": scores(0.6, 4)}
    rows = compared_rows(optimized, {"knn": scores(0.5, 0), "qda": ()}, alpha=0.05)
    result = compare_with_best(
        [np.array(s) for s in optimized.values()], 0.05, ComparisonSettings()
    )
    assert result.pvalues is not None
    assert [row.family for row in rows] == ["knn", "svm", "lda", "qda"]
    assert [row.pvalue for row in rows] == [None, *result.pvalues[1:], None]
    assert [row.is_equal for row in rows] == [*result.kept, False]
    assert rows[0].default == scores(0.5, 0)
    assert rows[1].default is None
    assert rows[3].default == ()


def test_without_a_significant_difference_there_are_no_p_values() -> None:
    rows = compared_rows({"knn": scores(0.9, 1), "svm": scores(0.9, 3)}, {}, alpha=1e-9)
    assert [row.pvalue for row in rows] == [None, None]
    assert all(row.is_equal for row in rows)
    sides = default_and_optimized(rows, title="", alpha=1e-9).axes[1].get_yticklabels()
    assert [label.get_text() for label in sides] == ["best", ""]


def test_a_family_of_a_selection_stands_for_its_best_candidate_at_the_root() -> None:
    candidates = [
        Candidate("a", Configuration("knn", {"k": 1}), scores(0.80, 1)),
        Candidate("b", Configuration("knn", {"k": 2}), scores(0.90, 2)),
        Candidate("c", Configuration("lda"), scores(0.60, 3)),
    ]
    record = select(candidates, alpha=0.05, top_n=2, test="thesis")
    rows = family_rows(record, {"lda": scores(0.55, 4), "sgd": scores(0.3, 5)})
    assert [(row.family, row.optimized) for row in rows] == [
        ("knn", candidates[1].scores),
        ("lda", candidates[2].scores),
        ("sgd", ()),
    ]
    assert [row.is_equal for row in rows] == [True, False, False]


def test_the_defaults_of_a_run_are_its_trials_of_default_configurations() -> None:
    record = select(
        [
            Candidate("a", Configuration("knn", {"k": 1}), scores(0.8, 1)),
            Candidate("c", Configuration("lda"), scores(0.6, 3)),
        ],
        test="thesis",
    )
    folds = tuple(FoldResult(0, i, score, 5, 0.1, 0.1) for i, score in enumerate((0.5, 0.6)))
    done, failed = TrialStatus.COMPLETE, TrialStatus.FAILED
    trials = [
        Trial("run", 0, Configuration("knn", {"k": 5}), done, 0.55, folds, origin="default"),
        Trial("run", 1, Configuration("qda"), failed, None, origin="default"),
        Trial("run", 2, Configuration("lda"), done, 0.55, folds, origin="hypercube"),
        Trial("run", 3, Configuration("sgd"), TrialStatus.RACED, 0.1, folds[:1], origin="default"),
    ]
    defaults = default_trials(
        trials, {t.configuration.family: t.configuration for t in (*trials[:2], trials[3])}, {}
    )
    rows = rows_of_run(record, trials, defaults)
    assert [(row.family, row.default) for row in rows] == [
        ("knn", (0.5, 0.6)),
        ("lda", None),
        ("qda", ()),
    ]


def test_nothing_to_draw_is_an_error() -> None:
    with pytest.raises(DataError, match="at least one"):
        default_and_optimized([], title="", alpha=0.05)
    with pytest.raises(DataError, match="no family"):
        compared_rows({}, {"knn": (0.1, 0.2)}, alpha=0.05)


def test_importing_the_reports_does_not_load_matplotlib() -> None:
    code = "import automl.reports.boxplots, automl.reports.boost_tables, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
