"""What the story of a run says of an ensemble."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from run_records import ensemble_of

from automl.records import Configuration, Trial, TrialStatus
from automl.reports.run_choices import RunChoices
from automl.reports.sections import choice
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


@pytest.mark.parametrize("is_objected", [True, False])
def test_a_refused_ensemble_is_told_with_what_spoke_against_it(is_objected: bool) -> None:
    trial = Trial(RUN, 1, Configuration("ridge", {}), TrialStatus.COMPLETE, 0.8)
    refused = ensemble_of({f"{RUN}-s00002": 1.0}, replaced_champion=False)
    decision = replace(
        refused.evidence.decision,
        is_replaced=False,
        pvalue=0.02 if is_objected else 0.2,
        replaced_score=0.83,
    )
    ensemble = replace(refused, evidence=replace(refused.evidence, decision=decision))
    status: Any = SimpleNamespace(run_id=RUN, status="running")
    told = story_of(RunChoices(status, {}, {trial.id: trial}, ensemble=ensemble))["ensemble"]
    for text in (told, choice._ensemble(ensemble)):
        assert ("0.8200 on all rows, where the champion has 0.8300" in text) is is_objected
    assert ("No ensemble is better" in told) is not is_objected
