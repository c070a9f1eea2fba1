"""What a run that is driven here says of itself now."""

from __future__ import annotations

from itertools import accumulate

from automl.metrics.words import headline, words_of
from automl.progress import Best, Progress
from automl.records import TrialStatus
from automl.run.stage_table import REGISTRATION, stages_of
from automl.stages.line import Line

ENDED_WELL = frozenset({TrialStatus.COMPLETE, TrialStatus.PARTIAL, TrialStatus.RACED})


def progress_of(line: Line) -> Progress:
    """State of a run."""
    session, trials = line.session, line.trials
    stages = stages_of(session.settings)
    names = [*(stage.name for stage in stages), REGISTRATION]
    titles = {stage.name: stage.title for stage in stages[1:]}  # the first is the end of the search
    current = session.current_stage
    return Progress(
        stage=titles.get(current, current),
        elapsed=session.ledger.elapsed,
        budget=session.ledger.total,
        trials_done=len(trials),
        trials_running=line.search.turns.n_under_way,
        trials_failed=sum(trial.status not in ENDED_WELL for trial in trials),
        trials_raced=sum(trial.status is TrialStatus.RACED for trial in trials),
        slots=session.pool.n_slots,
        best=_best(line),
        trials_planned=session.settings.trials,
        stages_done=names.index(current),
        stages_planned=len(names),
    )


def _best(line: Line) -> Best | None:
    """The best complete trial so far; None before the first."""
    complete = [trial for trial in line.trials if trial.is_complete]
    if not complete:
        return None
    best = max(complete, key=lambda trial: trial.achieved)
    name = headline(line.session.plan.index.name, best.metrics)
    return Best(
        score=best.achieved,
        family=best.configuration.family,
        metric=words_of(name).label if name else "",
        value=best.metrics.get(name),
        history=tuple(accumulate((trial.achieved for trial in complete), max)),
    )
