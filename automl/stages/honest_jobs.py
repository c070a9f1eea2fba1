"""The job of a worker slot that repeats a run's choice on some bootstraps."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from automl.evaluation.fitting import open_run
from automl.evaluation.plan import EvaluationPlan
from automl.evaluation.slots import Job
from automl.randomness import Purpose, sequence
from automl.selection.honest import Repetition, Shortfalls
from automl.stages.choice_evidence import ChosenFrom
from automl.stages.repeated_choice import Evidence

TARGET = "automl.stages.honest_jobs:repeat"
_STREAM = 1_000_000
"""Key of its random streams, beyond those that the bootstraps of a search count up."""


@dataclass(frozen=True)
class HonestWork:
    """The choice to repeat, and how often.

    Parameters
    ----------
    kinds : of the final choices that are compared with
    """

    chosen: ChosenFrom
    kinds: tuple[str, ...]
    n_bootstraps: int

    def repetition(self, evidence: Evidence, seed: int) -> Repetition:
        """The same wherever it is made: `evidence` is that of `chosen`, `seed` that of the run."""
        return Repetition(
            evidence.rows,
            {kind: evidence.final[kind] for kind in self.kinds},
            evidence.choose,
            seed=sequence(seed, Purpose.BOOTSTRAP, _STREAM),
            n_bootstraps=self.n_bootstraps,
        )

    def jobs(self, blocks: range) -> list[Job]:
        """One for each block."""
        base, work = self.chosen.files, pickle.dumps(self)
        return [Job(TARGET, {"work": work, "block": block, "base": base}) for block in blocks]


def repeat(context: str, payload: Mapping[str, Any]) -> Shortfalls:
    """Job of a worker slot: the shortfalls of one block.

    Parameters
    ----------
    payload
        From `HonestWork.jobs`.
    """
    plan, _ = open_run(context)
    return _repetition(plan, payload["work"]).block(payload["block"])


@lru_cache(maxsize=1)
def _repetition(plan: EvaluationPlan, work: bytes) -> Repetition:
    """Kept for the next block of the same run."""
    made: HonestWork = pickle.loads(work)
    return made.repetition(made.chosen.evidence(plan), plan.settings.seed)
