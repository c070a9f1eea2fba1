"""All settings of a run: the sections together."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import model_validator

from automl.addresses import public_address
from automl.bandits.special_names import AUTO
from automl.problem_names import problem_name
from automl.settings.data import Data
from automl.settings.ensemble import Ensemble
from automl.settings.fields import Section, Setting, account_of
from automl.settings.names import NO_ENSEMBLE, check_families
from automl.settings.registration import Registration
from automl.settings.resources import Resources
from automl.settings.score import Score
from automl.settings.search import Search
from automl.settings.selection import Selection
from automl.significance import choose_split

SECTIONS: Mapping[str, type[Section]] = MappingProxyType(
    {
        "data": Data,
        "resources": Resources,
        "score": Score,
        "search": Search,
        "selection": Selection,
        "ensemble": Ensemble,
        "registration": Registration,
    }
)
"""The sections by name, in the order in which they are shown."""


class Settings(  # pydantic lists the fields of the last base first
    Registration, Ensemble, Selection, Search, Score, Resources, Data
):
    """Everything that decides the outcome of a run; shown as a form in the Prefect UI."""

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.family_folder is None:  # its families are known once it has been read
            check_families((*self.families, *self.exclude))
        if left_out := [name for name in self.spaces if not self.takes_part(name)]:
            raise ValueError(f"spaces names family {left_out[0]!r}, which does not take part")
        if self.groups and self.time:
            raise ValueError("groups and time cannot be combined; give one of them")
        if self.test and self.test_share:
            raise ValueError("test and test_share cannot be combined; give one of them")
        if self.data_mode == "halves" and self.ensemble != NO_ENSEMBLE:
            raise ValueError("an ensemble needs data_mode all; with halves give ensemble none")
        choose_split(self.alpha_split, self.selection_test, self.alpha)
        return self

    @property
    def chosen_allocator(self) -> str | dict[str, Any]:
        """`allocator`; for auto the one by expected gain per second, or per turn where trials count."""
        if self.allocator != AUTO:
            return self.allocator
        return "expected_gain_seconds" if self.may_read_clock else "expected_gain"

    @property
    def public(self) -> Settings:
        """The same without what may be a secret in the addresses of the tables."""
        addresses = {name: getattr(self, name) for name in ("table", "test")}
        return self.model_copy(
            update={name: public_address(value) for name, value in addresses.items() if value}
        )

    @property
    def problem(self) -> str:
        """Name of the experiment: `name`, else table stem and target."""
        return problem_name({"name": self.name, "table": self.table, "target": self.target})


def accounts() -> dict[str, Setting]:
    """Declarations of all settings, by name and in order."""
    return {name: account_of(info) for name, info in Settings.model_fields.items()}


def section_of(name: str) -> str:
    """Name of a setting's section."""
    return next(key for key, section in SECTIONS.items() if name in section.model_fields)
