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
_SAMPLED = "gp_sampled"


def _prior_source(text: str) -> str:
    return text if text == LEARNED else absolute(text)


class Search(Section):
    """Which configurations are tried, and in which order."""

    title: ClassVar[str] = "The search"

    families: tuple[str, ...] = setting(
        (),
        help="Only these families",
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
                "families alone says who takes part, and names none of these",
            ),
        ),
    )
    family_folder: str | None = setting(None, help="Folder with own family files", form="operator")
    spaces: dict[str, dict[str, Any]] = setting(
        {}, help="Other ranges or choices, by family and hyperparameter"
    )
    priors: str | None = setting(
        None,
        help="Priors that `automl learn priors` has written, or those that earlier runs teach",
        more="they take the place of the families' plain ranges; learned: from what earlier runs "
        "have tried",
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
        help="Search method inside each family",
        more="a name, a name as `base` with options, or the parts of a composition",
        option=Option(metavar="NAME", kind=str),
        presets={"fast": _SAMPLED, "balanced": _SAMPLED, "best": _SAMPLED},
        names=OPTIMIZER_NAMES,
    )
    allocator: str | dict[str, Any] = setting(
        "uniform",
        help="How turns are given to families",
        more="auto: expected_gain_seconds, and expected_gain where trials are counted; only:F: "
        "the family F; or a name as `base` with options",
        option=Option(metavar="NAME", kind=str),
        presets={"fast": AUTO, "balanced": AUTO, "best": AUTO},
        names=ALLOCATOR_NAMES,
    )
    fidelity: Resource = setting(
        "auto",
        help="What an optimizer with partial trials saves on",
        more="folds, training rows, or trees and rounds; auto takes folds where there are three",
        idle=(
            Idle(
                lambda s: s.fidelity != "auto" and not optimizer_entry(s.optimizer).has_levels,
                "the optimizer makes no trials of less than the whole; hyperband does",
            ),
        ),
    )
    lookback: int = setting(
        4,
        help="Decision i sees the results of decisions up to i - lookback",
        more="from 8 on decisions are made in rounds of a quarter of it, and i is the first of a round",
        unit="decisions",
        idle=(
            Idle(
                lambda s: s.trials is None,
                "with a time budget decisions see all that has ended; give trials",
            ),
        ),
        ge=1,
    )
    racing: bool = setting(
        True, help="End hopeless trials before their last fold", presets={"thesis": False}
    )
    portfolio: bool = setting(
        True,
        help="Begin with the best of earlier runs on the data set, and with a portfolio",
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
        help="What is taken over from other data sets to begin with",
        more="adaptive (what is expected to be best after each score here), portfolio (good on "
        "many), nearest (best on the most similar), best or delta (three by the meta-learner), order "
        "(all known ones in its order)",
        idle=(
            Idle(
                lambda s: not (s.portfolio and s.experience),
                "nothing is taken over from other data sets; that needs portfolio and experience",
            ),
        ),
        names=WARM_STARTS,
    )
    blend: float = setting(
        0.0,
        help="Trials of a family that the meta-learner's vote on proposals counts as much as",
        more="0: no vote",
        unit="trials",
        idle=(
            Idle(
                lambda s: s.blend > 0 and not s.experience,
                "the meta-learner knows of no other data sets; that needs experience",
            ),
            Idle(
                lambda s: s.blend > 0 and not optimizer_entry(s.optimizer).takes_vote,
                "the optimizer has no surrogate that a meta-learner could vote beside; gbqr has",
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
