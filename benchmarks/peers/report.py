"""Tables of `peers.py`: ``report.py OUT [--seconds 60 300] [--systems ours autogluon]``.

``report.py SCORES.csv [SCORES.csv ...]`` makes the table of a budget from score files that an earlier report has written; of
two scores of a cell the later file's counts.

With several budgets it also compares ours after each with every system, ours among them, after each longer one.

Scores are AMLB's: area under the ROC curve, log loss, root mean squared error on the test rows. A failure counts as
the constant predictor. Mean ranks and winning frequencies are means over tables, of each table over its
seeds; the Poisson-binomial test (L14, section 6.2) takes the probability that a system is better on redrawn test rows.
Its interval is of the bootstrap over tables. Writes ``OUT/scores.csv``; its
column `ours_better` is that probability, the mean over seeds; it is empty where ours is not among the systems.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

from automl.comparison.poisson_binomial import poisson_binomial_test, winning_probabilities
from automl.comparison.ranks import expected_rank, winning_frequency
from automl.records import FloatArray

N_DRAWS = 200
"""Redrawn test sets: a probability of one half is known to 0.035."""
N_RESAMPLES = 500
"""Of the tables, for an interval: its ends are known to about 2 %."""
BEYOND = 2.0
"""Standard errors of a difference that redrawn test rows explain in one of twenty cases."""
SMALLEST = 1e-15
"""Probability below which log loss counts no smaller one, as scikit-learn's."""
OURS = "ours"
CONSTANT = "constant"
SCORE_COLUMNS = {
    "table", "seed", "system", "seconds", "risk", "ours_better", "is_done", "fit_seconds", "predict_seconds", "peak_mib",
    "test_rows",
}  # fmt: skip
"""Of a file of scores, that its table is made from."""


class Test:
    """Test rows of a split, and the risk of an answer on some of them."""

    def __init__(self, folder: Path) -> None:
        split = json.loads((folder / "split.json").read_text())
        self.task, target = split["task"], split["target"]
        kind = "float64" if self.task == "regression" else "object"
        self.y = pd.read_csv(folder / "test.csv", usecols=[target], dtype={target: kind})[
            target
        ].to_numpy()
        self.labels = sorted(set(self.y))

    def answer(self, path: Path) -> FloatArray:
        """(n,) numbers, or (n, classes) probabilities.

        Raises
        ------
        ValueError
            If a number is missing.
        """
        frame = pd.read_csv(path)
        found = (
            frame["prediction"]
            if self.task == "regression"
            else frame.reindex(columns=self.labels, fill_value=0)
        )
        values = found.to_numpy(float)
        if len(values) != len(self.y) or not np.isfinite(values).all():
            raise ValueError(f"{path} does not have a number for every row")
        return values

    def risk(self, answer: FloatArray, rows: np.ndarray | slice = slice(None)) -> float:
        """RMSE, log loss, or 1 minus the area under the curve; lower is better."""
        y, answer = self.y[rows], answer[rows]
        if self.task == "regression":
            return float(np.sqrt(np.mean((y - answer) ** 2)))
        if self.task == "multiclass":
            clipped = np.clip(answer, SMALLEST, 1)
            return float(
                log_loss(y, clipped / clipped.sum(axis=1, keepdims=True), labels=self.labels)
            )
        if len(set(y)) < 2:
            return np.nan
        return float(1 - roc_auc_score(y == self.labels[1], answer[:, 1]))

    def redrawn(self, answers: Sequence[FloatArray]) -> FloatArray:
        """(draws, answers) risks on test rows drawn with replacement."""
        rng = np.random.default_rng(0)
        drawn = [rng.integers(len(self.y), size=len(self.y)) for _ in range(N_DRAWS)]
        risks = np.array([[self.risk(answer, rows) for answer in answers] for rows in drawn])
        return risks[np.isfinite(risks).all(axis=1)]


def answer_of(test: Test, budget: Path, system: str) -> FloatArray:
    """What a system answered after a budget; a failure counts as the constant."""
    is_done = json.loads((budget / system / "cell.json").read_text())["is_done"]
    return test.answer(budget / (system if is_done else CONSTANT) / "answer.csv")


