"""Sentences of the pages are short: half of them have at most twenty words, nine of ten a few more."""

import inspect
from pathlib import Path

import pytest
import readability

ROOT = Path(__file__).parents[2]
MEDIAN_WORDS = 20
P90_WORDS = 25
GRADE = 9.0
"""The last two are what the pages have since they were rewritten; before, up to 58 words and 11.5."""
READINGS = readability.readings_of(ROOT)


@pytest.mark.parametrize("name", READINGS)
def test_a_page_has_short_sentences(name: str) -> None:
    reading = READINGS[name]
    longest = max(reading.sentences, key=lambda sentence: len(sentence.split()), default="")
    assert reading.median <= MEDIAN_WORDS, longest
    assert reading.p90 <= P90_WORDS, longest
    assert reading.grade <= GRADE, longest


def test_code_tables_headings_and_addresses_are_not_sentences() -> None:
    page = """# A heading of four words

One sentence with [a link](https://example.org/a_b) and `some code --here`. Another one ends here!

| a table | has cells |
|---|---|

```
no prose at all in here
```

    nor in an indented block of code

- A bullet is one sentence
  over two lines
- Two words
"""
    assert readability.sentences_of(page) == [
        "One sentence with a link and Code.",
        "Another one ends here!",
        "A bullet is one sentence over two lines.",
    ]


def test_a_docstring_is_read_without_names_of_parameters_and_examples() -> None:
    docstring = """Mean of the values that are given.

    Parameters
    ----------
    values : (n,), finite
        The values whose mean is wanted.

    References
    ----------
    .. [1] Somebody (2014), section 6.2 of a long title.

    Examples
    --------
    >>> mean([1, 2])
    1.5
    """
    prose = readability.prose_of(inspect.cleandoc(docstring))
    assert readability.sentences_of(prose) == [
        "Mean of the values that are given.",
        "The values whose mean is wanted.",
    ]
