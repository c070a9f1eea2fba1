"""A setting that has no effect beside the others is refused where somebody gave it."""

import pytest
from hypothesis import given as given_by
from hypothesis import strategies as st

from automl.errors import SettingsError
from automl.settings import Settings
from automl.settings.all_settings import accounts
from automl.settings.idle import idle_settings
from automl.settings.presets import PRESETS
from automl.settings.sources import resolve_settings

TABLE = {"table": "sklearn:iris", "target": "target"}
HALVES = {"data_mode": "halves", "ensemble": "none"}
IDLE = [
    ({"families": ["lda", "svm"], "exclude": ["knn"]}, "exclude"),
    ({"normality": "lilliefors"}, "normality"),
    ({"normality": "kolmogorov_smirnov", "selection_test": "friedman"}, "normality"),
    ({"candidate_limit": 5, "selection_test": "thesis"}, "candidate_limit"),
    ({"candidate_limit": 5, "preset": "thesis"}, "candidate_limit"),
    ({"ensemble": "none", "ensemble_combine": "vote"}, "ensemble_combine"),
    ({"ensemble": "none", "ensemble_alpha": 0.1}, "ensemble_alpha"),
    ({"preset": "thesis", "ensemble_members": 3}, "ensemble_members"),
    ({"ensemble": "stacking", "ensemble_members": 2}, "ensemble"),
    ({"layers": 2, "ensemble_members": 2}, "layers"),
    ({"ensemble": "none", "ensemble_calibration": True}, "ensemble_calibration"),
    ({"ensemble_combine": "vote", "ensemble_calibration": True}, "ensemble_calibration"),
    ({"stack_features": True}, "stack_features"),
    ({"stack_features": True, "ensemble": "agnostic_bayes", "layers": 1}, "stack_features"),
    ({"layers": 1, "ensemble": "stacking"}, "layers"),
    ({"layers": 2, "ensemble": "stacking"}, "layers"),
    ({"beta": 2.0, "task": "regression"}, "beta"),
    ({"target_bins": 5, "task": "binary"}, "target_bins"),
    ({"target_bins": 5, "time": "day"}, "target_bins"),
    ({"halves": "bootstrap"}, "halves"),
    ({"search_share": 0.7}, "search_share"),
    ({**HALVES, "halves": "all", "search_share": 0.7}, "search_share"),
    ({**HALVES, "final": "bag"}, "final"),
    ({"preset": "thesis", "bag_up_to_rows": 100}, "bag_up_to_rows"),
    ({"final": "refit", "bag_up_to_rows": 100}, "bag_up_to_rows"),
    ({**HALVES, "keep_models": True}, "keep_models"),
    ({"lookback": 2}, "lookback"),
    ({"decision": "given", "task": "multiclass"}, "decision"),
    ({"decision": "learned", "task": "regression", "preset": "thesis"}, "decision"),
    ({"adapt_folds": True, "trials": 9}, "adapt_folds"),
    ({"adapt_folds": True, "trials": 9, "preset": "thesis"}, "adapt_folds"),
    ({"cost_aware": True}, "cost_aware"),
    ({"cost_aware": True, "budget_seconds": 60}, "cost_aware"),
    ({"trials": 9, "reserve": 0.4}, "reserve"),
    ({"warm_start": "delta", "portfolio": False}, "warm_start"),
    ({"warm_start": "nearest", "experience": False}, "warm_start"),
    ({"blend": 5.0, "experience": False}, "blend"),
    ({"priors": "learned", "experience": False}, "priors"),
    ({"exclude_experience": ["iris"], "experience": False}, "exclude_experience"),
    ({"fidelity": "rows", "optimizer": "random"}, "fidelity"),
    ({"blend": 5.0, "optimizer": "tpe"}, "blend"),
    ({"trust": True}, "trust"),
    ({"rope": 0.02}, "rope"),
    ({"candidate_scores": 40, "candidate_repeats": 2}, "candidate_scores"),
    ({"candidate_scores": 40, "time": "day"}, "candidate_scores"),
    ({"promotion": "superior", "challenge": False}, "promotion"),
    ({"promotion_margin": 0.1, "challenge": False}, "promotion_margin"),
    ({"promotion_margin": 0.1, "promotion": "superior"}, "promotion_margin"),
    ({"promotion_alpha": 0.1, "promotion": "always"}, "promotion_alpha"),
]
EFFECTIVE = [
    {"families": ["lda", "svm"], "exclude": ["svm"]},
    {"exclude": ["svm"]},
    {"normality": "lilliefors", "selection_test": "thesis"},
    {"normality": "lilliefors", "preset": "thesis"},
    {"criteria": {"speed": 0.5, "generalization": 1}, "trials": 9},
    {"criteria": {"speed": 0.5, "generalization": 1}, "trials": 9, "cost_aware": True},
    {"target_bins": 5},
    {"decision": "given"},
    {"decision": "learned", "preset": "thesis"},
    {"adapt_folds": True, "preset": "thesis"},
    {"adapt_folds": False, "trials": 9},
    {"target_bins": 5, "task": "regression"},
    {"search_repeats": 3},
    {"preset": "best", "ensemble_members": 2},
    {"ensemble": "stacking", "ensemble_members": 3},
    {"beta": 0.5},
    {"stack_features": True, "layers": 2},
    {"stack_features": True, "ensemble": "stacking"},
    {"stack_features": False},
    {"warm_start": "order"},
    {"blend": 5.0, "optimizer": "gbqr"},
    {"fidelity": "rows", "optimizer": "hyperband"},
    {**HALVES, "search_share": 0.7},
    {"preset": "thesis", "halves": "bootstrap"},
    {"trials": 9, "budget_seconds": 60, "reserve": 0.4, "lookback": 2},
]


