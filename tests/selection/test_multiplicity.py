"""Which comparisons share one significance level, and what that guarantees."""

from __future__ import annotations

import json
from itertools import combinations
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.records import Configuration
from automl.selection.checker import check_tree
from automl.selection.clusters import Candidate
from automl.selection.comparison_settings import ComparisonSettings
from automl.selection.levels import replay, select
from automl.selection.multiplicity import Multiplicity
from automl.selection.recomputation import recomputed_decisions
from automl.selection.screening import screen, screening_alpha
from automl.selection.selection_records import SelectionRecord
from automl.significance import Procedure
from automl.statistics.adjustment import holm
from automl.statistics.multiple_comparison import closed_best
from automl.statistics.paired import corrected_t, corrected_t_of_pairs

PLACES = ("a/x=1/z=1", "a/x=1/z=1", "a/x=1/z=2", "a/x=2", "b", "b", "b", "c/y=1")
PROCEDURES = get_args(Procedure)


def candidates(seed=0, places=PLACES, spread=1.0, n=10):
    rng = np.random.default_rng(seed)
    made = []
    for i, place in enumerate(places):
        family, *path = place.split("/")
        scores = spread * rng.normal() + rng.normal(size=n)
        configuration = Configuration(family, {"id": i}, tuple(path))
        made.append(Candidate(f"t{i}", configuration, tuple(scores)))
    return made


def dropped(record, level=None):
    """(dropped, best) pairs of trial ids."""
    return {
        (member.trial_id, decision.best)
        for decision in record.decisions
        if level in (None, decision.level)
        for member in decision.members
        if member.verdict == "worse"
    }


def told_apart(made, pairs, alpha=0.05, ratio=0.25):
    """Pairs that Holm's procedure over these pairs tells apart."""
    raw = [
        corrected_t(made[i].scores, made[j].scores, test_train_ratio=ratio).pvalue for i, j in pairs
    ]
    adjusted = np.maximum(holm(raw), 2.0**-9)
    names = [{made[i].trial_id, made[j].trial_id} for i, j in pairs]
    return [name for name, pvalue in zip(names, adjusted, strict=True) if pvalue < alpha]


@given(seed=st.integers(0, 10_000), spread=st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=25, deadline=None)
def test_split_over_the_tree_drops_only_what_all_pairs_of_the_tree_tell_apart(seed, spread):
    made = candidates(seed, spread=spread)
    record = select(made, test="paired", alpha_split="tree", test_train_ratio=0.25)
    allowed = told_apart(made, list(combinations(range(len(made)), 2)))
    assert all(set(pair) in allowed for pair in dropped(record))


@given(seed=st.integers(0, 10_000), spread=st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=25, deadline=None)
def test_each_level_drops_only_what_all_pairs_of_the_level_tell_apart(seed, spread):
    made = candidates(seed, spread=spread)
    record = select(made, test="paired", test_train_ratio=0.25)
    nodes = {
        "leaf": [(0, 1), (2,), (3,), (4, 5, 6), (7,)],
        "category": [(0, 1, 2)],
        "family": [(0, 1, 2, 3)],
        "root": [range(8)],
    }
    for level, below in nodes.items():
        pairs = [pair for node in below for pair in combinations(node, 2)]
        allowed = told_apart(made, pairs)
        assert all(set(pair) in allowed for pair in dropped(record, level))


@given(seed=st.integers(0, 10_000), spread=st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=25, deadline=None)
def test_the_closed_test_drops_only_what_is_not_among_the_best_of_all(seed, spread):
    made = candidates(seed, spread=spread)
    record = select(made, test="closed", alpha_split="tree", test_train_ratio=0.25)
    found = closed_best([c.scores for c in made], test_train_ratio=0.25)
    allowed = {c.trial_id for c, p in zip(made, found.pvalue, strict=True) if p < 0.05}
    assert {trial_id for trial_id, _ in dropped(record)} <= allowed


@given(seed=st.integers(0, 10_000), spread=st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=25, deadline=None)
def test_the_closed_test_shares_alpha_among_the_nodes_of_a_level(seed, spread):
    made = candidates(seed, spread=spread)
    record = select(made, test="closed", test_train_ratio=0.25)
    several = [(0, 1), (4, 5, 6)]
    for node in several:
        alone = closed_best([made[i].scores for i in node], test_train_ratio=0.25).pvalue
        decision = next(d for d in record.decisions if {m.trial_id for m in d.members}
                        == {made[i].trial_id for i in node})  # fmt: skip
        shared = {m.trial_id: m.pvalue for m in decision.members}
        for i, pvalue in zip(node, alone, strict=True):
            assert pvalue - 1e-12 <= shared[made[i].trial_id] <= 5 * pvalue


