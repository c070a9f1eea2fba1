"""The ensemble stage: every method, the evidence, the limits, the second layer."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from stage_json import build_ensemble

from automl.ensembles import deadline as deadlines
from automl.ensembles.evidence import cross_fitted_scores, decide_ensemble
from automl.ensembles.member_limits import LEAST_WEIGHT, needed, only_effective
from automl.errors import DataError, SettingsError
from automl.evaluation.fold_models import save_models
from automl.inference.calibration import Calibration
from automl.inference.combining import combined
from automl.metrics.bootstraps import bootstrap_scores
from automl.metrics.decisions import OutOfFold
from automl.randomness import Purpose, stream
from automl.records import Configuration
from automl.run_records.ensemble import EnsembleEvidence
from automl.selection.ensemble_checker import check_ensemble
from automl.settings import Settings
from automl.settings.sources import resolve_settings
from automl.stages import blending, ensembling
from automl.stages.membership import MOST_MEMBERS
from automl.stages.stacking import second_layer_folds


def predictions_of(session, record):
    names = [member["trial_id"] for member in record["members"]]
    weights = np.array([member["weight"] for member in record["members"]])
    return [np.asarray(session.store.load(name)) for name in names], weights


@pytest.mark.parametrize("combine", ["mean", "vote"])
@pytest.mark.parametrize("method", ["greedy", "agnostic_bayes", "stacking"])
def test_what_is_said_of_the_ensemble_is_said_of_its_combination(run_of, method, combine):
    session, trials, champion = run_of(
        [2.0] * 8, stack_noises=[1.2, 1.2], ensemble=method, ensemble_combine=combine
    )
    record = build_ensemble(session, trials, champion.id)
    assert record["replaced_champion"]
    assert (record["method"], record["combine"]) == (method, combine)
    parts, weights = predictions_of(session, record)
    assert weights.sum() == pytest.approx(1.0)
    assert (record["calibration"] is None) == (combine == "vote")
    blended = combined(parts, weights, combine)
    if record["calibration"]:
        blended = Calibration.from_json(record["calibration"]).apply(blended)
    index, y, folds = session.plan.index, session.plan.table.y, session.plan.stage("search").folds
    found = OutOfFold(index, y, blended, folds[0])
    assert record["score"] == pytest.approx(index.score(y, blended, labels=found.labels()))
    assert record["rule"] == index.learn_rule(y, blended).to_json()
    assert build_ensemble(session, trials, champion.id)["members"] == record["members"]


def test_a_blend_is_calibrated_where_folds_that_it_never_saw_speak_for_it(run_of):
    session, trials, champion = run_of([2.0] * 8)
    surer = build_ensemble(session, trials, champion.id)
    assert (
        surer["calibration"]["power"] > 1.0
    )  # the members are too unsure alone, their mean more so
    assert surer["evidence"]["calibration_gain"] > 0
    session.settings = session.settings.model_copy(update={"ensemble_calibration": False})
    plain = build_ensemble(session, trials, champion.id)
    assert plain["calibration"] is plain["evidence"]["calibration_gain"] is None
    assert plain["members"] == surer["members"]
    means = [np.mean(each["evidence"]["ensemble_scores"]) for each in (plain, surer)]
    assert means[1] - means[0] == pytest.approx(surer["evidence"]["calibration_gain"])


@pytest.mark.parametrize("method", ["greedy", "agnostic_bayes", "stacking"])
def test_the_single_model_wins_where_the_ensemble_is_not_better(run_of, method):
    session, trials, champion = run_of(
        [0.1, 9.0, 9.0, 9.0], stack_noises=[9.0], ensemble=method, ensemble_combine="vote"
    )
    record = build_ensemble(session, trials, champion.id)
    assert record["evidence"] is not None
    assert not record["replaced_champion"]
    assert record["members"] == [{"trial_id": champion.id, "weight": 1.0}]
    assert record["combine"] == "mean"


def test_an_ensemble_of_the_champion_alone_does_not_replace_it(run_of, monkeypatch):
    session, trials, champion = run_of([0.5, 4.0, 5.0])
    alone = np.eye(3)[trials.index(champion)]
    decision = decide_ensemble(
        [0.9, 0.8, 0.9],
        [0.1, 0.1, 0.2],
        learned_score=1.0,
        replaced_score=0.1,
        test_train_ratio=0.5,
    )
    assert decision.is_replaced
    found = (EnsembleEvidence(decision, 1, 0.1), alone, None)
    monkeypatch.setattr(ensembling.Blender, "decide", lambda *_: found)
    record = build_ensemble(session, trials, champion.id)
    assert not record["replaced_champion"]
    assert record["members"] == record["learned"] == [{"trial_id": champion.id, "weight": 1.0}]


def test_a_member_that_the_median_always_follows_is_the_whole_ensemble():
    rng = np.random.default_rng(0)
    values = [rng.normal(size=20) for _ in range(3)]
    heavy, even = np.array([0.2, 0.6, 0.2]), np.array([0.5, 0.3, 0.2])
    assert np.array_equal(combined(values, heavy, "median"), np.float32(values[1]))
    assert only_effective(heavy, "median").tolist() == [0.0, 1.0, 0.0]
    assert only_effective(even, "median") is even
    assert only_effective(heavy, "mean") is heavy


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("noises", [[2.0] * 6, [1.0, 1.5, 2.0], [0.5, 4.0, 5.0]])
def test_an_ensemble_is_taken_by_its_p_value_unless_it_is_worse_on_all_rows(run_of, alpha, noises):
    session, trials, champion = run_of(noises, ensemble_alpha=alpha)
    evidence = build_ensemble(session, trials, champion.id)["evidence"]
    is_worse = evidence["learned_score"] < evidence["replaced_score"]
    assert evidence["is_replaced"] == (evidence["pvalue"] < alpha and not is_worse)
    assert not evidence["is_replaced"] or alpha > 0.5 or evidence["difference"] > 0


def test_a_level_above_one_and_combinations_of_the_wrong_kind_are_refused(run_of):
    with pytest.raises(ValueError, match="ensemble_alpha"):
        Settings(table="t", target="y", ensemble_alpha=1.1)
    with pytest.raises(SettingsError, match="setting layers: 2 has no effect"):
        resolve_settings({"table": "t", "target": "y", "ensemble": "none", "layers": 2})
    with pytest.raises(SettingsError, match=r"ensemble_combine.*'y'.*classes"):
        run_of([1.0], ensemble_combine="median")


def test_stacking_weighs_the_second_layer_alone_and_names_its_inputs(run_of):
    session, trials, champion = run_of([2.0] * 5, stack_noises=[1.0, 1.0], ensemble="stacking")
    record = build_ensemble(session, trials, champion.id)
    stacked = {trial["index"] for trial in record["stack"]}
    assert stacked == {0, 1}
    assert {member["trial_id"] for member in record["members"]} <= {"run-l00000", "run-l00001"}
    assert set(record["base"]) <= {trial.id for trial in trials}
    assert record["base"][0] == champion.id


def test_two_layers_together_keep_the_limit_of_members(run_of):
    session, trials, champion = run_of(
        [2.0] * 9, stack_noises=[1.9, 1.9], layers=2, ensemble_members=6
    )
    record = build_ensemble(session, trials, champion.id)
    names = [trial.id for trial in trials] + ["run-l00000", "run-l00001"]
    base = tuple(names.index(name) for name in record["base"])
    inputs = [*([()] * 9), base, base]
    members = [names.index(member["trial_id"]) for member in record["members"]]
    assert len(base) == 5
    assert len(needed(members, inputs)) <= 6


@pytest.mark.parametrize("method", ["greedy", "agnostic_bayes", "stacking"])
def test_the_limit_of_time_counts_fold_models_and_inputs(run_of, method):
    # 0.01 ms for a row and model, five models for a member
    session, trials, champion = run_of(
        [2.0] * 9, stack_noises=[1.0, 1.0], ensemble=method, max_predict_ms=0.22
    )
    record = build_ensemble(session, trials, champion.id)
    n_inputs = len(record["base"]) if method == "stacking" else 0
    assert record["replaced_champion"]
    assert len(record["members"]) + n_inputs <= 4
    session, trials, champion = run_of([2.0] * 9, ensemble=method, max_predict_ms=0.01)
    record = build_ensemble(session, trials, champion.id)
    assert record["members"] == [{"trial_id": champion.id, "weight": 1.0}]


def test_without_a_second_layer_stacking_leaves_the_champion_alone(run_of):
    session, trials, champion = run_of([2.0] * 4, ensemble="stacking")
    record = build_ensemble(session, trials, champion.id)
    assert record["members"] == [{"trial_id": champion.id, "weight": 1.0}]
    assert record["evidence"] is None
    assert record["stack"] == record["base"] == []


def test_agnostic_bayes_chooses_among_all_trials(run_of):
    for method, n_library in (("agnostic_bayes", 70), ("greedy", 60)):
        session, trials, champion = run_of([2.0] * 70, ensemble=method)
        assert build_ensemble(session, trials, champion.id)["n_library"] == n_library


def test_the_library_keeps_the_best_of_each_family_beside_near_copies(run_of):
    session, trials, champion = run_of([1.5] * 70 + [2.5] * 2)
    trials = [
        replace(trial, configuration=Configuration("knn" if i >= 70 else "ridge", {"i": float(i)}))
        for i, trial in enumerate(trials)
    ]
    champion = next(trial for trial in trials if trial.id == champion.id)
    library = ensembling._library(session, trials, champion, session.store)
    best = sorted(trials, key=lambda trial: -trial.score)
    assert len(library) == 60
    assert library[:59] == best[:59]
    assert library[59].configuration.family == "knn"
    assert library[59] not in best[:60]


@pytest.mark.parametrize(
    ("given", "ensemble"),
    [
        ({"optimizer": "esmbo"}, "agnostic_bayes"),
        ({"optimizer": {"base": "esmbo"}}, "agnostic_bayes"),
        ({"optimizer": {"base": "gp_ei", "n_histories": 9}}, "agnostic_bayes"),
        ({"optimizer": "esmbo", "ensemble": "greedy"}, "greedy"),
        ({"optimizer": "esmbo", "preset": "thesis"}, "none"),
        ({"optimizer": "gp_ei"}, "greedy"),
    ],
)
def test_esmbo_means_agnostic_bayes_unless_another_ensemble_is_given(given, ensemble):
    found = resolve_settings({"table": "t", "target": "y", **given}, environment={})
    assert found.ensemble == ensemble


def test_floors_are_no_inputs_of_the_second_layer_even_as_champion(run_of):
    session, trials, champion = run_of([2.0] * 4, stack_noises=[1.0], ensemble="stacking")
    floor = replace(trials[0], configuration=Configuration("constant", {}))
    for chosen in (champion, floor):
        record = build_ensemble(session, [floor, *trials[1:]], chosen.id)
        assert set(record["base"]) == {trial.id for trial in trials[1:]}


def slow(trial, factor):
    folds = [replace(fold, predict_seconds=factor * fold.predict_seconds) for fold in trial.folds]
    return replace(trial, folds=tuple(folds))


def test_the_single_model_of_the_evidence_keeps_the_limit_of_time_too(run_of):
    session, trials, best = run_of([0.1, 1.5, 4.0], max_predict_ms=0.06)
    trials = [slow(trial, 9) if trial is best else trial for trial in trials]
    champion = max(trials[1:], key=lambda trial: trial.score)
    evidence = build_ensemble(session, trials, champion.id)["evidence"]
    assert max(evidence["champion_scores"]) < 0.9  # of the slow one: 1
    assert evidence["difference"] == pytest.approx(0.0)


def test_parts_of_one_holdout_are_those_of_the_second_layer(run_of, monkeypatch):
    seen = []

    def scores(*arguments, **options):
        seen.append(arguments[2])
        return cross_fitted_scores(*arguments, **options)

    monkeypatch.setattr(blending, "cross_fitted_scores", scores)
    session, trials, champion = run_of([2.0] * 3, holdout_above_rows=100)
    build_ensemble(session, trials, champion.id)
    np.testing.assert_array_equal(seen[0], second_layer_folds(session.plan))


def test_a_holdout_that_cannot_be_divided_leaves_the_champion_alone(run_of, monkeypatch):
    def refuse(_):
        raise DataError("3 groups")

    monkeypatch.setattr(blending, "second_layer_folds", refuse)
    session, trials, champion = run_of([2.0] * 3)
    record = build_ensemble(session, trials, champion.id)
    assert record["members"] == [{"trial_id": champion.id, "weight": 1.0}]
    assert session.given_up == ["no ensemble: the holdout cannot be divided (3 groups)"]


# --- cut short --------------------------------------------------------------------------------------


class Clock:
    """A hundredth of a second passes between two looks."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 0.01
        return self.now


