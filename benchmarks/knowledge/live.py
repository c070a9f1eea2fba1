"""What knowledge of other data sets saves: runs that have it beside runs that know nothing.

    python benchmarks/knowledge/live.py DATA_FOLDER OUT_FOLDER [--knowledge FILE] [--tables 15]
        [--trials 100] [--trial-seconds 5] [--seeds 1] [--kinds cold bare warm priors blend] [--part 1/2] [--report]

DATA_FOLDER holds tables, with ``catalog.csv`` and ``schema.json`` or plain. Tables are taken in an order given
by a hash, those of 200 to 5,000 rows. For each table and seed the search of an ordinary run is made
once for each kind, with the same folds: `cold` with ``experience`` off, so that it begins with the hand-ordered
portfolio; `bare` without even that; `warm` with the shipped knowledge, or that of FILE, of which everything
is left out that is called as the table, or has its fingerprint or its columns; `priors` and `blend` as
`warm`, with ``priors: learned`` or ``blend: 20``. Nothing else differs. One core.
A trial that takes longer than ``--trial-seconds`` is ended: without a limit some tables spend half an hour in a few trials.

Every search is one file in OUT_FOLDER/runs: its trials in their order, with scores and processor seconds.
Finished ones are not repeated. What was the best of a search at any time is then scored on folds of three
other seeds, which no search has seen: the best of a hundred scores is better by chance than it is in truth.

Prints, for each table and over all, the shares of the trials and of the seconds of `cold` after which each kind, `cold`
itself among them, is as good as `cold` is in the end, or as good but for .002, .005 or .01 of the index: by the scores that the searches
had themselves, and by those on fresh folds. The last lines have the share of the trials after which the mean over all searches is so
near, and stays there, and the mean regret after some numbers of trials.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from automl.data.collections import find_data_sets
from automl.data.readers import read_table
from automl.errors import AutoMLWarning
from automl.experience.knowledge import read_knowledge
from automl.experience.store import ExperienceStore
from automl.home import Home
from automl.records import Configuration, Trial
from automl.run.beginning import begin
from automl.run.session import Session
from automl.settings.sources import resolve_settings
from automl.stages.first_configurations import give_configurations
from automl.stages.line import close_line, open_line
from automl.stages.searching import run_search
from automl.table_studies.facts import target_for

ROWS = (200, 5_000)
KINDS: Mapping[str, dict[str, Any]] = {
    "cold": {"experience": False},
    "bare": {"experience": False, "portfolio": False},
    "warm": {},
    "priors": {"priors": "learned"},
    "blend": {"blend": 20},
}
"""Settings of each kind of search."""
TOLERANCES = (0.0, 0.002, 0.005, 0.01)
SHOWN = (4, 10, 25, 40, 60, 100)
"""Trials after which the mean regret is printed."""
JUDGES = (1_001, 1_002, 1_003)
"""Seeds of the folds on which the best of the searches are compared."""


def in_turn(names: Sequence[str]) -> list[str]:
    """Names in an order that has nothing to do with them."""
    return sorted(names, key=lambda name: hashlib.blake2b(name.encode()).digest())


def chosen_tables(data: Path, n_tables: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Tables of a fitting size, with their settings."""
    found = find_data_sets([str(data)])
    n_found = 0
    for name in in_turn(list(found)):
        frame = read_table(str(found[name]["table"]))
        if ROWS[0] <= len(frame) <= ROWS[1] and n_found < n_tables:
            n_found += 1
            yield name, {**found[name], "target": target_for(found[name], frame)}


def search(
    home: Home,
    data: dict[str, Any],
    given: dict[str, Any],
    *,
    configurations: Sequence[Configuration] = (),
    at_end: Callable[[Session], None] = lambda session: None,
) -> list[dict[str, Any]]:
    """Trials of one search, in the order of their decisions; of these configurations alone where there are any."""
    settings = resolve_settings({**data, **given, "workers": 1}, environment={})
    session = begin(settings, home, started=time.monotonic())
    try:
        if configurations:
            give_configurations(session, configurations)
        line = open_line(session)
        try:
            run_search(line.search)
            at_end(session)
            return [line_of(trial) for trial in line.search.turns.trials]
        finally:
            close_line(line)
    finally:
        session.close()
        session.release()


def line_of(trial: Trial) -> dict[str, Any]:
    """What is kept of a trial."""
    return {
        "configuration": trial.configuration.id,
        "content": trial.configuration.to_json(),
        "family": trial.configuration.family,
        "origin": trial.origin,
        "status": str(trial.status),
        "score": trial.score if trial.is_complete else None,
        "seconds": trial.processor_seconds or trial.seconds,
    }


