"""What a search tries before any optimizer is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from automl.families.family import Family
from automl.families.portfolio import portfolio
from automl.families.registry import get_family
from automl.records import Configuration
from automl.search.turns import FLOOR
from automl.stages.search_spaces import space_of
from automl.stages.session import Session

FLOORS = ("constant", "lightgbm")
PORTFOLIO = "portfolio"
GIVEN = "given"
"""Name of the record, and origin, of configurations that a run is given in place of an opening."""

Opening = list[tuple[Configuration, str]]


def give_configurations(session: Session, configurations: Sequence[Configuration]) -> None:
    """Let these configurations be the opening of a run, alone; before its search is made.

    They are kept with the run, so that it has the same ones when it is continued.
    """
    session.records.write(
        GIVEN, {"configurations": [configuration.to_json() for configuration in configurations]}
    )


def given_configurations(session: Session) -> list[Configuration]:
    """Configurations that the run was given; none where it begins as runs do."""
    record = session.records.read(GIVEN) or {"configurations": []}
    return [Configuration.from_json(entry) for entry in record["configurations"]]


def opening_of(session: Session, families: Mapping[str, Family]) -> Opening:
    """Configurations to begin with, and where they come from.

    Those that the run was given; else floors, then the portfolio. Families that neither holds
    begin with their default on their turn.

    Parameters
    ----------
    families
        Those that take part.
    """
    if session.records.read(GIVEN) is not None:
        return [(configuration, GIVEN) for configuration in given_configurations(session)]
    opening = _floors(session, families)
    if session.settings.portfolio:
        opening += [(found, PORTFOLIO) for found in _portfolio(session, families)]
    return opening


def _floors(session: Session, families: Mapping[str, Family]) -> Opening:
    settings, plan = session.settings, session.plan
    return [
        (space_of(plan, get_family(name), settings).default(), FLOOR)
        for name in FLOORS
        if name in families or name == "constant" or not settings.families
    ]


def _portfolio(session: Session, families: Mapping[str, Family]) -> list[Configuration]:
    """Entries of the portfolio that fit the table, the families and their narrowed spaces."""
    plan = session.plan
    training, _ = plan.rows_of("search", 0, 0)
    found = portfolio(plan.table.task, len(training), plan.table.frame.shape[1])
    return [
        configuration
        for configuration in found
        if configuration.family in families
        and not _leaves(session, families[configuration.family], configuration)
    ]


def _leaves(session: Session, family: Family, configuration: Configuration) -> bool:
    """Whether a configuration is outside of what the settings narrowed its family to."""
    if family.name not in session.settings.spaces:
        return False
    space = space_of(session.plan, family, session.settings)
    return space.is_legal(configuration) is not None
