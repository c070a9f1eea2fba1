"""Reviewed allow-list: which types a stored estimator may contain, beyond those that skops trusts by itself.

skops reads the list of types from the file, so the file cannot vouch for itself: this list is code, and what is not in it is refused.
Every entry is a plain container of numbers, texts and other entries, without effects when it is constructed.
"""

from __future__ import annotations

_OWN = "automl.estimators."
_KERNELS = tuple(
    f"sklearn.gaussian_process.kernels.{name}"
    for name in (
        "ConstantKernel",
        "DotProduct",
        "Matern",
        "Product",
        "RBF",
        "RationalQuadratic",
        "Sum",
        "WhiteKernel",
    )
)
_NEIGHBORS = (
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neighbors._ball_tree.BallTree",
    *(
        f"sklearn.metrics._dist_metrics.{name}Distance64"
        for name in ("Chebyshev", "Euclidean", "Manhattan", "Minkowski")
    ),
)
_TREE = ("sklearn.tree._tree.Tree",)
_NETWORK = tuple(
    f"sklearn.neural_network._stochastic_optimizers.{name}"
    for name in ("AdamOptimizer", "SGDOptimizer")
)
_TARGET = (f"{_OWN}targets.StandardizedTarget",)

PREPROCESSOR_TYPES = frozenset(
    f"automl.preprocessing.{name}"
    for name in (
        "encoding.Encoder",
        "filtering.VarianceFilter",
        "imputation.Imputer",
        "pipeline.TablePreprocessor",
        "reduction.Reducer",
        "scaling.Scaler",
    )
)

_BY_CLASS: dict[str, tuple[str, ...]] = {
    f"{_OWN}adaboost.BoostedTreesClassifier": _TREE,
    f"{_OWN}adaboost.BoostedTreesRegressor": _TREE,
    f"{_OWN}boosting.LightGBMClassifier": (),
    f"{_OWN}boosting.LightGBMRegressor": (),
    f"{_OWN}centroid.NearestCentroidClassifier": (),
    f"{_OWN}discriminants.QuadraticDiscriminant": (),
    f"{_OWN}extreme_boosting.XGBoostClassifier": (),
    f"{_OWN}extreme_boosting.XGBoostRegressor": (),
    f"{_OWN}gaussian_process.KernelClassifier": (
        *_KERNELS,
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    ),
    f"{_OWN}gaussian_process.KernelRegressor": _KERNELS,
    f"{_OWN}margins.CalibratedMargin": (),
    f"{_OWN}neighbors.NearestRowsClassifier": _NEIGHBORS,
    f"{_OWN}neighbors.NearestRowsRegressor": _NEIGHBORS,
    f"{_OWN}neighbors.RadiusRowsClassifier": _NEIGHBORS,
    f"{_OWN}neighbors.RadiusRowsRegressor": _NEIGHBORS,
    f"{_OWN}networks.PerceptronClassifier": _NETWORK,
    f"{_OWN}networks.PerceptronRegressor": (*_NETWORK, *_TARGET),
    f"{_OWN}oblivious_boosting.CatBoostEarlyClassifier": (),
    f"{_OWN}oblivious_boosting.CatBoostEarlyRegressor": (),
    f"{_OWN}perceptron.TwoLayerPerceptronClassifier": (),
    f"{_OWN}perceptron.TwoLayerPerceptronRegressor": (),
    f"{_OWN}support_vectors.FeasibleNuSVC": (),
    f"{_OWN}targets.StandardizedTarget": (*_TREE, *_NEIGHBORS, *_NETWORK),
    "xgboost.sklearn.XGBClassifier": (),
    "xgboost.sklearn.XGBRegressor": (),
}

_SKLEARN_PACKAGES: dict[str, tuple[str, ...]] = {
    "sklearn.tree": _TREE,
    "sklearn.ensemble": (
        *_TREE,
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    ),
    "sklearn.neighbors": _NEIGHBORS,
    "sklearn.neural_network": _NETWORK,
    "sklearn.gaussian_process": (
        *_KERNELS,
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    ),
}


def class_name(value: object) -> str:
    """``module.Class`` of an object."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def trusted_types(name: str) -> frozenset[str]:
    """Types that a stored estimator of the class ``module.Class`` may contain.

    Empty, beyond what skops trusts by itself, for classes that are not reviewed.
    """
    if name in _BY_CLASS:
        return frozenset((name, *_BY_CLASS[name]))
    package = ".".join(name.split(".")[:2])
    return frozenset(_SKLEARN_PACKAGES.get(package, ()))