def names_of(home: Home, data: dict[str, Any]) -> list[str]:
    """Name, fingerprint and layout of a table, from a run on it in this home."""
    facts = home.run_folders()[-1].read_facts()["data"]
    return [Path(str(data["table"])).name.split(".")[0], facts["fingerprint"], facts["layout"]]


def run(out: Path, name: str, data: dict[str, Any], seed: int, options: argparse.Namespace) -> None:
    """The searches of one table and seed, as far as they are missing; a cold one is the first."""
    left_out: list[str] = []
    for kind in dict.fromkeys(["cold", *options.kinds]):
        record = out / "runs" / f"{name}-{seed}-{kind}.json"
        if record.exists():
            left_out = json.loads(record.read_text())["names"]
            continue
        home = Home((out / "homes" / f"{name}-{seed}-{kind}").resolve())
        shutil.rmtree(home.path, ignore_errors=True)
        home.prepare()
        given = {
            "trials": options.trials,
            "trial_seconds": options.trial_seconds,
            "seed": seed,
            **KINDS[kind],
        }
        if given.get("experience", True):
            given["exclude_experience"] = (name, *left_out)
            if options.knowledge:
                learn(home, options.knowledge)
        trials = search(home, data, given)
        left_out = left_out or names_of(home, data)
        content = {"table": name, "seed": seed, "kind": kind, "names": left_out, "trials": trials}
        write_json(record, content)
        shutil.rmtree(home.path, ignore_errors=True)


def judge(out: Path, name: str, data: dict[str, Any], seed: int) -> None:
    """Score whatever was the best so far of any kind of search on folds that no search has seen."""
    record = out / "judged" / f"{name}-{seed}.json"
    wanted: dict[str, Configuration] = {}
    for file in (out / "runs").glob(f"{name}-{seed}-*.json"):
        trials = json.loads(file.read_text())["trials"]
        for place in set(incumbents(trials)):
            wanted[trials[place]["configuration"]] = Configuration.from_json(
                trials[place]["content"]
            )
    known = json.loads(record.read_text()) if record.exists() else {}
    missing = [found for key, found in wanted.items() if key not in known]
    scores: dict[str, list[float | None]] = {}
    for other in JUDGES if missing else ():
        home = Home((out / "homes" / f"{name}-{seed}-judge").resolve())
        shutil.rmtree(home.path, ignore_errors=True)
        home.prepare()
        given = {"seed": other, "trials": len(missing), "experience": False, "racing": False}
        for trial in search(home, data, given, configurations=missing):
            scores.setdefault(trial["configuration"], []).append(trial["score"])
        shutil.rmtree(home.path, ignore_errors=True)
    write_json(record, {**known, **scores})


def incumbents(trials: list[dict[str, Any]]) -> list[int]:
    """For each trial, which one is the best so far; the first complete one before there is any."""
    scores = np.array([-np.inf if t["score"] is None else t["score"] for t in trials])
    best = [int(np.argmax(scores[: i + 1])) for i in range(len(scores))]
    first = int(np.flatnonzero(np.isfinite(scores))[0])
    return [max(place, first) for place in best]


def write_json(path: Path, content: Any) -> None:
    """Write a file that is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(content))
    temporary.replace(path)


def learn(home: Home, knowledge: Path) -> None:
    """Add a file of knowledge to a home's experience."""
    store = ExperienceStore(home.experience)
    for experience in read_knowledge(knowledge).experiences:
        store.add(experience)


def best_so_far(trials: list[dict[str, Any]]) -> np.ndarray:
    """(n,) best score up to each trial; -inf before the first complete one."""
    scores = [-np.inf if t["score"] is None else t["score"] for t in trials]
    return np.maximum.accumulate(scores)


Judged = dict[str, list[float | None]]


def on_fresh_folds(trials: list[dict[str, Any]], judged: Judged) -> np.ndarray:
    """(n,) what the best one so far scores on folds that no search has seen."""
    means = {
        key: -np.inf if None in scores else float(np.mean(np.array(scores, float)))
        for key, scores in judged.items()
    }
    return np.array([means[trials[place]["configuration"]] for place in incumbents(trials)])


def saved(
    cold: np.ndarray, warm: np.ndarray, seconds: tuple[np.ndarray, np.ndarray], tolerance: float
) -> tuple[float, float]:
    """Shares of the cold search's trials and seconds after which the warm one is as good.

    Both are infinite where it never is.

    Parameters
    ----------
    cold, warm : (n,) and (m,), the best so far
    seconds : (n,) and (m,), of each trial
    tolerance : what may be missing from the last of `cold`
    """
    reached = np.flatnonzero(warm >= cold[-1] - tolerance)
    if not len(reached):
        return np.inf, np.inf
    n = reached[0] + 1
    return n / len(cold), seconds[1][:n].sum() / seconds[0].sum()


