"""What the texts of a column are read as, by evidence: the shares of its own values that each form reads.

`choose` looks at the distinct texts that are no missing markers, and takes the first of these:

1. numbers, in the writing that reads most rows: all of them, or most with a few words among them;
2. dates, times of day, durations: at least `DATE_SHARE` of the rows; what is left are words;
3. two boolean words in any case.

Words among numbers or dates are missing, and marked. If the different numbers are few, or appear beside
many words like codes, the column stays one of categories. The order of day and month is what reads the
column's own values; where both orders read equally many rows, with other dates, the column is ambiguous.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from automl.data.findings import listed
from automl.errors import DataError
from automl.inference.columns import NUMBER_MARKERS, category_text, short
from automl.inference.forms import (
    BLANKS,
    BOOLEAN_WORDS,
    MAGNITUDES,
    UNITS,
    BooleanForm,
    DateForm,
    DurationForm,
    FloatArray,
    Form,
    NumberForm,
    TimeForm,
    plain_number,
)
from automl.inference.raw_table import Column
from automl.inference.readings import Reading

DATE_SHARE = 0.95
"""Share of the rows that one form must read; one in twenty may be words or slips."""
NUMBER_SHARE = 0.9
"""Share of the rows that must be numbers where the words are many."""
LEAST_NUMBER_SHARE = 0.5
"""Share of the rows that must be numbers: below it, the column is about its words."""
FEW_NUMBERS = 20
"""Different numbers beside words that may be names of categories, such as ``1``, ``2``, ``3+``."""
FEW_WORDS = 20
"""Different words that answers like ``unknown`` or ``not asked`` make; more of them are codes or slips."""
KEPT_WORDS = 20
"""Words that are marked, the most frequent ones; rarer ones are missing without a mark."""
UNIT_SHARE = 0.5
"""Share of the different texts that must end in a word which is then their unit: in ``1``, ``2``, ``3+`` it is none."""
CODE_REPEATS = 10
"""Rows for each different number from which numbers beside many words are codes, as in ``250``, ``V57``."""
ANSWER_RATIO = 3
"""Rows of an answer for each row that a number has on average; a typing error is in as few rows as a number."""
SAMPLE = 500
"""Distinct texts that are looked at first: a form that reads less than a third of them is dropped."""

_NUMBER_WRITINGS: tuple[NumberForm, ...] = (
    NumberForm(".", ""),
    NumberForm(".", ","),
    NumberForm(",", ""),
    NumberForm(",", "."),
    NumberForm(".", " "),
    NumberForm(",", " "),
    NumberForm(".", "'"),
)
_NUMBER_WITH_ENDING = re.compile(
    rf"[-+(]?\D?(?!0\d)\d[\d.,']*\s*(?:(?P<magnitude>{'|'.join(MAGNITUDES)})?(?P<plus>\+?)"
    r"|(?P<unit>[A-Za-z°µΩ\"'²³/]{1,12}(?: [A-Za-z/²³]{1,12}){0,2}))"
)
_NAMED_DATES = (
    "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y",
    "%d/%b/%Y", "%b-%Y", "%b %Y", "%B %Y",
)  # fmt: skip
_ISO_DATE = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])|\d{4}([-/])(0?[1-9]|1[0-2])\2(0?[1-9]|[12]\d|3[01])"
    r"([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
)
_NUMERIC_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1(\d{4}|\d{2})([ T].*)?")
_NAMED_DATE = re.compile(
    r"\d{1,2}[-/ ][A-Za-z]{3,9}[-/ ]\d{2,4}.*|[A-Za-z]{3,9}[- ](\d{1,2},? )?\d{4}.*"
)


@dataclass(frozen=True)
class Evidence:
    """Distinct texts of a column that are no missing markers, and how many rows have each.

    Parameters
    ----------
    texts : (n_distinct,)
        Without outer blanks.
    rows : (n_distinct,)
    n_marked
        Rows with a missing marker.
    """

    texts: list[str]
    rows: NDArray[np.intp]
    n_marked: int

    @classmethod
    def of(cls, column: Column) -> Evidence:
        """Evidence of a column's values that are not missing."""
        codes, distinct = column.distinct
        counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
        rows: dict[str, int] = {}
        n_marked = 0
        for value, count in zip(distinct, counts, strict=True):
            text = value.strip() if isinstance(value, str) else category_text(value, "text")
            if text is None or text.lower() in NUMBER_MARKERS:
                n_marked += int(count)
            elif count:
                rows[text] = rows.get(text, 0) + int(count)
        return cls(list(rows), np.array(list(rows.values()), dtype=np.intp), n_marked)

    @property
    def n_rows(self) -> int:
        """Rows with a text that is no marker."""
        return int(self.rows.sum())

    def sample(self) -> Evidence:
        """At most `SAMPLE` of the texts, evenly."""
        step = -(-len(self.texts) // SAMPLE) or 1
        return Evidence(self.texts[::step], self.rows[::step], 0)


@dataclass(frozen=True)
class Fit:
    """How a form reads a column.

    Parameters
    ----------
    values : (n_distinct,)
        NaN where a text is not of the form.
    """

    form: Form
    values: FloatArray
    evidence: Evidence

    @property
    def n_read(self) -> int:
        """Rows that the form reads."""
        return int(self.evidence.rows[~np.isnan(self.values)].sum())

    @property
    def share(self) -> float:
        """Share of the rows that the form reads."""
        return self.n_read / max(self.evidence.n_rows, 1)

    @property
    def n_distinct(self) -> int:
        """Different values."""
        return len(np.unique(self.values[~np.isnan(self.values)]))

    @property
    def words(self) -> list[str]:
        """Texts that the form does not read, the most frequent first."""
        order = np.argsort(-self.evidence.rows, kind="stable")
        return [self.evidence.texts[i] for i in order if np.isnan(self.values[i])]

    @property
    def n_marked(self) -> int:
        """Rows with one of the words that are marked."""
        rows = np.sort(self.evidence.rows[np.isnan(self.values)])
        return int(rows[-KEPT_WORDS:].sum())

    @property
    def reading(self) -> Reading:
        """The reading that keeps what was found."""
        return Reading(self.form, tuple(self.words[:KEPT_WORDS]), bool(np.isinf(self.values).any()))

    @property
    def is_usual(self) -> bool:
        """Whether every text that is read is written as programs write numbers, or as an ISO date."""
        return self.form == DateForm() or (self.form == NumberForm() and not self._odd().any())

    @property
    def shown(self) -> int:
        """Position of the first text that is read, of an oddly written one where there are any."""
        return int(np.argmax(self._odd() if self._odd().any() else ~np.isnan(self.values)))

    @property
    def example(self) -> str:
        """The text at `shown`."""
        return short(self.evidence.texts[self.shown])

    def _odd(self) -> NDArray[np.bool_]:
        """Where a text is read that Python does not take for a number."""
        plain = [plain_number(text) for text in self.evidence.texts]
        return np.isnan(plain) & ~np.isnan(self.values)


def number_fit(evidence: Evidence) -> Fit | None:
    """The writing of numbers that reads most rows; None if none reads any."""
    return _best(evidence, _number_forms(evidence.sample().texts))


def date_fits(evidence: Evidence, *, is_given: bool = False) -> list[Fit]:
    """The formats of dates that read most rows: one, or two that differ in day and month.

    Parameters
    ----------
    is_given
        The user says that these are dates, so that ``20260131`` is one.
    """
    forms = _date_forms(evidence.sample().texts)
    if is_given:
        forms = [*forms, DateForm("%Y%m%d"), DateForm("mixed")]
    best = _best(evidence, forms)
    if best is None:
        return []
    assert isinstance(best.form, DateForm)
    other = _swap(best.form)
    if other is None or "." in other.format:  # with points the day comes first everywhere
        return [best]
    rival = Fit(other, other.parse(evidence.texts), evidence)
    same = np.array_equal(rival.values, best.values, equal_nan=True)
    return [best] if rival.n_read < best.n_read or same else [best, rival]


def span_fit(evidence: Evidence) -> Fit | None:
    """Times of day, or durations where these read more rows."""
    return _best(evidence, [TimeForm(), DurationForm()])


def boolean_form(evidence: Evidence) -> BooleanForm | None:
    """The pair of words of which both occur and nothing else does."""
    spellings = {text.casefold() for text in evidence.texts}
    for words in BOOLEAN_WORDS:
        if spellings == set(words):
            return BooleanForm(*words)
    return None


def is_number_column(fit: Fit) -> bool:
    """Whether texts are numbers with at most a few words, by the rule in the module's text."""
    words = fit.words
    if not words:
        return True
    if fit.share < LEAST_NUMBER_SHARE or fit.n_distinct <= min(
        FEW_NUMBERS, fit.evidence.n_rows / 2
    ):
        return False
    if len(words) <= FEW_WORDS:
        return fit.share >= NUMBER_SHARE or _are_answers(fit)
    return fit.share >= NUMBER_SHARE and fit.n_read < CODE_REPEATS * fit.n_distinct


def check_ambiguous(fits: Sequence[Fit], name: str) -> None:
    """Refuse dates that two orders read equally well.

    Raises
    ------
    DataError
        With both readings.
    """
    if len(fits) < 2:
        return
    differs = np.flatnonzero((fits[0].values != fits[1].values) & ~np.isnan(fits[0].values))
    text = fits[0].evidence.texts[int(differs[0])]
    shown = [
        f"{_day(fit.values[differs[0]])} as {order_of(fit.form)} ({_pattern(fit.form)})"
        for fit in fits
    ]
    roles = " or ".join(f"date:{order_of(fit.form)}" for fit in fits)
    raise DataError(
        f"column {name!r} holds dates that can be read in two ways: {text!r} is {' or '.join(shown)}; "
        f"give it the role {roles}, or write the dates like 2026-01-31"
    )


def _are_answers(fit: Fit) -> bool:
    """Whether each word is in many rows, or in many more than a number, like answers and unlike typing errors."""
    rows = fit.evidence.rows[np.isnan(fit.values)]
    often = min(CODE_REPEATS, ANSWER_RATIO * fit.n_read / fit.n_distinct)
    return bool(rows.min() >= often or len(rows) == 1)


def _best(evidence: Evidence, forms: Iterable[Form]) -> Fit | None:
    """The first of the forms that read most rows; None if none reads a third of a sample."""
    sample = evidence.sample()
    best: Fit | None = None
    for form in forms:
        if Fit(form, form.parse(sample.texts), sample).share < 1 / 3:
            continue
        fit = Fit(form, form.parse(evidence.texts), evidence)
        if best is None or fit.n_read > best.n_read:
            best = fit
        if best.n_read == evidence.n_rows:
            break
    return best


def _number_forms(texts: Sequence[str]) -> list[Form]:
    """Writings that the characters of these texts allow, the plain one first."""
    letters = set("".join(texts))
    if not letters & set("0123456789"):
        return [NumberForm()]
    units = ["", *(unit for unit in UNITS if any(unit in text for text in texts))]
    endings = [ending for ending in map(_ending, texts) if ending is not None]
    has_magnitudes = any(ending["magnitude"] for ending in endings)
    counts = Counter(ending["unit"] or ending["plus"] or "" for ending in endings)
    units += [unit for unit, count in counts.items() if unit and count >= UNIT_SHARE * len(texts)]
    writings = [plain for plain in _NUMBER_WRITINGS if _allow(letters, plain)]
    return [
        replace(plain, unit=unit, magnitudes=magnitudes)
        for magnitudes in ((False, True) if has_magnitudes else (False,))
        for unit in units
        for plain in writings
    ]


def _allow(letters: AbstractSet[str], plain: NumberForm) -> bool:
    """Whether the marks of a writing occur among these characters."""
    marks = {plain.decimal, plain.thousands} - {".", ""}
    blanks = plain.thousands == " " and letters & set(BLANKS)
    return all(mark in letters or (mark == " " and blanks) for mark in marks)


def _ending(text: str) -> re.Match[str] | None:
    """Unit or magnitude behind a number; None if the text is no such number, or a duration."""
    match = _NUMBER_WITH_ENDING.fullmatch(text)
    return match if match and np.isnan(DurationForm().parse([text])[0]) else None


def _date_forms(texts: Sequence[str]) -> list[Form]:
    """Formats that the look of these texts allows."""
    forms: list[Form] = []
    if any(_ISO_DATE.fullmatch(text) for text in texts):
        forms += [DateForm("ISO8601"), DateForm("%Y/%m/%d")]
    numeric = [match for match in map(_NUMERIC_DATE.fullmatch, texts) if match]
    for mark, year in sorted(
        {(match[1], "%Y" if len(match[2]) == 4 else "%y") for match in numeric}
    ):
        forms += [DateForm(f"%d{mark}%m{mark}{year}"), DateForm(f"%m{mark}%d{mark}{year}")]
    if any(_NAMED_DATE.fullmatch(text) for text in texts):
        forms += [DateForm(named) for named in _NAMED_DATES]
    return forms


def _swap(form: DateForm) -> DateForm | None:
    """The format with day and month the other way round; None if the month has a name."""
    text = form.format
    if text[:2] not in ("%d", "%m") or text[3:5] not in ("%d", "%m"):
        return None
    return DateForm(text[3:5] + text[2] + text[:2] + text[5:])


def order_of(form: Form) -> str:
    """``day_first``, ``month_first`` or nothing."""
    text = form.format if isinstance(form, DateForm) else ""
    return {"%d": "day_first", "%m": "month_first"}.get(text[:2], "")


def with_order(fit: Fit, order: str) -> Fit:
    """The fit with this order of day and month, where it has another."""
    swapped = _swap(fit.form) if isinstance(fit.form, DateForm) and order_of(fit.form) else None
    if swapped is None or order_of(fit.form) == order:
        return fit
    return Fit(swapped, swapped.parse(fit.evidence.texts), fit.evidence)


def _pattern(form: Form) -> str:
    return form.pattern if isinstance(form, DateForm) else ""


def _day(days: float) -> str:
    return str(np.datetime64(int(np.floor(days)), "D"))


def describe(fit: Fit, name: str) -> str:
    """Sentence on what a column is read as; empty if there is nothing to say."""
    parts = []
    if not fit.is_usual:
        parts.append(f"is read as {writing(fit.form)}: {fit.example} is {_value_text(fit)}")
    if fit.words:
        parts.append(f"holds {writing(fit.form)} and {_words_text(fit)}")
    return f"column {name!r} {'; it '.join(parts)}" if parts else ""


def _words_text(fit: Fit) -> str:
    """How many rows have words, and which of them are marked."""
    count = fit.evidence.n_rows - fit.n_read
    noun = "other text" if count == 1 else "other texts"
    missing = f"{count} {noun} ({listed(fit.words, 3)}), taken as missing"
    if fit.n_marked == count:
        return f"{missing} and marked in a column of their own"
    return (
        f"{missing}; {fit.n_marked} of them, the {KEPT_WORDS} most frequent words, are marked in a "
        "column of their own"
    )


def read_as(reading: Reading | None, role: str) -> str:
    """What a column of a role is read as, in a few words."""
    if reading is None:
        return "texts" if role == "text" else "categories"
    parts = [writing(reading.form)]
    parts += [f"words: {listed(reading.words, 3)}"] if reading.words else []
    parts += ["infinite values marked"] if reading.marks_infinite else []
    return "; ".join(parts)


def writing(form: Form) -> str:
    """What a form reads, in words."""
    if isinstance(form, DateForm):
        words = {"ISO8601": "dates", "mixed": "dates of several formats"}
        return words.get(form.format, f"dates in the order {form.pattern}")
    if not isinstance(form, NumberForm):
        return {"time": "times of day, in hours", "duration": "durations, in seconds"}.get(
            form.kind, form.expected
        )
    facts = [f"with the unit {form.unit}"] if form.unit else []
    facts += ["with magnitudes such as k and M"] if form.magnitudes else []
    facts += ["with decimal commas"] if form.decimal == "," else []
    names = {",": "commas", ".": "points", " ": "blanks", "'": "apostrophes"}
    facts += [f"with {names[form.thousands]} between thousands"] if form.thousands else []
    return " ".join(["numbers", " and ".join(facts)]).strip()


def _value_text(fit: Fit) -> str:
    value = float(fit.values[fit.shown])
    return _day(value) if fit.form.kind == "date" else f"{value:.10g}"