@pytest.mark.parametrize(("given", "name"), IDLE)
def test_one_that_is_given_without_an_effect_is_refused(given, name):
    with pytest.raises(SettingsError, match=f"^setting {name}: .* has no effect: ") as caught:
        resolve_settings({**TABLE, **given}, environment={})
    assert (caught.value.setting, caught.value.exit_code) == (name, 2)
    resolve_settings({**TABLE, **given}, environment={}, allows_idle=True)


@pytest.mark.parametrize("given", EFFECTIVE)
def test_one_that_has_an_effect_or_is_switched_off_is_not(given):
    resolve_settings({**TABLE, **given}, environment={})


@given_by(
    preset=st.sampled_from(sorted(PRESETS)),
    given=st.fixed_dictionaries(
        {},
        optional={
            "trials": st.just(9),
            "final": st.just("refit"),
            "selection_test": st.sampled_from(["thesis", "paired", "bayesian"]),
            "optimizer": st.sampled_from(["random", "esmbo"]),
        },
    ),
)
def test_what_a_preset_or_a_default_says_is_never_refused(preset, given):
    resolve_settings({**TABLE, "preset": preset, **given}, environment={})


def test_a_file_or_the_environment_may_repeat_what_holds_anyway(tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text("normality: kolmogorov_smirnov\nensemble_alpha: 0.8\nensemble: none\n")
    resolve_settings(TABLE, file=file, environment={"AUTOML_LOOKBACK": "4"})
    with pytest.raises(SettingsError, match="setting lookback: '3' has no effect"):
        resolve_settings(TABLE, file=file, environment={"AUTOML_LOOKBACK": "3"})
    file.write_text("normality: lilliefors\n")
    with pytest.raises(SettingsError, match="setting normality: 'lilliefors' has no effect"):
        resolve_settings(TABLE, file=file, environment={})


def test_all_settings_of_a_run_can_be_given_again_in_a_file(tmp_path):
    for preset in PRESETS:
        settings = resolve_settings({**TABLE, "preset": preset, "trials": 5}, environment={})
        file = tmp_path / "settings.yaml"
        file.write_text(settings.model_dump_json(exclude_none=True))
        assert resolve_settings({}, file=file, environment={}) == settings


def test_every_setting_with_a_condition_is_here():
    assert {name for name, account in accounts().items() if account.idle} == {
        name for _, name in IDLE
    }


def test_every_rule_is_about_settings_that_there_are():
    names = {name for _, name in IDLE}
    assert names <= set(Settings.model_fields)
    for given, _ in IDLE:
        settings = resolve_settings({**TABLE, **given}, environment={}, allows_idle=True)
        names -= set(idle_settings(settings))
    assert not names
