"""Record of what the tracking store may do with the model of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from automl.home import RunFolder
from automl.stage_record import StageRecord


@dataclass(frozen=True)
class RegistrationRule(StageRecord):
    """Whether the model is registered, and whether it may take the champion's alias.

    Parameters
    ----------
    reason : why it may take the alias or not, one sentence; empty if nothing was decided
    is_compared : whether scores on common rows decided
    is_open : whether the model may be better than the champion though that is not proven
    compared_with : version that held the alias then, empty for none; None if nothing was decided
    """

    stage: ClassVar[str] = "registration"

    register: bool = True
    promote: bool = True
    reason: str = ""
    is_compared: bool = False
    is_open: bool = False
    compared_with: str | None = None

    @classmethod
    def of(cls, folder: RunFolder) -> RegistrationRule:
        """The rule of a run; that of every run where none was written."""
        return cls.read(folder) or cls()
