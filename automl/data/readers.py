"""Raw tables from files, URIs, bundled and public collections, and frames.

========================  ==================================================================
source                    read as
========================  ==================================================================
``.csv`` ``.txt`` ``.dat`` commas, UTF-8, one header line; another delimiter or encoding is found (also ``.gz``)
``.tsv`` ``.tab``         the same with tabs (also ``.gz``)
``.parquet`` ``.feather`` by pyarrow
``.jsonl`` ``.ndjson``    one JSON object per line (also ``.gz``); ``.json`` may hold a list of them
``.arff``                 attribute-relation file, dense or sparse
``.xlsx`` ``.xls`` ``.ods`` the first sheet, also of ``.xlsm`` and ``.xlsb``; needs the extra ``excel``
a folder                  all its Parquet files, as one table (`automl.data.partitions`)
``scheme://…``            any of these through fsspec
``sklearn:NAME``          bundled: iris, wine, breast_cancer, digits, diabetes; the target is ``target``
``openml:NAME``           the active version on openml.org; ``openml:NAME@2`` is version 2
a pandas DataFrame        its index is not data
========================  ==================================================================
"""

from __future__ import annotations

import gzip
import io
import json
import re
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from automl.addresses import public_address
from automl.data.arff import read_arff
from automl.data.delimited import read_delimited
from automl.data.dialect import Opener
from automl.data.findings import Oddity, nearest, odd_names
from automl.data.memory_limit import check_size, most_bytes
from automl.data.partitions import local_parts, read_partitions
from automl.data.public_tables import read_bundled, read_openml
from automl.data.remote import fetch, folder_parts
from automl.data.sheets import SHEETS, read_sheet
from automl.errors import AutoMLWarning, DataError
from automl.inference.columns import half_character, short, unique_names
from automl.inference.raw_table import RawTable
from automl.lookup import nearest_names

DELIMITERS = {".csv": ",", ".txt": ",", ".dat": ",", ".tsv": "\t", ".tab": "\t"}
JSON_EXTENSIONS = (".jsonl", ".ndjson", ".json")
EXTENSIONS = (*DELIMITERS, ".parquet", ".feather", *JSON_EXTENSIONS, ".arff")
FOLDER_EXTENSIONS = tuple(each for each in EXTENSIONS if each not in (".txt", ".dat"))
"""Extensions of what counts as a table in a folder, where such files may be anything."""
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
"""Column in which pandas keeps an index that has no name, and is no data."""
FLAT = "one flat object for each row is expected"
_TEXT_EXTENSIONS = (*DELIMITERS, *JSON_EXTENSIONS, ".arff")


def read_table(
    source: str | Path | pd.DataFrame, *, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """Raw frame with a RangeIndex and unique text names.

    Parameters
    ----------
    source
        See the table in the module's text.
    columns
        Keep only these, in this order.

    Raises
    ------
    DataError
        If the source does not exist or is not a readable table; the message names file, line or column.
    SettingsError
        If a URI needs a package that is not installed.
    ServiceError
        If a remote source cannot be reached.

    Warns
    -----
    AutoMLWarning
        About what was made of something odd, such as names that occur again.
    """
    frame, oddities = _load(source)
    name = source_name(source)
    for oddity in oddities:
        warnings.warn(f"{name}: {oddity.note}", AutoMLWarning, stacklevel=2)
    if columns is None:
        return frame
    names = set(frame.columns)
    problems = [
        f"there is no column {column!r}{nearest(column, frame.columns)}"
        for column in columns
        if column not in names
    ]
    if problems:
        raise DataError.of(problems, source=name)
    return frame[list(columns)]


def load_source(source: str | Path | pd.DataFrame) -> tuple[RawTable, list[Oddity]]:
    """The columns of a source, for all who look at them, and what was odd about it.

    Raises
    ------
    DataError, SettingsError, ServiceError
        As `read_table`.
    """
    frame, oddities = _load(source)
    return RawTable.of(frame), oddities


def source_name(source: str | Path | pd.DataFrame) -> str:
    """How messages call a source."""
    if isinstance(source, pd.DataFrame):
        return public_address(str(source.attrs.get("source", "the frame")))
    return public_address(str(source))


def _load(source: str | Path | pd.DataFrame) -> tuple[pd.DataFrame, list[Oddity]]:
    if isinstance(source, pd.DataFrame):
        return _plain_names(source)
    text = str(source)
    if text.startswith("sklearn:"):
        return _plain_names(read_bundled(text.removeprefix("sklearn:")))
    if text.startswith("openml:"):
        return _plain_names(read_openml(text.removeprefix("openml:")))
    if "://" in text:
        return _load_remote(text)
    path = Path(text)
    if path.is_dir():
        return _plain_names(read_partitions(local_parts(path), read_table, source=text))
    return _read_file(_local(path), text)


def _load_remote(uri: str) -> tuple[pd.DataFrame, list[Oddity]]:
    shown = public_address(uri)
    if (parts := folder_parts(uri)) is not None:
        return _plain_names(read_partitions(parts, read_table, source=shown))
    content = fetch(uri)
    return _read_file(lambda: io.BytesIO(content), shown)


def _local(path: Path) -> Opener:
    try:
        path.open("rb").close()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}{_nearest_file(path)}", file=str(path)) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}", file=str(path)) from None
    return lambda: path.open("rb")


