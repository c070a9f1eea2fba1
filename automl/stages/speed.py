"""How fast candidates are: as measured, or as stored timings let expect where no clock may be read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from automl.families.registry import get_family
from automl.forecasts.earlier_runs import earlier_timings
from automl.forecasts.forecast import Forecast
from automl.forecasts.timings import KnownTimings, Workload
from automl.records import Configuration
from automl.run.search_spaces import spaces_of
from automl.run.session import Session

MEASURED, EXPECTED = "measured", "expected"


def workload_of(session: Session) -> Workload:
    """Training rows of a full fit of the run."""
    plan = session.plan
    training, _ = plan.rows_of("search", 0, 0)
    return Workload(len(training), plan.table.frame.shape[1], plan.table.n_classes)


def stored_timings(session: Session) -> KnownTimings:
    """Forecast before the first trial: timings of earlier runs in this home, and of shipped ones."""
    workload = workload_of(session)
    timings = earlier_timings(session.experience, workload)
    return KnownTimings(workload, tuple(chain.from_iterable(timings.values())))


def ranks_by_expected_speed(session: Session) -> bool:
    """Whether speed counts in the ranking and may not be measured.

    A run of a number of trials must be the same again on any machine and with any number of
    workers, unless the setting `cost_aware` lets it rank by what it measures.
    """
    settings = session.settings
    return settings.criteria.get("speed", 0.0) > 0 and not settings.may_read_clock


def expected_seconds(session: Session, configurations: Sequence[Configuration]) -> list[float]:
    """Seconds of a fold of each configuration by stored timings, the same in equal runs (B14, section 3.5.3).

    The runtime models of the families are fitted to the timings in the run's snapshot of
    experience. Where it holds none, the relative costs in the families' text files take their
    place: of the families' defaults, on a table of this size.

    Returns
    -------
    (n configurations,), positive
    """
    chosen = {
        configuration.family: get_family(configuration.family) for configuration in configurations
    }
    spaces = spaces_of(session.plan, chosen, session.settings)
    forecast = Forecast(spaces, stored_timings(session), n_folds=1, seed=session.settings.seed)
    forecasts = [forecast.seconds(configuration) for configuration in configurations]
    forecast_ones = [seconds for seconds in forecasts if seconds is not None]
    if len(forecast_ones) == len(forecasts):
        return forecast_ones
    sizes = workload_of(session)
    return [
        chosen[configuration.family].relative_seconds(sizes.rows, sizes.columns)
        for configuration in configurations
    ]
