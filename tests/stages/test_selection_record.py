"""The record of a selection adds up, and says so when a number in it is changed."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stage_json import choose_candidates, select_champion

from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.families.registry import get_family
from automl.records import FoldResult, Task, Trial, TrialStatus
from automl.run.search_spaces import space_of
from automl.selection.checker import check, check_tree
from automl.selection.dispositions import Disposition, Status
from automl.selection.preselection import ScoringRecord
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.stages.speed import expected_seconds

FAMILIES = ("svm", "knn", "ridge")
WAYS: list[dict[str, Any]] = [
    {},
    {"selection_test": "thesis", "candidate_limit": 3},
    {"selection_test": "friedman", "alpha_split": "tree", "candidate_limit": 30},
    {"selection_test": "mcb", "top_n": 1, "alpha": {"leaf": 0.3, "root": 0.01}},
    {"alpha_split": "tree", "criteria": {"generalization": 1, "simplicity": 1, "stability": 2}},
    {"selection_test": "thesis", "normality": "lilliefors", "max_predict_ms": 0.1},
]


def search(session, n_trials: int, seed: int) -> list[Trial]:
    """Trials of three families with random configurations, scores and ends."""
    rng = np.random.default_rng(seed)
    rows = [40, 40, 40, 40, 39]
    spaces = {name: space_of(session.plan, get_family(name), session.settings) for name in FAMILIES}
    trials = []
    for index in range(n_trials):
        family = FAMILIES[int(rng.integers(3))]
        configuration = spaces[family].sample(rng)
        ended = rng.choice(["complete", "complete", "complete", "raced", "timed_out"])
        n_folds = {"complete": 5, "raced": 2, "timed_out": 0}[ended]
        scores = rng.normal(0.7, 0.02) + rng.normal(0, 0.03, 5)
        seconds = float(rng.uniform(1e-4, 1e-3))
        folds = tuple(
            FoldResult(0, fold, float(scores[fold]), rows[fold], 0.1, seconds)
            for fold in range(n_folds)
        )
        score = float(np.average(scores[:n_folds], weights=rows[:n_folds])) if folds else None
        status = TrialStatus(ended)
        reason = "" if folds else "over the limit of 3 s"
        trials.append(Trial("run", index, configuration, status, score, folds, reason=reason))
    return trials


def scored(kept: list[str], seed: int, *, extra: int = 0, failed: int = 0) -> dict[str, Any]:
    """Fresh scores of the screened trials: the last one is not affordable, some fail."""
    rng = np.random.default_rng(seed)
    planned = kept[:-1] or kept
    scores = {
        trial_id: tuple(rng.normal(0.7, 0.03) + rng.normal(0, 0.02, 10)) for trial_id in planned
    }
    scores |= {i: scores[i][:5] for i in planned[len(planned) - failed :]}
    order = sorted(planned, key=lambda i: -float(np.mean(scores[i][:10])))
    leaders = order[:2] if extra else []
    for trial_id in leaders:
        scores[trial_id] += tuple(rng.normal(0.7, 0.02, 5 * extra))
    most = max(len(scores[i]) for i in leaders or planned)
    compared = [i for i in leaders or planned if len(scores[i]) == most]
    record = ScoringRecord(
        tuple(planned), 2, extra, 5, scores, tuple(leaders), tuple(compared)
    ).to_json()
    entries = [
        {"trial_id": i, "scores": list(scores[i]), "seconds": float(rng.uniform())}
        for i in compared
    ]
    return {"candidates": entries, "scoring": record}


@pytest.fixture
def record_of(session_of):
    def make(seed: int = 0, n_trials: int = 60, *, extra: int = 0, failed: int = 0, **given):
        session = session_of(**{"budget_seconds": None, "trials": n_trials, **given})
        session.warnings = []
        trials = search(session, n_trials, seed)
        chosen = choose_candidates(session, trials)
        fresh = scored(chosen["trial_ids"], seed, extra=extra, failed=failed)
        record = select_champion(session, trials, {**chosen, **fresh})
        return json.loads(json.dumps(record, allow_nan=False))

    return make


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(("extra", "failed"), [(0, 0), (1, 0), (0, 2)])
def test_every_trial_has_one_disposition_and_the_record_adds_up(record_of, way, extra, failed):
    record = record_of(3, extra=extra, failed=failed, **way)
    assert check(record) == []
    assert set(record["dispositions"]) == {row["trial_id"] for row in record["trials"]}
    found = [Disposition.from_json(d) for d in record["dispositions"].values()]
    assert [d.status for d in found].count(Status.WINNER) == 1
    assert all(d.label and d.reason for d in found)
    assert [Disposition.from_json(d.to_json()) for d in found] == found
    assert record["dispositions"][record["winner"]]["status"] == "winner"


def test_under_trials_speed_ranks_by_costs_that_are_no_measurement(record_of):
    way = {"criteria": {"speed": 1.0}, "selection_test": "thesis"}
    expected, measured = record_of(3, **way), record_of(3, **way, cost_aware=True)
    assert (expected["seconds"], measured["seconds"]) == ("expected", "measured")
    assert record_of(3)["seconds"] == "measured"
    assert check(expected) == check(measured) == []
    for record, is_measured in ((expected, False), (measured, True)):
        seconds = {c["trial_id"]: c["seconds"] for c in record["candidates"]}
        families = {c["trial_id"]: c["configuration"]["family"] for c in record["candidates"]}
        members = record["decisions"][-1]["members"]
        left = [seconds[m["trial_id"]] for m in members if m["verdict"] != "worse"]
        assert seconds[record["winner"]] == min(left) < max(seconds.values())
        by_family = {(families[i], s) for i, s in seconds.items()}
        assert (len(by_family) == len(set(families.values()))) is not is_measured
    assert {c["trial_id"] for c in expected["candidates"]} == {
        c["trial_id"] for c in measured["candidates"]
    }


def test_expected_seconds_are_those_of_stored_timings(session_of):
    session = session_of(budget_seconds=None, trials=9)
    space = space_of(session.plan, get_family("knn"), session.settings)
    few, many = space.complete({"n_neighbors": 2}), space.complete({"n_neighbors": 90})
    other = space_of(session.plan, get_family("ridge"), session.settings).default()
    assert expected_seconds(session, [few, many, other]) == pytest.approx(
        [get_family(name).relative_seconds(160, 1) for name in ("knn", "knn", "ridge")]
    )
    trials = tuple(
        KnownTrial(c, TrialStatus.COMPLETE, 0.5, s, 5) for c, s in [(few, 5.0), (many, 50.0)] * 20
    )
    facts = DataSetFacts("old", "f", "l", Task.BINARY, 200, 1, 2)
    session.experience = (Experience("old", facts, "index", trials, training_rows=160),)
    quick, slow, unknown = expected_seconds(session, [few, many, other])
    assert quick < 2.5 < slow
    assert unknown > 0
    again = expected_seconds(session, [few, many, other])
    assert again == [quick, slow, unknown]


def test_the_statuses_of_all_parts_of_the_line_occur(record_of):
    records = [
        record_of(3, n_trials=80, extra=1, max_predict_ms=0.1),
        record_of(3, n_trials=80, failed=2),
        record_of(4, n_trials=80, selection_test="thesis", top_n=1, alpha=0.5),
    ]
    found = {d["status"] for record in records for d in record["dispositions"].values()}
    assert sorted(found) == sorted({*Status, "raced", "timed_out"})


def test_clusters_are_made_in_the_space_of_the_run(session_of):
    narrow = {"knn": {"n_neighbors": {"high": 12}}}
    session = session_of(budget_seconds=None, trials=40, spaces=narrow)
    session.warnings = []
    trials = search(session, 40, 5)
    groups = choose_candidates(session, trials)["clusters"]
    for group in (group for group in groups if group["signature"].startswith("knn")):
        members = [t.configuration for t in trials if t.id in group["trial_ids"]]
        assert len(members) > 1
        space = space_of(session.plan, get_family("knn"), session.settings)
        assert np.allclose(
            group["points"], ConfigurationEncoder(space).fit_transform(members), atol=1e-6
        )
        wide = ConfigurationEncoder(get_family("knn").space("binary")).fit_transform(members)
        assert not np.allclose(group["points"], wide, atol=1e-3)


def test_the_best_of_the_search_alone_where_nothing_is_fresh(session_of):
    session = session_of(budget_seconds=None, trials=20)
    session.warnings = []
    trials = search(session, 20, 1)
    chosen = choose_candidates(session, trials)
    best = next(trial for trial in trials if trial.id == chosen["trial_ids"][0])
    scoring = ScoringRecord((best.id,), 0, 0, 5, {}, (), (best.id,), "search folds").to_json()
    entry = {"trial_id": best.id, "scores": list(best.fold_scores), "seconds": 0.1}
    fresh = {"candidates": [entry], "scoring": scoring}
    record = json.loads(json.dumps(select_champion(session, trials, {**chosen, **fresh})))
    assert check(record) == []
    assert record["winner"] == best.id
    assert "unaffordable" in {d["status"] for d in record["dispositions"].values()}


SCORES_THAT_COUNT = ("fold_scores", "score", "scores", "scored", "mean_score", "fold_rows")
DECIDED = (
    *("pvalue", "pvalues", "statistic", "statistics", "verdict", "rank", "status", "winner"),
    *("champion", "best", "kept", "clusters", "compared", "leaders", "node", "level", "tests"),
    *("dispositions", "trial_id", "trial_ids", "signature", "post_hoc", "detail"),
)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all numbers and texts that the selection rests on or that it decided."""
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key], (*path, key))]
    if isinstance(value, list):
        return [leaf for i, item in enumerate(value) for leaf in leaves(item, (*path, i))]
    return [path]


