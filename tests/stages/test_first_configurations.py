"""What a search begins with: what it was given, what is learned, or what is written."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from automl.experience.data_set import DataSetFacts, Experience, KnownTrial
from automl.experience.harvest import data_set_facts
from automl.families.portfolio import whole_portfolio
from automl.families.registry import families, get_family
from automl.recommendation.methods import LEAST_DATA_SETS, WAYS
from automl.record_files import StageRecords
from automl.records import Configuration, Task, Trial, TrialStatus
from automl.run.search_spaces import space_of
from automl.settings import Settings
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.stages import first_configurations as module
from automl.stages.participation import all_failed, unkept_requests
from automl.stages.searching import votes_of

FAMILIES = ("lightgbm", "knn", "lda")


@pytest.fixture
def beginning(session_of, tmp_path):
    """Session of three families, knowing of some data sets."""

    def make(n_known=0, **settings):
        session = session_of(**settings)
        session.records = StageRecords(tmp_path / "stages")
        session.experience = tuple(known(f"data{i}") for i in range(n_known))
        return session

    return make


def known(name):
    """All three families are good, the dear one a little more; one trial is of another space."""
    lda = get_family("lda").space("classification")
    found = [
        (get_family("lightgbm").space("classification").complete({"num_leaves": 9}), 0.9, 100.0),
        (get_family("knn").space("classification").complete({"n_neighbors": 9}), 0.8, 0.1),
        (lda.default(), 0.5, 0.1),
        (lda.complete({"solver": "lsqr"}), 0.1, 0.1),
        (Configuration("knn", {"n_neighbors": "many"}), 1.0, 0.1),
        (Configuration("gone", {}), 1.0, 0.1),
    ]
    trials = tuple(KnownTrial(c, TrialStatus.COMPLETE, score, s, 5) for c, score, s in found)
    facts = DataSetFacts(name, f"f-{name}", f"l-{name}", Task.MULTICLASS, 100, 4, 3)
    return Experience(name, facts, "index", trials)


def opening(session, seen=()):
    found = module.opening_of(session, {name: families()[name] for name in FAMILIES})
    return list(iter(lambda: found.pop(seen), None))


def test_without_enough_known_data_sets_the_written_portfolio_follows_the_floors(beginning):
    found = opening(beginning(n_known=LEAST_DATA_SETS - 1))
    floors = [c.family for c, origin in found if origin == "floor"]
    assert floors == ["constant", "lightgbm", "stump"]
    written = {c.id for c in whole_portfolio("binary") if c.family in FAMILIES}
    assert {c.id for c, origin in found if origin == "portfolio"} <= written
    assert len(found) > 3


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_constant_and_a_stump_are_tried_in_every_run(session_of, tmp_path, task):
    session = session_of(task=task, families=["knn"], portfolio=False)
    session.records = StageRecords(tmp_path / "stages")
    found = module.opening_of(session, {"knn": get_family("knn")})
    floors = list(iter(lambda: found.pop(()), None))[:-1]  # the last is the default that was named
    assert [(c.family, origin) for c, origin in floors] == [
        ("constant", "floor"),
        ("stump", "floor"),
    ]
    for configuration, _ in floors:
        estimator = get_family(configuration.family).build(configuration, task=task)
        table = session.plan.table
        assert len(estimator.fit(table.frame, table.y).predict(table.frame)) == len(table)


@pytest.mark.parametrize(
    ("given", "first"), [({"trials": 9, "budget_seconds": None}, "lightgbm"), ({}, "knn")]
)
def test_the_learned_one_holds_every_family_and_under_a_time_budget_the_cheap_come_first(
    beginning, given, first
):
    found = opening(beginning(n_known=LEAST_DATA_SETS, warm_start="portfolio", **given))
    learned = [c for c, origin in found if origin == "knowledge"]
    assert {c.family for c in learned} == set(FAMILIES)
    assert learned[0].family == first
    assert len({c.id for c in learned}) == len(learned) == 3
    assert "many" not in [c.values.get("n_neighbors") for c in learned]


def test_a_narrowed_space_leaves_out_what_is_outside(beginning):
    spaces = {"knn": {"n_neighbors": {"high": 5}}}
    found = opening(beginning(n_known=LEAST_DATA_SETS, spaces=spaces))
    assert "knn" not in [c.family for c, origin in found if origin == "knowledge"]


def test_the_written_portfolio_is_prepared_as_the_settings_request(beginning):
    session = beginning(preprocessing={"variance": 0.01, "numeric_imputer": "median"})
    found = [c for c, origin in opening(session) if origin in ("portfolio", "floor")]
    assert len(found) > 5
    for configuration in found:
        space = space_of(session.plan, get_family(configuration.family), session.settings)
        assert space.is_legal(configuration) is None
        assert configuration.values["prep.variance"] == 0.01


def test_the_setting_leaves_both_out(beginning):
    found = opening(beginning(n_known=LEAST_DATA_SETS, portfolio=False))
    assert {origin for _, origin in found} == {"floor"}


def test_what_a_run_was_given_is_all_of_its_opening_also_when_it_is_continued(beginning):
    session = beginning()
    space = get_family("lda").space("classification")
    wanted = [space.default(), space.complete({"solver": "lsqr"})]
    assert module.given_configurations(session) == []
    module.give_configurations(session, wanted)
    assert opening(session) == [(configuration, "given") for configuration in wanted]
    assert module.given_configurations(session) == wanted
    module.give_configurations(session, [])
    assert opening(session) == []


def test_a_session_that_knows_nothing_has_an_opening(beginning):
    session = beginning()
    session.pool = SimpleNamespace(n_slots=1)
    assert opening(session)


def test_the_best_of_an_earlier_run_on_this_data_set_comes_before_any_portfolio(beginning):
    session = beginning()
    past = known("t-y")
    facts = data_set_facts(session.folder)
    version = replace(past, data=replace(facts, fingerprint="of other rows"))
    session.experience = (version,)
    found = opening(session)
    assert [(c.family, origin) for c, origin in found[3:6]] == [
        ("lightgbm", "past"),
        ("knn", "past"),
        ("lda", "past"),
    ]
    assert {origin for _, origin in found[6:]} == {"portfolio"}


def test_where_the_learned_portfolio_is_no_good_the_written_one_takes_its_place(beginning):
    session = beginning(n_known=LEAST_DATA_SETS)
    floor = Trial("r", 0, Configuration("a"), TrialStatus.COMPLETE, 1.0, origin="floor")
    poor = Trial("r", 1, Configuration("a"), TrialStatus.COMPLETE, 0.5, origin="knowledge")
    found = opening(session, [floor, *[poor] * 4])
    assert {origin for _, origin in found} == {"floor", "portfolio"}


@pytest.mark.parametrize(
    ("given", "first"), [({"trials": 9, "budget_seconds": None}, "lightgbm"), ({}, "knn")]
)
def test_by_default_what_is_expected_of_known_configurations_decides_by_second_under_a_time_budget(
    beginning, given, first
):
    session = beginning(n_known=LEAST_DATA_SETS, **given)
    assert session.settings.warm_start == "adaptive"
    learned = [c for c, origin in opening(session) if origin == "knowledge"]
    assert learned[0].family == first
    assert {c.family for c in learned} >= {"knn", "lightgbm"}


def test_a_family_of_which_nothing_is_known_is_not_left_behind(beginning):
    session = beginning(n_known=LEAST_DATA_SETS)
    taking_part = {name: families()[name] for name in (*FAMILIES, "ridge", "qda")}
    found = module.opening_of(session, taking_part)
    origins = [origin for _, origin in iter(lambda: found.pop(()), None)]
    assert origins[:7] == ["floor"] * 3 + ["knowledge", "default"] * 2
    assert origins.count("default") == 2


def test_a_family_of_which_nothing_is_known_begins_as_the_written_portfolio_has_it(beginning):
    session = beginning(LEAST_DATA_SETS)
    chosen = {name: families()[name] for name in (*FAMILIES, "tabular_network")}
    found = module.opening_of(session, chosen)
    tried = list(iter(lambda: found.pop(()), None))
    own = [(c, origin) for c, origin in tried if c.family == "tabular_network"]
    written = [c for c in whole_portfolio("classification") if c.family == "tabular_network"]
    assert {c.id for c, _ in own} == {c.id for c in written}
    assert [origin for _, origin in own] == ["default", "portfolio"]


@pytest.mark.parametrize("way", WAYS)
def test_what_other_data_sets_recommend_can_be_chosen_in_each_way(beginning, way):
    counted = {"trials": 9, "budget_seconds": None}
    session = beginning(n_known=LEAST_DATA_SETS, warm_start=way, **counted)
    session.experience = (*session.experience, unlike_the_others())
    found = opening(session)
    learned = [c for c, origin in found if origin == "knowledge"]
    assert 1 <= len({c.id for c in learned}) == len(learned) <= 4
    assert learned[0].family == "lightgbm"
    assert opening(session) == found


def test_a_way_that_needs_more_data_sets_than_are_known_says_so(beginning):
    session = beginning(n_known=2, warm_start="delta")
    session.warnings = []
    assert "knowledge" not in {origin for _, origin in opening(session)}
    assert (
        "setting warm_start: delta finds nothing to begin with: 10 known data sets"
        in session.warnings[0]
    )


def neighbors(session, *, agree):
    """What is known, of numbers of neighbors alone; where data sets do not agree every other is inverted."""
    spaces = get_family("knn").space("classification")
    many = [spaces.complete({"n_neighbors": n}) for n in range(1, 9)]

    def scored(one, sign):
        trials = [
            KnownTrial(c, TrialStatus.COMPLETE, 0.1 * sign * n, 1.0, 5) for n, c in enumerate(many)
        ]
        return replace(one, trials=tuple(trials))

    return tuple(
        scored(one, sign=1 if agree or i % 2 else -1) for i, one in enumerate(session.experience)
    )


def test_data_sets_that_contradict_each_other_recommend_nothing_and_the_run_says_so(beginning):
    session = beginning(n_known=LEAST_DATA_SETS)
    session.warnings = []
    session.experience = neighbors(session, agree=False)
    assert {origin for _, origin in opening(session)} == {"floor", "portfolio"}
    assert "the 10 known data sets do not agree" in session.warnings[0]
    session.experience = neighbors(session, agree=True)
    assert "knowledge" in {origin for _, origin in opening(session)}
    assert len(session.warnings) == 1


def test_a_vote_is_given_where_data_sets_agree_and_heard_until_they_misled(beginning):
    session = beginning(n_known=LEAST_DATA_SETS, blend=5.0)
    session.warnings, begun = [], SimpleNamespace(is_misled=False)
    encoder = ConfigurationEncoder(get_family("knn").space("classification")).fit()
    session.experience = neighbors(session, agree=False)
    assert votes_of(session, begun) is None
    assert session.warnings[0].startswith(
        "setting blend: there is no vote: the 10 known data sets do not"
    )
    session.experience = session.learnable = neighbors(session, agree=True)
    vote = votes_of(session, begun)(encoder)
    assert vote.is_heard()
    assert vote.k == 5.0
    begun.is_misled = True
    assert not vote.is_heard()


def unlike_the_others():
    """A data set on which nearest neighbors win by far; a tenth of what is known says so."""
    usual = known("unlike")
    trials = [
        replace(trial, score=2.0 if trial.configuration.family == "knn" else 0.0)
        for trial in usual.trials
    ]
    return replace(usual, trials=tuple(trials))


def test_the_most_similar_data_set_decides_where_nearest_ones_are_asked(beginning):
    session = beginning(n_known=LEAST_DATA_SETS, warm_start="nearest")
    session.records.write("meta_features", {"values": {"skew": 0.2, "entropy": 1.0}})

    def placed(one, skew):
        return replace(one, data=replace(one.data, meta_features={"skew": skew, "entropy": 1.0}))

    others = [placed(one, 5.0 + i) for i, one in enumerate(session.experience)]
    session.experience = (*others, placed(unlike_the_others(), 0.1))
    assert next(c.family for c, origin in opening(session) if origin == "knowledge") == "knn"
    session.experience = (*others, placed(unlike_the_others(), 50.0))
    assert next(c.family for c, origin in opening(session) if origin == "knowledge") == "lightgbm"


def test_the_setting_takes_the_ways_that_there_are_and_no_other():
    given = {"table": "t.csv", "target": "y"}
    assert [Settings(**given, warm_start=way).warm_start for way in WAYS] == list(WAYS)
    with pytest.raises(ValueError, match="did you mean 'adaptive'"):
        Settings(**given, warm_start="adaptve")


@pytest.mark.parametrize("settings", [{}, {"portfolio": False}, {"trials": 3, "seed": 1}])
def test_families_that_are_named_begin_with_their_defaults_the_cheap_first(beginning, settings):
    session = beginning(n_known=LEAST_DATA_SETS, families=FAMILIES, **settings)
    found = opening(session)
    named = [configuration for configuration, origin in found if origin == "default"]
    costs = [families()[c.family].relative_seconds(200, 1) for c in named]
    assert {c.family for c in named} == set(FAMILIES)
    assert costs == sorted(costs)
    origins = [origin for _, origin in found]
    assert "knowledge" not in origins[: origins.index("default") + len(named)]


def test_a_family_that_is_named_and_got_no_trial_is_told_with_its_reason(session_of):
    settings = session_of(families=("knn", "lda", "qda", "svm"), exclude=("svm",)).settings
    untried = {"knn": "no time", "ridge": "no time"}
    failed = {"lda": "ValueError: no", "ridge": "ValueError: no"}
    said = unkept_requests(settings, {}, {"qda": "qda has no estimator"}, untried, failed)
    assert said == [
        "setting families: knn got no trial: no time",
        "setting families: qda got no trial: qda has no estimator",
        "setting families: svm got no trial: exclude names it as well",
        "setting families: every trial of lda failed, the last one with: ValueError: no",
    ]


def test_only_families_of_which_nothing_but_failures_is_known_have_failed():
    def trial(family, status):
        return Trial("r", 0, Configuration(family), status, None, reason=f"{family} {status}")

    trials = [
        trial("svm", TrialStatus.FAILED),
        trial("lda", TrialStatus.FAILED),
        trial("lda", TrialStatus.RACED),
        trial("qda", TrialStatus.COMPLETE),
    ]
    assert all_failed(trials) == {"svm": "svm failed"}


def test_families_that_cannot_weight_classes_are_told_where_weights_are_asked_for(session_of):
    taking_part = {name: families()[name] for name in ("knn", "lightgbm", "svm")}
    plain = unkept_requests(session_of().settings, taking_part, {}, {}, {})
    said = unkept_requests(session_of(class_weight="balanced").settings, taking_part, {}, {}, {})
    assert plain == []
    assert said == [
        "setting class_weight: knn cannot weight classes; their models were trained without"
    ]
