"""What a run says of its table before it begins."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from automl.evaluation.plan import EvaluationPlan
from automl.home import RunFolder
from automl.reports.first_words import MOST_NOTES, first_words
from automl.run.preparation import prepare
from automl.settings import Settings


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    return pd.DataFrame(
        {
            "x": x,
            "kind": rng.choice(["a", "b"], 100),
            "same": 1,
            "y": np.where(np.arange(100) < 70, "no", "yes"),
            "size": 10.0 + x,
        }
    )


def told(tmp_path, dropped: str, **settings: object) -> list[str]:
    file = tmp_path / "t.csv"
    frame().drop(columns=dropped).to_csv(file, index=False)
    folder = RunFolder(tmp_path / "runs" / "r")
    folder.path.mkdir(parents=True)
    data = prepare(folder, Settings(table=str(file), trials=3, challenge=False, **settings))
    return first_words(EvaluationPlan(folder.path), data, more="automl show r")


def test_rows_columns_by_role_classes_and_score(tmp_path):
    lines = told(tmp_path, "size", target="y", test_share=0.2)
    assert lines[0] == (
        "table: 80 rows, 20 more as test rows, 2 columns to learn from (1 numeric, 1 nominal), "
        "1 not used ('same')"
    )
    assert lines[1] == "target: 'y', 2 classes: no 70%, yes 30%"
    assert lines[2].startswith("score: the mean of accuracy, F score, Brier score and Matthews")
    assert lines[2].endswith(", on 5 folds")
    assert any(line.startswith("note: column 'same' is not used") for line in lines)


def test_a_number_is_told_by_its_range(tmp_path):
    lines = told(tmp_path, "y", target="size")
    assert lines[1].startswith("target: 'size', a number from ")
    assert lines[1].endswith(" on average")
    assert lines[2] == "score: the mean of R² and mean absolute error, on 5 folds"


@pytest.mark.parametrize(("n", "ending"), [(MOST_NOTES, "n"), (MOST_NOTES + 2, "see show")])
def test_many_notes_are_cut(tmp_path, n, ending):
    told(tmp_path, "y", target="size")
    plan = EvaluationPlan(tmp_path / "runs" / "r")
    lines = first_words(plan, {"notes": ["n"] * n}, more="show")
    assert lines[-1].endswith(ending)
    assert sum(line.startswith("note: ") for line in lines) == min(n, MOST_NOTES + 1)