def timed(session, monkeypatch, seconds):
    """The session with so many seconds for the ensemble, by a clock that counts looks."""
    clock = Clock()
    monkeypatch.setattr(deadlines, "time", clock)
    monkeypatch.setattr(blending, "time", clock)
    session.ledger.left_for = lambda *_: seconds
    for trial_id in session.store.trial_ids():
        save_models(session.folder.path, trial_id, {})
    return session


@pytest.mark.parametrize("noises", [[2.0] * 12, [0.5, *[4.0] * 11]])
@pytest.mark.parametrize("seconds", [-5.0, 2.0, 4.0, 8.0, 60.0])
def test_what_is_deployed_was_compared_however_short_the_time(run_of, monkeypatch, noises, seconds):
    session, trials, champion = run_of(noises, ensemble="bagged_greedy")
    whole = build_ensemble(session, trials, champion.id)
    record = build_ensemble(timed(session, monkeypatch, seconds), trials, champion.id)
    final = {"members": record["members"]}
    assert check_ensemble(json.loads(json.dumps(record)), champion.id, final) == []
    if record["evidence"]["n_bags"] < 5:
        assert "not 5" in session.given_up[-1]
        assert not session.is_reproducible
    else:
        assert record["learned"] == whole["learned"]
        assert session.is_reproducible
    assert record["score"] >= session.plan.index.score(
        session.plan.table.y, np.asarray(session.store.load(champion.id))
    )


