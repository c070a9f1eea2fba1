"""What turns are given to: families one by one or as one space, with ladders that they can climb."""

import numpy as np
import pandas as pd
import pytest

from automl.errors import SettingsError
from automl.evaluation.plan import EvaluationPlan
from automl.families.registry import get_family
from automl.forecasts.timings import KnownTimings, Workload
from automl.home import RunFolder
from automl.optimizers.fidelities import FULL, fold_levels, iteration_levels, row_levels
from automl.records import Configuration, Trial, TrialStatus
from automl.run.preparation import prepare
from automl.settings import Settings
from automl.stages.arms import arms_of, drawn_at_random
from automl.surrogates.earlier_data import Sources

N = 900
KNOWN = KnownTimings(Workload(rows=720, columns=2))


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    frame["kind"] = np.where(frame["a"] > 0, "yes", "no")
    prepare(RunFolder(path), settings_of(), frame=frame)
    return EvaluationPlan(path)


def settings_of(**options):
    return Settings(table="frame", target="kind", folds=5, **options)


def arms(plan, *names, allocator="uniform", sources=None, votes=None, **options):
    families = {name: get_family(name) for name in names}
    settings = settings_of(allocator=allocator, **options)
    return arms_of(plan, settings, families, timings=KNOWN, sources=sources, votes=votes)


def test_each_family_has_an_arm_with_an_optimizer_of_its_own(plan):
    found = arms(plan, "knn", "svm", optimizer="tpe")
    assert list(found) == ["knn", "svm"]
    assert [arm.space.family for arm in found.values()] == ["knn", "svm"]
    assert {arm.optimizer_name for arm in found.values()} == {"tpe"}
    assert found["knn"].optimizer is not found["svm"].optimizer


def test_optimizers_that_divide_by_seconds_are_told_what_is_known_of_them(plan):
    per_cost = {"base": "smac", "acquisition": "ei_per_cost"}
    assert arms(plan, "knn", optimizer=per_cost)["knn"].optimizer._timings == KNOWN


def test_optimizers_across_data_sets_are_told_what_is_known_of_others(plan):
    def sources(encoder):
        n, d = (6 if encoder.spaces[0].family == "knn" else 0), len(encoder.feature_names)
        rows, task = np.zeros((n, d)), np.zeros(n, dtype=int)
        return Sources(rows, np.arange(n) - 2.5, task, np.zeros((1, 2)), np.zeros(2))

    composition = {"base": "fmlp", "surrogate": {"name": "factorized_perceptron", "n_members": 2}}
    found = arms(plan, "knn", "svm", optimizer=composition, sources=sources)
    assert found["knn"].optimizer._has_learned
    assert not found["svm"].optimizer._has_learned
    arms(plan, "knn", optimizer="tpe", sources=lambda _: pytest.fail("nobody learns from it"))


def test_joined_families_have_one_arm_that_knows_the_data(plan):
    found = arms(plan, "knn", "svm", allocator="cash")
    (arm,) = found.values()
    assert [part.family for part in arm.space.parts] == ["knn", "svm"]
    assert all(part.facts["n_rows"] == N for part in arm.space.parts)
    assert list(arms(plan, "knn", allocator="cash")) == ["knn"]


def test_cash_in_seconds_divides_the_expected_improvement_by_the_cost(plan):
    for allocator, is_divided in (("cash", False), ("cash_seconds", True)):
        (arm,) = arms(plan, "knn", "svm", allocator=allocator, optimizer="gp_prior").values()
        assert arm.optimizer._acquisition.needs_seconds is is_divided
        assert (arm.optimizer._timings == KNOWN) is is_divided
        assert arm.optimizer_name == "gp_prior"


def test_cash_in_seconds_keeps_the_options_of_the_acquisition(plan):
    optimizer = {"base": "gp_prior", "acquisition": {"name": "ei", "margin": 0.02}}
    (arm,) = arms(plan, "knn", "svm", allocator="cash_seconds", optimizer=optimizer).values()
    assert arm.optimizer._acquisition.margin == 0.02


@pytest.mark.parametrize(
    ("fidelity", "names", "expected"),
    [
        ("auto", ["knn"], fold_levels(5)),
        ("rows", ["knn"], row_levels(720)),
        ("iterations", ["lightgbm"], iteration_levels()),
        ("iterations", ["knn"], row_levels(720)),
        ("iterations", ["lightgbm", "knn"], row_levels(720)),
    ],
)
def test_the_ladder_is_one_that_all_families_of_an_arm_can_climb(plan, fidelity, names, expected):
    found = arms(plan, *names, allocator="cash", optimizer="hyperband", fidelity=fidelity)
    (arm,) = found.values()
    assert arm.optimizer._levels == expected
    assert expected[-1] == FULL


def test_optimizers_with_a_surrogate_are_given_the_vote_on_their_own_encoding(plan):
    seen = []

    def votes(encoder):
        seen.append((encoder.spaces[0].family, encoder.form))

    arms(plan, "knn", "svm", optimizer="gbqr", votes=votes)
    assert seen == [("knn", "onehot"), ("svm", "onehot")]
    arms(plan, "knn", optimizer="tpe", votes=votes)
    assert len(seen) == 2


PLAIN = {"knn": {"n_neighbors": {"low": 1, "high": 20}}}
BELL = {
    "knn": {
        "n_neighbors": {
            "type": "lognormal",
            "mean": 2.0,
            "sd": 0.5,
            "low": 1,
            "high": 50,
            "integer": True,
        }
    }
}


def test_an_optimizer_that_draws_from_priors_is_refused_where_no_number_has_one(plan):
    for options in ({}, {"spaces": PLAIN}, {"priors": "learned"}):
        with pytest.raises(SettingsError, match="without them it is random search"):
            arms(plan, "knn", "svm", optimizer="parametric", **options)
    found = arms(plan, "knn", "svm", optimizer="parametric", spaces=BELL)
    assert found.keys() == {"knn", "svm"}


def test_families_that_it_drew_from_without_priors_are_named(plan):
    families = {name: get_family(name) for name in ("knn", "svm", "lda")}

    def said(origin, optimizer="parametric", spaces=BELL):
        settings = settings_of(optimizer=optimizer, spaces=spaces)
        drawn = ("svm", origin), ("knn", origin), ("lda", "default")
        trials = [
            Trial("run", i, Configuration(name, {}), TrialStatus.FAILED, None, origin=where)
            for i, (name, where) in enumerate(drawn)
        ]
        return drawn_at_random(plan, settings, families, trials)

    assert said("parametric") == ["optimizer parametric drew at random, without priors: svm"]
    assert said("default") == []
    assert said("tpe", optimizer="tpe") == []
