"""Selection over the levels of the tree (B14, algorithms 2 and 3)."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.records import Configuration
from automl.selection.clusters import Candidate
from automl.selection.comparison_settings import ComparisonSettings
from automl.selection.comparison_with_best import compare_with_best
from automl.selection.levels import replay, select
from automl.selection.selection_records import SelectionRecord

PROCEDURES = ("thesis", "closed", "paired", "friedman")


def make(trial_id, family, path, mean, seed=0, *, noise=0.02, n=30, **options):
    rng = np.random.default_rng([seed, len(trial_id), *trial_id.encode()])
    scores = mean + noise * rng.normal(size=n)
    return Candidate(
        trial_id, Configuration(family, {"id": trial_id}, path), tuple(scores), **options
    )


def tree(seed=0):
    rbf, linear = ("kernel=rbf",), ("kernel=linear",)
    return [
        make("s1", "svm", rbf, 0.80, seed),
        make("s2", "svm", rbf, 0.80, seed),
        make("s3", "svm", rbf, 0.60, seed),
        make("s4", "svm", linear, 0.70, seed),
        make("k1", "knn", (), 0.79, seed),
        make("k2", "knn", (), 0.50, seed),
        make("r1", "ridge", (), 0.65, seed),
    ]


@pytest.mark.parametrize("test", PROCEDURES)
def test_the_clearly_best_wins_and_every_drop_is_explained(test):
    made = [*tree(), make("top", "knn", (), 0.95)]
    record = select(made, test=test)
    assert record.winner == "top"
    found = record.dispositions
    assert set(found) == {candidate.trial_id for candidate in made}
    assert found["s3"].status == "worse"
    assert found["s3"].node == "svm/kernel=rbf"
    assert found["s3"].pvalue < 0.05
    assert found["s4"].node == "svm"
    assert found["r1"].node == "root"
    assert all(value.reason for value in found.values())


def test_decisions_run_from_the_leaves_to_the_root():
    record = select(tree())
    nodes = [(decision.node, str(decision.level)) for decision in record.decisions]
    assert nodes == [
        ("svm/kernel=rbf", "leaf"),
        ("svm/kernel=linear", "leaf"),
        ("svm", "family"),
        ("knn", "leaf"),
        ("ridge", "leaf"),
        ("root", "root"),
    ]


def test_deeper_branches_are_categories():
    made = [
        make("a", "svm", ("kernel=poly", "mode=x"), 0.8),
        make("b", "svm", ("kernel=poly", "mode=y"), 0.8),
        make("c", "svm", ("kernel=rbf",), 0.8),
    ]
    levels = {d.node: str(d.level) for d in select(made).decisions}
    assert levels["svm/kernel=poly"] == "category"
    assert levels["svm"] == "family"


def test_a_passage_with_one_branch_makes_no_decision():
    made = [make("a", "svm", ("kernel=rbf",), 0.8), make("b", "knn", (), 0.8)]
    assert [d.node for d in select(made).decisions] == ["svm/kernel=rbf", "knn", "root"]


def test_top_n_limits_each_level():
    made = [make(f"k{i}", "knn", (), 0.8) for i in range(6)]
    record = select(made, top_n={"leaf": 4, "root": 2})
    assert len(record.decisions[0].promoted) == 4
    assert len(record.finalists) == 2
    statuses = [value.status for value in record.dispositions.values()]
    assert sorted(statuses) == ["finalist", *["outranked"] * 4, "winner"]


def test_alpha_by_level_changes_who_is_kept():
    made = [make("a", "knn", (), 0.800), make("b", "knn", (), 0.785)]
    pvalue = select(made, alpha=0.5).decisions[0].members[-1].pvalue
    assert pvalue is not None
    strict = select(made, alpha={"leaf": pvalue * 0.9, "root": 0.0001})
    loose = select(made, alpha={"leaf": min(pvalue * 1.1, 0.9), "root": 0.0001})
    assert len(strict.decisions[0].promoted) == 2
    assert len(loose.decisions[0].promoted) == 1


@pytest.mark.parametrize("test", PROCEDURES)
def test_the_record_survives_json_and_replays_its_winner(test):
    record = select(tree(3), test=test, criteria={"generalization": 1, "simplicity": 1})
    copy = SelectionRecord.from_json(json.loads(json.dumps(record.to_json(), allow_nan=False)))
    assert copy == record == pickle.loads(pickle.dumps(record))
    assert replay(copy) == record.winner == record.to_json()["winner"]


@given(seed=st.integers(0, 500), test=st.sampled_from(PROCEDURES))
@settings(max_examples=15, deadline=None)
def test_the_order_of_the_candidates_does_not_matter(seed, test):
    made = tree(seed)
    order = np.random.default_rng(seed).permutation(len(made))
    first, second = select(made, test=test), select([made[i] for i in order], test=test)
    assert first.winner == second.winner
    assert {k: v.status for k, v in first.dispositions.items()} == {
        k: v.status for k, v in second.dispositions.items()
    }


@pytest.mark.parametrize("test", PROCEDURES)
def test_degenerate_scores_keep_all(test):
    same = [make(name, "knn", (), 0.8, noise=0.0) for name in "ab"]
    assert len(select(same, test=test).finalists) == 2
    assert select(same[:1], test=test).winner == "a"
    single = [make(name, "knn", (), mean, n=1) for name, mean in (("a", 0.1), ("b", 0.9))]
    record = select(single, test=test)
    assert record.winner == "b"
    assert record.decisions[0].tests == ()


def test_constant_but_different_scores_go_the_rank_way():
    made = [make("a", "knn", (), 0.8, noise=0.0), make("b", "knn", (), 0.7, noise=0.0)]
    record = select(made)
    assert record.dispositions["b"].status == "worse"
    assert record.decisions[0].post_hoc == "Nemenyi"
    json.dumps(record.to_json(), allow_nan=False)


def test_simpler_models_win_among_equals_if_asked():
    complex_one = make("a", "knn", (), 0.800, simplicity=0.1)
    simple_one = make("b", "ridge", (), 0.799, simplicity=0.9)
    assert select([complex_one, simple_one], criteria={"simplicity": 1}).winner == "b"


@pytest.mark.parametrize("normality", ["kolmogorov_smirnov", "lilliefors"])
def test_the_procedure_is_parametric_only_where_neither_assumption_is_rejected(normality):
    rng = np.random.default_rng(0)
    normal = [rng.normal(i, 1, 30) for i in (0.0, 2.0)]
    skewed = [rng.exponential(1, 30) ** 3 + i for i in (0.0, 9.0)]
    spread = [rng.normal(0, 1, 30), rng.normal(30, 9, 30)]
    how = ComparisonSettings(normality=normality)
    assert compare_with_best(normal, 0.05, how).post_hoc == "Tukey"
    assert compare_with_best(skewed, 0.05, how).post_hoc == "Nemenyi"
    assert compare_with_best(spread, 0.05, how).post_hoc == "Nemenyi"
    names = [test.name for test in compare_with_best(normal, 0.05, how).tests]
    assert names[1:] == ["Bartlett", "ANOVA"]


def test_an_omnibus_test_that_is_not_significant_keeps_all():
    rng = np.random.default_rng(1)
    result = compare_with_best([rng.normal(size=30) for _ in range(5)], 0.01, ComparisonSettings())
    assert all(result.kept)
    assert result.post_hoc == ""


def test_unusable_candidates_and_settings_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        select([])
    with pytest.raises(ValueError, match="distinct"):
        select([make("a", "knn", (), 0.1), make("a", "knn", (), 0.1)])
    with pytest.raises(ValueError, match="same folds"):
        select([make("a", "knn", (), 0.1), make("b", "knn", (), 0.1, n=3)])
    with pytest.raises(ValueError, match="finite"):
        select([make("a", "knn", (), np.nan)])
    for options in ({"alpha": 0}, {"top_n": 0}, {"test": "coin"}, {"alpha": {"twig": 0.1}}):
        with pytest.raises(SettingsError):
            select([make("a", "knn", (), 0.1)], **options)