def test_the_time_decides_how_many_bags_there_are(run_of, monkeypatch):
    found = {}
    for seconds in (-5.0, 4.0, 8.0, 60.0):
        session, trials, champion = run_of([2.0] * 12, ensemble="bagged_greedy")
        record = build_ensemble(timed(session, monkeypatch, seconds), trials, champion.id)
        found[seconds] = record["evidence"]["n_bags"]
    assert list(found.values()) == sorted(found.values())
    assert (found[-5.0], found[60.0]) == (1, 5)
    assert 1 <= found[4.0] < 5


def test_a_constant_is_no_member_of_a_blend(run_of):
    """A blend with it orders the rows as before: the area under the curve cannot tell its weight."""
    session, trials, champion = run_of([0.5, 4.0, 5.0], metric="roc_auc")
    y = session.plan.table.y
    session.store.save("run-s00009", np.full((len(y), 2), 0.5, dtype=np.float32))
    constant = replace(trials[1], index=9, configuration=Configuration("constant", {}), score=0.0)
    assert constant.id == "run-s00009"
    record = build_ensemble(session, [*trials, constant], champion.id)
    assert constant.id not in {member["trial_id"] for member in record["learned"]}
    assert record["n_library"] == 3
    alone = build_ensemble(session, [constant], constant.id)
    assert alone["members"] == [{"trial_id": constant.id, "weight": 1.0}]