def _nearest_file(path: Path) -> str:
    """Hint at a file of the same folder with a similar name, whatever its extension."""
    try:
        stems = {other.name.split(".")[0]: other.name for other in path.parent.iterdir()}
    except OSError:
        return ""
    near = nearest_names(path.name.split(".")[0], stems)
    return f"; did you mean {stems[near[0]]!r}?" if near else ""


def _read_file(open_file: Opener, name: str) -> tuple[pd.DataFrame, list[Oddity]]:
    """Read a table by the extension of its name."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    gzipped = suffixes[-1:] == [".gz"]
    kind = "".join((suffixes[:-1] if gzipped else suffixes)[-1:])
    if kind in SHEETS and not gzipped:
        sheet, oddities = read_sheet(open_file, name)
        plain, renamed = _plain_names(sheet)
        return plain, [*oddities, *renamed]
    if kind not in EXTENSIONS or (gzipped and kind not in _TEXT_EXTENSIONS):
        raise DataError(
            f"{name}: the extension must be one of {', '.join(EXTENSIONS)}, "
            f"text tables also with .gz; found {''.join(suffixes[-2:]) or 'none'}"
        )
    if gzipped:
        content = _unzipped(open_file, name)
        return _read_kind(lambda: io.BytesIO(content), kind, name)
    return _read_kind(open_file, kind, name)


def _unzipped(open_file: Opener, name: str) -> bytes:
    try:
        with open_file() as stream, gzip.open(stream, "rb") as unzipped:
            content = unzipped.read(most_bytes() + 1)
    except EOFError:
        raise DataError(f"{name} is truncated: the compressed data end too early") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{name} is not a readable gzip file: {error}") from None
    check_size(len(content), name)
    return content


def _read_kind(open_file: Opener, kind: str, name: str) -> tuple[pd.DataFrame, list[Oddity]]:
    if kind in DELIMITERS:
        return read_delimited(open_file, name=name, delimiter=DELIMITERS[kind])
    with open_file() as stream:
        if kind in (".parquet", ".feather"):
            return _plain_names(_read_arrow(stream, kind, name))
        content = stream.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8; "
            "save the file as UTF-8"
        ) from None
    if not text.strip():
        raise DataError(f"{name} is empty")
    if kind == ".arff":
        frame, oddities = read_arff(text, name=name)
        plain, names = _plain_names(frame)
        return plain, [*oddities, *names]
    return _plain_names(_read_json(text, name))


def _read_arrow(stream: BinaryIO, kind: str, name: str) -> pd.DataFrame:
    import pyarrow as pa  # heavy, only for these files

    try:
        frame = _arrow_frame(stream, kind, name)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(
            f"{name} is not a readable {kind[1:]} file: {str(error).splitlines()[0]}"
        ) from None
    except LookupError as error:
        raise DataError(f"{name} names a time zone that is not known here: {error}") from None
    named = [level for level in frame.index.names if level is not None]
    return frame.reset_index() if named and not set(named) & set(frame.columns) else frame


def _arrow_frame(stream: BinaryIO, kind: str, name: str) -> pd.DataFrame:
    """Frame of a file; pandas refuses names that occur again, and types that this machine does not have."""
    from pyarrow import feather, parquet

    if kind == ".parquet":
        file = parquet.ParquetFile(stream)
        check_size(_unpacked_bytes(file.metadata), name)
        names = file.schema_arrow.names
    else:
        names = _feather_names(stream, name)
    stream.seek(0)
    if len(set(names)) == len(names):
        try:
            return pd.read_parquet(stream) if kind == ".parquet" else pd.read_feather(stream)
        except (LookupError, TypeError, AttributeError):
            stream.seek(0)
    table = parquet.ParquetFile(stream).read() if kind == ".parquet" else feather.read_table(stream)
    kept = [place for place, each in enumerate(names) if not _UNNAMED_INDEX.fullmatch(each)]
    plain = table.select(kept).rename_columns(list(map(str, kept))).replace_schema_metadata()
    frame: pd.DataFrame = plain.to_pandas()
    return frame.set_axis([names[place] for place in kept], axis=1)


def _feather_names(stream: BinaryIO, name: str) -> list[str]:
    """Names of the columns, once batch after batch has shown that their content has room."""
    from pyarrow import feather, ipc

    is_of_version_1 = stream.read(4) == b"FEA1"
    if is_of_version_1:  # as before 2020: never compressed, and no batches
        check_size(stream.seek(0, io.SEEK_END), name)
    stream.seek(0)
    if is_of_version_1:
        return list(feather.read_table(stream).column_names)
    reader = ipc.open_file(stream)
    n_bytes = 0
    for number in range(reader.num_record_batches):
        n_bytes += reader.get_batch(number).nbytes
        check_size(n_bytes, name)
    return list(reader.schema.names)


def _unpacked_bytes(facts: Any) -> int:
    """Least size of a Parquet file's frame: of its pages, and of eight bytes for each value."""
    groups = map(facts.row_group, range(facts.num_row_groups))
    pages = sum(int(group.total_byte_size) for group in groups)
    return max(pages, 8 * int(facts.num_rows) * int(facts.num_columns))