def rows_of(
    split: Path, seconds: str, systems: list[str]
) -> tuple[list[dict[str, object]], FloatArray]:
    """Facts of each system, and (systems, systems) probabilities that row is better than column."""
    test = Test(split)
    answers, rows = [], []
    for system in systems:
        folder = split / seconds / system
        record = json.loads((folder / "cell.json").read_text())
        times = json.loads((folder / "answer.json").read_text()) if record["is_done"] else {}
        answer = answer_of(test, folder.parent, system)
        answers.append(answer)
        label = {
            "table": split.parent.name,
            "seed": split.name,
            "task": test.task,
            "system": system,
        }
        rows.append(
            {**label, "risk": test.risk(answer), **record, **times, "test_rows": len(test.y)}
        )
    return rows, winning_probabilities(test.redrawn(answers))


def report(out: Path, seconds: int, wanted: Collection[str] | None = None) -> pd.DataFrame:
    """All rows of a budget, of all systems or of those that are wanted, from their answers; prints the table."""
    folders = sorted(out.glob(f"*/seed-*/{seconds}s"))
    finished = [
        {
            path.parent.name
            for path in folder.glob("*/cell.json")
            if wanted is None or path.parent.name in wanted
        }
        for folder in folders
    ]
    systems = sorted(set().union(*finished), key=lambda s: (s != OURS, s))
    whole = [
        folder.parent
        for folder, names in zip(folders, finished, strict=True)
        if names == set(systems) and (folder / CONSTANT / "answer.csv").exists()
    ]
    if not whole:
        raise SystemExit(
            f"{out}: no split has answers of the constant and of all of {', '.join(systems) or 'the systems'} after {seconds} s"
        )
    found = [rows_of(folder, f"{seconds}s", systems) for folder in whole]
    frame = pd.DataFrame([row for rows, _ in found for row in rows])
    is_told = OURS in systems
    better = (
        pd.DataFrame(
            {
                folder: wins[0] if is_told else np.nan
                for folder, (_, wins) in zip(whole, found, strict=True)
            },
            index=systems,
        )
        .T.groupby(lambda folder: folder.parent.name)
        .mean()
    )
    chances = better.rename_axis("table").reset_index()
    chances = chances.melt("table", var_name="system", value_name="ours_better")
    scored = frame.assign(seconds=seconds).merge(chances, on=["table", "system"])
    _show(scored, n_left_out=len(folders) - len(whole))
    return scored


def kept_report(
    files: Sequence[Path], seconds: int, wanted: Collection[str] | None = None
) -> pd.DataFrame:
    """All rows of a budget, of all systems or of those that are wanted, from files of scores; prints the table."""
    kept = pd.concat([_scores(file) for file in files])
    kept = kept.drop_duplicates(["table", "seed", "system", "seconds"], keep="last")
    kept = kept[kept["seconds"] == seconds]
    if wanted is not None:
        kept = kept[kept["system"].isin(wanted)]
    n_systems = kept.groupby(["table", "seed"])["system"].transform("size")
    whole = kept[n_systems == kept["system"].nunique()]
    if whole.empty:
        raise SystemExit(f"these files have no split with scores of all systems after {seconds} s")
    _show(
        whole,
        n_left_out=len(kept.groupby(["table", "seed"])) - len(whole.groupby(["table", "seed"])),
    )
    return whole


def _scores(file: Path) -> pd.DataFrame:
    scores = pd.read_csv(file)
    if missing := SCORE_COLUMNS - set(scores):
        raise SystemExit(
            f"{file} is no file of scores: it has no column {', '.join(sorted(missing))}"
        )
    return scores


def _show(frame: pd.DataFrame, *, n_left_out: int) -> None:
    """Print the table of a budget."""
    systems = sorted(set(frame["system"]), key=lambda s: (s != OURS, s))
    places = frame.pivot_table("risk", "system", ["table", "seed"], dropna=False).loc[systems]
    names = places.columns.get_level_values("table").to_numpy()
    seconds = frame["seconds"].iloc[0]
    print(
        f"{seconds} s: {places.shape[1]} splits of {len(set(names))} tables; {n_left_out} are not whole"
    )
    print(_summary(frame, places.to_numpy(), names, systems).to_string())
    print(places.T.round(4).to_string())