def test_however_late_it_is_each_part_of_the_first_bag_has_its_share_of_time(run_of, monkeypatch):
    session, trials, champion = run_of([2.0] * 12)
    deadlines_of_parts = []
    learn = blending.Blender._learn

    def watched(blender, bag, place, rows, deadline):
        deadlines_of_parts.append(deadline.at)
        return learn(blender, bag, place, rows, deadline)

    monkeypatch.setattr(blending.Blender, "_learn", watched)
    record = build_ensemble(timed(session, monkeypatch, -5.0), trials, champion.id)
    assert record["evidence"]["n_bags"] == 1
    n_folds = len(record["evidence"]["ensemble_scores"])
    assert len(deadlines_of_parts) == n_folds + 1
    shares = np.diff(deadlines_of_parts)
    assert (shares > 0).all()
    assert deadlines_of_parts[-1] <= blending.LEAST_SECONDS + 0.1


def test_only_trials_whose_models_can_be_there_in_time_have_weight(run_of):
    session, trials, champion = run_of([2.0] * 8)
    # 1.75 s that no stage has claimed, on two slots; a trial takes one
    session.ledger = SimpleNamespace(left_for=lambda *_: 12.0, planned={"ensemble": 10.25})
    kept = {trial.id for trial in trials[1::2]}
    for trial_id in kept:
        save_models(session.folder.path, trial_id, {})
    best = sorted(trials, key=lambda trial: -trial.score)
    fitted = [trial.id for trial in best if trial.id not in kept][:3]
    record = build_ensemble(session, trials, champion.id)
    assert record["replaced_champion"]
    assert {member["trial_id"] for member in record["learned"]} <= kept | set(fitted)
    assert session.given_up[0].startswith("1 of 8 trials have no weight in the ensemble")
    assert not session.is_reproducible
    session.settings = session.settings.model_copy(update={"final": "refit"})
    session.given_up.clear()
    build_ensemble(session, trials, champion.id)
    assert session.given_up == []


