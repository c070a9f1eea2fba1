"""Settings of the final model: a blend or one model, and what it is made of."""

from __future__ import annotations

from typing import ClassVar

from automl.alternatives import FinalKind
from automl.inference.combinations import Combine
from automl.settings.fields import Idle, Option, Section, setting
from automl.settings.names import ENSEMBLE_NAMES, NO_ENSEMBLE, is_second_layer

LEAST_WITH_LAYERS = 3
"""Members of an ensemble of two layers: two models, and one that learns from them."""

_NONE = Idle(lambda s: s.ensemble == NO_ENSEMBLE, "there is no ensemble; choose one with ensemble")
_TOO_SMALL = Idle(
    lambda s: s.has_second_layer and (s.ensemble_members or LEAST_WITH_LAYERS) < LEAST_WITH_LAYERS,
    "a second layer needs three members: two models and one that learns from them; give "
    "ensemble_members 3 or more",
)


class Ensemble(Section):
    """Composition of the final model."""

    title: ClassVar[str] = "The final model"

    ensemble: str = setting(
        "greedy",
        help="How models are blended, or none",
        more="stacking: only second-layer models",
        option=Option(metavar="NAME"),
        presets={"thesis": NO_ENSEMBLE},
        idle=(_TOO_SMALL,),
        names=ENSEMBLE_NAMES,
    )
    ensemble_combine: Combine = setting(
        "mean",
        help="How members' predictions become one",
        more="mean of probabilities or values, median of values, vote of classes",
        idle=(_NONE,),
    )
    ensemble_calibration: bool = setting(
        True,
        help="Calibrate a blend's probabilities if that scores better out of fold",
        more="for classes whose probabilities are averaged",
        idle=(
            _NONE,
            Idle(
                lambda s: s.ensemble_combine != "mean",
                "only means of probabilities are calibrated; give ensemble_combine mean",
            ),
        ),
    )
    ensemble_alpha: float = setting(
        0.8,
        help="The ensemble replaces the champion if the paired test's p-value is below this",
        more="at 0.5 its mean must be better; smaller values demand more evidence, greater ones evidence against it",
        idle=(_NONE,),
        gt=0,
        le=1,
    )
    ensemble_members: int | None = setting(
        None,
        help="Maximum number of members, including the inputs of a second layer",
        unit="members",
        usual="12; for agnostic_bayes the number of bootstraps",
        idle=(_NONE,),
        ge=1,
    )
    layers: int = setting(
        1,
        help="Layers of the ensemble",
        more="2: models that learn from the first layer's predictions may join",
        unit="layers",
        ge=1,
        le=2,
        presets={"best": 2},
        idle=(
            _NONE,
            _TOO_SMALL,
            Idle(
                lambda s: is_second_layer(s.ensemble),
                "ensemble stacking always has two layers",
            ),
        ),
    )
    stack_features: bool = setting(
        False,
        help="The second layer also sees the columns of the table",
        idle=(
            Idle(
                lambda s: not s.has_second_layer,
                "there is no second layer; give layers 2 or ensemble stacking",
            ),
        ),
    )
    final: FinalKind = setting(
        "bag_and_refit",
        help="A bag of the fold models, one model refitted on all rows, or both as far as time allows",
        presets={"thesis": "refit", "fast": "refit"},
        idle=(
            Idle(
                lambda s: s.final != "refit" and s.data_mode == "halves",
                "with data_mode halves the final model is always refitted on all rows; give final refit",
            ),
        ),
    )
    bag_up_to_rows: int = setting(
        20_000,
        help="Above this many rows one refitted model replaces the bag",
        unit="rows",
        presets={"best": 1_000_000},
        idle=(
            Idle(
                lambda s: s.final == "refit" or s.data_mode == "halves",
                "the final model is never a bag; that needs final bag and data_mode all",
            ),
        ),
        ge=0,
    )
    keep_models: bool = setting(
        False,
        help="Keep the fold models of the best trials, so that each can predict as RUN#TRIAL",
        option=Option(),
        idle=(
            Idle(
                lambda s: s.keep_models and s.data_mode == "halves",
                "with data_mode halves no fold models are kept; give data_mode all",
            ),
        ),
    )
    max_predict_ms: float | None = setting(
        None,
        help="Maximum milliseconds to predict one row",
        unit="milliseconds",
        option=Option(metavar="X"),
        gt=0,
    )

    @property
    def has_second_layer(self) -> bool:
        """Whether models that learn from other models' predictions may join the ensemble."""
        return is_second_layer(self.ensemble) or (self.layers == 2 and self.ensemble != NO_ENSEMBLE)
