"""The records of a run as they are read to people: what is damaged is an error of one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from automl.errors import AutoMLError
from automl.home import RunFolder
from automl.reports.run_choices import RunChoices, choices_of
from automl.run.stage_table import STAGES
from automl.run_state import read_stage


def readable_choices(folder: RunFolder, *, is_checked: bool = False) -> RunChoices:
    """What is known of a run's choices; a record that is damaged is told from one that is not there yet.

    Parameters
    ----------
    is_checked : whether the check itself says what an incomplete record lacks

    Raises
    ------
    AutoMLError
        If there is a stage's record that cannot be read.
    """
    choices = choices_of(folder)
    for stage in STAGES:
        file = folder.stages / f"{stage.name}.json"
        if choices.record(stage.record) is not None or not file.exists():
            continue
        content = read_stage(folder, stage.name)
        if not content:
            raise AutoMLError(
                f"a record of run {choices.run_id} cannot be read: {file} must hold the JSON object "
                f"that the stage {stage.name} has written",
                run=choices.run_id,
            )
        if not is_checked:
            with legible(choices, folder):
                stage.record.from_json(content)
    return choices


@contextmanager
def legible(choices: RunChoices, folder: RunFolder) -> Iterator[None]:
    """One sentence about incomplete records.

    Raises
    ------
    AutoMLError
        Instead of the errors of looking up what is not there.
    """
    try:
        yield
    except AutoMLError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        cause = error.__cause__ or error
        raise AutoMLError(
            f"the records of run {choices.run_id} in {folder.stages} are damaged or incomplete "
            f"({type(cause).__name__} {cause}); automl why "
            f"{choices.run_id} --check looks into that of the selection",
            run=choices.run_id,
        ) from error
