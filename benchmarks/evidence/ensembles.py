"""Single best, greedy, agnostic Bayes, ESMBO, stacking and bag at an equal number of trials.

    python benchmarks/evidence/ensembles.py DATA_FOLDER OUT_FOLDER [--seeds 1] [--tables iris,sonar]
        [--methods single,greedy] [--report]

For each (table, seed) half of the rows are set aside, and the library's own stages search the other
half: 36 trials over the same eight families (as far as they handle the target), expected_gain giving
the turns, gp_ei inside each family, without the portfolio. Every method takes its model from
the trials of this one search, except ESMBO: it searches with its own optimizer. Whether an ensemble
is taken is not asked: each is built and scored on the untouched half, and the p-value that would
have decided is written down.

One line of JSON per (table, seed, method) is appended to OUT_FOLDER/ensembles.jsonl; what has one is
not made again. Searches stay in OUT_FOLDER/runs, so that a method may be added later; the predictions
of the untouched halves stay in OUT_FOLDER/predictions. The report (`ensembles_report.py`) is printed
at the end.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ensembles_report
import numpy as np
from coverage import SameProcess
from data_sets import data_settings, read_catalog

from automl.data.table import Table
from automl.home import Home
from automl.inference.bundle import load_bundle
from automl.run import local_slots as slots_module
from automl.run.beginning import begin, reopen
from automl.run.session import Session
from automl.run_records.champion import ChampionRecord
from automl.settings import Settings
from automl.stages import ensembling, finishing
from automl.stages.line import Line
from automl.stages.searching import run_search

TRIALS = 36
FAMILIES = (
    *("lightgbm", "extra_trees", "svm", "knn", "decision_tree"),
    *("logistic_regression", "gaussian_nb", "elastic_net"),
)
SPACES = {
    "extra_trees": {"n_estimators": {"low": 30, "high": 60}},
    "svm": {"kernel": ["linear", "rbf"], "C": {"high": 100}},
}
"""Small forests, so that a search takes seconds; nothing ends a fit of libsvm that does not end."""

TABLES = (
    *("heart-statlog", "sonar", "auto-mpg", "machine_cpu", "ionosphere", "housing", "diabetes"),
    *("Australian", "balance-scale", "vehicle", "credit-g", "concrete", "stock", "vowel"),
    *("qsar-biodeg", "airfoil", "cmc", "wine-quality-red", "car", "kc1", "segment", "abalone"),
    *("phoneme", "delta_ailerons", "cpu_small", "mfeat-zernike"),
)


@dataclass(frozen=True)
class Method:
    """How a model is made of the trials of a search."""

    optimizer: str = "gp_ei"
    settings: Mapping[str, Any] = field(default_factory=dict)


METHODS = {
    "single": Method(settings={"ensemble": "none", "final": "refit"}),
    "bag": Method(settings={"ensemble": "none", "final": "bag"}),
    "greedy": Method(settings={"ensemble": "greedy", "final": "refit"}),
    "agnostic_bayes": Method(settings={"ensemble": "agnostic_bayes", "final": "refit"}),
    "stacking": Method(settings={"ensemble": "stacking", "final": "refit"}),
    "esmbo": Method("esmbo", {"ensemble": "agnostic_bayes", "final": "refit"}),
    "greedy_bag": Method(settings={"ensemble": "greedy", "final": "bag"}),
    "two_layers": Method(settings={"ensemble": "greedy", "layers": 2, "final": "refit"}),
}


def settings_of(data: Path, name: str, seed: int, optimizer: str) -> Settings:
    """Settings of a search."""
    return Settings(
        **data_settings(data, read_catalog(data).loc[name], name),
        families=FAMILIES,
        spaces=SPACES,
        optimizer=optimizer,
        allocator="expected_gain",
        portfolio=False,
        trials=TRIALS,
        test_share=0.5,
        candidate_limit=5,
        candidate_repeats=1,
        workers=1,
        seed=seed,
    )


def searched(settings: Settings, folder: Path) -> tuple[Session, Line]:
    """Finished search and selection of a run in `folder`, taken over where there is one."""
    home = Home(folder)
    done = folder / "done"
    if done.exists():
        session = reopen(done.read_text(), home)
        line = Line(session)
        run_search(line.search)
    else:
        shutil.rmtree(folder, ignore_errors=True)
        started = time.process_time()
        session = begin(settings, home)
        line = Line(session)
        line.finish_search()
        line.record(ChampionRecord)
        (folder / "seconds").write_text(str(time.process_time() - started))
        done.write_text(session.run_id)
    return session, line


def result_of(session: Session, line: Line, method: Method, predictions: Path) -> dict[str, Any]:
    """Score on the untouched half, time to predict, and the evidence for an ensemble."""
    asked = session.settings
    session.settings = asked.model_copy(update={**method.settings, "ensemble_alpha": 1.0})
    given_up = len(session.given_up)
    try:
        champion = line.record(ChampionRecord)
        record = ensembling.build_ensemble(session, line.trials, champion)
        final = finishing.build_final(session, line.trials, record)
    finally:
        session.settings = asked
    test = Table.load(session.folder.test)
    model = load_bundle(session.folder.bundle, trust=True)
    index, y = session.plan.index, np.asarray(test.y)
    raw = model.raw_typed(test.frame)
    labels = model.codes(raw)
    predictions.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        predictions,
        y=y,
        raw=raw,
        threshold=getattr(model, "threshold_", 0.5),
        index=json.dumps(index.to_json()),
    )
    evidence = record.evidence
    decision = None if evidence is None else evidence.decision
    return {
        "rows": len(session.plan.table),
        "test_rows": len(test),
        "task": str(session.plan.table.task),
        "trials": sum(trial.is_complete for trial in line.trials),
        "score": index.score(y, raw, None, labels=labels),
        "out_of_fold": record.score,
        "members": len(record.members),
        "models": sum(member.models for member in final.members),
        "predict_ms": final.predict_ms,
        "size_mib": final.size_mib,
        "pvalue": None if decision is None else decision.pvalue,
        "difference": None if decision is None else decision.difference,
        "learn_seconds": None if evidence is None else evidence.seconds,
        "given_up": session.given_up[given_up:],
    }


def run(data: Path, out: Path, name: str, seed: int, methods: Mapping[str, Method]) -> None:
    """Results of the methods on one table and seed, appended as they are found."""
    lines = out / "ensembles.jsonl"
    known = ensembles_report.keys(lines)
    missing = {m: method for m, method in methods.items() if (name, seed, m) not in known}
    for optimizer in dict.fromkeys(method.optimizer for method in missing.values()):
        folder = out / "runs" / f"{name}-{seed}-{optimizer}"
        try:
            session, line = searched(settings_of(data, name, seed, optimizer), folder)
        except Exception as error:  # noqa: BLE001 - one table never ends the others
            print(f"{name} {seed} {optimizer}: {type(error).__name__}: {error}", flush=True)
            continue
        try:
            for m, method in missing.items():
                if method.optimizer != optimizer:
                    continue
                predictions = out / "predictions" / f"{name}-{seed}-{m}.npz"
                started = time.process_time()
                found = result_of(session, line, method, predictions)
                found["search_seconds"] = float((folder / "seconds").read_text())
                found["seconds"] = time.process_time() - started
                with lines.open("a") as file:
                    file.write(
                        json.dumps({"table": name, "seed": seed, "method": m, **found}) + "\n"
                    )
                print(f"{name} {seed} {m}: {found['score']:.4f}", flush=True)
        except Exception as error:  # noqa: BLE001
            print(f"{name} {seed}: {type(error).__name__}: {error}", flush=True)
        finally:
            session.close()
            session.release()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=list(TABLES))
    parser.add_argument("--methods", type=lambda text: text.split(","), default=list(METHODS))
    parser.add_argument("--report", action="store_true", help="only the report")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    slots_module.WorkerPool = SameProcess  # type: ignore[attr-defined]
    options.out.mkdir(parents=True, exist_ok=True)
    methods = {name: METHODS[name] for name in options.methods}
    for seed in range(0 if options.report else options.seeds):
        for name in options.tables:
            run(options.data, options.out, name, seed, methods)
    print(ensembles_report.text(options.out))


if __name__ == "__main__":
    main()
