"""The runtime model F1 against the random forest, on trials of our own (van Hoof, table 5.1).

    python benchmarks/runtime_model.py collect DATA_FOLDER OUT_FOLDER [--minutes 25]
    python benchmarks/runtime_model.py report OUT_FOLDER [--knowledge]

`collect` evaluates random configurations of all families, one holdout each, on samples of the
tables of DATA_FOLDER (``catalog.csv`` with the columns name, target and file; ``schema.json`` with
the type of each feature) and on scikit-learn's diabetes. Seconds and their limit are those of the
processor, which depend less on what else runs, and preprocessing is always among them. It uses one
process and continues where it was interrupted or killed. `report` prints the RMSE of log seconds, one
model per family as in a run, by rows and by data sets, and what a run's own trials and those of
earlier runs add, with intervals from a bootstrap of data sets; with `--knowledge` the last alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import signal
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from automl.errors import AutoMLError
from automl.evaluation.journal import Journal
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.trial import evaluate, search_payload
from automl.experience.harvest import harvest
from automl.families.family import CLASSIFICATION, REGRESSION
from automl.families.registry import get_family
from automl.forecasts.earlier_runs import earlier_timings
from automl.forecasts.forecast import Forecast
from automl.forecasts.runtime_model import fit_censored, growth
from automl.forecasts.timings import KnownTimings, Timing, Workload
from automl.home import Home
from automl.records import Configuration, FoldResult, Trial, TrialStatus
from automl.run.preparation import prepare
from automl.run.search_spaces import space_of
from automl.settings import Settings
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.spaces.tree import SpaceTree
from automl.stages.participation import usable_families
from automl.surrogates.boosting import LogSecondsBoosting
from automl.surrogates.forest import RandomForest

BUNDLED = "sklearn:diabetes"
ROWS = (100, 1000)
N_TRIALS = 200
TRIAL_SECONDS = 0.5
FORK = multiprocessing.get_context("fork")
SEED = 2026
N_BOOTSTRAPS = 2000
OWN_TRIALS = (10, 30, 100)


# --- collect --------------------------------------------------------------------------------------


def read(data: Path, name: str) -> tuple[pd.DataFrame, str]:
    """Frame and target of a table of the catalog."""
    entry = pd.read_csv(data / "catalog.csv").set_index("name").loc[name]
    types = json.loads((data / "schema.json").read_text())[name]["columns"]
    nominal = [column for column, kind in types.items() if kind == "nominal"]
    frame = pd.read_csv(data / entry["file"], dtype=dict.fromkeys(nominal, "str"))
    return frame.dropna(subset=[entry["target"]]), str(entry["target"])


def evaluate_table(
    source: pd.DataFrame | str, target: str, name: str, home: Home, seed: int
) -> str:
    """Evaluate `N_TRIALS` random configurations; the id of the run that holds their trials."""
    settings = Settings(
        table=source if isinstance(source, str) else name,
        target=target,
        trials=N_TRIALS,
        workers=1,
        holdout_above_rows=0,
        seed=seed,
    )
    folder = home.create_run()
    data = prepare(folder, settings, frame=None if isinstance(source, str) else source)
    folder.write_facts({"data": data})
    forget_preprocessing(folder.path / "plan.json")
    plan = EvaluationPlan(folder.path)
    usable, _ = usable_families(settings, plan)
    spaces = [space_of(plan, family, settings) for family in usable.values()]
    for family, space in zip(usable.values(), spaces, strict=True):
        family.build(space.default(), task=plan.table.task)  # imports it, before any fork
    rng = np.random.default_rng(seed)
    drawn = [spaces[int(rng.integers(len(spaces)))].sample(rng) for _ in range(N_TRIALS)]
    with Journal(folder.journal) as journal:
        n = 0
        while n < N_TRIALS:
            for found in evaluate_in_child(folder.path, plan, drawn[n:]):
                trial = Trial(folder.run_id, n, drawn[n], score=None, origin="random", **found)
                journal.append({"type": "trial", "trial": trial.to_json()})
                n += 1
    return folder.run_id


def forget_preprocessing(file: Path) -> None:
    """Leave a plan's trials no cache in which one could find the preprocessing of another."""
    content = json.loads(file.read_text())
    content["settings"]["cache_mib"] = 0.0
    file.write_text(json.dumps(content))


