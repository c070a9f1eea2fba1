"""Words of yes/no columns are those of the table."""

from __future__ import annotations

import pytest

from automl.inference.column_schema import ColumnSchema
from automl.inference.forms import BooleanForm
from automl.inference.readings import Reading


@pytest.mark.parametrize(
    ("reading", "words"),
    [(Reading(BooleanForm("no", "yes")), ["no", "yes"]), (None, ["False", "True"])],
)
def test_a_boolean_category_has_the_words_of_its_column(
    reading: Reading | None, words: list[str]
) -> None:
    categories = ("False", "True")
    column = ColumnSchema("x", "nominal", "boolean", categories, reading=reading)
    assert [column.category_words(category) for category in categories] == words
