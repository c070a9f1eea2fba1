"""Priors that a run learns itself, from what it knows of other data sets (B14, chapter 4)."""

from __future__ import annotations

from automl.durable import write_whole
from automl.experience.cleaning import of_kind
from automl.families.family import kind_of
from automl.priors.files import Priors
from automl.priors.general import learn_priors
from automl.run.session import Session
from automl.settings import LEARNED


def keep_own_priors(session: Session) -> None:
    """Learn priors where the setting `priors` says so, and keep them in the run as a file of priors.

    Says so where too little is known for any.

    Raises
    ------
    ServiceError
        If they cannot be written.
    """
    settings = session.settings
    if settings.priors != LEARNED:
        return
    task = session.plan.table.task
    experiences = of_kind(session.experience, task)
    learned = learn_priors(experiences, families=settings.families, seed=settings.seed)
    if not learned:
        session.warnings.append(
            f"setting priors: {len(experiences)} runs on {kind_of(task)} tables are known, too few to learn priors "
            "from; the plain ranges are searched"
        )
        return
    names = sorted({one.data.name for one in experiences})
    text = Priors.of(learned).text({"seed": settings.seed, "data_sets": names})
    write_whole(session.folder.priors, [text.encode()], "the file of priors")