def evaluate_in_child(
    path: Path, plan: EvaluationPlan, configurations: list[Configuration]
) -> Iterator[dict[str, Any]]:
    """Outcomes of the first of the configurations, up to one that takes too long."""
    payloads = [search_payload(plan, configuration) for configuration in configurations]
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=evaluate_by_processor, args=(sender, str(path), payloads))
    child.start()
    sender.close()
    n = 0
    with contextlib.suppress(EOFError):
        while True:
            yield receiver.recv()
            n += 1
    child.join()
    if n < len(configurations):
        is_late = child.exitcode == -signal.SIGPROF
        status = TrialStatus.TIMED_OUT if is_late else TrialStatus.CRASHED
        yield {"status": status, "seconds": TRIAL_SECONDS if is_late else 0.0}


def evaluate_by_processor(sender: Connection, path: str, payloads: list[dict[str, Any]]) -> None:
    """Send the outcome of each configuration; the process dies where one takes too long."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for payload in payloads:
            signal.setitimer(signal.ITIMER_PROF, TRIAL_SECONDS)
            started, folds, reason = time.process_time(), (), ""
            try:
                found = list(evaluate(path, payload))
                folds = tuple(part for part in found if isinstance(part, FoldResult))
            except Exception as error:  # noqa: BLE001 - as in a worker, whatever a library raises
                reason = f"{type(error).__name__}: {error}"
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            seconds = time.process_time() - started
            status = TrialStatus.FAILED if reason else TrialStatus.COMPLETE
            sender.send({"status": status, "folds": folds, "seconds": seconds, "reason": reason})


def collect(data: Path, out: Path, minutes: float) -> None:
    """Evaluate the tables that are not finished yet, in a random order."""
    started = time.monotonic()
    rng = np.random.default_rng(SEED)
    names = [BUNDLED, *pd.read_csv(data / "catalog.csv")["name"]]
    finished = out / "finished"
    finished.mkdir(parents=True, exist_ok=True)
    sizes = np.exp(rng.uniform(*np.log(ROWS), size=len(names))).astype(int)
    for position in rng.permutation(len(names)):
        name, marker = names[position], finished / f"{position}.json"
        if marker.exists() or time.monotonic() - started > 60.0 * minutes:
            continue
        source, target = (name, "target") if name == BUNDLED else read(data, name)
        if isinstance(source, pd.DataFrame) and len(source) > sizes[position]:
            source = source.sample(sizes[position], random_state=SEED)
        began = time.monotonic()
        try:
            run = evaluate_table(source, target, name, Home(out / "home"), SEED + int(position))
        except AutoMLError as error:
            print(f"{name}: left out: {error}", flush=True)
            continue
        unfinished = marker.with_suffix(".part")
        unfinished.write_text(json.dumps({"name": name, "run": run}))
        unfinished.rename(marker)
        print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)


# --- report ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Finished and killed fits of one family as arrays.

    Parameters
    ----------
    Z : (n, d)
    y, line : (n,), log seconds, and what they are expected to be by size alone
    is_censored, table : (n,)
    """

    Z: np.ndarray
    y: np.ndarray
    line: np.ndarray
    is_censored: np.ndarray
    table: np.ndarray


def load(out: Path) -> dict[str, list[Timing]]:
    """Timings by table."""
    home = Home(out / "home")
    found = {}
    for marker in sorted((out / "finished").glob("*.json")):
        entry = json.loads(marker.read_text())
        known = harvest(home.run(entry["run"]))
        (timings,) = earlier_timings([known] if known else [], Workload()).values()
        found[entry["name"]] = timings[:N_TRIALS]
    return found


