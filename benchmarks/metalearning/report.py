"""Tables of what `learning.py`, `starting.py` and `runtimes.py` found.

    python benchmarks/metalearning/report.py OUT [--figures FOLDER]

Means over data sets, with 95 % intervals of the bootstrap over data sets.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from flow_tables import FLOWS
from matplotlib.figure import Figure
from runtimes import OWN_TRIALS
from scipy.stats import rankdata

from automl.reports.meta_learning import (
    LeftOut,
    Searches,
    against_nearest,
    error_and_correlation,
    gain_of_standardizing,
    important_features,
    loss_by_start,
    ranking_and_loss,
)

SHOWN_TRIALS = (3, 5, 10, 20, 30)
N_BOOTSTRAPS = 2000
LEARNERS = (
    "none/{}",
    "meta/{}/4",
    "meta/{}/16",
    "configuration/{}/4",
    "configuration/{}/16",
    "both/{}/4",
    "both/{}/16",
    "knn/{}",
    "knn_lightgbm/{}",
)
PAIRS = (
    ("both/standardized/4", "configuration/standardized/4"),
    ("both/standardized/4", "both/accuracy/4"),
    ("both/standardized/16", "both/standardized/4"),
    ("both/standardized/4", "knn/standardized"),
    ("both/standardized/16", "knn/standardized"),
    ("configuration/standardized/4", "knn/standardized"),
)
START_PAIRS = (
    ("gbqr/delta", "gbqr/random"),
    ("gbqr/delta", "gbqr/best"),
    ("gbqr/delta", "gbqr/knn"),
    ("gbqr/delta", "gbqr/opt"),
    ("gbqr/best", "gbqr/random"),
    ("gbqr/bad", "gbqr/random"),
    ("gbqr/blend", "gbqr/delta"),
    ("gp_ei/delta", "gp_ei/random"),
)


WARM = {
    "GBQR": "gbqr/random",
    "GBQR, best-3": "gbqr/best",
    "GBQR, bad-3": "gbqr/bad",
    "GP-EI": "gp_ei/random",
    "GP-EI, best-3": "gp_ei/best",
    "GP-EI, bad-3": "gp_ei/bad",
    "meta-learning order": "none/meta_order",
}
"""The Gaussian process stands where H18 has SMAC's forest with interleaving."""
DELTA = {"GBQR, delta": "gbqr/delta"}
RIVAL_STARTS = {"delta": "gbqr/delta", "OPT-3": "gbqr/opt", "KNN-3": "gbqr/knn"}
DOTS_PER_INCH = 110


