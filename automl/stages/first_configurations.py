"""Configurations that a search tries before it asks an optimizer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from automl.experience.cleaning import cleaned
from automl.experience.harvest import data_set_facts
from automl.experience.past import is_past_of, past_best
from automl.families.family import Family
from automl.families.portfolio import portfolio
from automl.families.registry import CONSTANT, WITHOUT_MODEL, get_family
from automl.origins import DEFAULT, FLOOR, GIVEN, KNOWLEDGE, PAST, PORTFOLIO
from automl.recommendation.configuration_portfolio import known_scores
from automl.recommendation.methods import (
    ADAPTIVE,
    LEAST_DATA_SETS,
    MOST,
    Target,
    obstacle,
    recommended,
    similar_scores,
)
from automl.records import Configuration
from automl.run.search_spaces import (
    requested_preprocessing,
    requested_space,
    space_of,
    spaces_of,
)
from automl.run.session import Session
from automl.search.guide import Guide
from automl.search.opening import Opening
from automl.settings import Settings
from automl.spaces.nodes import PREP
from automl.stages.participation import defaults_of

FLOORS = (CONSTANT, "lightgbm", "stump")
"""In their order; the stump, which is hardly a usable model, does not delay LightGBM."""
USUAL_ROWS = 1_000
"""Training rows of known data sets, roughly."""


def give_configurations(session: Session, configurations: Sequence[Configuration]) -> None:
    """Let these configurations be the opening of a run, alone; before its search is made.

    They are kept with the run, so that it has the same ones when it is continued.
    """
    session.records.write(
        GIVEN, {"configurations": [configuration.to_json() for configuration in configurations]}
    )


def given_configurations(session: Session) -> list[Configuration]:
    """Configurations that the run was given; none if it begins as runs do."""
    record = session.records.read(GIVEN) or {"configurations": []}
    return [Configuration.from_json(entry) for entry in record["configurations"]]


def opening_of(session: Session, families: Mapping[str, Family]) -> Opening:
    """Configurations to begin with, and where they come from.

    Given configurations come alone. Otherwise the run begins with floors, the best configurations of
    earlier runs on this data set, and the defaults of the families that the settings name. If enough
    other data sets are known, their recommendations follow, in turn with the defaults of families that
    they do not know. Without them, or if they prove bad, the hand-ordered portfolio follows. Families
    in none of these begin with their default on their turn. A late run has only its floors.

    Parameters
    ----------
    families
        Those that take part.
    """
    if session.records.read(GIVEN) is not None:
        return Opening([(configuration, GIVEN) for configuration in given_configurations(session)])
    floors = [(configuration, FLOOR) for configuration in _floors(session, families)]
    named = [(configuration, DEFAULT) for configuration in _named(session, families)]
    if not session.settings.portfolio or session.is_late:
        return Opening(floors + named)
    past = [(configuration, PAST) for configuration in _past(session, families)]
    written = [
        (configuration, PORTFOLIO) for configuration in _written_portfolio(session, families)
    ]
    guide, learned = _knowledge(session, families)
    if guide is None and not learned:
        return Opening(floors + past + named + written)
    given = floors + past + named + [(configuration, KNOWLEDGE) for configuration in learned]
    return Opening(given, written, guide, _unknown(session, families, guide, written))


def _unknown(
    session: Session,
    families: Mapping[str, Family],
    guide: Guide | None,
    written: Sequence[tuple[Configuration, str]],
) -> list[tuple[Configuration, str]]:
    """Defaults of the families of which the guide knows nothing, then their entries of the hand-ordered portfolio."""
    if guide is None:
        return []
    known = {configuration.family for configuration in guide.model.configurations}
    defaults = {
        space_of(session.plan, family, session.settings).default(): DEFAULT
        for name, family in families.items()
        if name not in known
    }
    further = [
        (entry, origin)
        for entry, origin in written
        if entry.family not in known and entry not in defaults
    ]
    return [*defaults.items(), *further]


def _named(session: Session, families: Mapping[str, Family]) -> list[Configuration]:
    """Defaults of the families that the settings name: who names one gets at least a trial of it."""
    if not session.settings.families:
        return []
    return list(defaults_of(session.settings, session.plan, families).values())


def floors_of(settings: Settings, families: Collection[str]) -> list[str]:
    """Families whose default every run tries first, whether or not they take part.

    Parameters
    ----------
    families
        Those that take part.
    """
    return [
        name
        for name in FLOORS
        if name in families or name in WITHOUT_MODEL or not settings.families
    ]


def _floors(session: Session, families: Mapping[str, Family]) -> list[Configuration]:
    settings, plan = session.settings, session.plan
    return [
        space_of(plan, get_family(name), settings).default()
        for name in floors_of(settings, families)
    ]


def constant_of(session: Session) -> Configuration:
    """The floor that needs next to no time."""
    return space_of(session.plan, get_family(CONSTANT), session.settings).default()


def _past(session: Session, families: Mapping[str, Family]) -> list[Configuration]:
    """Best configurations of earlier searches on this data set, or on an earlier version of it."""
    if not session.experience:
        return []
    data = data_set_facts(session.folder)
    own = [one for one in session.experience if is_past_of(one.data, data)]
    spaces = spaces_of(session.plan, families, session.settings)
    return past_best([cleaned(one, spaces) for one in own], data)


def _knowledge(
    session: Session, families: Mapping[str, Family]
) -> tuple[Guide | None, list[Configuration]]:
    """Recommendations of other data sets, in the way that the settings name; neither without any."""
    settings = session.settings
    growth = _growth(session, families) if session.is_timed else None
    target = Target(
        data_set_facts(session.folder),
        spaces_of(session.plan, families, settings),
        growth,
        settings.seed,
    )
    guide, configurations = None, []
    if settings.warm_start != ADAPTIVE:
        configurations = recommended(session.experience, target, settings.warm_start)
    elif (scores := similar_scores(session.experience, target)) is not None:
        guide = Guide.of(scores, most=MOST, growth=growth)
    if guide is None and not configurations:
        _say_why(session)
    return guide, configurations


def _say_why(session: Session) -> None:
    """Warn that nothing is taken over, unless too little is known and nobody asked for it."""
    way, task = session.settings.warm_start, session.plan.table.task
    reason = obstacle(session.experience, task)
    knows_enough = known_scores(session.experience, task).n_data_sets >= LEAST_DATA_SETS
    if reason and (knows_enough or way != Settings.model_fields["warm_start"].default):
        session.warnings.append(
            f"setting warm_start: {way} finds nothing to begin with: {reason}; the run begins with "
            "the hand-ordered portfolio"
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
    entries = portfolio(plan.table.task, len(training), plan.table.frame.shape[1])
    fitted = [
        _as_requested(session, families[configuration.family], configuration)
        for configuration in entries
        if configuration.family in families
    ]
    return [
        configuration
        for configuration in fitted
        if not _leaves(session, families[configuration.family], configuration)
    ]


def _as_requested(session: Session, family: Family, configuration: Configuration) -> Configuration:
    """The same with the preprocessing that the settings choose for all families."""
    requested = requested_preprocessing(session.plan, session.settings)
    if not requested:
        return configuration
    kept = {k: v for k, v in configuration.values.items() if k.removeprefix(PREP) not in requested}
    return requested_space(family, session.plan.table.task, requested).complete(kept)


def _leaves(session: Session, family: Family, configuration: Configuration) -> bool:
    """Whether a configuration is outside of what settings or priors narrowed its family to."""
    if family.name not in session.settings.spaces and not session.folder.priors.exists():
        return False
    space = space_of(session.plan, family, session.settings)
    return space.is_legal(configuration) is not None
