"""A clean process tells whether a bundle loads."""

from __future__ import annotations

import importlib.util
import json
import py_compile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from automl.inference.bundle import write_bundle
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.inference.schema import TableSchema
from automl.preprocessing import build_preprocessor
from automl.tracking.cold_load import ColdLoad


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    frame = pd.DataFrame({"size": np.arange(20.0), "color": ["red", "blue"] * 10})
    schema = TableSchema.fit(frame, {"size": "numeric", "color": "nominal"})
    typed, y = schema.transform(frame), np.arange(20.0)
    preprocessor = build_preprocessor({}, seed=1)
    estimator = Ridge().fit(preprocessor.fit_transform(typed, y), y)
    member = Member(1.0, [FittedPipeline(preprocessor, estimator)], "ridge")
    write_bundle(TableModel(schema, [member], task="regression", target="y"), tmp_path / "model")
    return tmp_path / "model"


def test_a_bundle_loads_in_a_process_that_was_ready_before_it(bundle: Path) -> None:
    cold = ColdLoad()
    cold.start()
    assert cold.is_running
    assert not cold.is_asked
    cold.ask(bundle)
    assert cold.is_asked
    assert cold.problem() == ""
    assert not cold.is_running
    cold.close()


def test_what_keeps_a_bundle_from_loading_is_told(bundle: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    (bundle / "manifest.json").write_text(json.dumps({**manifest, "format": 77}))
    cold = ColdLoad()
    cold.ask(bundle)
    assert "does not load in a clean process" in cold.problem()
    assert "format 77" in cold.problem()


def test_a_process_that_is_not_asked_ends_with_its_starter() -> None:
    cold = ColdLoad()
    cold.start()
    process = cold._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == 1
    cold.close()
    assert not cold.is_running


def test_a_process_that_died_before_it_was_asked_is_a_problem_and_no_crash(bundle: Path) -> None:
    cold = ColdLoad()
    cold.start()
    assert cold._process is not None
    cold._process.kill()
    cold._process.wait()
    cold.ask(bundle)
    assert "does not load in a clean process" in cold.problem()
    cold.close()


def test_compiled_code_beside_that_of_the_bundle_is_not_run(bundle: Path, tmp_path: Path) -> None:
    package, trace = bundle / "code" / "automl" / "inference", tmp_path / "it-was-run"
    forged = tmp_path / "forged.py"
    forged.write_text(f"open({str(trace)!r}, 'w').close()\n")
    compiled = py_compile.compile(
        str(forged),
        cfile=importlib.util.cache_from_source(str(package / "pyfunc.py")),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    assert Path(str(compiled)).is_relative_to(package)
    (package / "plain_records.pyc").write_bytes(Path(str(compiled)).read_bytes())
    cold = ColdLoad()
    cold.ask(bundle)
    assert cold.problem() == ""
    assert not trace.exists()
    cold.close()
