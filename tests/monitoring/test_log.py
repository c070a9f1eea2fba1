"""The log of rows and predictions: whatever types come, by day, never larger than allowed."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from automl.monitoring.log import append, read


def rows(n=3):
    return pd.DataFrame(
        {
            "whole": np.arange(n),
            "mixed": [1, "a", None][:n],
            "day": pd.date_range("2025-01-01", periods=n),
            "gap": [None, 1.5, np.nan][:n],
        },
        index=[7, 7, 9][:n],
    )


def predictions(n=3):
    return pd.DataFrame({"prediction": ["no", "yes", "no"][:n]})


def test_rows_come_back_with_their_predictions(tmp_path):
    folder = tmp_path / "log"
    append(folder, rows(), predictions())
    append(folder, rows(1), predictions(1))
    found = read(folder)
    assert list(found.columns) == ["whole", "mixed", "day", "gap", "predicted.prediction"]
    assert found["whole"].tolist() == [0, 1, 2, 0]
    assert found["mixed"].tolist()[:2] == ["1", "a"]
    assert found["mixed"].isna().tolist() == [False, False, True, False]
    assert found["predicted.prediction"].tolist() == ["no", "yes", "no", "no"]
    assert folder.stat().st_mode & 0o077 == 0


def test_the_oldest_files_make_room_and_the_newest_stays(tmp_path):
    first = append(tmp_path / "log", rows(), predictions())
    older = first.parent.with_name("date=2020-01-01")
    older.mkdir()
    first.replace(older / first.name)
    last = append(tmp_path / "log", rows(), predictions(), most_mib=1e-6)
    assert list((tmp_path / "log").rglob("*.parquet")) == [last]
    assert not older.exists()


def test_days_count_back_from_today(tmp_path):
    path = append(tmp_path / "log", rows(), predictions())
    yesterday = datetime.now(UTC) - timedelta(days=1)
    old = path.parent.with_name(f"date={yesterday:%Y-%m-%d}")
    path.parent.rename(old)
    assert read(tmp_path / "log", days=1).empty
    assert len(read(tmp_path / "log", days=2)) == 3
    assert read(tmp_path / "nothing").empty
