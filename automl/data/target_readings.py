"""How the values of a target column are read: amounts, words among numbers, spellings of one label."""

from __future__ import annotations

import numpy as np
import pandas as pd

from automl.data.column_checks import PLAIN_NUMBERS
from automl.data.column_readings import (
    Evidence,
    Fit,
    boolean_form,
    date_fits,
    is_number_column,
    number_fit,
    writing,
)
from automl.data.findings import Findings, listed
from automl.data.target import MAX_INTEGER_CLASSES, SHOWN_GROUPS
from automl.inference.columns import short
from automl.inference.forms import NumberForm
from automl.inference.raw_table import Column
from automl.inference.readings import Reading
from automl.listing import first_few


def target_reading(column: Column, task: str, findings: Findings) -> Reading | None:
    """How a target of numbers is read that holds more than plain numbers; None for all others.

    Texts of numbers in another writing, with a few words or with missing markers, are numbers; rows with words or
    infinite numbers have no target. Both are noted.
    """
    if task not in ("auto", "regression") or column.kind in ("boolean", "date"):
        return None
    if column.kind == "number":
        return Reading(marks_infinite=True) if _take_infinite(column, findings) else None
    evidence = Evidence.of(column)
    fit = number_fit(evidence)
    if fit is None or not is_number_column(fit) or len(date_fits(evidence)) > 0:
        return None
    if task == "auto" and fit.n_distinct <= MAX_INTEGER_CLASSES:
        return None
    if fit.form == NumberForm() and not fit.words and not evidence.n_marked:
        return None
    _take_texts(column.series, fit, findings)
    return fit.reading


def read_target(column: Column, reading: Reading | None) -> Column:
    """Target as `encode_target` takes it: numbers by their reading, labels without outer blanks.

    Boolean words that differ in case become the most frequent spelling. The column itself where nothing changes.
    """
    series = column.series
    if reading is not None:
        values = column.read(reading).values
        values = np.where(np.isinf(values), np.nan, values)
        return Column(pd.Series(values, index=series.index), column.name)
    if column.kind != "text" or isinstance(series.dtype, pd.CategoricalDtype):
        return column
    spelling = _spellings(Evidence.of(column))
    texts = [value for value in column.distinct[1] if isinstance(value, str)]
    read = {text: spelling.get(text.strip(), text.strip()) for text in texts}
    if all(text == kept for text, kept in read.items()):
        return column
    kept = [read[value] if isinstance(value, str) else value for value in series.astype(object)]
    return Column(pd.Series(kept, index=series.index, dtype=object), column.name)


def take_spellings(raw: Column, read: Column, findings: Findings) -> None:
    """Say which labels became one, since they differed in outer blanks or in the case of boolean words."""
    if read is raw:
        return
    pairs = pd.DataFrame({"raw": raw.series.astype(object), "read": read.series})
    pairs = pairs.drop_duplicates().dropna()
    same = [list(group) for _, group in pairs.groupby("read", sort=False)["raw"] if len(group) > 1]
    if same:
        subject = f"labels of target column {raw.name!r} differ only in case or white space"
        shown = first_few((" and ".join(map(short, group)) for group in same), SHOWN_GROUPS)
        findings.take(
            f"{subject} and are taken as one: {shown}",
            f"{subject}: {shown}; write them the same way",
        )


def _spellings(evidence: Evidence) -> dict[str, str]:
    """The most frequent spelling of each boolean word by its other spellings."""
    if len(evidence.texts) < 3 or boolean_form(evidence) is None:
        return {}
    best: dict[str, str] = {}
    order = np.argsort(-evidence.rows, kind="stable")
    for text in (evidence.texts[i] for i in order):
        best.setdefault(text.casefold(), text)
    return {text: best[text.casefold()] for text in evidence.texts if text != best[text.casefold()]}


def _take_infinite(column: Column, findings: Findings) -> bool:
    infinite = np.isinf(column.read().values)
    if infinite.any():
        row = column.series.index[int(infinite.argmax())] + 1
        subject = (
            f"target column {column.name!r} holds {int(infinite.sum())} infinite values, "
            f"the first in row {row}"
        )
        findings.take(f"{subject}, taken as missing", f"{subject}; remove these rows")
    return bool(infinite.any())


def _take_texts(series: pd.Series, fit: Fit, findings: Findings) -> None:
    name = series.name
    if fit.form != NumberForm():
        findings.take(
            f"target column {name!r} is read as {writing(fit.form)}, such as {fit.example}",
            f"target column {name!r} holds numbers with commas or other characters, such as "
            f"{fit.example}; {PLAIN_NUMBERS}",
        )
    if fit.words:
        is_word = series.map(lambda value: str(value).strip() == fit.words[0])
        row = int(series.index[int(is_word.to_numpy(dtype=bool).argmax())]) + 1
        count = fit.evidence.n_rows - fit.n_read
        findings.take(
            f"target column {name!r} holds {count} texts among its numbers ({listed(fit.words, 3)}, the "
            f"first in row {row}), taken as missing",
            f"target column {name!r} mixes numbers and texts: {short(fit.words[0])} in row {row}; correct "
            "the value or leave it empty",
        )
