"""Table 5.1 of the thesis with our numbers beside the printed ones, and figure 5.1.

    python benchmarks/thesis/report.py OUT_FOLDER [--figures wine,vehicle,yeast] [--baseline random_labels]

Reads what ``defaults.py`` and ``optimized.py`` wrote below OUT_FOLDER; tables that are not there yet have empty
cells. Writes ``table_5.1.md``, ``defaults.md`` and ``figure_5.1_TABLE.png`` there and prints the first two.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
from printed import FAMILIES, printed_rows

from automl.metrics.metric import BrierBaseline
from automl.metrics.registry import DEFAULT_WEIGHTS, METRICS
from automl.records import FloatArray
from automl.reports.boost_tables import markdown
from automl.reports.boxplots import default_and_optimized, family_rows
from automl.selection.defaults import BoostRow, boost_row
from automl.selection.selection_records import SelectionRecord

BASELINES: tuple[BrierBaseline, ...] = ("random_labels", "frequencies")
VARIANTS = ("brier", "brier_of_labels")
PRESET_BASELINE: BrierBaseline = "random_labels"
FEWEST_FAMILIES = 16
"""A table counts among the ways once this many families have a record; gradient boosting takes longest."""
Cells = list[dict[str, str]]


@dataclass(frozen=True)
class Defaults:
    """Fold scores of the families' defaults on one table.

    Parameters
    ----------
    scores : (30,) by family
    reasons : why a family has none
    """

    scores: dict[str, FloatArray]
    reasons: dict[str, str]

    @property
    def n_records(self) -> int:
        """Families with scores or a reason for none."""
        return len(self.scores) + len(self.reasons)

    @property
    def means(self) -> dict[str, float | None]:
        """Mean score by family; None if there is none."""
        found: dict[str, float | None] = {f: float(s.mean()) for f, s in self.scores.items()}
        return found | dict.fromkeys(self.reasons, None)


def baselines_of(out: Path, table: str, rows: str, baseline: BrierBaseline) -> dict[str, float]:
    """Baselines of the plan that the defaults were scored with, with one of the two of Brier."""
    content = json.loads((out / "plans" / f"{table}-{rows}" / "plan.json").read_text())
    known: dict[str, float] = content["index"]["baselines"]
    spread = 1.0 - known["accuracy"]
    return {**known, "brier": spread if baseline == "frequencies" else 2.0 * spread}


def index_scores(
    baselines: dict[str, float], folds: dict[str, list[float]], brier: str = "brier"
) -> FloatArray:
    """(n_folds,) index from the metrics of the folds.

    Parameters
    ----------
    brier : `brier`, or `brier_of_labels` to read labels where there are probabilities
    """
    total = np.zeros(len(folds["accuracy"]))
    for name, weight in DEFAULT_WEIGHTS[True].items():
        values = np.asarray(folds[brier if name == "brier" else name])
        ideal, baseline = METRICS[name].ideal, baselines[name]
        total += weight * (values - baseline) / (ideal - baseline)
    return total


def read_defaults(
    out: Path,
    table: str,
    *,
    profile: str = "ours",
    rows: str = "half",
    baseline: BrierBaseline = PRESET_BASELINE,
    brier: str = "brier",
) -> Defaults | None:
    """What there is of one table; None without a plan or any record."""
    if not (out / "plans" / f"{table}-{rows}" / "plan.json").exists():
        return None
    baselines = baselines_of(out, table, rows, baseline)
    scores: dict[str, FloatArray] = {}
    reasons: dict[str, str] = {}
    for family in FAMILIES.values():
        file = out / "defaults" / table / f"{family}.{profile}.{rows}.json"
        if not file.exists():
            continue
        record = json.loads(file.read_text())
        if record["status"] == "complete":
            scores[family] = index_scores(baselines, record["folds"], brier)
        else:
            reasons[family] = record["reason"] or record["status"]
    return Defaults(scores, reasons) if scores or reasons else None


def read_run(out: Path, table: str) -> dict[str, Any] | None:
    """Record of an optimized run; None if there is none."""
    file = out / "optimized" / f"{table}.json"
    if not file.exists():
        return None
    record: dict[str, Any] = json.loads(file.read_text())
    return record


def fresh_scores(run: dict[str, Any], baseline: BrierBaseline) -> dict[str, float]:
    """Mean score of each candidate on the fresh folds, by trial id.

    The run's own baseline of Brier is exchanged by the candidate's Brier score over all rows.
    """
    own = run["data"]["baselines"]["brier"]
    spread = 1.0 - run["data"]["baselines"]["accuracy"]
    wanted = spread if baseline == "frequencies" else 2.0 * spread
    briers: dict[str, list[float]] = {}
    for trial in run["fresh"]:
        if trial["status"] == "complete":
            briers.setdefault(trial["origin"], []).append(trial["metrics"]["brier"])
    weight = DEFAULT_WEIGHTS[True]["brier"]
    return {
        candidate["trial_id"]: float(np.mean(candidate["scores"]))
        + weight * float(np.mean(briers[candidate["trial_id"]])) * (1.0 / own - 1.0 / wanted)
        for candidate in run["stages"]["selection"]["candidates"]
        if candidate["trial_id"] in briers
    }


def row_of(out: Path, table: str, baseline: BrierBaseline) -> tuple[BoostRow, BoostRow]:
    """Our row of table 5.1 for the champion, and for the candidate with the highest mean score."""
    found = read_defaults(out, table, baseline=baseline)
    means: dict[str, float | None] = {"": None} if found is None else found.means
    run = read_run(out, table)
    if run is None:
        row = boost_row(table, means, score=None, family="")
        return row, row
    scores = fresh_scores(run, baseline)
    families = {trial["id"]: trial["family"] for trial in run["trials"]}
    champion = run["champion"]
    highest = max(scores, key=lambda trial_id: scores[trial_id], default=champion)
    return cast(
        tuple[BoostRow, BoostRow],
        tuple(
            boost_row(table, means, score=scores.get(chosen), family=families[chosen])
            for chosen in (champion, highest)
        ),
    )


def table_cells(
    out: Path, baseline: BrierBaseline
) -> tuple[Cells, list[tuple[BoostRow, BoostRow]]]:
    """Rows of the table, ours beside the printed numbers in brackets."""
    cells, rows = [], []
    for name, printed in printed_rows().items():
        champion, highest = row_of(out, name, baseline)
        rows.append((champion, highest))
        cells.append(
            {
                "data set": name,
                "default worst": _beside(champion.worst, printed.worst),
                "default best": _beside(champion.best, printed.best),
                "of": champion.best_default,
                "score": _beside(champion.score, printed.score),
                "boost": _beside(champion.boost, printed.boost, ".2%"),
                "family": f"{champion.family} ({printed.family})",
                "highest": _text(highest.score),
                "highest of": highest.family,
                "no default": ", ".join(name for name in champion.missing if name),
            }
        )
    return cells, rows


def summary(rows: list[tuple[BoostRow, BoostRow]]) -> str:
    """How many tables are above their best default, printed and ours."""
    printed = list(printed_rows().values())
    above = sum(row.score > row.best for row in printed)
    done = [pair for pair in rows if pair[0].score is not None and pair[0].best is not None]
    counts = [sum(pair[which].is_above for pair in done) for which in (0, 1)]
    same = sum(pair[0].family == printed_rows()[pair[0].name].family for pair in done)
    return (
        f"Strictly above the best default: printed {above} of {len(printed)}; ours {counts[0]} of "
        f"{len(done)} by the champion, {counts[1]} by the candidate with the highest score. "
        f"The champion's family is the printed one on {same}.\n"
    )


def ways_cells(out: Path) -> Cells:
    """How both default columns differ from the printed ones, for each way to compute them."""
    cells = []
    ways = product(("half", "quarter", "all"), ("2013", "2013_scaled", "ours"), BASELINES, VARIANTS)
    for rows, profile, baseline, brier in ways:
        best, errors, worst = [], [], []
        for name, printed in printed_rows().items():
            found = read_defaults(
                out, name, profile=profile, rows=rows, baseline=baseline, brier=brier
            )
            if found is None or not found.scores or found.n_records < FEWEST_FAMILIES:
                continue
            leader = max(found.scores.values(), key=lambda s: float(s.mean()))
            best.append(float(leader.mean()) - printed.best)
            errors.append(noise(leader))
            worst.append(min(float(s.mean()) for s in found.scores.values()) - printed.worst)
        if not best:
            continue
        cells.append(
            {
                "rows": rows,
                "defaults": profile,
                "baseline of Brier": baseline,
                "read for Brier": "probabilities" if brier == "brier" else "labels",
                "tables": str(len(best)),
                "best: median difference": f"{np.median(best):+.4f}",
                "median size": f"{np.median(np.abs(best)):.4f}",
                "within 2 errors": f"{int((np.abs(best) <= 2 * np.asarray(errors)).sum())}",
                "worst: median difference": f"{np.median(worst):+.4f}",
                "median size of it": f"{np.median(np.abs(worst)):.4f}",
            }
        )
    return cells


def noise(scores: FloatArray) -> float:
    """Standard error of a mean over 3 x 10 folds, corrected for shared training rows (Nadeau-Bengio)."""
    return float(scores.std(ddof=1) * np.sqrt(1.0 / len(scores) + 1.0 / 9.0))


def best_cells(out: Path, baseline: BrierBaseline, profile: str, rows: str) -> Cells:
    """Best and worst default of each table beside the printed ones, in units of the noise."""
    cells = []
    for name, printed in printed_rows().items():
        found = read_defaults(out, name, profile=profile, rows=rows, baseline=baseline)
        if found is None or not found.scores:
            continue
        row = boost_row(name, found.means, score=None, family="")
        best = found.scores[row.best_default]
        error = noise(best)
        cells.append(
            {
                "data set": name,
                "best": _beside(row.best, printed.best),
                "of": row.best_default,
                "difference": f"{(row.best or 0.0) - printed.best:+.4f}",
                "in errors": f"{((row.best or 0.0) - printed.best) / error:+.1f}" if error else "",
                "worst": _beside(row.worst, printed.worst),
                "none": ", ".join(row.missing),
            }
        )
    return cells


def draw(out: Path, table: str) -> Path | None:
    """Figure 5.1 of one table; None without a run."""
    run = read_run(out, table)
    if run is None:
        return None
    used: BrierBaseline = "frequencies"
    if run["data"]["baselines"]["brier"] > 1.5 * (1.0 - run["data"]["baselines"]["accuracy"]):
        used = "random_labels"
    found = read_defaults(out, table, baseline=used) or Defaults({}, {})
    defaults = {family: tuple(map(float, s)) for family, s in found.scores.items()}
    rows = family_rows(
        SelectionRecord.from_json(run["stages"]["selection"]),
        defaults | dict.fromkeys(found.reasons, ()),
    )
    alpha = run["stages"]["selection"]["decisions"][-1]["alpha"]
    path = out / f"figure_5.1_{table}.png"
    default_and_optimized(rows, title=table, alpha=alpha).savefig(path, dpi=130)
    return path


def _text(value: float | None, form: str = ".4f") -> str:
    return "" if value is None else format(value, form)


def _beside(ours: float | None, printed: float, form: str = ".4f") -> str:
    return f"{_text(ours, form)} ({printed:{form}})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--figures", type=lambda text: text.split(","), default=["wine", "vehicle", "yeast"]
    )
    parser.add_argument("--baseline", choices=BASELINES, default=PRESET_BASELINE)
    parser.add_argument("--profile", default="2013", help="of the table of single differences")
    parser.add_argument("--rows", default="half", help="of the table of single differences")
    options = parser.parse_args()
    cells, rows = table_cells(options.out, options.baseline)
    (options.out / "table_5.1.md").write_text(markdown(cells) + "\n" + summary(rows))
    print(markdown(cells), summary(rows), sep="\n")
    ways = ways_cells(options.out)
    if ways:
        known = best_cells(options.out, options.baseline, options.profile, options.rows)
        text = markdown(ways) + "\n" + (markdown(known) if known else "")
        (options.out / "defaults.md").write_text(text)
        print(text)
    for table in options.figures:
        if path := draw(options.out, table):
            print(path)


if __name__ == "__main__":
    main()
