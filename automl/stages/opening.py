"""What a search tries before any optimizer is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from automl.families.family import Family
from automl.families.portfolio import portfolio
from automl.families.registry import get_family
from automl.metalearning.cleaning import is_legal
from automl.metalearning.portfolio import known_scores, learned_portfolio
from automl.records import Configuration
from automl.search.turns import FLOOR
from automl.stages.search_spaces import space_of
from automl.stages.session import Session

FLOORS = ("constant", "lightgbm")
PORTFOLIO = "portfolio"
GIVEN = "given"
"""Name of the record, and origin, of configurations that a run is given in place of an opening."""

LEAST_DATA_SETS = 10
"""Known ones of the same kind of target from which a portfolio is learned."""
MOST_LEARNED = 24
"""Configurations of a learned portfolio, beside those of families that it lacks."""
USUAL_ROWS = 1_000
"""Training rows of known data sets, roughly."""

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
    """The portfolio that is learned from other data sets; the hand-ordered one where few are known."""
    return _learned_portfolio(session, families) or _written_portfolio(session, families)


def _learned_portfolio(session: Session, families: Mapping[str, Family]) -> list[Configuration]:
    """Configurations of these families and their narrowed spaces; none where too little is known."""
    known = known_scores(session.experience, session.plan.table.task)
    if known.n_data_sets < LEAST_DATA_SETS:
        return []
    spaces = {name: space_of(session.plan, f, session.settings) for name, f in families.items()}
    usable = [j for j, c in enumerate(known.configurations) if is_legal(c, spaces)]
    return learned_portfolio(
        known.only(usable),
        most=MOST_LEARNED,
        per_second=session.is_timed,
        growth=_growth(session, families),
    )


def _growth(session: Session, families: Mapping[str, Family]) -> dict[str, float]:
    """By family, how much longer a fit takes here than on a table of `USUAL_ROWS`."""
    training, _ = session.plan.rows_of("search", 0, 0)
    return {
        name: family.relative_seconds(len(training), 1) / family.relative_seconds(USUAL_ROWS, 1)
        for name, family in families.items()
    }


def _written_portfolio(session: Session, families: Mapping[str, Family]) -> list[Configuration]:
    """Entries of the hand-ordered one that fit the table, the families and their narrowed spaces."""
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
    """Whether a configuration is outside of what settings or priors narrowed its family to."""
    if family.name not in session.settings.spaces and not session.folder.priors.exists():
        return False
    space = space_of(session.plan, family, session.settings)
    return space.is_legal(configuration) is not None