def mean_regret(curves: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """(n,) how far searches are from the end of the cold ones after each trial, on the mean.

    A search that ended earlier counts as it ended. One without a complete trial yet is left out.

    Parameters
    ----------
    curves : of the cold search and of the other, the best so far
    """
    n = max(len(other) for _, other in curves)
    filled = [np.pad(cold[-1] - other, (0, n - len(other)), "edge") for cold, other in curves]
    known = np.where(np.isfinite(filled), filled, np.nan)
    return np.asarray(np.nanmean(known, axis=0))


def share_until(regret: np.ndarray, tolerance: float) -> float:
    """Share of the trials after which the mean regret stays within a tolerance; infinite where it never does."""
    outside = np.flatnonzero(regret > tolerance)
    n = outside[-1] + 2 if len(outside) else 1
    return n / len(regret) if n <= len(regret) else np.inf


def records_of(out: Path, kind: str) -> dict[str, list[dict[str, Any]]]:
    """Trials of the searches of a kind, by table and seed."""
    suffix = f"-{kind}.json"
    files = sorted((out / "runs").glob(f"*{suffix}"))
    return {f.name.removesuffix(suffix): json.loads(f.read_text())["trials"] for f in files}


def report(out: Path) -> None:
    """For each kind and each way of comparing a table of what was saved, and medians over the tables."""
    cold = records_of(out, "cold")
    judged = {f.stem: json.loads(f.read_text()) for f in sorted((out / "judged").glob("*.json"))}
    for kind in KINDS:
        if not (found := records_of(out, kind)):
            continue
        pairs = {name: (cold[name], trials) for name, trials in found.items() if name in judged}
        _show(f"{kind}, on its own folds", pairs, lambda _, trials: best_so_far(trials))
        _show(
            f"{kind}, on fresh folds",
            pairs,
            lambda name, trials: on_fresh_folds(trials, judged[name]),
        )


def _show(
    title: str,
    pairs: Mapping[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]],
    curve: Callable[[str, list[dict[str, Any]]], np.ndarray],
) -> None:
    """One table: cold and this kind of search of each table, compared by a curve of the best so far."""
    print(f"\n| {title} | cold | this | share of trials | share of seconds |")
    print("|---|---|---|---|---|")
    shares: dict[float, list[tuple[float, float]]] = {tolerance: [] for tolerance in TOLERANCES}
    curves = []
    for name, pair in pairs.items():
        cold, other = (curve(name, trials) for trials in pair)
        curves.append((cold, other))
        first, second = (np.array([t["seconds"] for t in trials]) for trials in pair)
        for tolerance, found in shares.items():
            found.append(saved(cold, other, (first, second), tolerance))
        trials, seconds = shares[0.0][-1]
        print(f"| {name} | {cold[-1]:.4f} | {other[-1]:.4f} | {trials:.2f} | {seconds:.2f} |")
    for tolerance, found in shares.items():
        medians = np.median(found, axis=0)
        print(
            f"median of {len(found)} searches to within {tolerance:g} of the cold one: "
            f"{medians[0]:.2f} of its trials, {medians[1]:.2f} of its seconds"
        )
    regret = mean_regret(curves)
    for tolerance in TOLERANCES:
        share = share_until(regret, tolerance)
        print(f"mean regret within {tolerance:g} after {share:.2f} of the trials")
    after = ", ".join(f"{regret[n - 1]:.4f} ({n})" for n in SHOWN if n <= len(regret))
    print(f"mean regret (trials): {after}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--knowledge", type=Path)
    parser.add_argument("--tables", type=int, default=15)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--trial-seconds", type=float)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=["cold", "warm"])
    parser.add_argument("--part", default="1/1", help="of the tables: 1/2, 2/2, ...")
    parser.add_argument("--report", action="store_true", help="only the report")
    options = parser.parse_args()
    warnings.simplefilter("ignore", AutoMLWarning)
    if not options.report:
        part, n_parts = (int(number) for number in options.part.split("/"))
        tables = list(chosen_tables(options.data, options.tables))[part - 1 :: n_parts]
        for (name, data), seed in product(tables, range(options.seeds)):
            run(options.out, name, data, seed, options)
            judge(options.out, name, data, seed)
            print(f"{name} {seed} done", flush=True)
    report(options.out)


if __name__ == "__main__":
    main()
