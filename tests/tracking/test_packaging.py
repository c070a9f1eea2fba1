"""A bundle in MLflow's form: types of columns and labels, optional columns, an example that is JSON."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from automl.data.roles import fit_schema
from automl.errors import AutoMLWarning
from automl.inference.bundle import write_bundle
from automl.inference.columns import value_type
from automl.inference.model import FittedPipeline, Member, TableModel
from automl.preprocessing import build_preprocessor
from automl.tracking.packaging import save_pyfunc

N = 24
DAYS = pd.date_range("2024-01-01", periods=N, freq="36h")
WORDS = ["red", "blue", "green"] * (N // 3)
HOLES = [i % 5 == 0 for i in range(N)]


def holed(values: Any, hole: Any = None) -> list[Any]:
    return [hole if i else v for i, v in zip(HOLES, values, strict=True)]


KINDS = {"long": "integer", "double": "float", "string": "text", "datetime": "date"}
# name: role, values, the type that holds them, whether no value is missing
COLUMNS: dict[str, tuple[str, Any, str, bool]] = {
    "whole": ("numeric", np.arange(N), "long", True),
    "small": ("numeric", np.arange(N, dtype=np.int8), "long", True),
    "large": ("numeric", np.arange(N, dtype=np.uint64), "any", True),
    "fraction": ("numeric", np.linspace(0, 1, N), "double", True),
    "single": ("numeric", np.linspace(0, 1, N).astype(np.float32), "double", True),
    "fraction or not": ("numeric", holed(np.linspace(0, 1, N), np.nan), "double", False),
    "whole or not": ("numeric", holed(np.arange(N), np.nan), "any", False),
    "nullable": ("numeric", pd.array(holed(range(N)), dtype="Int64"), "any", False),
    "nullable, all": ("numeric", pd.array(range(N), dtype="Int64"), "long", True),
    "number as text": ("numeric", holed([str(i) for i in range(N)], "?"), "string", False),
    "flag [0/1]": ("nominal", np.arange(N) % 2 == 0, "boolean", True),
    "flag or not": ("nominal", holed([True, False] * (N // 2)), "boolean", False),
    "code": ("nominal", np.arange(N) % 3, "long", True),
    'word, "naïve"': ("nominal", WORDS, "string", True),
    "word or not": ("nominal", holed(WORDS), "string", False),
    "word as object": ("nominal", np.array(holed(WORDS), dtype=object), "string", False),
    "category": ("nominal", pd.Categorical(WORDS), "any", True),
    "mixed": ("nominal", np.array([1, "a", 2.5] * (N // 3), dtype=object), "any", True),
    "day": ("date", DAYS, "datetime", True),
    "day or not": ("date", holed(DAYS, pd.NaT), "datetime", False),
    "day as object": ("date", [date(2024, 1, 1 + i) for i in range(N)], "datetime", True),
    "day with zone": ("date", DAYS.tz_localize("Europe/Zurich"), "any", True),
    "day as text": ("date", DAYS.strftime("%d.%m.%Y"), "string", True),
}
LABELS = [
    (["no", "yes"], "string"),
    ([0, 1], "long"),
    ([False, True], "boolean"),
    ([0.5, 1.5], "double"),
    (["a", None], "any"),
    (None, "double"),
]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.DataFrame({name: values for name, (_, values, _, _) in COLUMNS.items()})


def save(frame: pd.DataFrame, classes: list[Any] | None, folder: Path) -> TableModel:
    """A model whose bundle is in the folder, also in MLflow's form."""
    schema = fit_schema(frame, {name: COLUMNS[name][0] for name in frame.columns})
    typed, y = schema.transform(frame), np.arange(N) % 2
    preprocessor = build_preprocessor({"prep.scaler": "standard"}, seed=0)
    X = preprocessor.fit_transform(typed, y)
    estimator = (Ridge() if classes is None else LogisticRegression()).fit(X, y)
    member = Member(1.0, [FittedPipeline(preprocessor, estimator)], "linear")
    task = "regression" if classes is None else "binary"
    model = TableModel(schema, [member], task=task, target="label", classes=classes)
    write_bundle(model, folder / "bundle")
    facts = {"model_id": "m-1", "location": None, "run": "r", "metadata": {}}
    save_pyfunc(folder / "bundle", folder / "model", **facts)
    return model


