"""Names that Prefect takes for what a run publishes."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from automl_flows.training import artifact_key


@given(st.text(min_size=1))
def test_every_problem_has_a_key_in_prefects_alphabet(problem):
    assert re.fullmatch("[a-z0-9][a-z0-9-]*", artifact_key(problem))


def test_plain_names_stay_and_others_do_not_meet():
    assert artifact_key("beans-label") == "beans-label"
    names = ["uni-цель", "uni-цена", "uni_", "Uni", "uni"]
    assert len({artifact_key(name) for name in names}) == len(names)
