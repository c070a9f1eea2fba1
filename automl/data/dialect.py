"""How a text table is written: its encoding, its delimiter, and the lines before its header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from automl.data.findings import Oddity
from automl.errors import DataError

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
BLANK = " "
"""Delimiter of tables that are aligned by one or more blanks or tabs."""
SAMPLE_RECORDS = 50
"""Records by which a delimiter is judged: a wrong one hardly divides fifty alike by chance."""
SAMPLE_BYTES = 2**18
PART_BYTES = 2**20
ENCODINGS = ("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp932", "gb18030", "big5", "cp949")
"""Of text that is not UTF-8, Western first: a short text that fits many is taken for Western."""
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_SEPARATOR_LINE = re.compile(r"sep=(.)\s*")

Opener = Callable[[], BinaryIO]


@dataclass(frozen=True)
class Dialect:
    """How a text table is written.

    Parameters
    ----------
    encoding
        A codec of Python.
    delimiter : one character
    n_skipped
        Lines before the header: comments, or ``sep=;``.
    """

    encoding: str = "utf-8-sig"
    delimiter: str = ","
    n_skipped: int = 0

    @property
    def skips_blanks(self) -> bool:
        """Whether blanks after a delimiter do not count."""
        return self.delimiter != "\t"

    def records(self, open_file: Opener) -> Iterator[tuple[int, list[str]]]:
        """Line where each record ends, counted from 1, and its fields; blank lines left out."""
        with open_file() as stream:
            text = io.TextIOWrapper(stream, encoding=self.encoding, newline="")
            for _ in range(self.n_skipped):
                text.readline()
            lines = map(_single_blanks, text) if self.delimiter == BLANK else text
            reader = csv.reader(lines, delimiter=self.delimiter, skipinitialspace=self.skips_blanks)
            for fields in reader:
                if fields:
                    yield reader.line_num + self.n_skipped, fields


def find_dialect(open_file: Opener, *, name: str, delimiter: str) -> tuple[Dialect, list[Oddity]]:
    """How a file is written, and what of it is unusual for its extension.

    The delimiter is that of the extension where it divides the header and the first records alike; else
    the one that divides them alike into most fields; blanks where there is no other in the header.

    Parameters
    ----------
    delimiter
        Usual for the extension.

    Raises
    ------
    DataError
        If the file is binary, or no encoding reads it.
    """
    encoding, oddities = _encoding(open_file, name)
    with open_file() as stream:
        text = io.TextIOWrapper(stream, encoding=encoding, newline="")
        head = list(islice(text, 4 * SAMPLE_RECORDS))
    n_skipped, given = _before_header(head)
    lines = head[n_skipped:]
    delimiter_used = given or _delimiter(lines, delimiter)
    if n_skipped:
        note = (
            f"{n_skipped} lines before the header are left out"
            if n_skipped > 1
            else (f"the line {head[0].strip()[:40]!r} before the header is left out")
        )
        oddities.append(Oddity(note, f"{note}; remove the lines before the header"))
    if delimiter_used != delimiter:
        header = lines[0].strip()[:60] if lines else ""
        oddities.append(
            Oddity(
                f"the values are delimited by {_delimiter_name(delimiter_used)}",
                f"the header {header!r} is a single column, it seems to be delimited by "
                f"{_delimiter_name(delimiter_used)}; {_delimiter_name(delimiter)} are expected for this extension",
            )
        )
    return Dialect(encoding, delimiter_used, n_skipped), oddities


def _encoding(open_file: Opener, name: str) -> tuple[str, list[Oddity]]:
    with open_file() as stream:
        head = stream.read(64)
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            shown = encoding.upper()
            oddity = Oddity(
                f"the text is encoded in {shown}", f"encoded in {shown}; save it as UTF-8"
            )
            return encoding, [oddity]
    if b"\0" in head:
        raise DataError(f"{name} is a binary file, not a text table; check its extension")
    strange = _strange_lines(open_file)
    if strange is None:
        return "utf-8-sig", []
    line, byte, sample = strange
    guess = _guess(sample)
    return guess, [
        Oddity(
            f"the text is not UTF-8 and is read as {guess}",
            f"line {line}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8",
        )
    ]


def _strange_lines(open_file: Opener) -> tuple[int, int, bytes] | None:
    """First line that is not UTF-8, its wrong byte, and lines beyond ASCII; None if all are UTF-8."""
    if _is_ascii(open_file):
        return None
    first: tuple[int, int] | None = None
    sample = bytearray()
    with open_file() as stream:
        for line, content in enumerate(stream, start=1):
            if content.isascii():
                continue
            if first is None:
                try:
                    content.decode("utf-8")
                    continue
                except UnicodeDecodeError as error:
                    first = line, content[error.start]
            sample += content[:1000]
            if len(sample) > SAMPLE_BYTES:
                break
    return None if first is None else (*first, bytes(sample))


def _is_ascii(open_file: Opener) -> bool:
    with open_file() as stream:
        return all(part.isascii() for part in iter(lambda: stream.read(PART_BYTES), b""))


def _guess(sample: bytes) -> str:
    """Encoding that makes most sense of some lines; Western where it makes as much sense as another."""
    import charset_normalizer  # heavy, only for such files

    matches = charset_normalizer.from_bytes(sample, cp_isolation=list(ENCODINGS))
    best = matches.best()
    if best is None:  # too short to tell; latin-1 reads every byte
        return "cp1252" if _decodes(sample, "cp1252") else "latin-1"
    equals = set(best.could_be_from_charset)  # those that make the same text of these bytes
    return next((encoding for encoding in ENCODINGS if encoding in equals), best.encoding)


def _decodes(sample: bytes, encoding: str) -> bool:
    try:
        sample.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _before_header(lines: Sequence[str]) -> tuple[int, str]:
    """Number of lines before the header, and the delimiter that one of them names."""
    given = _SEPARATOR_LINE.fullmatch(lines[0]) if lines else None
    if given:
        return 1, given[1]
    n_comments = 0
    while n_comments < len(lines) and lines[n_comments].lstrip().startswith("#"):
        n_comments += 1
    if (
        n_comments
        and n_comments < len(lines)
        and _is_header(lines[n_comments - 1], lines[n_comments])
    ):
        n_comments -= 1  # the header itself begins with the sign
    return (n_comments, "") if n_comments < len(lines) else (0, "")


def _is_header(line: str, following: str) -> bool:
    return any(
        line.count(mark) and line.count(mark) == following.count(mark) for mark in DELIMITERS
    )


def _delimiter(lines: Sequence[str], usual: str) -> str:
    """The usual delimiter where it divides all records alike; else the one that divides them into most fields."""
    if _width(lines, usual):
        return usual
    best = max(DELIMITERS, key=lambda mark: _width(lines, mark))
    if _width(lines, best):
        return best
    has_other = any(mark in line for line in lines[:1] for mark in DELIMITERS if mark != "\t")
    return BLANK if not has_other and _width([*map(_single_blanks, lines)], BLANK) else usual


def _width(lines: Sequence[str], mark: str) -> int:
    """Number of fields of each of the first records; nothing where they differ, or have one."""
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=mark != "\t")
    try:
        counts = [len(fields) for fields in islice(reader, SAMPLE_RECORDS) if fields]
    except csv.Error:
        return 0
    is_even = len(counts) > 1 and len(set(counts)) == 1
    return counts[0] if is_even and counts[0] > 1 else 0


def _single_blanks(line: str) -> str:
    """The line without tabs and outer blanks, as `csv` reads it."""
    return line.replace("\t", BLANK).strip(" \r\n") + "\n"


def _delimiter_name(mark: str) -> str:
    return "blanks" if mark == BLANK else DELIMITERS.get(mark, repr(mark))
