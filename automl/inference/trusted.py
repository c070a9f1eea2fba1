"""Reviewed allow-list: which types a stored model may contain, beyond those that skops trusts by itself.

skops reads the list of types from the file, so the file cannot vouch for itself: this list is code, and what is not in it is refused.
Every entry is a plain container of numbers, texts and other entries, without effects when it is constructed. There is one list for
all families, since estimators hold each other (a calibrated margin any classifier, a standardized target any
regressor), and since a file says itself which family it is of.
"""

from __future__ import annotations

_REVIEWED: dict[str, tuple[str, ...]] = {
    "automl.estimators.adaboost": ("BoostedTreesClassifier", "BoostedTreesRegressor"),
    "automl.estimators.boosting": ("LightGBMClassifier", "LightGBMRegressor"),
    "automl.estimators.centroid": ("NearestCentroidClassifier",),
    "automl.estimators.discriminants": ("QuadraticDiscriminant",),
    "automl.estimators.extreme_boosting": ("XGBoostClassifier", "XGBoostRegressor"),
    "automl.estimators.gaussian_process": ("KernelClassifier", "KernelRegressor"),
    "automl.estimators.margins": ("CalibratedMargin",),
    "automl.estimators.neighbors": (
        "NearestRowsClassifier",
        "NearestRowsRegressor",
        "RadiusRowsClassifier",
        "RadiusRowsRegressor",
    ),
    "automl.estimators.networks": ("PerceptronClassifier", "PerceptronRegressor"),
    "automl.estimators.oblivious_boosting": ("CatBoostEarlyClassifier", "CatBoostEarlyRegressor"),
    "automl.estimators.perceptron": (
        "TwoLayerPerceptronClassifier",
        "TwoLayerPerceptronRegressor",
    ),
    "automl.estimators.support_vectors": ("FeasibleNuSVC",),
    "automl.estimators.tabular_network": ("TabularNetworkClassifier", "TabularNetworkRegressor"),
    "automl.estimators.targets": ("StandardizedTarget",),
    "automl.preprocessing.encoding": ("Encoder",),
    "automl.preprocessing.filtering": ("VarianceFilter",),
    "automl.preprocessing.imputation": ("Imputer",),
    "automl.preprocessing.pipeline": ("TablePreprocessor",),
    "automl.preprocessing.reduction": ("Reducer",),
    "automl.preprocessing.scaling": ("Scaler",),
    "automl.preprocessing.texts": ("TextEncoder",),
    "automl.preprocessing.value_counts": ("ValueCounts",),
    "catboost.core": ("CatBoostClassifier", "CatBoostRegressor"),
    "collections": ("OrderedDict",),
    "lightgbm.sklearn": ("LGBMClassifier", "LGBMRegressor"),
    "sklearn.calibration": ("_CalibratedClassifier", "_SigmoidCalibration"),
    "sklearn.ensemble._hist_gradient_boosting.predictor": ("TreePredictor",),
    "sklearn.gaussian_process._gpc": ("_BinaryGaussianProcessClassifierLaplace",),
    "sklearn.gaussian_process.kernels": (
        "ConstantKernel",
        "DotProduct",
        "Matern",
        "Product",
        "RBF",
        "RationalQuadratic",
        "Sum",
        "WhiteKernel",
    ),
    "sklearn.metrics._dist_metrics": (
        "ChebyshevDistance64",
        "EuclideanDistance64",
        "ManhattanDistance64",
        "MinkowskiDistance64",
    ),
    "sklearn.neighbors._ball_tree": ("BallTree",),
    "sklearn.neighbors._kd_tree": ("KDTree",),
    "sklearn.neural_network._stochastic_optimizers": ("AdamOptimizer", "SGDOptimizer"),
    "sklearn.tree._tree": ("Tree",),
    "sklearn.utils._bunch": ("Bunch",),
    "xgboost.sklearn": ("XGBClassifier", "XGBRegressor"),
}

TRUSTED_TYPES = frozenset(
    f"{module}.{name}" for module, names in _REVIEWED.items() for name in names
)


def class_name(value: object) -> str:
    """``module.Class`` of an object."""
    return f"{type(value).__module__}.{type(value).__qualname__}"
