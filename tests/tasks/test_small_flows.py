"""The small flows of docs/tasks.md: each at most ten lines, run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Three small flows")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
USE = """
import numpy as np
import pandas as pd

rng = np.random.default_rng(3)
n = 90
x = rng.normal(size=n)
frame = pd.DataFrame({"x": x, "color": rng.choice(["red", "blue"], n), "noise": rng.normal(size=n)})
frame["left"] = np.where(x + rng.normal(0, 0.4, n) > 0, "yes", "no")
frame.to_csv("rows.csv", index=False)

blended = churn_blend("rows.csv", "left")
assert blended.shape == (n, 2)
assert ((blended[:, 1] > 0.5) == (frame["left"] == "yes")).mean() > 0.8

ours = {"good": 1 / (1 + np.exp(-3 * x)), "poor": rng.random(n)}
assert choose_ours(ours, list(frame["left"]), list(np.arange(n) % 5)) == "good"

training, test = clean_matrices("rows.csv", "left")
assert training.shape[1] == test.shape[1] and len(training) + len(test) == n
assert not np.isnan(test).any()
print("all three ran")
"""


@pytest.mark.parametrize("block", BLOCKS)
def test_a_flow_has_at_most_ten_lines(block):
    body = block[block.index("@flow") :].strip().splitlines()
    assert len(body) <= 10


@pytest.mark.integration
@pytest.mark.timeout(400)
def test_the_flows_run(tmp_path, prefect_url):
    assert len(BLOCKS) == 3
    (tmp_path / "flows.py").write_text("\n".join([*BLOCKS, USE]))
    done = subprocess.run(
        [sys.executable, "flows.py"],
        cwd=tmp_path,
        env={**os.environ, "PREFECT_API_URL": prefect_url, "DO_NOT_TRACK": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "all three ran" in done.stdout
    assert "status" in done.stdout
