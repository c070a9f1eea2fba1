"""Names that the search for dead code does not see used, and who uses them.

The list of names that `vulture` takes for used; every other name without a use is an error.
"""

from __future__ import annotations

# Classes that families name in their files.
_.BoostedTreesClassifier, _.BoostedTreesRegressor
_.CatBoostEarlyClassifier, _.CatBoostEarlyRegressor
_.FeasibleNuSVC
_.KernelClassifier, _.KernelRegressor
_.LightGBMClassifier, _.LightGBMRegressor
_.NearestCentroidClassifier
_.NearestRowsClassifier, _.NearestRowsRegressor
_.PerceptronClassifier, _.PerceptronRegressor
_.QuadraticDiscriminant
_.RadiusRowsClassifier, _.RadiusRowsRegressor
_.TabularNetworkClassifier, _.TabularNetworkRegressor
_.TwoLayerPerceptronClassifier, _.TwoLayerPerceptronRegressor
_.XGBoostClassifier, _.XGBoostRegressor
_.ForestClassifier, _.ForestRegressor, _.BlendedBoostingRegressor

# Methods of benchmarks by their names.
_.forest

# Jobs of workers and stages of the table, which are named "module:function".
_.fit_folds, _.evaluate_stack, _.fit_stack_folds, _.refit_stack
_.find_candidates, _.select_champion, _.build_ensemble
_.estimate, _.build_final, _.decide_promotion, _.make_result, _.make_report

# What other libraries call or read.
_.after_iteration, _.evals_log
(
    _.estimator_type,
    _.regressor_tags,
    _.classifier_tags,
    _.non_deterministic,
    _.allow_nan,
    _.categorical,
    _.required,
    _.N_CHAR_MAX,
    _.n_iter_,
    _.var_smoothing,
)
(
    _.showwarning,
    _.tempdir,
    _.raiseExceptions,
    _.disabled,
    _.format_options,
    _.yaml_implicit_resolvers,
    _.MAX_RETRY_COUNT,
)
_.pycache_prefix, _.dont_write_bytecode
_.task_run_id, _.total_run_time, _.state_id, _.state_name, _.state_type
_.__getattr__, _.set_times, _._load_pyfunc, _.maximize

# What users call or read: attributes of the estimator, registration, baselines that the documents define.
_.result_, _.run_id_, _.leaderboard_
_.register_metric, _.of_many, _.forget_families, _.oracle_start

# Fields of records that are read as JSON.
_.median_seconds, _.raced, _.tells_preprocessing
_.n_library, _.champion_score, _.difference_standard_error, _.complete_trials, _.reproducible
_.notices, _.best_trial, _.cluster_size, _.cluster_best, _.naive_low, _.naive_high, _.equivalent
_.created_at, _.data_digest

# Estimators that the family file of a benchmark names.
_.AdditiveSplinesClassifier, _.AdditiveSplinesRegressor

# Attributes of sys that a benchmark sets.
_.pycache_prefix, _.dont_write_bytecode

# What the template of pages and notebooks read.
_.is_folded, _._repr_html_, _.language, _.subtitle, _.sections, _.footer
