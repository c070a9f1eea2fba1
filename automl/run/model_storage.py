"""Whether the models of a run can be stored so that they load without any trust."""

from __future__ import annotations

from automl.errors import SettingsError
from automl.families.family import Family, kind_of
from automl.families.registry import families_of_packages, load_families
from automl.inference.packing import needs_pickle, pickle_refusal
from automl.settings import Settings

#: Facts that replace those of a table that is not read yet; they do not change an estimator's class.
FACTS = {"n_rows": 1000, "n_columns": 10, "n_classes": 2}


def check_storage(settings: Settings) -> None:
    """Refuse own families whose models only a pickle can hold, before the run begins.

    One of an installed package is refused where it is asked for; else it takes no part
    (`needs_trust`).

    An estimator that shows so only when it is fitted ends its trial instead.

    Raises
    ------
    SettingsError
        With family and class, unless the setting `trust` allows pickles.
    """
    if settings.trust:
        return
    named = {name: one for name, one in families_of_packages().items() if name in settings.families}
    own = load_families(settings.family_folder) if settings.family_folder else {}
    for name, family in {**named, **own}.items():
        if settings.takes_part(name) and (reason := needs_trust(family, settings.task)):
            raise SettingsError(reason, family=name)


def needs_trust(family: Family, task: str) -> str | None:
    """Why only a pickle can hold the models of a family, or None.

    Parameters
    ----------
    task
        A task or a kind of target; ``auto`` for all kinds that the family has.
    """
    if family.unavailable is not None:
        return None
    for kind in family.kinds:
        if task != "auto" and kind != kind_of(task):
            continue
        space = family.space(kind).with_facts(**FACTS)
        estimator = family.build(space.default(), task=kind)
        if needs_pickle(estimator):
            return f"family {family.name}: {pickle_refusal(estimator)}"
    return None
