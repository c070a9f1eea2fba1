"""What AutoGluon and FLAML make of table files; run by an interpreter that has them.

    PYTHON rival_readings.py FILES_JSON

FILES_JSON is a list of paths. Prints one line of JSON per system and file: ``kinds`` by column, or ``error``.
AutoGluon: its loader, then the types that its feature generator works with. FLAML has no loader: pandas reads
the file by its extension, as FLAML's documentation does, and `DataTransformer` says what it works with.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import pandas as pd

TARGET = "y"


def autogluon(path: str) -> dict[str, str]:
    """Kind by column as AutoGluon's models get them."""
    from autogluon.common.loaders import load_pd
    from autogluon.features.generators import AutoMLPipelineFeatureGenerator

    frame = load_pd.load(path)
    X, y = frame.drop(columns=TARGET), frame[TARGET]
    generator = AutoMLPipelineFeatureGenerator(verbosity=0)
    generator.fit_transform(X=X, y=y)
    raw = generator.feature_metadata_in
    kinds = {"int": "number", "float": "number", "datetime": "date", "category": "category"}
    found = {}
    for column in map(str, X.columns):
        if column not in raw.get_features():
            found[column] = "nothing"
            continue
        special = raw.get_feature_types_special(column)
        if "text" in special:
            found[column] = "text"
        elif "datetime_as_object" in special:
            found[column] = "date"
        else:
            kind = raw.get_feature_type_raw(column)
            found[column] = kinds.get(kind, "category" if kind in ("object", "bool") else kind)
    return found


def flaml(path: str) -> dict[str, str]:
    """Kind by column as FLAML's learners get them."""
    from flaml.automl.data import DataTransformer
    from flaml.automl.task.factory import task_factory

    readers = {".parquet": pd.read_parquet, ".xlsx": pd.read_excel, ".txt": pd.read_csv}
    readers[".jsonl"] = lambda file: pd.read_json(file, lines=True)
    frame = readers.get(Path(path).suffix, pd.read_csv)(path)
    X, y = frame.drop(columns=TARGET), frame[TARGET]
    out, _ = DataTransformer().fit_transform(X.copy(), y, task_factory("classification"))
    found = {}
    for column in map(str, X.columns):
        parts = [str(name) for name in out.columns if str(name).startswith(f"{column}_")]
        if parts and pd.api.types.is_datetime64_any_dtype(X[column]):
            found[column] = "date"
        elif column not in map(str, out.columns):
            found[column] = "nothing"
        else:
            dtype = out[column].dtype
            found[column] = "number" if pd.api.types.is_numeric_dtype(dtype) else "category"
    return found


def main() -> None:
    """Read and print."""
    warnings.simplefilter("ignore")
    for path in json.loads(Path(sys.argv[1]).read_text()):
        for system in (autogluon, flaml):
            line = {"system": system.__name__, "path": path}
            try:
                line["kinds"] = system(path)
            except Exception as error:  # noqa: BLE001
                line["error"] = f"{type(error).__name__}: {str(error).strip()[:120]}"
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
