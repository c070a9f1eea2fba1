"""The ensemble as a picture: who is in it, with which weight, and what each adds."""

from __future__ import annotations

from collections.abc import Iterator

from automl.evaluation.plan import EvaluationPlan
from automl.home import RunFolder
from automl.reports.figures.members import weights
from automl.reports.members import members_of
from automl.reports.page import Figures, Paragraph, Part, Section
from automl.reports.run_choices import RunChoices

KEY, TITLE = "ensemble", "The ensemble"
_COMBINED = {
    "mean": "The predictions are averaged by the weights.",
    "median": "The prediction is the weighted median.",
    "vote": "Each member votes for a class, by its weight.",
}
_CALIBRATED = " The probabilities are then calibrated: this scored better out of fold."


def ensemble(choices: RunChoices, folder: RunFolder, plan: EvaluationPlan | None) -> Section:
    """Members of the final model.

    Parameters
    ----------
    plan : None where the out-of-fold predictions cannot be judged
    """
    return Section(KEY, TITLE, tuple(_parts(choices, folder, plan)))


def _parts(choices: RunChoices, folder: RunFolder, plan: EvaluationPlan | None) -> Iterator[Part]:
    record, members = choices.ensemble, members_of(choices, plan, folder)
    if record is None or not members:
        yield Paragraph("There is no model yet.")
        return
    if record.evidence is None:
        yield Paragraph("No ensemble was built: the model is a single trial.")
        return
    if len(members) == 1:
        yield Paragraph(f"The model is a single trial, {members[0].name}. {_learned(choices)}")
        return
    layers = " of two layers" if any(member.inputs for member in members) else ""
    yield Paragraph(
        f"The model is an ensemble{layers} by the method {record.method}, chosen among {record.n_library} "
        f"trials. {_COMBINED[record.combine]}{_CALIBRATED if record.calibration else ''}"
    )
    yield Figures((weights(members),))


def _learned(choices: RunChoices) -> str:
    """What became of the ensemble that was learned."""
    record = choices.ensemble
    assert record is not None
    if record.replaced_champion or len(record.learned) < 2:
        return "The ensemble that was learned gave all the weight to it."
    return f'An ensemble of {len(record.learned)} was learned and not taken; the test is under "Why this one".'