def test_weights_that_are_worse_than_the_champion_on_its_rows_do_not_replace_it(
    run_of, monkeypatch
):
    session, trials, champion = run_of([*[2.0] * 7, 9.0])
    whole = build_ensemble(session, trials, champion.id)
    assert whole["replaced_champion"]
    learned = blending.Blender._learned

    def worse(blender):
        weights, n_bags = learned(blender)
        weights[-1] = np.eye(8)[7]
        return weights, n_bags

    monkeypatch.setattr(blending.Blender, "_learned", worse)
    record = build_ensemble(session, trials, champion.id)
    evidence = record["evidence"]
    assert evidence["pvalue"] == whole["evidence"]["pvalue"]
    assert evidence["learned_score"] < evidence["replaced_score"] == record["score"]
    assert not record["replaced_champion"]
    assert "on all rows, where the champion has" in evidence["reason"]


@pytest.mark.parametrize("optimizer", ["random", {"base": "gp_ei", "n_histories": 30}])
def test_agnostic_bayes_is_its_definition(run_of, optimizer):
    """Shares of the bootstraps on which each of *all* trials is the best, none of them cut off."""
    n_bootstraps = 30 if isinstance(optimizer, dict) else 50
    session, trials, champion = run_of([2.0] * 70, ensemble="agnostic_bayes", optimizer=optimizer)
    found = {
        m["trial_id"]: m["weight"] for m in build_ensemble(session, trials, champion.id)["learned"]
    }
    y, index = session.plan.table.y, session.plan.index
    predictions = [np.asarray(session.store.load(trial.id)) for trial in trials]
    rng, expected = stream(session.settings.seed, Purpose.BOOTSTRAP), dict[str, float]()
    for _ in range(n_bootstraps):
        rows = rng.integers(0, len(y), len(y))
        scores = [index.learned_score(y[rows], prediction[rows]) for prediction in predictions]
        winner = trials[int(np.argmax(scores))].id
        expected[winner] = expected.get(winner, 0.0) + 1 / n_bootstraps
    assert found == pytest.approx(expected)
    assert len(found) > MOST_MEMBERS
    assert min(found.values()) < LEAST_WEIGHT or n_bootstraps == 30


def test_esmbo_takes_the_best_trial_of_each_history(run_of):
    """The bootstraps of the ensemble are those on which trials were scored for the histories."""
    session, trials, champion = run_of(
        [2.0] * 30, ensemble="agnostic_bayes", optimizer={"base": "gp_ei", "n_histories": 20}
    )
    told = [
        bootstrap_scores(
            session.plan.index,
            session.plan.table.y,
            np.asarray(session.store.load(trial.id)),
            n_bootstraps=session.plan.settings.n_bootstraps,
            rng=stream(session.settings.seed, Purpose.BOOTSTRAP),
        )
        for trial in trials
    ]
    wins = np.bincount(np.argmax(told, axis=0), minlength=len(trials)) / 20
    record = build_ensemble(session, trials, champion.id)
    found = {member["trial_id"]: member["weight"] for member in record["learned"]}
    assert found == {trials[i].id: pytest.approx(wins[i]) for i in np.flatnonzero(wins)}


def test_a_limit_of_members_that_is_asked_for_holds_for_agnostic_bayes_too(run_of):
    session, trials, champion = run_of([2.0] * 30, ensemble="agnostic_bayes", ensemble_members=4)
    assert len(build_ensemble(session, trials, champion.id)["learned"]) == 4


def test_trials_whose_predictions_are_gone_are_told_where_the_best_of_all_is_meant(run_of):
    session, trials, champion = run_of([2.0] * 8, ensemble="agnostic_bayes")
    gone = next(trial for trial in trials if trial.id != champion.id)
    session.store.remove(gone.id)
    build_ensemble(session, trials, champion.id)
    assert "among 7 of 8 complete trials" in " ".join(session.given_up)