def _read_json(text: str, name: str) -> pd.DataFrame:
    records: list[Any] = []
    if text.lstrip().startswith("["):
        try:
            records = _json_value(text, name)
        except ValueError as error:
            raise DataError(f"{name} is not valid JSON: {error}") from None
        except RecursionError:
            raise DataError(f"{name} is nested too deep; {FLAT}") from None
    else:
        for number, line in enumerate(io.StringIO(text, newline=None), start=1):
            if line.strip():
                records.append(_json_line(line, number, name))
    for position, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise DataError(
                f"{name}, record {position}: an object is expected; found {short(record)}"
            )
    if len(records) == 1 and records[0] and all(isinstance(v, list) for v in records[0].values()):
        raise DataError(f"{name} holds an object of columns; one object for each row is expected")
    if not records or not any(records):
        raise DataError(f"{name} has no rows")
    return pd.DataFrame.from_records(records)


def _json_line(line: str, number: int, name: str) -> Any:
    try:
        return _json_value(line, f"{name}, line {number}")
    except ValueError as error:
        raise DataError(f"{name}, line {number} is not valid JSON: {error}") from None
    except RecursionError:
        raise DataError(f"{name}, line {number} is nested too deep; {FLAT}") from None


def _json_value(text: str, place: str) -> Any:
    r"""Value of a JSON text; half a character, such as an escaped ``\ud800`` alone, is refused."""
    value = json.loads(text)
    if "\\ud" in text.lower():
        half = half_character(json.dumps(value, ensure_ascii=False))
        if half:
            raise DataError(
                f"{place}: {half} is half a character, which no text can hold; write both halves, or leave it out"
            )
    return value


def _plain_names(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[Oddity]]:
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError("the frame has several levels of column names; one level is expected")
    names = [str(column) for column in frame.columns]
    unique = unique_names(names)
    plain = frame.set_axis(unique, axis=1).reset_index(drop=True)
    for position, dtype in enumerate(plain.dtypes):
        if _is_nested(dtype):
            plain.isetitem(position, plain.iloc[:, position].to_numpy(dtype=object))
    return plain, odd_names(names, unique)


def _is_nested(dtype: Any) -> bool:
    """Whether Arrow holds lists, structures or mappings in a column."""
    return isinstance(dtype, pd.ArrowDtype) and dtype.type in (list, dict)
