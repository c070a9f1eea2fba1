"""What the story of a run says of an ensemble with one member."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from run_records import ensemble_of

from automl.records import Configuration, Trial, TrialStatus
from automl.reports.run_choices import RunChoices
from automl_flows.words.why_run import story_of

RUN = "20260105-000000-eeee"


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        (
            "search",
            "s00001 replaced the champion: its difference to the best single model is +0.01",
        ),
        (
            "stack",
            "l00001 of the second layer replaced the champion: its difference to the best single model is +0.01",
        ),
    ],
)
def test_one_member_is_called_by_its_layer(stage: str, words: str) -> None:
    trial = Trial(RUN, 1, Configuration("ridge", {}), TrialStatus.COMPLETE, 0.8, stage=stage)
    status: Any = SimpleNamespace(run_id=RUN, status="running")
    choices = RunChoices(status, {}, {trial.id: trial}, ensemble=ensemble_of({trial.id: 1.0}))
    assert words in story_of(choices)["ensemble"]
