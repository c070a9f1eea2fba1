"""What the report of the peers says of answers whose risks are known."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

N_ROWS = 200


@pytest.fixture(scope="module")
def peers_report(benchmark_module: Callable[..., ModuleType]) -> ModuleType:
    return benchmark_module("report", "peers")


def split_with(out: Path, answers: dict[tuple[int, str], float | None]) -> Path:
    """A regression split whose answers are off by so much on every row; `None` is a failure."""
    y = np.random.default_rng(0).normal(size=N_ROWS)
    folder = out / "table" / "seed-1"
    folder.mkdir(parents=True)
    pd.DataFrame({"y": y}).to_csv(folder / "test.csv", index=False)
    (folder / "split.json").write_text(json.dumps({"task": "regression", "target": "y"}))
    times = {"fit_seconds": 1.0, "predict_seconds": 1.0}
    record = {"reason": "", "process_seconds": 1.0, "peak_mib": 1.0, "load": 0.0}
    for (seconds, system), off in answers.items():
        cell = folder / f"{seconds}s" / system
        cell.mkdir(parents=True)
        (cell / "cell.json").write_text(json.dumps({"is_done": off is not None, **record}))
        if off is not None:
            pd.DataFrame({"prediction": y + off}).to_csv(cell / "answer.csv", index=False)
            (cell / "answer.json").write_text(json.dumps(times))
    return out


def test_a_short_run_is_compared_with_a_longer_one_of_another_system(
    peers_report: ModuleType, tmp_path: Path
) -> None:
    out = split_with(tmp_path, {(60, "ours"): 0.5, (300, "rival"): 0.75, (300, "constant"): 9.0})
    found = peers_report.across(out, 60, 300, "rival").iloc[0]
    assert (found["ours, 60 s"], found["rival, 300 s"]) == pytest.approx((0.5, 0.75))
    assert found["difference"] == pytest.approx(0.25)
    assert found["error"] == pytest.approx(0, abs=1e-12)
    assert found["ours_better"] == 1


def test_a_failure_counts_as_the_constant_of_its_budget(
    peers_report: ModuleType, tmp_path: Path
) -> None:
    out = split_with(tmp_path, {(60, "ours"): 0.5, (300, "rival"): None, (300, "constant"): 9.0})
    assert peers_report.across(out, 60, 300, "rival")["rival, 300 s"].item() == pytest.approx(9.0)


def test_a_budget_that_one_of_them_lacks_is_not_compared(
    peers_report: ModuleType, tmp_path: Path
) -> None:
    out = split_with(tmp_path, {(60, "ours"): 0.5, (60, "rival"): 0.75, (60, "constant"): 9.0})
    assert peers_report.across(out, 60, 300, "rival").empty


def test_the_report_compares_each_budget_with_each_longer_one(
    peers_report: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    risks = {"ours": 0.5, "rival": 0.75, "constant": 9.0}
    answers = {(seconds, name): risk for seconds in (60, 300) for name, risk in risks.items()}
    out = split_with(tmp_path, {**answers, (300, "ours"): 0.25})
    monkeypatch.setattr(sys, "argv", ["report.py", str(out), "--seconds", "60", "300"])
    peers_report.main()
    told = capsys.readouterr().out
    assert "ours, 60 s is better than rival, 300 s on 1 of 1 splits" in told
    assert "ours, 60 s is better than ours, 300 s on 0 of 1 splits" in told
    assert set(pd.read_csv(out / "scores.csv")["seconds"]) == {60, 300}


def test_files_of_scores_give_the_table_of_the_answers_again(
    peers_report: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = split_with(tmp_path, {(60, "ours"): 0.5, (60, "rival"): 0.75, (60, "constant"): 9.0})
    monkeypatch.setattr(sys, "argv", ["report.py", str(out)])
    peers_report.main()
    told = capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["report.py", str(out / "scores.csv")])
    peers_report.main()
    assert capsys.readouterr().out == told
    assert "60 s: 1 splits of 1 tables; 0 are not whole" in told


def test_of_two_scores_of_a_cell_the_later_file_counts_and_a_lone_system_is_left_out(
    peers_report: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = split_with(tmp_path, {(60, "ours"): 0.5, (60, "rival"): 0.75, (60, "constant"): 9.0})
    first = peers_report.report(out, 60)
    lone = first[first["system"] == "ours"].assign(table="lone")
    first.to_csv(tmp_path / "first.csv", index=False)
    pd.concat([first.assign(risk=first["risk"] + 1), lone]).to_csv(
        tmp_path / "later.csv", index=False
    )
    found = peers_report.kept_report([tmp_path / "first.csv", tmp_path / "later.csv"], 60)
    assert list(found["risk"]) == pytest.approx([1.5, 10.0, 1.75])
    assert "60 s: 1 splits of 1 tables; 1 are not whole" in capsys.readouterr().out


def test_a_system_without_answers_of_ours_beside_it_has_a_rank_and_no_test(
    peers_report: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = split_with(tmp_path, {(60, "ours"): 0.5, (60, "rival"): 0.75, (60, "constant"): 9.0})
    scores = peers_report.report(out, 60)
    scores.loc[scores["system"] == "rival", "ours_better"] = np.nan
    scores.to_csv(tmp_path / "alone.csv", index=False)
    capsys.readouterr()
    peers_report.kept_report([tmp_path / "alone.csv"], 60)
    told = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert re.match(r"rival +2\.0 +1\.0 +unknown ", told["rival"])
    assert "unknown" not in told["ours"]


def test_where_ours_is_not_among_the_systems_nothing_is_told_of_it(
    peers_report: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = split_with(tmp_path, {(60, "rival"): 0.5, (60, "constant"): 9.0})
    scored = peers_report.report(out, 60)
    assert set(scored["system"]) == {"rival", "constant"}
    assert scored["ours_better"].isna().all()
    assert capsys.readouterr().out.count("unknown") == 2


def test_what_is_not_there_and_what_is_no_file_of_scores_is_told_in_a_sentence(
    peers_report: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("table,seed\na,1\n")
    with pytest.raises(
        SystemExit, match=r"other\.csv is no file of scores: it has no column fit_seconds"
    ):
        peers_report.kept_report([other], 60)
    monkeypatch.setattr(sys, "argv", ["report.py", str(other), str(tmp_path / "none.csv")])
    with pytest.raises(SystemExit):
        peers_report.main()
    assert "there is no " + str(tmp_path / "none.csv") in capsys.readouterr().err
