"""Tables and the picture of `error_rates.py` from its counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import error_rate_models as models
from scipy.stats import beta

ALPHA = 0.05
TREE_ROWS = ("tree 3", "tree 5", "tree 10", "lopsided 10")
PLANS = ("1 x 3", "2 x 5", "6 x 5", "3 x 10")
LEAF_PROCEDURES = ("closed", "paired", "mcb", "bayesian", "friedman", "thesis")
PROCEDURES = (
    *("closed", "closed, tree", "paired", "paired, tree"),
    *("mcb", "bayesian", "friedman", "thesis"),
)
LEVELS = ("leaf", "category", "family", "root", "all")


def write(out: Path) -> None:
    """``error_rates.md``, ``power.png`` and ``leads.png``."""
    counts: dict[str, Counter[str]] = {}
    for path in sorted((out / "counts").glob("*.json")):
        counts.setdefault(path.stem.rsplit("-", 1)[0], Counter()).update(
            json.loads(path.read_text())
        )
    planted, leads = counts.pop("planted", None), counts.pop("leads", None)
    lines = [
        *_equal_tables(counts),
        *(_power_tables(planted) if planted else []),
        *(_lead_tables(leads) if leads else []),
    ]
    (out / "error_rates.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    if leads:
        _lead_picture(leads, out / "leads.png")
    if planted:
        _picture(planted, out / "power.png")


def interval(hits: int, n: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval of a share."""
    low = float(beta.ppf(0.025, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(0.975, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def _cell(counts: Counter[str], folds: str, key: str) -> str:
    n = int(counts[f"{folds}|replications"])
    if f"{folds}|{key}|any" not in counts:
        return "-"
    hits = int(counts[f"{folds}|{key}|any"])
    low, high = interval(hits, n)
    mark = " **above**" if low > ALPHA else ""
    return f"{100 * hits / n:.1f} ({100 * low:.1f}-{100 * high:.1f}){mark}"


def _each(counts: Counter[str], folds: str, key: str, k: int) -> str:
    """Percent of the candidates."""
    n = int(counts[f"{folds}|replications"])
    if f"{folds}|{key}|dropped" not in counts:
        return "-"
    return f"{100 * counts[f'{folds}|{key}|dropped'] / n / k:.1f}"


def _equal_tables(counts: dict[str, Counter[str]]) -> list[str]:
    lines = [
        "Percent of replications in which a test drops any of equally good candidates; alpha 5 %.",
        "",
        "| models | folds | replications | variance seen / assumed |",
        "|---|---|---|---|",
    ]
    cells = [
        (kind, folds) for kind, found in counts.items() for folds in PLANS
        if f"{folds}|replications" in found
    ]  # fmt: skip
    for kind, folds in cells:
        found = counts[kind]
        ratio = found[f"{folds}|spread"] / found[f"{folds}|spread of"]
        lines.append(f"| {kind} | {folds} | {found[f'{folds}|replications']} | {ratio:.2f} |")
    lines += _worst_tables(counts, cells)
    procedures = LEAF_PROCEDURES
    heads = [f"{p}, {k}" for p in procedures for k in (3, 5, 10)]
    lines += _table("One leaf of 3, 5 and 10 candidates.", heads, [
        (kind, folds, [_cell(counts[kind], folds, f"{p}|leaf of {k}") for p in procedures for k in (3, 5, 10)])
        for kind, folds in cells
    ])  # fmt: skip
    sizes = {**{f"leaf of {k}": k for k in (3, 5, 10)}, "tree 3|all": 3, "tree 5|all": 5,
             "tree 10|all": 10, "lopsided 10|all": 10}  # fmt: skip
    for procedure in procedures:
        lines += _table(f"Percent of the candidates that are dropped, {procedure}.", list(sizes), [
            (kind, folds, [_each(counts[kind], folds, f"{procedure}|{key}", k) for key, k in sizes.items()])
            for kind, folds in cells if f"{folds}|{procedure}|tree 3|all|any" in counts[kind]
        ])  # fmt: skip
    for tree in TREE_ROWS:
        for procedure in PROCEDURES:
            lines += _table(f"{tree}, {procedure}.", LEVELS, [
                (kind, folds, [_cell(counts[kind], folds, f"{procedure}|{tree}|{level}") for level in LEVELS])
                for kind, folds in cells if f"{folds}|{procedure}|{tree}|all|any" in counts[kind]
            ])  # fmt: skip
    before = ("members only|tree 10|all", "members only|lopsided 10|root",
              "search|screening unadjusted",
        "search|screening of 10", "search|searched 3")  # fmt: skip
    lines += _table(
        "Tests that count the members of a node only (whole tree, root); the search's screening of "
        "ten, before and with the adjustment; candidates that are the best of 8, 1 and 1 trials of the search.",
        ("members only, tree 10", "members only, lopsided root", "screening unadjusted", "screening", "best of 8, 1, 1"),
        [(kind, folds, [_cell(counts[kind], folds, key) for key in before])
         for kind, folds in cells if f"{folds}|search|screening of 10|any" in counts[kind]],
    )  # fmt: skip
    return lines


def _worst_tables(counts: dict[str, Counter[str]], cells: Sequence[tuple[str, str]]) -> list[str]:
    """For every procedure the highest rate of a leaf, of a level of the trees, and of a whole tree."""
    places = {
        "one leaf": [f"leaf of {k}" for k in (3, 5, 10)],
        "a level of a tree": [f"{tree}|{level}" for tree in TREE_ROWS for level in LEVELS[:-1]],
        "a whole tree": [f"{tree}|all" for tree in TREE_ROWS],
    }
    lines: list[str] = []
    for procedure in PROCEDURES:
        rows = []
        for kind, folds in cells:
            found = counts[kind]
            keys = [[f"{procedure}|{key}" for key in group] for group in places.values()]
            if f"{folds}|{keys[2][0]}|any" in found:
                worst = [max(group, key=lambda key: found[f"{folds}|{key}|any"]) for group in keys]
                rows.append((kind, folds, [_cell(found, folds, key) for key in worst]))
        lines += _table(f"{procedure}: the highest rate of each kind.", list(places), rows)
    return lines


def _table(
    title: str, heads: Sequence[str], rows: Sequence[tuple[str, str, list[str]]]
) -> list[str]:
    lines = ["", title, "", f"| models | folds | {' | '.join(heads)} |"]
    lines.append("|---" * (len(heads) + 2) + "|")
    return lines + [f"| {kind} | {folds} | {' | '.join(row)} |" for kind, folds, row in rows]


def _power_tables(counts: Counter[str]) -> list[str]:
    lines: list[str] = []
    plans = ("2 x 5", "6 x 5", "3 x 10")
    for name, strengths in models.STRENGTHS.items():
        rows = [
            (f"{strength}, {_mean(counts, cell, 'difference'):.3f}", plan, _shares(counts, cell))
            for plan in plans
            for strength in strengths
            for cell in [f"{plan}|{name}|{strength}"]
        ]
        n = int(counts[f"{plans[0]}|{name}|{strengths[0]}|replications"])
        title = f"{name}: percent of {n} in which the worse of five is dropped / any of the others."
        lines += _table(title, LEAF_PROCEDURES, rows)
    rows = [("four equal, six worse", plan, _shares(counts, f"{plan}|mixed", 6)) for plan in plans]
    title = "Ten in one leaf: percent of the six worse that are dropped / any of the four equal."
    return lines + _table(title, LEAF_PROCEDURES, rows)


def _leads_of(counts: Counter[str]) -> list[float]:
    return sorted({float(key.split("|")[2]) for key in counts if "|one|" in key})


def _lead_tables(counts: Counter[str]) -> list[str]:
    lines: list[str] = []
    for name, n_worse in (("one", 1), ("graded", 9)):
        rows = [
            (f"{lead:g}", plan, _shares(counts, f"{plan}|{name}|{lead}", n_worse))
            for plan in ("2 x 5", "6 x 5")
            for lead in _leads_of(counts)
        ]
        worse = (
            "one that is worse by a lead" if name == "one" else "the nine that fall off to a lead"
        )
        title = (
            f"Ten with normal scores: percent of {worse}, in deviations of the differences, that "
            "are dropped / any of the best."
        )
        lines += _table(title, LEAF_PROCEDURES, rows)
    return lines


def _lead_picture(counts: Counter[str], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    x = _leads_of(counts)
    panels = (("one", 1, "one of ten is worse"), ("graded", 9, "nine of ten fall off evenly"))
    for axis, (name, n_worse, title) in zip(axes, panels, strict=True):
        for procedure, color in (("paired", "tab:red"), ("closed", "tab:blue")):
            for plan, style in (("2 x 5", "--"), ("6 x 5", "-")):
                y = [
                    _mean(counts, f"{plan}|{name}|{lead}", f"{procedure}|dropped") / n_worse
                    for lead in x
                ]
                axis.plot(x, y, style, color=color, marker="o", label=f"{procedure}, {plan}")
        axis.set(title=title, xlabel="lead over the worst, deviations of differences", ylim=(0, 1))
    axes[0].set_ylabel("share of the worse that is dropped")
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _mean(counts: Counter[str], cell: str, key: str) -> float:
    return counts[f"{cell}|{key}"] / max(counts[f"{cell}|replications"], 1)


def _shares(counts: Counter[str], cell: str, n_worse: int = 1) -> list[str]:
    return [
        f"{100 * _mean(counts, cell, f'{p}|dropped') / n_worse:.0f} / "
        f"{100 * _mean(counts, cell, f'{p}|wrongly'):.1f}"
        for p in LEAF_PROCEDURES
    ]


def _picture(counts: Counter[str], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True)
    lines = [
        *(("paired", "2 x 5"), ("closed", "2 x 5"), ("paired", "6 x 5"), ("closed", "6 x 5")),
        *(("mcb", "2 x 5"), ("bayesian", "2 x 5"), ("thesis", "2 x 5")),
    ]
    for axis, (name, strengths) in zip(axes, models.STRENGTHS.items(), strict=True):
        for procedure, folds in lines:
            cells = [f"{folds}|{name}|{strength}" for strength in strengths]
            n = [counts[f"{cell}|replications"] for cell in cells]
            x = [counts[f"{cell}|difference"] / m for cell, m in zip(cells, n, strict=True)]
            y = [counts[f"{c}|{procedure}|dropped"] / m for c, m in zip(cells, n, strict=True)]
            pairs = sorted(zip(x, y, strict=True))
            label = f"{procedure}, {folds} folds"
            axis.plot(*zip(*pairs, strict=True), marker="o", markersize=3, label=label)
        axis.axhline(ALPHA, color="gray", linewidth=0.8, linestyle=":")
        axis.set(title=name, xlabel="mean score of the others - its mean score", ylim=(0, 1))
    axes[0].set_ylabel("share of replications in which it is dropped")
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
