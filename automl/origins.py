"""Where the configurations of an opening come from."""

from __future__ import annotations

FLOOR = "floor"
"""Origin of what every run tries, so that it ends with a model."""
PAST = "past"
"""Origin of what was best in earlier runs on the same data set."""
KNOWLEDGE = "knowledge"
"""Origin of what is good on the data sets that are known."""
PORTFOLIO = "portfolio"
"""Origin of the hand-ordered list."""
DEFAULT = "default"
"""Origin of the default of a family."""
INITIAL_DESIGN = "initial_design"
"""Origin of what an optimizer proposes before there is a model, whatever the scores."""
ORIGINS = (FLOOR, PAST, KNOWLEDGE, PORTFOLIO)
LEARNED = (PAST, KNOWLEDGE)
GIVEN = "given"
"""Origin of configurations that a run is given in place of an opening, and name of their record."""
RESERVED = (*ORIGINS, DEFAULT, INITIAL_DESIGN, GIVEN)
"""Names that no optimizer may have."""
