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
from automl.data.target import MAX_INTEGER_CLASSES
from automl.inference.columns import short, stored_kind
from automl.inference.forms import NumberForm
from automl.inference.readings import Reading, numbers, read_values

SHOWN_GROUPS = 3


def target_reading(series: pd.Series, task: str, findings: Findings) -> Reading | None:
    """How a target of numbers is read that holds more than plain numbers; None for all others.

    Texts of numbers in another writing, with a few words or with missing markers, are numbers; rows with words or
    infinite numbers have no target. Both are noted.
    """
    if task not in ("auto", "regression") or stored_kind(series) in ("boolean", "date"):
        return None
    if stored_kind(series) == "number":
        return Reading(marks_infinite=True) if _take_infinite(series, findings) else None
    evidence = Evidence.of(series)
    fit = number_fit(evidence)
    if fit is None or not is_number_column(fit) or len(date_fits(evidence)) > 0:
        return None
    if task == "auto" and fit.n_distinct <= MAX_INTEGER_CLASSES:
        return None
    if fit.form == NumberForm() and not fit.words and not evidence.n_marked:
        return None
    _take_texts(series, fit, findings)
    return fit.reading


def read_target(series: pd.Series, reading: Reading | None) -> pd.Series:
    """Target as `encode_target` takes it: numbers by their reading, labels without outer blanks.

    Boolean words that differ in case become the most frequent spelling.
    """
    if reading is not None:
        values = read_values(series, reading, name=str(series.name)).values
        values = np.where(np.isinf(values), np.nan, values)
        return pd.Series(values, index=series.index, name=series.name)
    if stored_kind(series) != "text" or isinstance(series.dtype, pd.CategoricalDtype):
        return series
    plain = series.astype(object).map(
        lambda value: value.strip() if isinstance(value, str) else value, na_action="ignore"
    )
    spelling = _spellings(plain)
    return plain.replace(spelling) if spelling else plain


def take_spellings(series: pd.Series, read: pd.Series, findings: Findings) -> None:
    """Say which labels became one, since they differed in outer blanks or in the case of boolean words."""
    if read is series:
        return
    pairs = pd.DataFrame({"raw": series.astype(object), "read": read}).drop_duplicates().dropna()
    same = [list(group) for _, group in pairs.groupby("read", sort=False)["raw"] if len(group) > 1]
    if same:
        found = f"labels of target column {series.name!r} differ only in case or white space"
        shown = ", ".join(" and ".join(map(short, group)) for group in same[:SHOWN_GROUPS])
        findings.take(
            f"{found} and are taken as one: {shown}", f"{found}: {shown}; write them the same way"
        )


def _spellings(plain: pd.Series) -> dict[str, str]:
    """The most frequent spelling of each boolean word by its other spellings."""
    evidence = Evidence.of(plain)
    if len(evidence.texts) < 3 or boolean_form(evidence) is None:
        return {}
    best: dict[str, str] = {}
    order = np.argsort(-evidence.rows, kind="stable")
    for text in (evidence.texts[i] for i in order):
        best.setdefault(text.casefold(), text)
    return {text: best[text.casefold()] for text in evidence.texts if text != best[text.casefold()]}


def _take_infinite(series: pd.Series, findings: Findings) -> bool:
    infinite = np.isinf(numbers(series, name=str(series.name)))
    if infinite.any():
        row = series.index[int(infinite.argmax())] + 1
        found = (
            f"target column {series.name!r} holds {int(infinite.sum())} infinite values, "
            f"the first in row {row}"
        )
        findings.take(f"{found}; these rows are dropped", f"{found}; remove these rows")
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
            f"first in row {row}); these rows are dropped",
            f"target column {name!r} mixes numbers and texts: {short(fit.words[0])} in row {row}; correct "
            "the value or leave it empty",
        )
