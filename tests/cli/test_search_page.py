"""The page about the search agrees with what there is."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
import yaml

from automl.acquisition.registry import ACQUISITIONS, MAXIMIZERS
from automl.bandits.registry import ALLOCATORS
from automl.optimizers.composition import NAMED, Composition, Encoding, Pending
from automl.optimizers.initial_design import INITIAL_DESIGNS
from automl.optimizers.registry import OPTIMIZERS
from automl.run.choices import check_names
from automl.settings import Settings
from automl.surrogates.registry import SURROGATES
from automl.surrogates.score_targets import TARGETS

PAGE = (Path(__file__).parents[2] / "docs" / "search.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "names",
    [
        OPTIMIZERS,
        ALLOCATORS,
        SURROGATES,
        ACQUISITIONS,
        MAXIMIZERS,
        INITIAL_DESIGNS,
        NAMED,
        TARGETS,
        get_args(Pending),
        get_args(Encoding),
        [entry.name for entry in fields(Composition)],
    ],
)
def test_every_name_is_on_the_page(names):
    assert set(names) <= set(re.findall(r"`([a-z_0-9]+)`", PAGE))


def test_the_example_is_taken():
    (example,) = re.findall(r"```yaml\n# search.yaml\n(.*?)```", PAGE, re.DOTALL)
    check_names(Settings(table="t", target="y", **yaml.safe_load(example)))