def test_a_node_counts_the_candidates_that_were_not_promoted():
    made = candidates(3, ("a",) * 6 + ("b", "c"), spread=0.3)
    record = select(made, test="paired", top_n=1, test_train_ratio=0.25)
    root = record.decisions[-1]
    _, raw = corrected_t_of_pairs([c.scores for c in made], test_train_ratio=0.25)
    adjusted = dict(zip(combinations((c.trial_id for c in made), 2), holm(raw), strict=True))
    assert len(root.members) == 3
    for member in root.members:
        if member.trial_id != root.best:
            pair = tuple(sorted((member.trial_id, root.best)))
            assert member.pvalue == pytest.approx(adjusted[pair])
    by_mcb = select(made, test="mcb", top_n=1, test_train_ratio=0.25).decisions[-1]
    few = select(
        [c for c in made if c.trial_id in {m.trial_id for m in root.members}],
        test="mcb",
        test_train_ratio=0.25,
    ).decisions[-1]
    alone = {m.trial_id: m.pvalue for m in few.members}
    assert all(m.pvalue >= alone[m.trial_id] for m in by_mcb.members)


@pytest.mark.parametrize("test", ["thesis", "friedman"])
def test_other_tests_divide_alpha_by_the_decisions_of_the_tree(test):
    made = candidates()
    record = select(made, test=test, alpha_split="tree", alpha=0.12)
    several = ("a/x=1/z=1", "a/x=1", "a", "b", "root")
    assert set(several) <= {decision.node for decision in record.decisions}
    assert {round(decision.alpha, 9) for decision in record.decisions} == {0.12 / len(several)}
    assert {decision.alpha for decision in select(made, test=test, alpha=0.12).decisions} == {0.12}


def test_only_what_may_be_split_is_split():
    made = candidates()
    split = ComparisonSettings("paired", alpha_split="tree")
    assert Multiplicity.of(made, split).alpha(0.05) == 0.05
    rest = Multiplicity.of(made, ComparisonSettings("thesis")).rest(("b",), made[4:6])
    assert (rest.beside, rest.further) == ((), ())
    with pytest.raises(SettingsError, match="needs one alpha"):
        select(made, test="paired", alpha={"leaf": 0.1}, alpha_split="tree")
    with pytest.raises(SettingsError, match="alpha_split must be one of level, tree"):
        select(made, test="paired", alpha_split="node")


@pytest.mark.parametrize("alpha_split", ["level", "tree"])
@pytest.mark.parametrize("test", PROCEDURES)
def test_every_way_survives_json_replays_and_is_recomputed(test, alpha_split):
    for seed in range(4):
        record = select(
            candidates(seed, spread=2.0), test=test, alpha_split=alpha_split, normality="lilliefors"
        )
        plain = json.loads(json.dumps(record.to_json(), allow_nan=False))
        assert SelectionRecord.from_json(plain) == record
        assert replay(record) == record.winner
        assert check_tree(plain) == []
        again = recomputed_decisions(plain["candidates"], plain["settings"])
        for ours, theirs in zip(plain["decisions"], again, strict=True):
            verdicts = [
                {m["trial_id"]: (m["verdict"], m["pvalue"]) for m in d["members"]}
                for d in (ours, theirs)
            ]
            assert verdicts[0].keys() == verdicts[1].keys()
            for trial_id, (verdict, pvalue) in verdicts[0].items():
                assert verdict == verdicts[1][trial_id][0]
                assert pvalue == pytest.approx(verdicts[1][trial_id][1])


@pytest.mark.parametrize("test", ["closed", "paired"])
def test_equal_candidates_are_dropped_by_a_test_as_seldom_as_stated(test):
    shares = {}
    for alpha_split in ("level", "tree"):
        records = [
            select(
                candidates(seed, ("a",) * 6 + ("b", "c"), spread=np.sqrt(0.1)),
                test=test,
                alpha_split=alpha_split,
                alpha=0.2,
                test_train_ratio=0.25,
            )
            for seed in range(150)
        ]
        shares[alpha_split] = {
            level: np.mean([bool(dropped(record, level)) for record in records])
            for level in ("leaf", "root", None)
        }
    bound = 0.2 + 1.96 * np.sqrt(0.2 * 0.8 / 150)
    assert max(shares["level"]["leaf"], shares["level"]["root"], shares["tree"][None]) < bound


def test_screening_drops_none_of_many_equal_trials():
    rng = np.random.default_rng(0)
    alpha = screening_alpha(0.05, 12, 5)
    assert alpha == pytest.approx(0.05 / 132)
    drops = [
        len(screen(rng.normal(size=(12, 5)), alpha=alpha, limit=12, test_train_ratio=0.25).kept)
        < 12
        for _ in range(100)
    ]
    assert np.mean(drops) < 0.1
    assert screening_alpha(0.05, 1, 5) == 0.05
    assert screening_alpha(0.05, 12, 4) == 0.0
