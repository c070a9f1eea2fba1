"""skops trusts the same types, however it was imported."""

import json
import subprocess
import sys

import pytest

_LISTS = """
import json, sys, warnings
warnings.simplefilter("ignore")
{first}
import skops.io._trusted_types as trusted
print(json.dumps({{n: sorted(v) for n, v in vars(trusted).items() if n.endswith("_NAMES")}}))
"""


def lists(first: str) -> dict[str, list[str]]:
    script = _LISTS.format(first=first)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.timeout(300)
def test_the_trusted_types_are_the_same():
    quick = lists("from automl.inference.quick_skops import skops_io; skops_io()")
    assert quick == lists("")
    assert len(quick["SKLEARN_ESTIMATOR_TYPE_NAMES"]) > 150
