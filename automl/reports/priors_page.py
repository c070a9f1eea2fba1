"""The page of learned priors: where good values lie, by family, beside the plain range."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automl.priors.general import LearnedPrior
from automl.reports.figure import Cell, DataTable, Figure
from automl.reports.figures.curves import density
from automl.reports.page import Code, Figures, Page, Paragraph, Part, Section, Tabular
from automl.spaces.ranges import plain_range

POINTS = 120
"""Of a curve: a third as many as a figure has units, so that the page stays small."""


def priors_page(priors: Sequence[LearnedPrior], file: str) -> Page:
    """What was learned.

    Parameters
    ----------
    priors : at least one
    file : where they were written
    """
    families = dict.fromkeys((prior.kind, _family(prior)) for prior in priors)
    of_families = tuple(
        Section(
            f"{kind}-{family}",
            f"{family}, {kind}",
            (
                Figures(
                    tuple(
                        prior_density(p) for p in priors if (p.kind, _family(p)) == (kind, family)
                    )
                ),
            ),
        )
        for kind, family in families
    )
    most = max(prior.data_sets for prior in priors)
    subtitle = f"{len(priors)} hyperparameters, learned from up to {most} data sets"
    return Page("Learned priors", subtitle, (_summary(priors, file), *of_families))


def prior_density(prior: LearnedPrior) -> Figure:
    """Density of one prior, relative to that of the plain range."""
    number = plain_range(prior.original)
    assert number is not None
    x = np.unique(number.ppf((np.arange(POINTS) + 0.5) / POINTS))
    heights = np.exp(prior.distribution.log_density(x) - number.log_density(x))
    context = prior.signature.partition("/")[2].replace("/", ", ")
    where = f" where {context}" if context else ""
    words = f"From {prior.data_sets} data sets, {prior.trials} trials{where}. Above the dotted line it is searched more."
    return density(
        x.tolist(), heights.tolist(), title=prior.name, description=words, label=prior.name, is_log=number.is_log
    )  # fmt: skip


def _summary(priors: Sequence[LearnedPrior], file: str) -> Section:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            prior.signature,
            prior.name,
            prior.data_sets,
            prior.trials,
            *(float(prior.distribution.value(share)) for share in (0.1, 0.5, 0.9)),
        )
        for prior in priors
    )
    columns = ("where", "hyperparameter", "data sets", "trials", "10 %", "median", "90 %")
    parts: tuple[Part, ...] = (
        Paragraph("A prior says where good values of a hyperparameter lie on the tables that were learned from."),
        Tabular(DataTable("Quantiles of the priors", columns, rows)),
        Paragraph("Search there:"),
        Code(f"automl train TABLE --target COLUMN --priors {file}", "sh"),
    )  # fmt: skip
    return Section("summary", "What was learned", parts)


def _family(prior: LearnedPrior) -> str:
    return prior.signature.partition("/")[0]
