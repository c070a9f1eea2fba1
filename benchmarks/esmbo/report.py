"""Tables and pictures of document L14's experiment: ``report.py OUT_FOLDER``.

Reads the cells of ``experiment.py`` and writes into OUT_FOLDER/report:

- ``tables.md``: tables 1 and 2, winning frequencies and expected ranks with the marks of the
  Poisson-binomial and the sign test, ours beside the printed ones; the data sets and their rows;
- ``figure_1.png`` (regression) and ``figure_2.png`` (classification): Pr(ESMBO > other) and
  expected ranks over configurations, and ``curves.csv`` with the same;
- ``result.json``: everything above as numbers.

At every k a method stands for what it makes of its first k configurations: RS and SMBO the one of
least validation risk, ERS and ESMBO the agnostic Bayes ensemble of all of them. A table counts for
a space when all methods have finished there. What has been computed of a table is kept in
OUT_FOLDER/digests. Where several models have the least risk on a bootstrap the one that is better
on all validation rows is taken (`automl.ensembles.agnostic`); ``--ties first`` takes the one that
was trained first, and writes into OUT_FOLDER/report_first.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from experiment import FAMILIES, METHODS, N_BOOTSTRAPS, N_CONFIGURATIONS, losses, scaled_losses
from problems import root_seed
from published import PUBLISHED, Printed
from threadpoolctl import threadpool_limits

from automl.comparison.marks import Mark
from automl.comparison.poisson_binomial import (
    drawn_risks,
    poisson_binomial_test,
    winning_probabilities,
)
from automl.comparison.ranks import expected_rank, winning_frequency
from automl.comparison.sign import sign_test_of_wins
from automl.ensembles.agnostic import winners
from automl.metrics.bootstraps import bootstrap_multiplicities
from automl.randomness import Purpose, stream
from automl.records import BoolArray, FloatArray, IntArray
from automl.reports.comparison import TimePanel, over_time

NAMES = ("ESMBO", "ERS", "SMBO", "RS")
SOURCES = {"ESMBO": "esmbo", "ERS": "random", "SMBO": "smbo", "RS": "random"}
ENSEMBLES = ("ESMBO", "ERS")
LAST = 15
"""Iterations at the end whose values are averaged (section 6.3)."""
TITLES = {
    ("regression", "svm"): "Support Vector Regressor",
    ("regression", "boosting"): "Gradient Boosting Regressor",
    ("regression", "forest"): "Random Forest (regression)",
    ("classification", "svm"): "Support Vector Machine",
    ("classification", "boosting"): "Gradient Boosting Classifier",
    ("classification", "forest"): "Random Forest (classification)",
    ("classification", "mlp"): "Multilayer Perceptron",
}
MARKS = {Mark.NONE: ".", Mark.SIGNIFICANT: "+", Mark.HIGHLY: "++"}


# --- one table ------------------------------------------------------------------------------------


def weights_over_time(
    loss: FloatArray,
    has_failed: BoolArray,
    counts: IntArray | None,
    *,
    ties: str = "better",
) -> FloatArray:
    """Weight of each model in what the first k configurations make, for every k.

    Parameters
    ----------
    loss : (n models, n rows)
        Of the validation rows.
    counts : (N, n rows), or None
        Bootstraps for an ensemble; None for the single model of least risk, the first at ties.
    ties : `better` or `first`
        Which of several models that are best on a bootstrap.

    Returns
    -------
    (n models, n models)
        Row k - 1 is the weights after k configurations; zero as long as every fit has failed.
    """
    n = len(loss)
    alone = np.where(has_failed, -np.inf, -loss.mean(axis=1))
    scores = alone[:, None]
    if counts is not None:
        on_bootstraps = -(loss @ counts.T) / counts.shape[1]
        scores = np.where(has_failed[:, None], -np.inf, on_bootstraps)
    found = np.zeros((n, n))
    for k in range(1, n + 1):
        if not has_failed[:k].all():
            best = winners(scores[:k], np.zeros(k) if ties == "first" else alone[:k])
            found[k - 1] = np.bincount(best, minlength=n) / len(best)
    return found


def losses_over_time(cell: Mapping[str, Any], counts: IntArray | None, *, ties: str) -> FloatArray:
    """(n configurations, n test rows): loss of what the first k configurations make.

    A vote counts a class that has more than half of the weight, the first class at ties.
    """
    is_classification = bool(cell["is_classification"])
    loss = scaled_losses(
        cell["y_validation"], cell["validation"], is_classification=is_classification
    )
    weights = weights_over_time(loss, cell["has_failed"], counts, ties=ties)
    prediction = weights @ cell["test"].astype(np.float64)
    if is_classification:
        prediction = prediction > 0.5 + 1e-9
    return losses(cell["y_test"], prediction, is_classification=is_classification)


def digest(
    out: Path, table: str, family: str, *, n_draws: int, ties: str
) -> dict[str, FloatArray] | None:
    """Risks (methods, k) and winning probabilities (k, methods, methods) of one table and space."""
    paths = [out / "cells" / f"{table}__{family}__{method}.npz" for method in METHODS]
    if not all(path.exists() for path in paths):
        return None
    kept = out / "digests" / f"{table}__{family}__{n_draws}_{ties}.npz"
    if kept.exists() and kept.stat().st_mtime > max(path.stat().st_mtime for path in paths):
        with np.load(kept) as arrays:
            return dict(arrays)
    cells = {}
    for method, path in zip(METHODS, paths, strict=True):
        with np.load(path) as arrays:
            cells[method] = dict(arrays)
    y = cells["random"]["y_validation"]
    seed = root_seed(table)
    counts = bootstrap_multiplicities(len(y), N_BOOTSTRAPS, stream(seed, Purpose.BOOTSTRAP))
    parts = [
        losses_over_time(cells[SOURCES[name]], counts if name in ENSEMBLES else None, ties=ties)
        for name in NAMES
    ]
    risks = np.array([part.mean(axis=1) for part in parts])
    drawn = drawn_risks(np.concatenate(parts), rng=stream(seed, Purpose.SAMPLE), n_draws=n_draws)
    drawn = drawn.reshape(n_draws, len(NAMES), -1)
    found = {
        "risks": risks,
        "probabilities": np.array(
            [winning_probabilities(drawn[..., k]) for k in range(drawn.shape[2])]
        ),
        "rows": np.array([int(cells["random"]["n_training"]), len(y), parts[0].shape[1]]),
        "seconds": np.array([cells[method]["seconds"].sum(axis=0) for method in METHODS]),
        "n_failed": np.array([cells[method]["has_failed"].sum() for method in METHODS]),
        "is_classification": cells["random"]["is_classification"],
    }
    kept.parent.mkdir(exist_ok=True)
    np.savez(kept, **found)
    return found


# --- one space --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Space:
    """Results of one space over its tables; the means are over the last iterations.

    Parameters
    ----------
    ranks : (4, T)
        Expected ranks after each configuration.
    frequency : (4, 4)
        Mean winning frequencies.
    probability : (T, 4, 4)
        Pr(row > column) of the Poisson-binomial test.
    signs : (4, 4)
        p-values of the sign test of the tables' mean wins.
    """

    kind: str
    family: str
    tables: Sequence[str]
    ranks: FloatArray
    frequency: FloatArray
    probability: FloatArray
    signs: FloatArray

    @property
    def rank(self) -> FloatArray:
        """(4,) mean expected rank of the last iterations."""
        return np.asarray(self.ranks[:, -LAST:].mean(axis=1))

    @property
    def pb(self) -> FloatArray:
        """(4, 4) mean Pr(row > column) of the last iterations."""
        return np.asarray(self.probability[-LAST:].mean(axis=0))

    def mark(self, a: int, b: int) -> str:
        """Marks of the Poisson-binomial and of the sign test where a is the better one."""
        if self.frequency[a, b] <= 0.5 or a == b:
            return ""
        marks = Mark.of_probability(self.pb[a, b]), Mark.of_pvalue(self.signs[a, b])
        return " " + "/".join(MARKS[mark] for mark in marks) if any(marks) else ""


def space_of(kind: str, family: str, found: Mapping[str, Mapping[str, FloatArray]]) -> Space:
    """What the tables of one space say together."""
    risks = np.stack([entry["risks"] for entry in found.values()], axis=1)  # (4, L, T)
    probabilities = np.stack([entry["probabilities"] for entry in found.values()])  # (L, T, 4, 4)
    steps = range(risks.shape[2])
    ranks = np.stack([expected_rank(risks[..., k]).expected for k in steps], axis=1)
    wins = np.stack([winning_frequency(risks[..., k]).wins for k in steps[-LAST:]]).mean(axis=0)
    n = len(NAMES)
    probability = np.full((len(steps), n, n), 0.5)
    signs = np.ones((n, n))
    for a in range(n):
        for b in range(n):
            if a != b:
                signs[a, b] = sign_test_of_wins(wins[a, b]).pvalue
                for k in steps:
                    given = probabilities[:, k, a, b]
                    probability[k, a, b] = poisson_binomial_test(given).probability
    return Space(kind, family, list(found), ranks, wins.mean(axis=2), probability, signs)


# --- what is written ----------------------------------------------------------------------------


def table_text(space: Space, printed: Printed) -> str:
    """Our table above the printed one, each sorted by its expected ranks."""
    order = np.argsort(space.rank, kind="stable")
    title = TITLES[space.kind, space.family]
    lines = [f"### {title}", "", f"Ours, {len(space.tables)} data sets:", ""]
    lines += _header([NAMES[b] for b in order])
    for a in order:
        cells = [f"{space.frequency[a, b]:.2f}{space.mark(a, b)}" for b in order]
        lines.append(_line([NAMES[a], *cells, f"{space.rank[a]:.2f}"]))
    lines += ["", f"Printed, {printed.n_tables} data sets:", "", *_header(printed.order)]
    for name in printed.order:
        cells = [f"{value:.2f}" for value in printed.frequency[name]]
        lines.append(_line([name, *cells, f"{printed.rank[name]:.2f}"]))
    return "\n".join([*lines, ""])


def _header(names: Sequence[str]) -> list[str]:
    return [_line(["", *names, "E[rank]"]), _line(["---"] * (len(names) + 2))]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def agreement(spaces: Sequence[Space]) -> str:
    """In how many pairs the same method is ahead here and in print."""
    n_same = n_all = 0
    for space in spaces:
        printed = PUBLISHED[space.kind, space.family]
        for a, first in enumerate(NAMES):
            for b, second in enumerate(NAMES[:a]):
                theirs = printed.frequency[first][printed.order.index(second)] - 0.5
                ours = space.frequency[a, b] - 0.5
                n_all += theirs != 0 and ours != 0
                n_same += theirs * ours > 0
    return f"The same method is ahead in {n_same} of {n_all} pairs that are even neither here nor in print."


def rank_lines(spaces: Sequence[Space]) -> list[str]:
    """Expected ranks of all spaces, ours and printed."""
    lines = [_line(["space", "tables", *(f"{name} (printed)" for name in NAMES)])]
    lines.append(_line(["---"] * (len(NAMES) + 2)))
    for space in spaces:
        printed = PUBLISHED[space.kind, space.family]
        cells = [f"{space.rank[k]:.2f} ({printed.rank[name]:.2f})" for k, name in enumerate(NAMES)]
        title = TITLES[space.kind, space.family]
        lines.append(_line([title, str(len(space.tables)), *cells]))
    return lines


def data_lines(found: Mapping[str, Mapping[str, Mapping[str, FloatArray]]]) -> list[str]:
    """Rows of every data set and the spaces that it counts for."""
    lines = [_line(["data set", "training", "validation", "test", "spaces"])]
    lines.append(_line(["---"] * 5))
    for table, families in sorted(found.items()):
        rows = next(iter(families.values()))["rows"]
        lines.append(_line([table, *map(str, rows), ", ".join(families)]))
    return lines


def curve_rows(spaces: Sequence[Space]) -> pd.DataFrame:
    """Long form of the curves."""
    rows = []
    for space in spaces:
        for k in range(space.ranks.shape[1]):
            row: dict[str, Any] = {"kind": space.kind, "space": space.family, "k": k + 1}
            row |= {f"rank_{name}": space.ranks[a, k] for a, name in enumerate(NAMES)}
            for a, first in enumerate(NAMES):
                for b in range(a + 1, len(NAMES)):
                    row[f"pb_{first}_over_{NAMES[b]}"] = space.probability[k, a, b]
            rows.append(row)
    return pd.DataFrame(rows)


def draw(spaces: Sequence[Space], path: Path) -> None:
    """Figure 1 or 2: ESMBO against the others, and expected ranks."""
    panels = [
        TimePanel(
            TITLES[space.kind, space.family],
            NAMES,
            np.arange(1.0, N_CONFIGURATIONS + 1),
            space.ranks,
            {f"ESMBO > {NAMES[b]}": space.probability[:, 0, b] for b in range(1, len(NAMES))},
        )
        for space in spaces
    ]
    if panels:
        over_time(panels).savefig(path, dpi=110)


def write(
    folder: Path,
    spaces: Sequence[Space],
    found: Mapping[str, Mapping[str, Mapping[str, FloatArray]]],
) -> None:
    """All files of the report."""
    folder.mkdir(parents=True, exist_ok=True)
    seconds = sum(
        float(entry["seconds"].sum()) for families in found.values() for entry in families.values()
    )
    failed = sum(
        int(entry["n_failed"].sum()) for families in found.values() for entry in families.values()
    )
    text = [
        "# Document L14's experiment",
        "",
        "Winning frequency of row against column; behind it `PB/sign`: `+` significant, `++`",
        "highly significant, `.` neither. The text of the document has no colors, so the printed",
        "tables have no marks here.",
        "",
        *rank_lines(spaces),
        "",
        agreement(spaces),
        "",
        *(table_text(space, PUBLISHED[space.kind, space.family]) for space in spaces),
        f"Processor time of all cells: {seconds / 3600:.2f} hours; failed fits: {failed}.",
        "",
        *data_lines(found),
        "",
    ]
    (folder / "tables.md").write_text("\n".join(text), encoding="utf-8")
    curve_rows(spaces).to_csv(folder / "curves.csv", index=False)
    result = [
        {
            "kind": space.kind,
            "space": space.family,
            "tables": list(space.tables),
            "methods": NAMES,
            "expected_rank": space.rank.tolist(),
            "winning_frequency": space.frequency.tolist(),
            "poisson_binomial": space.pb.tolist(),
            "sign_pvalue": space.signs.tolist(),
        }
        for space in spaces
    ]
    (folder / "result.json").write_text(json.dumps(result, indent=1), encoding="utf-8")
    for number, kind in ((1, "regression"), (2, "classification")):
        draw([space for space in spaces if space.kind == kind], folder / f"figure_{number}.png")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--draws", type=int, default=1000, help="reweightings of the test rows")
    parser.add_argument("--ties", choices=["better", "first"], default="better")
    options = parser.parse_args()
    tables = sorted({path.name.split("__")[0] for path in (options.out / "cells").glob("*.npz")})
    found: dict[str, dict[str, dict[str, FloatArray]]] = {}
    for table in tables:
        for family in FAMILIES:
            entry = digest(options.out, table, family, n_draws=options.draws, ties=options.ties)
            if entry is not None:
                found.setdefault(table, {})[family] = entry
    spaces = []
    for kind, family in TITLES:
        own = {
            table: families[family]
            for table, families in found.items()
            if family in families
            and bool(families[family]["is_classification"]) == (kind == "classification")
        }
        if own:
            spaces.append(space_of(kind, family, own))
    if not spaces:
        raise SystemExit(f"{options.out} has no table with all methods of a space yet")
    folder = "report" if options.ties == "better" else f"report_{options.ties}"
    write(options.out / folder, spaces, found)
    print("\n".join([*rank_lines(spaces), agreement(spaces)]))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
