"""Task of learning priors: from what is known of tables to text and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE


@task(cache_policy=NO_CACHE, persist_result=False)
def learn_priors_of(
    home: str, tables: list[str], files: list[str], into: str, options: dict[str, Any]
) -> list[dict[str, Any]]:
    """Write priors, their pictures and their page; one row for each prior.

    Parameters
    ----------
    tables : names of tables that were learned in the home
    files : exports of experience, files of knowledge
    into
        File of the priors; pictures go to a folder of that name beside it.
    options
        `families`, `seed`, `command`, and `settings`, those of `PriorSettings` that differ.
    """
    from automl.durable import write_whole
    from automl.home import Home
    from automl.priors.accepted_values import PriorSettings
    from automl.reports.page import render
    from automl.reports.priors import page_file, pictures_folder, save_prior_pictures
    from automl.reports.priors_page import priors_page
    from automl.table_studies.learned_folder import LearnedFolder
    from automl.table_studies.prior_learning import gathered, make_priors

    experiences = gathered(LearnedFolder(Home(Path(home))), tables, map(Path, files))
    priors = make_priors(
        experiences,
        Path(into),
        settings=PriorSettings(**options.get("settings", {})),
        families=options.get("families", ()),
        seed=options.get("seed", 0),
        command=options.get("command", ""),
    )
    pictures = save_prior_pictures(priors, pictures_folder(Path(into)))
    if priors:
        page = render(priors_page(priors, into))
        write_whole(page_file(Path(into)), [page.encode()], "the page of the priors")
    get_run_logger().info(
        "%s priors of %s data sets, %s pictures", len(priors), len(experiences), len(pictures)
    )
    return [
        {
            "kind": prior.kind,
            "signature": prior.signature,
            "hyperparameter": prior.name,
            "data_sets": prior.data_sets,
            "trials": prior.trials,
            "median": float(prior.distribution.value(0.5)),
            "low_tenth": float(prior.distribution.value(0.1)),
            "high_tenth": float(prior.distribution.value(0.9)),
        }
        for prior in priors
    ]