def saved(frame: pd.DataFrame, classes: list[Any] | None, folder: Path) -> tuple[TableModel, Any]:
    """A model, and what MLflow loads of it."""
    import mlflow

    return save(frame, classes, folder), mlflow.pyfunc.load_model(str(folder / "model"))


def test_the_signature_lets_through_what_the_model_reads(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    model, loaded = saved(frame, ["no", "yes"], tmp_path)
    schema = loaded.metadata.get_input_schema()
    assert {(spec.name, str(spec.type), spec.required) for spec in schema} == {
        (name, "Any", False) for name in COLUMNS
    }
    expected = model.predict(frame).tolist()
    assert loaded.predict(frame).tolist() == expected
    assert loaded.predict(frame[::-1].iloc[:, ::-1]).tolist() == expected[::-1]


@pytest.mark.parametrize("name", COLUMNS)
def test_the_schema_knows_the_plain_type_and_whether_values_are_missing(
    name: str, frame: pd.DataFrame
) -> None:
    role, _, kind, is_whole = COLUMNS[name]
    (column,) = fit_schema(frame[[name]], {name: role}).columns
    assert column.value_type == KINDS.get(kind, kind)
    assert column.is_optional != is_whole


@pytest.mark.parametrize("name", COLUMNS)
def test_each_column_may_be_left_out_or_missing(
    name: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    model, loaded = saved(frame, ["no", "yes"], tmp_path)
    missing = frame.assign(**{name: None})
    expected = model.predict_proba(missing)[:, 1]
    found = loaded.predict(missing, params={"proba": True})["yes"]
    assert found.tolist() == expected.tolist()
    with pytest.warns(AutoMLWarning, match=re.escape(name)):
        found = loaded.predict(frame.drop(columns=name), params={"proba": True})["yes"]
    assert found.tolist() == expected.tolist()


def test_whole_numbers_fractions_and_texts_of_numbers_are_read_alike(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    _, loaded = saved(frame, ["no", "yes"], tmp_path)
    whole = frame.assign(fraction=2, whole=range(N))
    other = whole.assign(fraction=2.0, whole=[str(i) for i in range(N)])
    assert loaded.predict(whole).tolist() == loaded.predict(other).tolist()


@pytest.mark.filterwarnings("ignore:.*validate_serving_input:FutureWarning")
def test_the_example_is_json_and_can_be_served(frame: pd.DataFrame, tmp_path: Path) -> None:
    from mlflow.models import validate_serving_input

    _, loaded = saved(frame, ["no", "yes"], tmp_path)
    folder = tmp_path / "model"
    for name in ("input_example.json", "serving_input_example.json"):
        json.loads((folder / name).read_text(), parse_constant=pytest.fail)
    request = (folder / "serving_input_example.json").read_text()
    assert set(validate_serving_input(str(folder), request)) <= {"no", "yes"}
    rows = json.loads(request)["dataframe_split"]
    records = [dict(zip(rows["columns"], row, strict=True)) for row in rows["data"]]
    for body in ({"dataframe_records": records}, {"inputs": records}):
        assert len(validate_serving_input(str(folder), json.dumps(body))) == len(records)
    assert len(loaded.predict(loaded.input_example)) == len(records)


def test_the_files_of_all_installed_distributions_are_not_read(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = "mlflow.utils.requirements_utils._init_modules_to_packages_map"
    monkeypatch.setattr(reads, lambda: pytest.fail("they were read"))
    save(frame, ["no", "yes"], tmp_path)
    assert "scikit-learn" in (tmp_path / "model" / "requirements.txt").read_text()


@pytest.mark.parametrize(("classes", "kind"), LABELS)
def test_the_output_has_the_type_of_the_labels(
    classes: list[Any] | None, kind: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    _, loaded = saved(frame[["whole", "code"]], classes, tmp_path)
    (spec,) = loaded.metadata.get_output_schema()
    assert getattr(spec.type, "name", "any") == kind


def test_a_column_without_any_value_may_have_any_type() -> None:
    for empty in ([np.nan] * 3, [None] * 3, pd.array([None] * 3, dtype="Int64")):
        assert value_type(pd.Series(empty)) == "any"
