"""What the story of a run says of an ensemble with one member."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from automl.records import Configuration, Trial, TrialStatus
from automl_flows.words.run_choices import STAGES, Known
from automl_flows.words.why_run import story_of

RUN = "20260105-000000-eeee"


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("search", "s00001 replaced the champion: difference +0.01"),
        ("stack", "l00001 of the second layer replaced the champion: difference +0.01"),
    ],
)
def test_one_member_is_called_by_its_layer(stage: str, words: str) -> None:
    trial = Trial(RUN, 1, Configuration("ridge", {}), TrialStatus.COMPLETE, 0.8, stage=stage)
    ensemble = {
        "members": [{"trial_id": trial.id, "weight": 1.0}],
        "replaced_champion": True,
        "evidence": {"difference": 0.01, "statistic": 2.5, "pvalue": 0.02, "alpha": 0.05},
    }
    stages = {**{name: {} for name in STAGES}, "ensemble": ensemble}
    known = Known(SimpleNamespace(run_id=RUN, status="running"), {}, {trial.id: trial}, stages)
    assert words in story_of(known)["ensemble"]