def is_evidence(record: dict[str, Any], path: tuple[Any, ...]) -> bool:
    names = [part for part in path if isinstance(part, str)]
    if path[0] in ("settings", "stage_given_up") or "points" in path or "columns" in path:
        return False
    if "configuration" in path:
        return "values" not in path
    if path[0] == "trials" and path[-1] == "signature":
        trial_id = record["trials"][path[1]]["trial_id"]
        return any(trial_id in group["trial_ids"] for group in record["clusters"])
    return any(name in (*SCORES_THAT_COUNT, *DECIDED) for name in names)


def altered(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.001 + 1e-4
    return f"{value}x" if isinstance(value, str) else 0.5


def alter(record: dict[str, Any], path: tuple[Any, ...]) -> None:
    """Change the number or text at a path."""
    inner: Any = record
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = altered(inner[path[-1]])


@pytest.fixture
def records(record_of):
    """Records of all ways, made once, with the paths of their evidence."""
    if not _records:
        made = [record_of(3, 40, **way, extra=i % 2) for i, way in enumerate(WAYS)]
        _records.extend(
            (one, [path for path in leaves(one) if is_evidence(one, path)]) for one in made
        )

    def record_and_paths(way):
        return _records[way]

    return record_and_paths


_records: list[tuple[dict[str, Any], list[tuple[Any, ...]]]] = []


@given(way=st.integers(0, len(WAYS) - 1), place=st.floats(0, 0.999999))
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_entry_is_a_problem(records, way, place):
    made, paths = records(way)
    record, path = copy.deepcopy(made), paths[int(place * len(paths))]
    alter(record, path)
    assert [problem for problem in check(record) if "digest" not in problem], path


TEXT_FOR_PEOPLE = ("stage_given_up", "stage_warnings", "stage_reproducible")
"""What the run adds to the record of any stage."""


def a_path_of_each_field(record: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The last path of each name; entries of lists, and trials, are the same field."""
    trial_ids = {row["trial_id"] for row in record["trials"]}
    fields = {
        tuple("*" if isinstance(part, int) or part in trial_ids else part for part in path): path
        for path in leaves(record)
    }
    return list(fields.values())


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_a_change_of_any_field_is_a_problem(records, way):
    made = records(way)[0] | {"stage_given_up": ["a"], "stage_reproducible": True}
    assert check(made) == []
    paths = a_path_of_each_field(made)
    assert len(paths) > 90
    for path in paths:
        record = copy.deepcopy(made)
        alter(record, path)
        assert bool(check(record)) == (path[0] not in TEXT_FOR_PEOPLE), path


@pytest.mark.parametrize("way", range(len(WAYS)))
def test_a_field_that_is_gone_or_new_is_a_problem(records, way):
    made = records(way)[0]
    for name in made:
        assert check({key: value for key, value in made.items() if key != name}), name
    assert check({**made, "more": 1})


@given(
    way=st.integers(0, len(WAYS) - 1),
    part=st.sampled_from(["trials", "candidates", "decisions", "clusters"]),
    place=st.floats(0, 0.999999),
    doubles=st.booleans(),
)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_lost_or_doubled_entry_is_a_problem(records, way, part, place, doubles):
    record = copy.deepcopy(records(way)[0])
    position = int(place * len(record[part]))
    if doubles:
        record[part].append(copy.deepcopy(record[part][position]))
    else:
        record[part].pop(position)
    assert check(record), (part, position)


def test_a_swapped_disposition_or_another_winner_is_a_problem(record_of):
    record = record_of(3)
    loser = next(i for i, d in record["dispositions"].items() if d["status"] != "winner")
    swapped = copy.deepcopy(record)
    found = swapped["dispositions"]
    found[loser], found[record["winner"]] = found[record["winner"]], found[loser]
    assert any("disposition of" in problem for problem in check(swapped))
    missing = copy.deepcopy(record)
    del missing["dispositions"][loser]
    assert check(missing) == [f"trial {loser} has no disposition"]
    assert check_tree({**record, "winner": loser, "champion": record["winner"]}) == [
        f"winner is {loser}; the decisions give {record['winner']}"
    ]


def test_an_unknown_procedure_is_a_problem(record_of):
    record = record_of(3)
    assert record["settings"]["comparison"]["procedure"] == "closed"
    record["settings"]["comparison"]["procedure"] = "pared"
    assert any("there is no procedure 'pared'" in problem for problem in check(record))


@pytest.mark.parametrize("broken", [{}, {"trials": 3}, {"trials": [{}]}, {"trials": []}])
def test_a_record_that_is_none_is_a_problem_and_no_error(broken):
    assert check(broken)