def _summary(
    frame: pd.DataFrame, risks: FloatArray, names: np.ndarray, systems: list[str]
) -> pd.DataFrame:
    better = frame.pivot_table("ours_better", "table", "system", dropna=False)
    groups = frame.assign(failed=~frame["is_done"].astype(bool)).groupby("system")
    row_milliseconds = 1000 * groups["predict_seconds"].sum() / groups["test_rows"].sum()
    summary = pd.DataFrame(
        {
            "mean rank": expected_rank(risks, data_sets=names).expected.round(2),
            "ours wins": winning_frequency(risks, data_sets=names).frequency[0].round(2)
            if OURS in systems
            else np.nan,
            "PB test": [_tested(better[system].dropna().to_numpy()) for system in systems],
        },
        index=systems,
    )
    facts = pd.DataFrame(
        {
            "failures": groups["failed"].sum(),
            "fit s": groups["fit_seconds"].median().round(1),
            "longest fit s": groups["fit_seconds"].max().round(1),
            "peak MiB": groups["peak_mib"].max().round(),
            "ms a row": row_milliseconds.round(3),
        }
    )
    return summary.join(facts).sort_values("mean rank")


def _tested(probabilities: FloatArray) -> str:
    """Pr(ours is better on most tables) with its 95 % interval; of tables without answers of ours nothing is known."""
    if not len(probabilities):
        return "unknown"
    rng = np.random.default_rng(0)
    drawn = [
        poisson_binomial_test(rng.choice(probabilities, len(probabilities))).probability
        for _ in range(N_RESAMPLES)
    ]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{poisson_binomial_test(probabilities).probability:.2f} [{low:.2f}, {high:.2f}]"


def across(out: Path, earlier: int, later: int, system: str) -> pd.DataFrame:
    """Ours after the earlier budget beside a system after the later one, where both have answers.

    Returns
    -------
    pandas.DataFrame
        A row for each split: both risks, the second minus the first, its standard error over redrawn
        test rows, and the probability that the first is the lower one there.
    """
    rows = []
    for folder in sorted(out.glob("*/seed-*")):
        pair = (folder / f"{earlier}s", OURS), (folder / f"{later}s", system)
        if all((budget / name / "cell.json").exists() for budget, name in pair):
            test = Test(folder)
            answers = [answer_of(test, budget, name) for budget, name in pair]
            redrawn = test.redrawn(answers)
            ours, other = (test.risk(answer) for answer in answers)
            rows.append(
                {
                    "table": folder.parent.name,
                    "seed": folder.name,
                    f"ours, {earlier} s": ours,
                    f"{system}, {later} s": other,
                    "difference": other - ours,
                    "error": float((redrawn[:, 1] - redrawn[:, 0]).std(ddof=1)),
                    "ours_better": winning_probabilities(redrawn)[0, 1],
                }
            )
    return pd.DataFrame(rows)


def _told_across(found: pd.DataFrame) -> str:
    first, second = found.columns[2:4]
    beyond = found["difference"].abs() > BEYOND * found["error"]
    lower, higher = found["difference"] < 0, found["difference"] > 0
    by_table = found.groupby("table")["ours_better"].mean().to_numpy()
    return (
        f"\n{first} is better than {second} on {higher.sum()} of {len(found)} splits, "
        f"PB test {_tested(by_table)}\n"
        f"by more than {BEYOND:g} errors better: {_names(found[beyond & higher])}; "
        f"worse: {_names(found[beyond & lower])}\n"
        f"{found.round(4).to_string(index=False)}"
    )


def _names(found: pd.DataFrame) -> str:
    return ", ".join(sorted(set(found["table"]))) or "none"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path, nargs="+", help="folder of the cells, or files of scores")
    parser.add_argument("--seconds", type=int, nargs="+", default=[60])
    parser.add_argument(
        "--systems", nargs="+", help="only these; a table counts where all have run"
    )
    arguments = parser.parse_args()
    if missing := [str(path) for path in arguments.out if not path.exists()]:
        parser.error(f"there is no {', '.join(missing)}")
    if all(path.is_file() for path in arguments.out):
        for seconds in arguments.seconds:
            kept_report(arguments.out, seconds, arguments.systems)
        return
    if len(arguments.out) > 1:
        parser.error("give one folder of cells, or files of scores")
    (out,) = arguments.out
    frames = [report(out, seconds, arguments.systems) for seconds in arguments.seconds]
    pd.concat(frames).to_csv(out / "scores.csv", index=False)
    for earlier, later in combinations(sorted(arguments.seconds), 2):
        for system in pd.concat(frames)["system"].unique():
            found = across(out, earlier, later, system)
            if system != CONSTANT and len(found):
                print(_told_across(found))


if __name__ == "__main__":
    main()
