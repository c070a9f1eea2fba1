"""Forms in which texts hold numbers, dates, times of day, durations and booleans.

A form is a small record that reads texts into numbers. It is chosen once, from the training table
(`automl.data.column_readings`), written into the schema, and reads every later table.

==============  ======================================  =====================================
kind            texts                                   number
==============  ======================================  =====================================
``number``      ``1,234.5`` ``$12`` ``12 kg`` ``1.2M``  the number, without unit
``date``        ``2026-11-20``, ``20.11.2026 14:30``    days since 1970-01-01 (UTC)
``time``        ``14:30``, ``2:30:15 pm``               hours since midnight
``duration``    ``36:15:00``, ``1h 30m``, ``PT90M``     seconds
``boolean``     ``yes`` / ``No``, ``Y`` / ``n``         1 and 0
==============  ======================================  =====================================
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

UNITS = ("%", "$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY", "INR")
"""Units that may precede or follow a number; any other unit follows it."""
_POWERS = {3: ("k", "K"), 6: ("M", "mn", "Mio"), 9: ("G", "B", "bn", "Mrd"), 12: ("T", "tn")}
MAGNITUDES = {name: 10.0**power for power, names in _POWERS.items() for name in names}
"""Letters behind a number that multiply it."""
BLANKS = " \u00a0\u202f\u2009"
"""Blanks between thousands: plain, no-break, narrow no-break, thin."""

SECONDS_PER_DAY = 86_400.0
"""Seconds of a day without leap seconds, as pandas counts them."""
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
"""What may follow the day in a date of a named order."""

_SHOWN_DATE = pd.Timestamp("2026-12-31 23:59")
"""Day, month and year of it cannot be taken for each other."""

BOOLEAN_WORDS = (
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("off", "on"),
)

_CLOCK = re.compile(
    r"(?P<h>\d{1,2}):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d(?:\.\d+)?))?(?:\s*(?P<half>[ap])\.?m\.?)?",
    re.IGNORECASE,
)
_MAGNITUDE = re.compile(rf"(.*\d)\s*({'|'.join(MAGNITUDES)})")
_SPAN = re.compile(
    r"(?P<sign>[-+])?(?:(?P<days>\d+)\s*(?:days?|d)[ ,]*)?(?P<h>\d+):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d(?:\.\d+)?))?",
    re.IGNORECASE,
)
_UNIT_SECONDS = {"w": 604_800.0, "d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_UNIT = r"(weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)"
_PART = re.compile(rf"(\d+(?:\.\d+)?)\s*{_UNIT}(?![a-z])[ ,]*", re.IGNORECASE)
_PARTS = re.compile(rf"(?:\d+(?:\.\d+)?\s*{_UNIT}(?![a-z])[ ,]*)+", re.IGNORECASE)
_ISO_SPAN = re.compile(
    r"P(?:(?P<w>[\d.]+)W)?(?:(?P<d>[\d.]+)D)?(?:T(?:(?P<h>[\d.]+)H)?(?:(?P<m>[\d.]+)M)?(?:(?P<s>[\d.]+)S)?)?"
)


@dataclass(frozen=True)
class NumberForm:
    """Numbers in writing.

    Parameters
    ----------
    decimal : ``.`` or ``,``
        Mark before the decimals.
    thousands : a mark, a blank or nothing
        Mark between groups of three digits; a number may do without.
    unit
        Before or behind the number; a number may do without. It is dropped: ``12%`` is 12.
    magnitudes
        Whether `MAGNITUDES` multiply the numbers before them: ``1.2M`` is 1,200,000.
    """

    decimal: Literal[".", ","] = "."
    thousands: Literal["", ",", ".", " ", "'"] = ""
    unit: str = ""
    magnitudes: bool = False
    kind: Literal["number"] = "number"

    @property
    def is_plain(self) -> bool:
        """Whether these are numbers as every program writes them."""
        return self == NumberForm()

    @property
    def expected(self) -> str:
        """Expected content of a column, for messages."""
        return "numbers"

    @property
    def example(self) -> str:
        """A text of this form."""
        return "0"

    def parse(self, texts: Sequence[str]) -> FloatArray:
        """Number of each text; NaN where it is none."""
        return np.array([self._read(text) for text in texts], dtype=np.float64)

    def _read(self, text: str) -> float:
        value = plain_number(text) if self.is_plain else np.nan
        return self._number(text) if np.isnan(value) else value

    def _number(self, text: str) -> float:
        factor, body = self._body(text)
        if self.magnitudes:
            size, body = _magnitude(body)
            factor *= size
        if self.thousands:
            body = _without_thousands(body, self.thousands, self.decimal)
        if self.decimal != ".":
            if "." in body:
                return np.nan
            body = body.replace(self.decimal, ".")
        return factor * plain_number(body) if body[:1].isdigit() or body[:1] == "." else np.nan

    def _body(self, text: str) -> tuple[float, str]:
        """Sign and what remains without sign and unit."""
        sign, body = 1.0, text.strip()
        if body[:1] == "(" and body[-1:] == ")":  # bookkeepers write negative amounts so
            sign, body = -1.0, body[1:-1].strip()
        for _ in range(2):  # the sign is before or behind the unit
            if sign > 0 and body[:1] in ("-", "+", "\u2212"):
                sign, body = (1.0 if body[0] == "+" else -1.0), body[1:].strip()
            if self.unit and body.startswith(self.unit):
                body = body[len(self.unit) :].strip()
        if self.unit and body.endswith(self.unit):
            body = body[: -len(self.unit)].strip()
        return sign, body


@dataclass(frozen=True)
class DateForm:
    """Dates in writing.

    Parameters
    ----------
    format
        For `datetime.strptime`, ``ISO8601``, or ``mixed`` (every text by itself, as pandas reads it). A format
        without time may be followed by one of `TIMES`.
    """

    format: str = "ISO8601"
    kind: Literal["date"] = "date"

    @property
    def expected(self) -> str:
        """Expected content of a column, for messages."""
        if "%" not in self.format or "%" in self.pattern:
            return f"dates such as {_SHOWN_DATE.strftime(self._strftime)}"
        return f"dates in the order {self.pattern}, such as {_SHOWN_DATE.strftime(self.format)}"

    @property
    def example(self) -> str:
        """A text of this form."""
        return pd.Timestamp(0).strftime(self._strftime)

    @property
    def _strftime(self) -> str:
        return self.format if "%" in self.format else "%Y-%m-%d"

    @property
    def pattern(self) -> str:
        """The order in letters: ``D/M/Y``."""
        names = {"%d": "D", "%m": "M", "%Y": "Y", "%y": "Y", "%b": "month", "%B": "month"}
        text = self.format
        for code, name in names.items():
            text = text.replace(code, name)
        return text

    def parse(self, texts: Sequence[str]) -> FloatArray:
        """Days since 1970-01-01 (UTC), with fractions; NaN where a text is no such date."""
        series = pd.Series(list(texts), dtype=object)
        if "%" not in self.format or "%H" in self.format:
            return _days_of(series, self.format)
        days = np.full(len(series), np.nan)
        for time in TIMES:
            rest = np.isnan(days)
            if not rest.any():
                break
            days[rest] = _days_of(series[rest], self.format + time)
        return days


@dataclass(frozen=True)
class TimeForm:
    """Times of day, with or without seconds and ``am`` or ``pm``."""

    kind: Literal["time"] = "time"

    @property
    def expected(self) -> str:
        """Expected content of a column, for messages."""
        return "times of day"

    @property
    def example(self) -> str:
        """A text of this form."""
        return "00:00"

    def parse(self, texts: Sequence[str]) -> FloatArray:
        """Hours since midnight, in [0, 24)."""
        return np.array([_hours(text.strip()) for text in texts], dtype=np.float64)


@dataclass(frozen=True)
class DurationForm:
    """Durations: ``36:15:00``, ``2 days 03:00:00``, ``1h 30m``, ``90 min``, ``PT1H30M``."""

    kind: Literal["duration"] = "duration"

    @property
    def expected(self) -> str:
        """Expected content of a column, for messages."""
        return "durations"

    @property
    def example(self) -> str:
        """A text of this form."""
        return "00:00:00"

    def parse(self, texts: Sequence[str]) -> FloatArray:
        """Seconds. Two numbers with one colon are hours and minutes."""
        return np.array([_seconds(text.strip()) for text in texts], dtype=np.float64)


@dataclass(frozen=True)
class BooleanForm:
    """Two words, whatever their case.

    Parameters
    ----------
    no, yes : a pair of `BOOLEAN_WORDS`
    """

    no: str = "false"
    yes: str = "true"
    kind: Literal["boolean"] = "boolean"

    @property
    def expected(self) -> str:
        """Expected content of a column, for messages."""
        return f"{self.no} or {self.yes}"

    @property
    def example(self) -> str:
        """A text of this form."""
        return self.no

    @property
    def aliases(self) -> dict[str, str]:
        """``False`` and ``True`` by the words that are understood."""
        return {"false": "False", "true": "True", self.no: "False", self.yes: "True"}

    def parse(self, texts: Sequence[str]) -> FloatArray:
        """1 for yes, 0 for no; ``true``, ``false``, ``1`` and ``0`` are understood too."""
        values = {"false": 0.0, "true": 1.0, "0": 0.0, "1": 1.0, self.no: 0.0, self.yes: 1.0}
        return np.array(
            [values.get(text.strip().casefold(), np.nan) for text in texts], dtype=float
        )


Form = NumberForm | DateForm | TimeForm | DurationForm | BooleanForm
FORMS: dict[str, type[Form]] = {form().kind: form for form in get_args(Form)}


def form_from_json(data: Mapping[str, Any]) -> Form:
    """Form of its fields, `kind` among them."""
    return FORMS[data["kind"]](**data)


def days_of_dates(dates: pd.Series) -> FloatArray:
    """Days since 1970-01-01 of dates with the time zone UTC; missing as NaN."""
    seconds = dates.dt.tz_convert(None).to_numpy(dtype="datetime64[us]")
    days = seconds.astype(np.int64) / (SECONDS_PER_DAY * 1e6)
    return np.where(np.isnat(seconds), np.nan, days)


def _days_of(texts: pd.Series, date_format: str) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pandas guesses about mixed formats aloud
        dates = pd.to_datetime(texts, format=date_format, errors="coerce", utc=True)
    return days_of_dates(dates)


def plain_number(text: str) -> float:
    """Number as Python writes it; NaN for any other text."""
    try:
        return np.nan if "_" in text else float(text)
    except ValueError:
        return np.nan


def _magnitude(body: str) -> tuple[float, str]:
    """What the letters behind a number multiply it by, and the number without them."""
    match = _MAGNITUDE.fullmatch(body)
    return (MAGNITUDES[match[2]], match[1]) if match else (1.0, body)


def _without_thousands(body: str, mark: str, decimal: str) -> str:
    """Digits without marks between thousands; nothing if the marks are elsewhere."""
    marks = BLANKS if mark in BLANKS else mark
    whole, point, rest = body.partition(decimal)
    groups = re.split(f"[{re.escape(marks)}]", whole)
    if len(groups) > 1:
        first = r"\d{1,3}" if rest else r"[1-9]\d{0,2}"  # 0,123 is no thousand, 0,123.5 is one
        is_grouped = re.fullmatch(first, groups[0]) is not None
        if not is_grouped or not all(re.fullmatch(r"\d{3}", group) for group in groups[1:]):
            return ""
    return "".join(groups) + point + rest


def _hours(text: str) -> float:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return np.nan
    hours, half = int(match["h"]), (match["half"] or "").lower()
    if (half and not 1 <= hours <= 12) or hours > 23:
        return np.nan
    if half:
        hours = hours % 12 + (12 if half == "p" else 0)
    return hours + int(match["m"]) / 60.0 + float(match["s"] or 0) / 3600.0


def _seconds(text: str) -> float:
    match = _SPAN.fullmatch(text)
    if match is not None:
        days, hours, minutes = (int(match[part] or 0) for part in ("days", "h", "m"))
        total = days * SECONDS_PER_DAY + hours * 3600.0 + minutes * 60.0 + float(match["s"] or 0)
        return -total if match["sign"] == "-" else total
    if _PARTS.fullmatch(text):
        parts = _PART.findall(text)
        return sum(float(value) * _UNIT_SECONDS[unit[0].lower()] for value, unit in parts)
    iso = _ISO_SPAN.fullmatch(text)
    if iso is None or not any(iso.groups()):
        return np.nan
    return sum(plain_number(iso[unit] or "0") * size for unit, size in _UNIT_SECONDS.items())
