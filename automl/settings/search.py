"""Settings of the search: who takes part, what is proposed, and what is known beforehand."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import ValidationInfo, field_validator

from automl.alternatives import Resource
from automl.bandits.special_names import AUTO
from automl.settings.fields import Idle, Option, Section, setting
from automl.settings.names import ALLOCATOR_NAMES, OPTIMIZER_NAMES, WARM_STARTS, optimizer_entry
from automl.settings.option_texts import absolute

LEARNED = "learned"
"""Value of `priors`: those that experience teaches."""
_PRIOR = "gp_prior"


def _prior_source(text: str) -> str:
    return text if text == LEARNED else absolute(text)


class Search(Section):
    """Which configurations are tried, and in which order."""

    title: ClassVar[str] = "The search"

    families: tuple[str, ...] = setting(
        (),
        help="Only these families",
        more="floors, which every model has to beat, are tried as well",
        usual="all",
        option=Option(metavar="A,B"),
        form="first",
    )
    exclude: tuple[str, ...] = setting(
        (),
        help="Families left out",
        option=Option(metavar="A,B"),
        idle=(
            Idle(
                lambda s: bool(s.families) and not set(s.exclude) & set(s.families),
                "families already chooses the families, and names none of these",
            ),
        ),
    )
    family_folder: str | None = setting(
        None, help="Folder with your own family files", form="operator"
    )
    spaces: dict[str, dict[str, Any]] = setting(
        {}, help="Other ranges or choices, by family and hyperparameter"
    )
    priors: str | None = setting(
        None,
        help="Priors written by `automl learn priors`, or learned from earlier runs",
        more="they replace the families' plain ranges; learned: from what earlier runs have tried",
        option=Option(metavar="FILE|learned", parse=_prior_source),
        idle=(
            Idle(
                lambda s: s.priors == LEARNED and not s.experience,
                "there is nothing to learn priors from; that needs experience",
            ),
        ),
        min_length=1,
    )
    optimizer: str | dict[str, Any] = setting(
        "hypercube",
        help="What proposes configurations",
        more="a name, a name as `base` with options, or the parts of a composition",
        option=Option(metavar="NAME", kind=str),
        presets={"fast": _PRIOR, "balanced": _PRIOR, "best": _PRIOR},
        names=OPTIMIZER_NAMES,
    )
    allocator: str | dict[str, Any] = setting(
        "uniform",
        help="How turns are given to families",
        more="auto: expected_gain_seconds, or expected_gain with a number of trials; only:F: the "
        "family F; or a name as `base` with options",
        option=Option(metavar="NAME", kind=str),
        presets={"fast": AUTO, "balanced": AUTO, "best": AUTO},
        names=ALLOCATOR_NAMES,
    )
    fidelity: Resource = setting(
        "auto",
        help="What the partial trials of an optimizer save",
        more="folds, training rows, or trees and rounds; auto: folds if there are at least three, "
        "else rows",
        idle=(
            Idle(
                lambda s: s.fidelity != "auto" and not optimizer_entry(s.optimizer).has_levels,
                "the optimizer makes no partial trials; hyperband does",
            ),
        ),
    )
    lookback: int = setting(
        4,
        help="Decision i sees the results of decisions up to i - lookback",
        more="from 8 on, decisions come in rounds of a quarter of it, and i is the first of its round",
        unit="decisions",
        idle=(
            Idle(
                lambda s: s.trials is None,
                "under a time budget decisions see every finished trial; give trials",
            ),
        ),
        ge=1,
    )
    racing: bool = setting(
        True,
        help="End hopeless trials before their last fold; with one holdout, begin slow ones on a ninth of the rows",
        presets={"thesis": False},
    )
    portfolio: bool = setting(
        True,
        help="Start with the best of earlier runs on the data set, and with a portfolio",
        presets={"thesis": False},
    )
    experience: bool = setting(
        True,
        help="Use what earlier runs have tried",
        option=Option("--experience/--no-experience"),
    )
    exclude_experience: tuple[str, ...] = setting(
        (),
        help="Data sets left out of experience",
        more="names, run ids, origins (shipped, imported), or the first digits of a fingerprint or "
        "layout",
        option=Option(metavar="A,B"),
        idle=(
            Idle(
                lambda s: not s.experience, "nothing of earlier runs is used; that needs experience"
            ),
        ),
    )
    warm_start: str = setting(
        "adaptive",
        help="How other data sets choose the first configurations",
        more="adaptive (each choice uses the scores so far), portfolio (good on many data sets), "
        "nearest (best on the most similar), best or delta (three by a meta-learner), order (all "
        "known ones, by a meta-learner)",
        idle=(
            Idle(
                lambda s: not (s.portfolio and s.experience),
                "other data sets recommend nothing; that needs portfolio and experience",
            ),
        ),
        names=WARM_STARTS,
    )
    blend: float = setting(
        0.0,
        help="Weight of the meta-learner's vote on proposals, in trials of the family",
        more="0: no vote",
        unit="trials",
        idle=(
            Idle(
                lambda s: s.blend > 0 and not s.experience,
                "the meta-learner knows of no other data sets; that needs experience",
            ),
            Idle(
                lambda s: s.blend > 0 and not optimizer_entry(s.optimizer).takes_vote,
                "the optimizer has no surrogate to vote with; gbqr has one",
            ),
        ),
        ge=0,
        le=10_000,
    )

    @field_validator("families", "exclude", "exclude_experience", mode="before")
    @classmethod
    def _comma_separated(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, str):
            names = tuple(part.strip() for part in value.split(",") if part.strip())
            if not names:
                kind = "data sets" if info.field_name == "exclude_experience" else "families"
                raise ValueError(f"must name {kind}; got {value!r}")
            return names
        return value

    def takes_part(self, family: str) -> bool:
        """Whether `families` and `exclude` admit a family."""
        return family not in self.exclude and (not self.families or family in self.families)
