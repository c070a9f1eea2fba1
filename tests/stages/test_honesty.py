"""The stage of the honest score repeats the choice that the run has made."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from stage_json import record

from automl.ensembles.problem import EnsembleProblem
from automl.evaluation.slots import JobOutcome
from automl.families.registry import WITHOUT_MODEL
from automl.home import Home
from automl.records import TrialStatus
from automl.run.beginning import begin
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.selection.scored_rows import draw
from automl.settings import Settings
from automl.stages import honesty, repeated_choice
from automl.stages.choice_evidence import chosen_from
from automl.stages.honesty import estimate, n_bootstraps_of
from automl.stages.line import Line
from automl_flows.words.result_display import honest_text

FIELDS = {
    "score",
    "naive",
    "low",
    "high",
    "naive_low",
    "naive_high",
    "bias",
    "gain",
    "n_bootstraps",
}


def line_of(folder, **given):
    settings = Settings(
        **{
            "table": "sklearn:iris",
            "target": "target",
            "trials": 8,
            "workers": 2,
            "families": ["gaussian_nb", "knn", "lda"],
            "metric": "log_loss",
            **given,
        }
    )
    session = begin(settings, Home(folder))
    line = Line(session)
    line.search.run()
    return line


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    made = line_of(tmp_path_factory.mktemp("all"))
    try:
        yield made
    finally:
        made.session.close()
        made.session.release()


@pytest.fixture(scope="module")
def halved(tmp_path_factory):
    made = line_of(
        tmp_path_factory.mktemp("halves"),
        data_mode="halves",
        ensemble="none",
        selection_test="thesis",
        criteria={"generalization": 1.0, "stability": 1.0, "simplicity": 1.0},
        folds=3,
    )
    try:
        yield made
    finally:
        made.session.close()
        made.session.release()


def evidence_of(line):
    return chosen_from(*arguments(line)).evidence(line.session.plan)


def arguments(line):
    return line.session, line.trials, line.record(ChampionRecord), line.record(EnsembleRecord)


def test_the_search_names_what_chose_among_the_families(line):
    assert record(line, "search")["allocator"] == "uniform"


def test_the_record_holds_both_scores_and_says_which_is_the_models(line):
    found = record(line, "honest")
    assert set(found["single"]) >= FIELDS
    assert set(found["ensemble"]) >= FIELDS
    assert found["chosen"] == (
        "ensemble" if record(line, "ensemble")["replaced_champion"] else "single"
    )
    assert found["n_bootstraps"] == honesty.N_BOOTSTRAPS
    assert found["reason"] == ""
    assert found[found["chosen"]]["naive"] == pytest.approx(
        record(line, "ensemble")["score"], abs=1e-6
    )


def test_every_metric_has_a_value_corrected_for_the_choice_and_its_interval(line):
    honest, ensemble = record(line, "honest"), record(line, "ensemble")
    found = honest[honest["chosen"]]["metrics"]
    assert set(found) == set(ensemble["metrics"])
    for name, metric in found.items():
        assert metric["low"] <= metric["value"] <= metric["high"]
        assert metric["naive"] == pytest.approx(ensemble["metrics"][name], abs=1e-5)
    score, units = honest[honest["chosen"]], line.session.plan.index.metric_of_score
    assert found["log_loss"]["value"] == pytest.approx(units(score["score"]), abs=1e-5)


def test_rows_that_are_all_predicted_right_have_no_honest_score(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("x,y\n" + "".join(f"{i * 7 % 10},{'ab'[i * 7 % 10 > 4]}\n" for i in range(60)))
    given = {"target": "y", "metric": "accuracy", "ensemble": "none", "families": ["decision_tree"]}
    line = line_of(tmp_path / "home", table=str(file), trials=4, **given)
    try:
        found = record(line, "honest")
        assert record(line, "search")["allocator"] == ""  # one family leaves nothing to choose
        assert record(line, "ensemble")["score"] == 1
        assert found["single"] is None
        assert found["reason"] == honesty.ALL_ALIKE
    finally:
        line.session.close()
        line.session.release()


def test_the_same_run_has_the_same_honest_score_again(line, monkeypatch):
    monkeypatch.setattr(honesty, "N_BOOTSTRAPS", 40)
    assert estimate(*arguments(line)) == estimate(*arguments(line))


@pytest.mark.parametrize("name", ["line", "halved"])
def test_the_choice_from_every_row_once_is_the_runs_own(name, request):
    line = request.getfixturevalue(name)
    evidence = evidence_of(line)
    counts = np.ones((1, len(evidence.rows.y)), dtype=np.float32)
    again = evidence.choose(counts, np.random.default_rng(0))[0]
    champion = evidence.members[int(again["single"].weights.argmax())].id
    assert champion == record(line, "selection")["champion"]
    assert again["single"].rule == evidence.final["single"].rule


def test_ensembles_of_bootstraps_choose_among_the_models_that_the_runs_own_chose_among(
    line, monkeypatch
):
    libraries = []

    class Seen(EnsembleProblem):
        def __post_init__(self):
            libraries.append(set(self.groups))
            super().__post_init__()

    monkeypatch.setattr(repeated_choice, "EnsembleProblem", Seen)
    evidence = evidence_of(line)
    families = {trial.configuration.family for trial in evidence.members}
    counts = draw(len(evidence.rows.y), 2, rng=np.random.default_rng(0))
    evidence.choose(counts, np.random.default_rng(0))
    assert families >= set(WITHOUT_MODEL)
    assert len(libraries) >= 2
    assert all(library == families - set(WITHOUT_MODEL) for library in libraries)


def test_a_bag_counts_what_it_is_worth_more_than_a_fold_model(line):
    evidence = evidence_of(line)
    gains = evidence.gains()
    assert set(gains) == {"single", "ensemble"}
    member = int(evidence.final["single"].weights.argmax())
    repeats = [evidence.rows.versions[0][member], *evidence.fresh[member]]
    score, y = line.session.plan.index.score, evidence.rows.y
    single = np.mean([score(y, repeat) for repeat in repeats])
    share_left = (1.0 - score(y, np.mean(repeats, axis=0))) / (1.0 - single)
    missing = 1.0 - score(y, repeats[0])
    expected = missing * (1.0 - share_left**1.5)
    assert gains["single"].score == pytest.approx(expected, abs=1e-6)
    found = record(line, "honest")["single"]
    assert found["gain"] == pytest.approx(gains["single"].score)
    assert found["score"] == pytest.approx(found["naive"] - found["bias"] + found["gain"])


@pytest.mark.parametrize("given", [{"final": "refit"}, {"time": "when"}])
def test_refits_and_bags_over_growing_windows_gain_nothing(line, monkeypatch, given):
    monkeypatch.setattr(line.session, "settings", line.session.settings.model_copy(update=given))
    assert evidence_of(line).gains() == {}


def test_with_halves_the_scores_are_those_of_the_half_that_was_chosen_on(halved):
    found = record(halved, "honest")
    assert found["ensemble"] is None
    assert found["single"]["gain"] == 0.0
    assert found["n_trials"] == len(record(halved, "selection")["candidates"])
    scores = {
        c["trial_id"]: np.mean(c["scores"]) for c in record(halved, "selection")["candidates"]
    }
    champion = record(halved, "selection")["champion"]
    assert found["single"]["naive"] == pytest.approx(scores[champion], abs=1e-6)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """A run on a target whose squared errors have no variance."""
    folder = tmp_path_factory.mktemp("heavy")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    y = np.exp(x[:, 0]) * (1 + rng.pareto(2.0, 400))
    np.savetxt(folder / "t.csv", np.c_[x, y], delimiter=",", header="a,b,c,y", comments="")
    made = line_of(
        folder / "home",
        table=str(folder / "t.csv"),
        target="y",
        families=["ridge", "knn", "decision_tree"],
        metric="r2",
    )
    try:
        yield made
    finally:
        made.session.close()
        made.session.release()


def test_where_a_few_rows_decide_no_score_is_printed_but_the_reason(numbers):
    found = record(numbers, "honest")
    assert found["single"] is None
    assert found["ensemble"] is None
    assert found["n_bootstraps"] == 0
    assert re.search(r"errors are too uneven|one of the 400 rows", found["reason"])
    assert honest_text({"honest": found}) == f"none: {found['reason']}"


def test_a_prediction_that_diverges_on_fresh_folds_alone_is_seen(numbers, monkeypatch):
    evidence = evidence_of(numbers)
    rng = np.random.default_rng(1)
    y = rng.normal(size=len(evidence.rows.y))
    tame = [y + 0.1 * rng.normal(size=len(y)) for _ in evidence.members]
    calm = replace(
        evidence,
        rows=replace(evidence.rows, versions=[tame], y=y),
        fresh={member: [tame[member]] for member in evidence.fresh},
    )
    assert calm.doubts() == {}
    champion = int(evidence.final["single"].weights.argmax())
    assert champion in calm.fresh
    wild = tame[champion].copy()
    wild[7] = 1e4
    doubts = replace(calm, fresh={**calm.fresh, champion: [wild]}).doubts()
    assert "one of the 400 rows" in doubts["single"]


def test_metrics_of_a_few_rows_are_doubted_one_by_one(numbers):
    evidence = evidence_of(numbers)
    assert evidence.metric_doubts()["single"] >= {"r2", "mse", "rmse"}
    rng = np.random.default_rng(1)
    y = rng.normal(size=len(evidence.rows.y))
    tame = [y + 0.1 * rng.normal(size=len(y)) for _ in evidence.members]
    calm = replace(evidence, rows=replace(evidence.rows, versions=[tame], y=y), fresh={})
    assert calm.metric_doubts() == {kind: frozenset() for kind in evidence.final}


def test_classes_have_no_losses_to_doubt(line):
    assert evidence_of(line).doubts() == {}
    assert evidence_of(line).metric_doubts() == {}


def test_without_time_the_record_says_so(line, monkeypatch):
    monkeypatch.setattr(type(line.session.ledger), "left_for", lambda *_: -1.0)
    given_up = len(line.session.given_up)
    found = estimate(*arguments(line)).to_json()
    assert found["single"] is None
    assert found["ensemble"] is None
    assert found["reason"] in line.session.given_up[given_up:]


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "expected"), [(100, 2, 200), (25_000, 2, 200), (10**6, 0, 40)]
)
def test_many_rows_need_fewer_bootstraps(n_rows, n_classes, expected):
    assert n_bootstraps_of(n_rows, n_classes, has_tests=False) == expected


def test_no_block_begins_that_would_end_too_late(monkeypatch):
    now = 100.0
    monkeypatch.setattr(honesty, "time", SimpleNamespace(monotonic=lambda: now))
    pace = honesty.Pace(10.0)
    assert pace.has_time_for_another()
    with pace.block():
        now += 4.0
    assert pace.has_time_for_another()
    with pace.block():
        now += 3.0
    assert not pace.has_time_for_another()
    assert pace.is_over
    assert honesty.Pace(None).has_time_for_another()


@pytest.mark.parametrize("name", ["line", "halved"])
def test_slots_make_the_blocks_that_this_process_makes(name, request, monkeypatch):
    line = request.getfixturevalue(name)
    monkeypatch.setattr(honesty, "N_BOOTSTRAPS", 60)
    here = estimate(*arguments(line))
    assert line.session.pool.is_ready(60.0)
    run, jobs = line.session.pool.run, []

    def counted(slot, job, **limits):
        jobs.append(job.payload["block"])
        outcome = run(slot, job, **limits)
        assert outcome.status is TrialStatus.COMPLETE, outcome
        return outcome

    monkeypatch.setattr(honesty, "JOBS_SECONDS", 0.0)
    monkeypatch.setattr(line.session.pool, "run", counted)
    assert estimate(*arguments(line)) == here
    assert sorted(jobs) == list(range(1, len(jobs) + 1))
    assert len(jobs) >= 2


def test_a_block_whose_slot_fails_is_made_here(line, monkeypatch):
    monkeypatch.setattr(honesty, "N_BOOTSTRAPS", 40)
    here = estimate(*arguments(line))
    monkeypatch.setattr(honesty, "JOBS_SECONDS", 0.0)
    lost = JobOutcome(TrialStatus.KILLED, [], "lost")
    monkeypatch.setattr(line.session.pool, "run", lambda *_, **__: lost)
    assert estimate(*arguments(line)) == here


def test_a_member_that_lacks_a_repeat_of_the_fresh_folds_has_the_mean_of_its_others(line):
    evidence = evidence_of(line)
    how = replace(evidence.record.settings, criteria={"generalization": 0.5, "stability": 0.5})
    member, versions = next(iter(evidence.fresh.items()))
    assert len(versions) == len(evidence.folds) == 2
    tested = replace(
        evidence,
        record=replace(evidence.record, settings=how),
        fresh={**evidence.fresh, member: versions[:1]},
    )
    counts = np.ones((1, len(evidence.rows.y)), dtype=np.float32)
    scores = np.zeros((len(evidence.members), 1))
    by_fold = tested._fold_scores(counts, scores)[0, member]
    n_folds = len(by_fold) // 2
    assert by_fold[n_folds:] == pytest.approx(by_fold[:n_folds].mean())
    assert tested.choose(counts, np.random.default_rng(0))[0]["single"].weights.sum() == 1.0


def test_without_any_drawn_row_of_a_fold_the_score_of_the_search_counts(line):
    evidence = evidence_of(line)
    outside = replace(evidence, folds=np.full_like(evidence.folds, -1))
    outside.folds[:, 0] = 0
    counts = np.ones((1, len(evidence.rows.y)), dtype=np.float32)
    counts[:, 0] = 0.0
    scores = np.linspace(0.1, 0.9, len(evidence.members))[:, None]
    expected = np.broadcast_to(scores, (len(scores), len(outside.folds)))
    assert outside._fold_scores(counts, scores)[0] == pytest.approx(expected)


def test_ensembles_of_bootstraps_keep_the_limit_of_the_runs_own(line, monkeypatch):
    evidence = evidence_of(line)
    speeds = evidence.milliseconds
    limit = float(np.median(speeds))
    limited = evidence.settings.model_copy(update={"max_predict_ms": limit})
    evidence = replace(evidence, settings=limited)
    counts = draw(len(evidence.rows.y), 6, rng=np.random.default_rng(0))
    monkeypatch.setattr(evidence, "_n_ensembles", 6)
    chosen = evidence.choose(counts, np.random.default_rng(0))
    for one in chosen:
        members = np.flatnonzero(one["ensemble"].weights)
        is_alone = len(members) == 1 and one["single"].weights[members[0]] == 1.0
        assert is_alone or sum(speeds[i] for i in members) <= limit
