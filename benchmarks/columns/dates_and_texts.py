"""What differences of dates, parts of dates and components of texts are worth.

Each table is trained on half of its rows, once for each way to treat its columns, by equally many trials; the other
half judges the model. Run it as `python benchmarks/columns/dates_and_texts.py --data FOLDER --trials 12`. FOLDER
holds bike-sharing.csv.gz and occupancy.csv.gz of the UCI repository; without it they are left out.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import pkgutil
import re
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, r2_score

from automl.data.table import prepare_table
from automl.families.registry import get_family
from automl.inference.dates import PARTS, date_parts
from automl.preprocessing import build_preprocessor
from automl_flows.estimator import AutoML

ROWS = 2000
PACKAGES = ("numpy", "scipy", "pandas", "sklearn")
Frame = pd.DataFrame


@dataclass(frozen=True)
class Case:
    """A table and the ways to treat it: settings, and what is made of the table before."""

    target: str
    frame: Frame
    ways: dict[str, tuple[dict[str, object], Callable[[Frame], Frame]]]


def rides(rng: np.random.Generator) -> Frame:
    """Fares from minutes on the way and a surcharge at night; made up."""
    picked = pd.Timestamp("2025-01-01") + pd.to_timedelta(
        rng.integers(0, 365 * 1440, ROWS), unit="min"
    )
    minutes = rng.gamma(2.5, 6.0, ROWS).round() + 2
    at_night = (picked.hour >= 22) | (picked.hour < 5)
    fare = 3.0 + 0.55 * minutes + 4.0 * at_night + rng.normal(0.0, 1.0, ROWS)
    dropped = picked + pd.to_timedelta(minutes, unit="min")
    return pd.DataFrame(
        {"picked": picked, "dropped": dropped, "riders": rng.integers(1, 5, ROWS), "fare": fare}
    )


def parcels(rng: np.random.Generator) -> Frame:
    """Complaints about parcels that come after the promised day; made up."""
    ordered = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, ROWS), unit="D")
    promised = ordered + pd.to_timedelta(rng.integers(2, 15, ROWS), unit="D")
    delay = np.round(rng.normal(-1.0, 3.0, ROWS))
    delivered = promised + pd.to_timedelta(delay, unit="D")
    chance = 1.0 / (1.0 + np.exp(-(delay - 1.0)))
    complains = np.where(rng.random(ROWS) < chance, "yes", "no")
    return pd.DataFrame(
        {"ordered": ordered, "promised": promised, "delivered": delivered, "complains": complains}
    )


def docstrings(rng: np.random.Generator) -> Frame:
    """First words of the documentation of installed functions; the class is the package, whose name is cut out."""
    found = {name: sorted(_documented(name)) for name in PACKAGES}
    n_each = min(ROWS // len(PACKAGES), *map(len, found.values()))
    rows = []
    for name, texts in found.items():
        chosen = rng.choice(np.array(texts, dtype=object), n_each, replace=False)
        rows += [{"text": text, "letters": len(text), "package": name} for text in chosen]
    return pd.DataFrame(rows).sample(frac=1.0, random_state=0).reset_index(drop=True)


def _documented(package: str) -> set[str]:
    names = "|".join((*PACKAGES, "np", "pd", "sp"))
    texts = set()
    for module in _modules(package):
        for _, value in inspect.getmembers(module, callable):
            text = inspect.getdoc(value) or ""
            words = re.sub(rf"\b({names})\b", " ", text).split()[:40]
            if len(words) >= 12 and str(getattr(value, "__module__", "")).startswith(package):
                texts.add(" ".join(words))
    return texts


def _modules(package: str) -> list[object]:
    root = importlib.import_module(package)
    names = [f"{package}.{m.name}" for m in pkgutil.iter_modules(root.__path__) if m.name[0] != "_"]
    kept = [name for name in names if not re.search("test|setup|externals", name)]
    return [root, *map(importlib.import_module, kept)]


def tickets(rng: np.random.Generator) -> Frame:
    """Messages to a help desk of words with endings and slips, by queue; made up."""
    letters = list("bcdfghklmnprstvw"), list("aeiou")
    stems = ["".join(rng.choice(letters[i % 2]) for i in range(5)) for _ in range(1500)]
    queues = np.array(["billing", "delivery", "login", "returns", "technical"])
    shares = rng.gamma(0.6, 1.0, (len(queues), len(stems))) + 2.0
    shares /= shares.sum(axis=1, keepdims=True)
    classes = rng.integers(0, len(queues), ROWS)
    texts = [
        " ".join(_written(stems[i], rng) for i in rng.choice(len(stems), n, p=shares[k]))
        for k, n in zip(classes, rng.integers(8, 60, ROWS), strict=True)
    ]
    channel = rng.choice(["mail", "chat", "phone"], ROWS)
    return pd.DataFrame({"text": texts, "channel": channel, "queue": queues[classes]})


def _written(stem: str, rng: np.random.Generator) -> str:
    word = stem + rng.choice(["", "s", "ed", "ing", "er"], p=[0.4, 0.2, 0.15, 0.15, 0.1])
    if rng.random() < 0.1:
        place = int(rng.integers(len(word) - 1))
        word = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return str(word)


def towns(rng: np.random.Generator) -> Frame:
    """Prices that depend on the size and on one of 400 towns, few of them frequent; made up."""
    level = rng.normal(0.0, 1.0, 400)
    shares = 1.0 / np.arange(5, 405)
    town = rng.choice(400, ROWS, p=shares / shares.sum())
    size = rng.normal(0.0, 1.0, ROWS)
    price = level[town] + 0.7 * size + rng.normal(0.0, 0.7, ROWS)
    names = np.array([f"town {k * 7919 % 400}" for k in range(400)])
    return pd.DataFrame({"town": names[town], "size": size, "price": price})


def with_all_parts(frame: Frame) -> Frame:
    """Numbers in place of dates: seven parts each, whatever varies, and no differences."""
    out = frame.copy()
    for name in frame.columns:
        if not pd.api.types.is_datetime64_any_dtype(frame[name].dtype):
            continue
        seconds = frame[name].to_numpy().astype("datetime64[s]").astype(np.float64)
        parts = date_parts(seconds / 86_400.0, PARTS[:7], origin=0.0)
        out = out.drop(columns=name).assign(**{f"{name}_{k}": v for k, v in parts.items()})
    return out


def cases(folder: Path | None) -> dict[str, Case]:
    """Tables by name."""
    rng = np.random.default_rng(2026)
    dates = {"all parts": ({}, with_all_parts), "parts that vary, differences": ({}, _same)}
    texts = {
        way: ({"preprocessing": {"text": way}}, _same) for way in ("none", "words", "words_letters")
    }
    many = {
        way: ({"preprocessing": {"many_categories": way}}, _same) for way in ("other", "target")
    }
    found = {
        "rides": Case("fare", rides(rng), dates),
        "parcels": Case("complains", parcels(rng), dates),
        "docstrings": Case("package", docstrings(rng), texts),
        "tickets": Case("queue", tickets(rng), texts),
        "towns": Case("price", towns(rng), many),
    }
    if folder is not None:
        for name, column in (("bike-sharing", "dteday"), ("occupancy", "date")):
            frame = pd.read_csv(folder / f"{name}.csv.gz", parse_dates=[column])
            frame = frame.sample(2 * ROWS, random_state=0).reset_index(drop=True)
            found[name] = Case(str(frame.columns[-1]), frame, dates)
    return found


def _same(frame: Frame) -> Frame:
    return frame


def measure(case: Case, way: str, trials: int, seed: int) -> dict[str, float]:
    """Score on the second half of the rows, and seconds."""
    settings, prepare = case.ways[way]
    frame = prepare(case.frame)
    half = len(frame) // 2
    X, y = frame.drop(columns=case.target), frame[case.target]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoML(
            trials=trials,
            preset="fast",
            families=families(y),
            workers=1,
            seed=seed,
            home=home,
            settings=settings,
        )
        model.fit(X[:half], y[:half])
        predicted = model.predict(X[half:])
    score = r2_score if is_number(y) else accuracy_score
    return {
        "score": float(score(y[half:], predicted)),
        "seconds": time.perf_counter() - started,
    }


def families(y: pd.Series) -> list[str]:
    """Three that take columns in different ways: boosting, a forest and a linear model."""
    return ["lightgbm", "extra_trees", "elastic_net" if is_number(y) else "logistic_regression"]


def is_number(y: pd.Series) -> bool:
    """Whether the target is one."""
    return pd.api.types.is_numeric_dtype(y.dtype) and y.nunique() > 50


def measure_defaults(case: Case, way: str, seed: int) -> dict[str, float]:
    """Score of each family's default configuration in three folds, and seconds of all."""
    choices, prepare = case.ways[way]
    table = prepare_table(prepare(case.frame), target=case.target)
    given = choices.get("preprocessing", {})
    score = accuracy_score if table.n_classes else r2_score
    rows = np.random.default_rng(seed).permutation(len(table)) % 3
    started, found = time.perf_counter(), {}
    for name in families(case.frame[case.target]):
        family, predicted = get_family(name), np.empty(len(table))
        configuration = family.space(table.task).default()
        values = {**configuration.values, **{f"prep.{key}": v for key, v in given.items()}}
        for fold in range(3):
            learned, judged = np.flatnonzero(rows != fold), np.flatnonzero(rows == fold)
            preprocessor = build_preprocessor(values, seed=seed)
            matrix = preprocessor.fit_transform(table.frame.iloc[learned], table.y[learned])
            size = {"n_rows": len(learned), "n_columns": matrix.shape[1]}
            estimator = family.build(
                configuration, task=table.task, n_classes=table.n_classes, seed=seed, **size
            )
            family.fit(estimator, matrix, table.y[learned])
            predicted[judged] = estimator.predict(preprocessor.transform(table.frame.iloc[judged]))
        found[name] = round(float(score(table.y, predicted)), 4)
    return {**found, "seconds": round(time.perf_counter() - started, 1)}


def main() -> None:
    """Print one line of JSON for each table, way and seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the tables that are not made up")
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--defaults", action="store_true", help="default configurations, no search")
    parser.add_argument("--only", nargs="*", help="tables")
    given = parser.parse_args()
    for name, case in cases(given.data).items():
        if given.only and name not in given.only:
            continue
        for way in case.ways:
            for seed in range(given.seeds):
                if given.defaults:
                    found = measure_defaults(case, way, seed)
                else:
                    found = measure(case, way, given.trials, seed)
                line = {"table": name, "way": way, "seed": seed, **found}
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
