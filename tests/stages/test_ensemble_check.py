"""The check of an ensemble's record: that it adds up, and that the deployed model is the compared one."""

import json

import pytest
from stage_json import build_ensemble

from automl.selection.ensemble_checker import check_ensemble

CHANGES = {
    "scores": lambda r: r["evidence"]["ensemble_scores"].__setitem__(0, 0.1),
    "difference": lambda r: r["evidence"].update(difference=0.5),
    "pvalue": lambda r: r["evidence"].update(pvalue=1e-9),
    "verdict": lambda r: r["evidence"].update(is_replaced=False),
    "worse on all rows": lambda r: r["evidence"].update(replaced_score=0.99),
    "no scores on all rows": lambda r: r["evidence"].pop("replaced_score"),
    "replaced": lambda r: r.update(replaced_champion=False),
    "score": lambda r: r.update(score=0.1),
    "weights": lambda r: r["members"][0].update(weight=0.01),
    "other members": lambda r: r["members"].pop(),
    "one half each": lambda r: r.update(members=HALVES),
    "no evidence": lambda r: r.update(evidence=None),
    "no members": lambda r: r.pop("members"),
}
HALVES = [{"trial_id": f"run-s0000{i}", "weight": 0.5} for i in (6, 7)]


@pytest.mark.parametrize("change", CHANGES)
def test_a_record_of_an_ensemble_that_does_not_add_up_is_noticed(run_of, change):
    session, trials, champion = run_of([2.0] * 8)
    record = json.loads(json.dumps(build_ensemble(session, trials, champion.id)))
    final = {"members": [dict(member) for member in record["members"]]}
    assert record["replaced_champion"]
    assert check_ensemble(record, champion.id, final) == []
    CHANGES[change](record)
    assert check_ensemble(record, champion.id, final)


def test_of_weights_of_another_run_it_is_checked_that_they_are_weights_and_deployed(run_of):
    session, trials, champion = run_of([2.0] * 8)
    record = json.loads(json.dumps(build_ensemble(session, trials, champion.id)))
    followed = {**record, "evidence": None, "learned": [], "recipe": "20260101-000000-aaaa"}
    final = {"members": record["members"]}
    assert len(record["members"]) > 1
    assert check_ensemble(followed, champion.id, final) == []
    assert check_ensemble({**followed, "replaced_champion": False}, champion.id, final)
    assert check_ensemble({**followed, "members": record["members"][1:]}, champion.id, {})
    assert check_ensemble({**followed, "recipe": ""}, champion.id, final)


def test_a_final_model_that_lacks_a_member_is_noticed(run_of):
    session, trials, champion = run_of([2.0] * 8)
    record = build_ensemble(session, trials, champion.id)
    final = {"members": record["members"][1:]}
    (problem,) = check_ensemble(record, champion.id, final)
    assert record["members"][0]["trial_id"] in problem
    assert check_ensemble(record, champion.id, {}) == []
