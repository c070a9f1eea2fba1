"""Record of the recipe that a run follows instead of choosing one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from automl.inference.calibration import Calibration
from automl.inference.combining import Combine
from automl.records import Configuration
from automl.stage_record import StageRecord


@dataclass(frozen=True)
class Recipe(StageRecord):
    """Configurations of a deployed model, and how it weights them.

    Parameters
    ----------
    run_id : of the run that made the model
    configurations : of its members
    weights : (n,), positive, sum 1
    calibration : of the blend's probabilities; None where they stay as they are
    value_counts
        Whether their pipelines see how many rows have the same number.
    is_final
        Whether the model is these configurations with these weights; else a search begins with them.
    """

    stage: ClassVar[str] = "recipe"

    run_id: str
    configurations: tuple[Configuration, ...]
    weights: tuple[float, ...]
    combine: Combine = "mean"
    calibration: Calibration | None = None
    value_counts: bool = False
    is_final: bool = True
