"""Tables and pictures of document S15's experiments: ``report.py OUT --profile small|full``.

Reads the cells of ``experiments.py`` and writes into OUT/PROFILE/report:

- ``table_1.md``: RMSE with 95 % intervals beside the printed figures, and where every model's
  options lie; the pairs of models by the Wilcoxon test;
- ``figure_2.png``, ``figure_3.png``, ``figure_4.png`` and ``curves.csv``;
- ``result.json``: the same as numbers.

Only data sets for which all models, or all strategies, have finished are counted.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from surface import MODELS
from tuning import METHODS, UNCERTAINTY

from automl.comparison.curves import Bands, bands, best_so_far, hyperparameter_ranks, rank_curves
from automl.records import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PRINTED = {
    "svm": dict(
        zip(
            MODELS,
            ("0.0997±0.028", "0.1110±0.020", "0.1041±0.029", "0.0596±0.013", "0.0550±0.016"),
            strict=True,
        )
    ),
    "adaboost": dict(
        zip(
            MODELS,
            ("0.0462±0.012", "0.0840±0.009", "0.0579±0.015", "0.0380±0.008", "0.0377±0.009"),
            strict=True,
        )
    ),
}
"""Table 1 as printed, over 25 data sets."""
CONFIDENCE = 0.975
DASHES = ("-", "--", ":", "-.")


def cells_of(folder: Path, subjects: Sequence[str], name: str) -> pd.DataFrame:
    """Finished cells of a part, a row each, of the data sets that all subjects have finished."""
    rows = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    if not rows:
        return pd.DataFrame()
    found = pd.DataFrame(rows)
    counts = found.groupby(["table", "target", "meta"], sort=False)[name].transform("nunique")
    return found[counts == len(subjects)]


def interval(values: FloatArray) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval by the t distribution."""
    from scipy.stats import t

    n = len(values)
    half = float(t.ppf(CONFIDENCE, n - 1)) * float(np.std(values, ddof=1)) / np.sqrt(n)
    return float(np.mean(values)), float(half)


def table_1(cells: pd.DataFrame) -> tuple[list[str], list[dict[str, Any]]]:
    """Lines of the table, and its numbers."""
    lines, numbers = [], []
    header = ["table", "data sets", *MODELS]
    lines += [" | ".join(header), " | ".join("---" for _ in header)]
    for (table, meta), part in cells.groupby(["table", "meta"], sort=False):
        wide = part.pivot_table(index="target", columns="model", values="rmse", aggfunc="first")
        entries = []
        for model in MODELS:
            mean, half = interval(wide[model].to_numpy())
            median = float(wide[model].median())
            entries.append(f"{mean:.4f}±{half:.3f}")
            numbers.append(
                {
                    "table": table,
                    "meta": meta,
                    "model": model,
                    "mean": mean,
                    "half": half,
                    "median": median,
                    "data_sets": len(wide),
                }
            )
        lines.append(" | ".join([f"{table} ({meta} meta-features)", str(len(wide)), *entries]))
        lines.append(" | ".join([f"{table}, printed", "25", *PRINTED[str(table)].values()]))
    return lines, numbers


def against(cells: pd.DataFrame) -> list[str]:
    """FMLP against each other model: on how many data sets it is better, and Wilcoxon's p."""
    from scipy.stats import wilcoxon

    lines = ["table | FMLP against | better on | p", "--- | --- | --- | ---"]
    for (table, _), part in cells.groupby(["table", "meta"], sort=False):
        wide = part.pivot_table(index="target", columns="model", values="rmse", aggfunc="first")
        for model in MODELS[:-1]:
            gap = (wide["FMLP"] - wide[model]).to_numpy()
            p = float(wilcoxon(gap).pvalue) if np.any(gap != 0.0) else 1.0
            lines.append(f"{table} | {model} | {int((gap < 0).sum())} of {len(gap)} | {p:.3g}")
    return lines


def chosen_options(cells: pd.DataFrame) -> list[str]:
    """How often each choice of options was made, what networks cost, and single members."""
    lines = ["table | model | options | chosen | seconds | one member alone"]
    lines.append("--- | --- | --- | --- | --- | ---")
    keyed = cells.assign(key=[json.dumps(options) for options in cells["options"]])
    for (table, model, key), part in keyed.groupby(["table", "model", "key"], sort=False):
        lines.append(
            f"{table} | {model} | `{key}` | {len(part)} | {part['seconds'].median():.1f}"
            f" | {part['member_rmse'].mean():.4f}"
        )
    return lines


