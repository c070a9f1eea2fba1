"""Writes what is learned from the shipped knowledge: ``python -m automl.table_studies.shipped_fits``.

Needed after a change of the knowledge, of a family's search space or of its encoding. Runs whose sources are
others learn by themselves, which takes them about a second a family.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from automl.durable import write_whole
from automl.experience.cleaning import learnable
from automl.experience.knowledge import shipped
from automl.families.registry import families
from automl.optimizers.registry import get_optimizer
from automl.recommendation.source_fits import FILE, KeptFit, digest_of, parts_of
from automl.recommendation.transfer_sources import unlearned_sources_of, used_of
from automl.records import Task
from automl.spaces.configuration_encoder import ConfigurationEncoder
from automl.surrogates.informed_learning import learn_fit
from automl.surrogates.informed_process import InformedProcess

OPTIMIZER = "gp_prior"
KINDS = {"classification": Task.BINARY, "regression": Task.REGRESSION}
FEWEST = 100
"""Trials from which learning takes a time that is worth a line in the file (by judgement)."""


def fits_of(family: str, task: Task) -> Iterator[KeptFit]:
    """Fits of a family to the shipped knowledge, from all tables and from either half."""
    experiences = learnable(shipped(), task)
    form = get_optimizer(OPTIMIZER).encoding
    encoder = ConfigurationEncoder(families(task)[family].space(task), form=form).fit()
    sources = unlearned_sources_of(experiences, encoder, experiences[0].data)
    if len(sources.y) < FEWEST:
        return
    for part, rows in parts_of(used_of(experiences, encoder), sources):
        some = sources.subset(np.flatnonzero(rows))
        rng = np.random.default_rng(0)
        fit = learn_fit(some, most_rows=InformedProcess.most_rows, rng=rng)
        yield KeptFit(part, digest_of(sources, rows, encoder), fit)


def main() -> None:
    """Learn everything again and write the file."""
    content: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for kind, task in KINDS.items():
        found = {
            family: [one.to_json() for one in fits_of(family, task)] for family in families(task)
        }
        content[kind] = {family: kept for family, kept in found.items() if kept}
    write_whole(FILE, [json.dumps(content).encode(), b"\n"], "what was learned")


if __name__ == "__main__":
    main()
