"""Whether the honest score's interval covers the score of rows that nothing has touched.

    python benchmarks/evidence/coverage.py DATA_FOLDER OUT_FOLDER [--set larger] [--seeds 9]
        [--tables iris,sonar] [--trials 10 50] [--seconds 60] [--again] [--report]

Each run, a (table, seed), gives half of a table to the whole line of the library: a search of a few
trials of fast families, candidates on fresh folds, selection, ensemble, honest score, final model.
The other half is the test half. Both the champion alone and the ensemble are built and scored on it,
whichever the run chooses. The sets of tables are in `coverage_sets.py`; each set, and each budget,
wants an OUT_FOLDER of its own. With ``--seconds`` a run has all families and a worker process, as a
user's run.

One line of JSON per run is appended to OUT_FOLDER/coverage.jsonl; runs that have one are not made
again. What the honest score is computed from stays in OUT_FOLDER/runs, so that ``--again`` computes
the scores of finished runs anew, with the code as it is now, without any search.

The report (`coverage_report.py`) is printed at the end.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import coverage_report
import numpy as np
from coverage_sets import SETS, runs_of

from automl.data.table import Table
from automl.evaluation.journal import read as read_journal
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.predictions import PredictionStore
from automl.evaluation.slots import Job, JobOutcome
from automl.evaluation.worker import resolve
from automl.home import Home, RunFolder
from automl.inference.combining import combined
from automl.inference.decision import DecisionRule
from automl.inference.model import TableModel
from automl.records import FloatArray, Trial, TrialStatus
from automl.run import local_slots as slots_module
from automl.run.beginning import begin
from automl.run.session import Session
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.settings import Settings
from automl.stages import ensembling, finishing
from automl.stages.line import Line

BOOTSTRAPS = 400


class SameProcess:
    """A pool of one slot that runs jobs in this process: no time goes into starting workers."""

    n_slots = 1

    def __init__(self, *_: Any, context: str, **__: Any) -> None:
        self._context = context

    def acquire(self) -> int:
        """The slot."""
        return 0

    def release(self, slot: int) -> None:
        """Nothing to give back."""

    def close(self) -> None:
        """Nothing to end."""

    def run(self, _slot: int, job: Job, **_: Any) -> JobOutcome:
        """Run a job to its end, however long it takes."""
        started = time.monotonic()
        results, status, reason = [], TrialStatus.COMPLETE, ""
        try:
            value = resolve(job.target)(self._context, job.payload)
            results = list(value) if isinstance(value, Iterator) else [value]
        except Exception as error:  # noqa: BLE001 - a trial that fails is one that fails
            status, reason = TrialStatus.FAILED, f"{type(error).__name__}: {error}"
        return JobOutcome(status, results, reason, time.monotonic() - started)


def make_run(settings: Settings, folder: Path) -> None:
    """The whole line; leaves in `folder` what the honest score needs, and the test predictions."""
    started = time.process_time()
    if settings.trials is not None:
        slots_module.WorkerPool = SameProcess  # type: ignore[attr-defined]
    home = Home(folder.with_suffix(".part"))
    shutil.rmtree(home.path, ignore_errors=True)
    session = begin(settings, home)
    try:
        line = Line(session)
        line.finish_search()
        found = test_predictions(session, line)
        run = session.folder.path
    finally:
        session.close()
        session.release()
    for name in ("models", "bundle", "workers.log"):
        path = run / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    np.savez_compressed(run / "untouched.npz", **found, seconds=time.process_time() - started)
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(run, folder)
    shutil.rmtree(home.path)


def test_predictions(session: Session, line: Line) -> dict[str, Any]:
    """Predictions of the test half by the champion alone, its fold models, and the ensemble."""
    champion = line.record(ChampionRecord)
    chosen = line.record(EnsembleRecord)
    forced = {"single": ensemble_record(session, line, champion, {"ensemble": "none"})}
    forced["ensemble"] = chosen
    if not chosen.replaced_champion:
        always = {"ensemble_alpha": 1.0}
        forced["ensemble"] = ensemble_record(session, line, champion, always)
    test = Table.load(session.folder.test)
    n_classes = session.plan.table.n_classes or None
    found: dict[str, Any] = {}
    for kind, record in forced.items():
        session.records.write(f"{kind}_forced", record.to_json())
        model = final_model(session, line.trials, record)
        found[kind] = model.raw_typed(test.frame)
        if kind == "single":
            pipelines = model.members[0].pipelines
            found["folds"] = np.stack([p.predict(test.frame, n_classes) for p in pipelines])
    return found


def ensemble_record(
    session: Session, line: Line, champion: ChampionRecord, settings: Mapping[str, Any]
) -> EnsembleRecord:
    """Record of the ensemble under other settings."""
    asked = session.settings
    session.settings = asked.model_copy(update=settings)
    try:
        return ensembling.build_ensemble(session, line.trials, champion)
    finally:
        session.settings = asked


def final_model(session: Session, trials: Sequence[Trial], record: EnsembleRecord) -> TableModel:
    """The model that the final stage would write, neither written nor timed."""
    found: list[TableModel] = []
    unused = {
        "write_bundle": lambda model, *_, **__: found.append(model),
        "_predict_milliseconds": lambda *_: 0.0,
        "_test_score": lambda *_: None,
    }
    with ExitStack() as patches:
        for name, replacement in unused.items():
            patches.enter_context(mock.patch.object(finishing, name, replacement))
        finishing.build_final(session, trials, record)
    return found[0]


class FinishedRun:
    """A run folder as `make_run` leaves it, opened without any process.

    Attributes
    ----------
    session
        As the stages want it, with no slots and no journal.
    """

    def __init__(self, folder: Path) -> None:
        from automl.record_files import StageRecords
        from automl.run.ledger import Ledger

        self.folder = RunFolder(folder)
        facts = self.folder.read_facts()
        self.trials = [
            Trial.from_json(record["trial"])
            for record in read_journal(self.folder.journal)
            if record.get("type") == "trial"
        ]
        settings = Settings(**facts["settings"])
        self.session = Session(
            settings,
            Home(folder),
            self.folder,
            Ledger(None, settings.reserve, time.monotonic()),
            SimpleNamespace(n_slots=1),  # type: ignore[arg-type]
            SimpleNamespace(),  # type: ignore[arg-type]
            StageRecords(self.folder.stages),
            self.trials,
        )
        self.plan = EvaluationPlan(folder)

    def honest(self) -> dict[str, Any]:
        """The honest score, computed anew."""
        from automl.stages.honesty import estimate

        searched = [trial for trial in self.trials if trial.stage == "search"]
        with suppress(FileNotFoundError):
            (self.folder.stages / "honest.json").unlink()
        forced = self.session.records.read("ensemble_forced")
        ensemble = EnsembleRecord.from_json({**forced, "learned": forced["members"]})
        selection = ChampionRecord.from_json(self.session.records.read("selection") or {})
        found = estimate(self.session, searched, selection, ensemble)
        taken = (self.session.records.read("ensemble") or {})["replaced_champion"]
        return {**found.to_json(), "chosen": "ensemble" if taken else "single"}


def record_of(folder: Path) -> dict[str, Any]:
    """Line of JSON of a finished run: the honest scores beside those of the test half."""
    run = FinishedRun(folder)
    plan, settings = run.plan, run.session.settings
    started = time.process_time()
    record: dict[str, Any] = {
        "table": folder.name.rpartition("-")[0],
        "seed": settings.seed,
        "task": str(plan.table.task),
        "rows": len(plan.table),
        "budget": f"{settings.trials} trials"
        if settings.trials
        else f"{settings.budget_seconds:g} s",
        "trials": sum(t.is_complete and t.stage == "search" for t in run.trials),
        "honest": run.honest(),
    }
    record["honest_seconds"] = time.process_time() - started
    test = Table.load(run.folder.test)
    record["test_rows"] = len(test)
    with np.load(folder / "untouched.npz") as predicted:
        record["seconds"] = float(predicted["seconds"])
        for kind in ("single", "ensemble"):
            made = run.session.records.read(f"{kind}_forced")
            score = scorer(plan, test, made and made["rule"])
            record[kind] = {
                **with_error(score, predicted[kind], len(test), settings.seed),
                "trials": out_of_fold(run, made),
            }
            if kind == "single":
                alone = [score(fold, np.arange(len(test))) for fold in predicted["folds"]]
                record["fold_models"] = float(np.mean(alone))
    return record


def out_of_fold(run: FinishedRun, made: Mapping[str, Any]) -> float:
    """Cross-validated score of a blend by the rule that the costs say: what learning the rule adds."""
    store = PredictionStore(run.folder.predictions)
    members = made["members"]
    weights = np.array([member["weight"] for member in members])
    prediction = combined([store.load(member["trial_id"]) for member in members], weights)
    rows = run.plan.stage("search").rows
    return float(run.plan.index.score(run.plan.table.y[rows], prediction))


def scorer(plan: EvaluationPlan, test: Table, rule: Mapping[str, Any] | None) -> Any:
    """Score of a prediction on some rows of the test half, labels by a rule in its JSON form."""

    def score(prediction: FloatArray, rows: Any) -> float:
        labels = rule and DecisionRule.from_json(rule).codes(prediction[rows])
        return plan.index.score(np.asarray(test.y)[rows], prediction[rows], labels=labels)

    return score


def with_error(score: Any, prediction: FloatArray, n_rows: int, seed: int) -> dict[str, float]:
    """Score of all rows, and its standard error by a bootstrap over them."""
    rng = np.random.default_rng([seed, 1])
    drawn = rng.integers(n_rows, size=(BOOTSTRAPS, n_rows))
    scores = [score(prediction, rows) for rows in drawn]
    return {
        "score": score(prediction, np.arange(n_rows)),
        "error": float(np.nanstd(scores, ddof=1)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--set", choices=SETS, default="small", help="which tables")
    parser.add_argument("--trials", type=int, nargs="+", help="instead of the set's own")
    parser.add_argument(
        "--seconds", type=float, help="a time budget instead, families as by default"
    )
    parser.add_argument("--seeds", type=int, default=9)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=[])
    parser.add_argument("--again", action="store_true", help="compute the honest scores anew")
    parser.add_argument("--searches", action="store_true", help="no honest scores yet")
    parser.add_argument("--report", action="store_true", help="only the report")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    lines = options.out / "coverage.jsonl"
    known = set() if options.again else coverage_report.names(lines)
    draft = lines.with_suffix(".draft") if options.again else lines
    draft.unlink(missing_ok=True) if options.again else None
    for settings, name in [] if options.report else runs_of(options):
        folder = options.out / "runs" / name
        if not folder.exists():
            if options.again:
                continue
            try:
                make_run(settings, folder)
            except Exception as error:  # noqa: BLE001 - one run never ends the others
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
                continue
        if name in known or options.searches:
            continue
        with draft.open("a") as file:
            file.write(json.dumps({"name": name, **record_of(folder)}) + "\n")
    if options.again:
        draft.replace(lines)
    if not options.searches:
        print(coverage_report.text(lines))


if __name__ == "__main__":
    main()
