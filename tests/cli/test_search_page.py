"""The page about the search agrees with what there is."""

import re
from pathlib import Path

import pytest
import yaml

from automl.acquisition.registry import ACQUISITIONS, MAXIMIZERS
from automl.bandits.registry import ALLOCATORS
from automl.optimizers.composition import NAMED
from automl.optimizers.initial_design import INITIAL_DESIGNS
from automl.optimizers.registry import OPTIMIZERS
from automl.settings import Settings
from automl_flows.given import check_names

PAGE = (Path(__file__).parents[2] / "docs" / "search.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "names", [OPTIMIZERS, ALLOCATORS, ACQUISITIONS, MAXIMIZERS, INITIAL_DESIGNS, NAMED]
)
def test_every_name_is_on_the_page(names):
    assert set(names) <= set(re.findall(r"`([a-z_0-9]+)`", PAGE))


def test_the_example_is_taken():
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    check_names(Settings(table="t", target="y", **yaml.safe_load(example)))