def space_over(family: str, timings: list[Timing]) -> SpaceTree:
    """Space of the family for the kind of target that most of its timings have."""
    n_regression = sum(t.workload.classes == 0 for t in timings)
    kinds = get_family(family).kinds
    kind = REGRESSION if 2 * n_regression > len(timings) else CLASSIFICATION
    return get_family(family).space(kind if kind in kinds else kinds[0])


def arrays(by_table: dict[str, list[Timing]]) -> dict[str, Rows]:
    """Arrays by family."""
    grouped: dict[str, list[tuple[int, Timing]]] = {}
    for number, timings in enumerate(by_table.values()):
        for t in timings:
            grouped.setdefault(t.configuration.family, []).append((number, t))
    found = {}
    for family, pairs in grouped.items():
        tables, timings = zip(*pairs, strict=True)
        encoder = ConfigurationEncoder(space_over(family, list(timings))).fit()
        X = encoder.transform([t.configuration for t in timings])
        found[family] = Rows(
            np.column_stack([X, [t.workload.logarithms for t in timings]]),
            np.log([t.seconds for t in timings]),
            np.array([growth(family, t.workload) for t in timings]),
            np.array([t.is_censored for t in timings]),
            np.array(tables),
        )
    return found


def squared_errors(rows: Rows, group: np.ndarray, make: Any, *, with_line: bool) -> np.ndarray:
    """(n,) out-of-group squared errors; NaN for killed fits, whose seconds nobody knows."""
    errors = np.full(len(rows.y), np.nan)
    line = rows.line if with_line else np.zeros(len(rows.y))
    for one in np.unique(group):
        test = group == one
        surrogate = make()
        rest = (rows.Z[~test], (rows.y - line)[~test], rows.is_censored[~test])
        fit_censored(surrogate, *rest, np.random.default_rng(SEED))
        errors[test] = (rows.y - line - surrogate.predict(rows.Z)[0])[test] ** 2
    return np.where(rows.is_censored, np.nan, errors)


SPLITS = {"by row": 10, "by data set": 10}
MODELS = {
    "LightGBM (F1)": LogSecondsBoosting,
    "forest (D6)": RandomForest,
    "forest, 100 trees": partial(RandomForest, n_trees=100),
}


def interval(tables: np.ndarray, *errors: np.ndarray) -> list[str]:
    """RMSE of each with a 95 % interval over data sets, and the differences from the first."""
    n = tables.max() + 1
    sums = [np.bincount(tables, np.nan_to_num(e), n) for e in errors]
    counts = np.bincount(tables, ~np.isnan(errors[0]), n)
    drawn = np.random.default_rng(SEED).integers(n, size=(N_BOOTSTRAPS, n))
    values = [np.sqrt(s[drawn].sum(axis=1) / counts[drawn].sum(axis=1)) for s in sums]
    points = [float(np.sqrt(s.sum() / counts.sum())) for s in sums]
    texts = []
    for point, value in zip(points, values, strict=True):
        low, high = np.quantile(value, [0.025, 0.975])
        away = np.quantile(value - values[0], [0.025, 0.975])
        difference = f"{point - points[0]:+.4f} [{away[0]:+.4f}, {away[1]:+.4f}]"
        texts.append(f"{point:.4f} [{low:.4f}, {high:.4f}]  {difference}")
    return texts


def compare_surrogates(rows: dict[str, Rows]) -> None:
    """RMSE of log seconds by split, with and without the line of growth."""
    rng = np.random.default_rng(SEED)
    n_tables = max(r.table.max() for r in rows.values()) + 1
    group_of = rng.permutation(n_tables) % SPLITS["by data set"]
    splits = {
        "by row": {f: rng.permutation(len(r.y)) % SPLITS["by row"] for f, r in rows.items()},
        "by data set": {f: group_of[r.table] for f, r in rows.items()},
    }
    tables = np.concatenate([r.table for r in rows.values()])
    for split, groups in splits.items():
        for with_line in (False, True):
            found = {
                name: np.concatenate(
                    [
                        squared_errors(r, groups[f], make, with_line=with_line)
                        for f, r in rows.items()
                    ]
                )
                for name, make in MODELS.items()
            }
            print(f"\n{split}, {'with' if with_line else 'without'} the line of growth")
            texts = interval(tables, *found.values())
            for name, text in zip(found, texts, strict=True):
                print(f"  {name:20}{text}", flush=True)