def entries(folder: Path) -> dict[str, dict[str, Any]]:
    """Content of every file by its stem."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def interval(values: np.ndarray) -> str:
    """Mean with its interval."""
    rng = np.random.default_rng(0)
    drawn = values[rng.integers(len(values), size=(N_BOOTSTRAPS, len(values)))].mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{values.mean():.3f} [{low:.3f}, {high:.3f}]"


def show_learning(out: Path, flow: str) -> None:
    """Error and rank correlation by learner."""
    found = [entry["learners"] for entry in entries(out / "learning" / flow).values()]
    if not found:
        return
    print(f"\n## {flow}: {len(found)} data sets left out one by one\n")
    print("| input | RMSE, accuracy | tau | RMSE, standardized | tau |\n|---|---|---|---|---|")
    for learner in LEARNERS:
        cells = []
        for target in ("accuracy", "standardized"):
            name = learner.format(target)
            for measure in ("rmse", "tau"):
                values = [one[name][measure] for one in found if name in one]
                cells.append(f"{np.mean(values):.3f}" if values else "")
        print(f"| {learner.replace('/{}', '')} | {' | '.join(cells)} |")
    print("\nDifferences of tau:\n")
    for first, second in PAIRS:
        difference = np.array([one[first]["tau"] - one[second]["tau"] for one in found])
        print(f"- {first} minus {second}: {interval(difference)}")


def regrets(content: dict[str, Any]) -> dict[str, np.ndarray]:
    """Curves of scaled regret by surrogate and start, the mean over seeds."""
    scale = content["best"] - content["median"]
    found: dict[str, list[np.ndarray]] = {}
    for name, curve in content["curves"].items():
        key = name.rpartition("/")[0]
        found.setdefault(key, []).append((content["best"] - np.array(curve)) / scale)
    return {key: np.mean(curves, axis=0) for key, curves in found.items()}


def show_starting(out: Path, flows: list[str]) -> None:
    """Regret by trial and mean ranks of the starts; all flows together if there are several."""
    curves = [
        regrets(entry) for flow in flows for entry in entries(out / "starting" / flow).values()
    ]
    if not curves:
        return
    names = sorted(set.intersection(*(set(one) for one in curves)))
    values = {name: np.array([one[name] for one in curves]) for name in names}
    ranks = {
        k: rankdata([[one[name][k - 1] for name in names] for one in curves], axis=1).mean(axis=0)
        for k in SHOWN_TRIALS
    }
    print(f"\n## starts, {', '.join(flows)}: {len(curves)} data sets; scaled regret (mean rank)\n")
    print("| start | " + " | ".join(f"{k} trials" for k in SHOWN_TRIALS) + " |")
    print("|---" * (len(SHOWN_TRIALS) + 1) + "|")
    for row, name in enumerate(names):
        cells = [f"{values[name][:, k - 1].mean():.3f} ({ranks[k][row]:.1f})" for k in SHOWN_TRIALS]
        print(f"| {name} | {' | '.join(cells)} |")
    print("\nDifferences of the regret, the mean over trials 3 to the last:\n")
    for first, second in START_PAIRS:
        if first in values and second in values:
            difference = (values[first] - values[second])[:, 2:].mean(axis=1)
            print(f"- {first} minus {second}: {interval(difference)}")


def show_runtimes(out: Path) -> None:
    """Error of the logarithm of seconds after some trials."""
    found = list(entries(out / "runtimes").values())
    if not found:
        return
    print(f"\n## seconds: {len(found)} data sets; RMSE of log seconds of the trials left\n")
    names = list(found[0][str(OWN_TRIALS[0])])
    print("| trials | " + " | ".join(names) + " | seeded minus cold |")
    print("|---" * (len(names) + 2) + "|")
    for n_own in OWN_TRIALS:
        values = {name: np.sqrt([one[str(n_own)][name] for one in found]) for name in names}
        cells = [interval(values[name]) for name in names]
        cells.append(interval(values["seeded"] - values["cold"]))
        print(f"| {n_own} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--figures", type=Path, help="draw H18's figures 6.1 to 6.7 there")
    arguments = parser.parse_args()
    out = arguments.out
    for flow in FLOWS:
        show_learning(out, flow)
    for flow in FLOWS:
        show_starting(out, [flow])
    if sum((out / "starting" / flow).is_dir() for flow in FLOWS) > 1:
        show_starting(out, list(FLOWS))
    show_runtimes(out)
    if arguments.figures is not None:
        draw(out, arguments.figures)


def draw(out: Path, folder: Path) -> None:
    """H18's figures 6.1 to 6.7 from our records, as far as there are any."""
    left_out = {
        flow: [LeftOut.from_json(entry) for entry in entries(out / "learning" / flow).values()]
        for flow in FLOWS
    }
    searched = {
        flow: [Searches.from_json(entry) for entry in entries(out / "starting" / flow).values()]
        for flow in FLOWS
    }
    left_out, searched = ({k: v for k, v in of.items() if v} for of in (left_out, searched))
    told = {k: v for k, v in entries(out / "importances").items() if k in FLOWS}
    every = [one for found in searched.values() for one in found]
    figures: dict[str, Figure] = {}
    if left_out:
        figures["6.1"] = error_and_correlation(left_out)
        figures["6.2"] = gain_of_standardizing(left_out)
        figures["6.4"] = against_nearest(left_out)
    if told:
        figures["6.3"] = important_features(told)
    if every:
        figures["6.5"] = ranking_and_loss(every, WARM)
        figures["6.6"] = ranking_and_loss(every, {**WARM, **DELTA})
        figures["6.7"] = loss_by_start(searched, RIVAL_STARTS)
    folder.mkdir(parents=True, exist_ok=True)
    for number, figure in figures.items():
        path = folder / f"figure_{number}.png"
        figure.savefig(path, dpi=DOTS_PER_INCH)
        print(path)


if __name__ == "__main__":
    main()