def curves_of(cells: pd.DataFrame, methods: Sequence[str]) -> dict[str, Bands]:
    """Average rank and average hyperparameter rank of strategies on one table."""
    targets = list(dict.fromkeys(cells["target"]))
    by_place = cells.set_index(["method", "target"])
    runs = np.array(
        [np.concatenate([by_place.loc[(m, t), "runs"] for t in targets]) for m in methods]
    )
    risks = best_so_far(-runs)
    repeats = runs.shape[1] // len(targets)
    data_sets = np.repeat(targets, repeats)
    grids = [-np.array(by_place.loc[(methods[0], t), "grid"]) for t in data_sets]
    rng = np.random.default_rng(0)
    return {
        "rank": bands(rank_curves(risks), data_sets, rng=rng),
        "hyperparameter_rank": bands(hyperparameter_ranks(risks, grids), data_sets, rng=rng),
    }


def draw(found: dict[str, Bands], methods: Sequence[str], title: str, path: Path) -> None:
    """One panel for each table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4 * len(found), 4.4), layout="constrained")
    for axes, (table, of) in zip(
        figure.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True
    ):
        _draw_panel(axes, of, methods)
        axes.set(xlabel="trials", ylabel=title, title=table)
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=110)


def _draw_panel(axes: Axes, of: Bands, methods: Sequence[str]) -> None:
    steps = np.arange(1, of.mean.shape[1] + 1)
    for k, method in enumerate(methods):
        style = {"color": f"C{k % 10}", "linestyle": DASHES[k % len(DASHES)]}
        axes.plot(steps, of.mean[k], label=method, **style)
        axes.fill_between(steps, of.low[k], of.high[k], color=style["color"], alpha=0.1)


def report_curves(
    cells: pd.DataFrame, methods: Sequence[str], figures: dict[str, Path]
) -> pd.DataFrame:
    """Draw the curves of strategies and give them as a frame."""
    every = {table: curves_of(part, methods) for table, part in cells.groupby("table", sort=False)}
    titles = {"rank": "average rank", "hyperparameter_rank": "average hyperparameter rank"}
    for key, path in figures.items():
        draw({str(table): of[key] for table, of in every.items()}, methods, titles[key], path)
    rows = [
        {
            "table": table,
            "measure": key,
            "method": method,
            "trial": trial + 1,
            "mean": float(of.mean[k, trial]),
            "low": float(of.low[k, trial]),
            "high": float(of.high[k, trial]),
        }
        for table, both in every.items()
        for key, of in both.items()
        for k, method in enumerate(methods)
        for trial in range(of.mean.shape[1])
    ]
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--profile", default="small")
    args = parser.parse_args()
    folder = args.out / args.profile
    target = folder / "report"
    target.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {}
    surface = cells_of(folder / "surface", MODELS, "model")
    if len(surface):
        lines, result["table_1"] = table_1(surface)
        text = [*lines, "", *against(surface), "", *chosen_options(surface), ""]
        (target / "table_1.md").write_text("\n".join(text))
        print("\n".join(text))
    parts = {
        "tuning": (METHODS, {"rank": "figure_3.png", "hyperparameter_rank": "figure_4.png"}),
        "uncertainty": (UNCERTAINTY, {"hyperparameter_rank": "figure_2.png"}),
    }
    frames = []
    for part, (methods, figures) in parts.items():
        cells = cells_of(folder / part, methods, "method")
        if len(cells):
            paths = {key: target / name for key, name in figures.items()}
            frames.append(report_curves(cells, methods, paths).assign(part=part))
    if frames:
        curves = pd.concat(frames)
        curves.to_csv(target / "curves.csv", index=False)
        shown = curves[curves["trial"].isin([5, 10, 20, 40])]
        keys = ["part", "table", "measure", "method"]
        print(shown.pivot_table(index=keys, columns="trial", values="mean", sort=False).round(2))
        result["curves"] = shown.to_dict("records")
    (target / "result.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
