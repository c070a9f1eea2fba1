"""The memory-mappable form of a table in a folder.

- ``numeric.npy``: float64 (n_rows, n_numeric) in Fortran order.
- ``codes.npy``: int32 (n_rows, n_nominal) in Fortran order.
- ``texts.npy``: uint8, the texts as UTF-8, one after the other, column by column. Only with columns of texts.
- ``text_bytes.npy``: int32 (n_rows, n_texts), the bytes of each text, -1 if it is missing. Only with texts.
- ``y.npy``, ``row_digests.npy``, ``weights.npy``, ``groups.npy`` and ``time.npy``, if there are any.
- ``manifest.json``: written last, so a folder without it is not complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from automl.durable import save_array
from automl.errors import DataError
from automl.inference.schema import TableSchema

FORMAT = 1
"""Format of a stored table; another one is refused, since it can be made again."""
MANIFEST = "manifest.json"


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any] | None]) -> None:
    """One npy file per array that is not None."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    for name, array in arrays.items():
        if array is not None:
            save_array(folder / f"{name}.npy", array)


def read_array(folder: Path, name: str) -> NDArray[Any] | None:
    """Read-only memory map of an array; None if there is no such file."""
    path = folder / f"{name}.npy"
    if not path.exists():
        return None
    if not np.lib.format.open_memmap(path, mode="r").size:
        return np.load(path, allow_pickle=False)  # type: ignore[no-any-return]
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Complete a folder."""
    partial = folder / f"{MANIFEST}.partial"
    partial.write_text(json.dumps({"format": FORMAT, **manifest}), encoding="utf-8")
    partial.replace(folder / MANIFEST)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Manifest of a complete folder.

    Raises
    ------
    DataError
        If the folder holds no complete table of this format.
    """
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{folder} holds no complete table: {MANIFEST} is missing") from None
    except ValueError as error:
        raise DataError(f"{folder / MANIFEST} is damaged: {error}") from None
    if manifest.get("format") != FORMAT:
        raise DataError(
            f"{folder / MANIFEST} must have format {FORMAT}; found {manifest.get('format')}"
        )
    return manifest


def frame_arrays(frame: pd.DataFrame, schema: TableSchema) -> dict[str, NDArray[Any]]:
    """Numeric values and category codes of a typed frame, each 2-D in Fortran order."""
    numeric = np.empty((len(frame), len(schema.numeric_names)), order="F")
    for position, name in enumerate(schema.numeric_names):
        numeric[:, position] = frame[name].to_numpy()
    codes = np.empty((len(frame), len(schema.nominal_names)), dtype=np.int32, order="F")
    for position, name in enumerate(schema.nominal_names):
        codes[:, position] = frame[name].cat.codes.to_numpy()
    texts = _text_arrays([frame[name] for name in schema.text_names])
    return {"numeric": numeric, "codes": codes, **texts}


def frame_of_arrays(
    numeric: NDArray[Any],
    codes: NDArray[Any],
    schema: TableSchema,
    texts: NDArray[Any] | None = None,
    text_bytes: NDArray[Any] | None = None,
) -> pd.DataFrame:
    """Typed frame over arrays of `frame_arrays`; the numeric part is not copied."""
    columns = [] if texts is None or text_bytes is None else _texts(texts, text_bytes)
    parts = list(_parts(numeric, codes, columns, schema))
    if not parts:
        return pd.DataFrame(index=pd.RangeIndex(len(numeric)))
    return pd.concat(parts, axis=1) if len(parts) > 1 else parts[0]


def _parts(
    numeric: NDArray[Any],
    codes: NDArray[Any],
    texts: list[NDArray[np.object_]],
    schema: TableSchema,
) -> Iterator[pd.DataFrame]:
    """Frames of neighboring columns of one kind, so that each numeric one is a slice."""
    dtypes = schema.nominal_dtypes
    text_of = dict(zip(schema.text_names, texts, strict=True))
    n_numeric = n_nominal = 0
    for kind, run in groupby(schema.feature_names, lambda name: (name in dtypes, name in text_of)):
        is_nominal, is_text = kind
        names = list(run)
        if is_text:
            yield pd.DataFrame({name: text_of[name] for name in names}, dtype=object)
        elif is_nominal:
            yield pd.DataFrame(
                {
                    name: pd.Categorical.from_codes(
                        codes[:, n_nominal + position], dtype=dtypes[name], validate=False
                    )
                    for position, name in enumerate(names)
                },
                index=pd.RangeIndex(len(codes)),
            )
            n_nominal += len(names)
        else:
            values = numeric[:, n_numeric : n_numeric + len(names)]
            yield pd.DataFrame(values, columns=pd.Index(names), copy=False)
            n_numeric += len(names)


def _text_arrays(columns: list[pd.Series]) -> dict[str, NDArray[Any]]:
    """UTF-8 of all texts and the number of bytes of each; nothing without columns."""
    if not columns:
        return {}
    encoded = [
        [None if text is None else text.encode("utf-8", "surrogatepass") for text in column]
        for column in columns
    ]
    sizes = [[-1 if text is None else len(text) for text in column] for column in encoded]
    joined = b"".join(text for column in encoded for text in column if text)
    return {
        "texts": np.frombuffer(joined, dtype=np.uint8),
        "text_bytes": np.array(sizes, dtype=np.int32).T,
    }


def _texts(texts: NDArray[Any], text_bytes: NDArray[Any]) -> list[NDArray[np.object_]]:
    """Inverse of `_text_arrays`: the texts of each column."""
    joined = texts.tobytes()
    sizes = text_bytes.T.ravel()
    ends = np.cumsum(np.maximum(sizes, 0), dtype=np.int64)
    all_texts = np.array(
        [
            None if size < 0 else joined[end - size : end].decode("utf-8", "surrogatepass")
            for size, end in zip(sizes.tolist(), ends.tolist(), strict=True)
        ]
        + [None],
        dtype=object,
    )
    return np.split(all_texts[:-1], text_bytes.shape[1])