def median_of_family(own: list[Timing], test: list[Timing]) -> np.ndarray:
    """Log seconds by the median of the family; else scaled from all by relative seconds."""
    by_family: dict[str, list[float]] = {}
    for t in own:
        by_family.setdefault(t.configuration.family, []).append(np.log(t.seconds))
    level = np.median([np.log(t.seconds) - growth(t.configuration.family, t.workload) for t in own])
    return np.array(
        [
            np.median(by_family[t.configuration.family])
            if t.configuration.family in by_family
            else level + growth(t.configuration.family, t.workload)
            for t in test
        ]
    )


def compare_knowledge(by_table: dict[str, list[Timing]]) -> None:
    """RMSE in a run after its first trials: medians, its own trials, and earlier runs besides."""
    for n_own in OWN_TRIALS:
        found: dict[str, list[float]] = {"medians": [], "own trials": [], "earlier runs too": []}
        tables = []
        for number, (name, timings) in enumerate(by_table.items()):
            earlier = [t for other, ts in by_table.items() if other != name for t in ts]
            own, test = timings[:n_own], [t for t in timings[n_own:] if not t.is_censored]
            y = np.log([t.seconds for t in test])
            predicted = {
                "medians": median_of_family(own, test),
                "own trials": forecast(own, test, ()),
                "earlier runs too": forecast(own, test, tuple(earlier)),
            }
            for model, values in predicted.items():
                found[model] += list((values - y) ** 2)
            tables += [number] * len(y)
        print(f"\nafter {n_own} trials of a run")
        texts = interval(np.array(tables), *map(np.array, found.values()))
        for model, text in zip(found, texts, strict=True):
            print(f"  {model:20}{text}", flush=True)


def forecast(own: list[Timing], test: list[Timing], earlier: tuple[Timing, ...]) -> np.ndarray:
    """Log seconds as a search with these trials expects them."""
    workload = test[0].workload
    kind = CLASSIFICATION if workload.classes else REGRESSION
    spaces = {t.configuration.family: None for t in (*own, *test)}
    made = Forecast(
        {family: get_family(family).space(kind) for family in spaces},
        KnownTimings(workload, earlier),
        n_folds=1,
    )
    for t in own:
        fold = () if t.is_censored else (FoldResult(0, 0, 0.0, 1, 0.0, 0.0),)
        status = TrialStatus.TIMED_OUT if t.is_censored else TrialStatus.COMPLETE
        made.add(Trial("", 0, t.configuration, status, None, fold, seconds=t.seconds))
    return np.log([made.seconds(t.configuration) for t in test])


def report(out: Path, *, with_surrogates: bool) -> None:
    """Print what was collected and how well it is predicted."""
    by_table = load(out)
    rows = arrays(by_table)
    n = sum(len(r.y) for r in rows.values())
    n_killed = sum(int(r.is_censored.sum()) for r in rows.values())
    print(f"{n} fits of {len(rows)} families on {len(by_table)} data sets; {n_killed} killed")
    print("RMSE of log seconds [95 % interval over data sets]  difference from the first")
    if with_surrogates:
        compare_surrogates(rows)
    compare_knowledge(by_table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    collecting = commands.add_parser("collect")
    collecting.add_argument("data", type=Path)
    collecting.add_argument("out", type=Path)
    collecting.add_argument("--minutes", type=float, default=25.0)
    reporting = commands.add_parser("report")
    reporting.add_argument("out", type=Path)
    reporting.add_argument("--knowledge", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "collect":
        collect(arguments.data, arguments.out, arguments.minutes)
    else:
        report(arguments.out, with_surrogates=not arguments.knowledge)


if __name__ == "__main__":
    main()
