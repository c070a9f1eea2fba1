"""Whether the models of a run can be stored so that they load without any trust."""

from __future__ import annotations

from automl.errors import SettingsError
from automl.families.family import Family, kind_of
from automl.families.registry import load_families
from automl.inference.packing import needs_pickle, pickle_refusal
from automl.settings import Settings

#: Facts of a table that stand in for one that is not read yet; they do not change an estimator's class.
FACTS = {"n_rows": 1000, "n_columns": 10, "n_classes": 2}


def check_storage(settings: Settings) -> None:
    """Refuse own families whose models only a pickle can hold, before the run begins.

    An estimator that shows so only when it is fitted ends its trial instead.

    Raises
    ------
    SettingsError
        With family and class, unless the setting `trust` allows pickles.
    """
    if settings.trust or not settings.family_folder:
        return
    for name, family in load_families(settings.family_folder).items():
        if settings.takes_part(name) and family.unavailable is None:
            _check_family(family, settings.task)


def _check_family(family: Family, task: str) -> None:
    for kind in family.kinds:
        if task != "auto" and kind != kind_of(task):
            continue
        space = family.space(kind).with_facts(**FACTS)
        estimator = family.build(space.default(), task=kind)
        if needs_pickle(estimator):
            raise SettingsError(
                f"family {family.name}: {pickle_refusal(estimator)}", family=family.name
            )
