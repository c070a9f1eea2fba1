"""``automl evaluate``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from automl.addresses import public_address
from automl.listing import counted
from automl_flows.commands.options import HomeOption, JsonOption
from automl_flows.commands.process import open_home
from automl_flows.words.messages import say

if TYPE_CHECKING:
    from automl.metrics.intervals import Interval
    from automl.run.model_evaluation import ModelEvaluation


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(evaluate)


def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Run id, RUN#TRIAL, NAME@ALIAS, model URI or bundle folder"
        ),
    ],
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="Table with the target column filled in")
    ],
    *,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a model that needs pickle, which runs its code")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Refuse a table that lacks columns of the model, or targets"),
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a trained model on a table whose target is known."""
    from automl_flows.prediction import Predictor
    from automl_flows.words.rendering import emit_json

    state = open_home(home)
    predictor = Predictor.open(model, state, trust=trust, strict=strict)
    found = predictor.evaluate(table, state, trust=trust)
    if as_json:
        emit_json({"model": model, "table": public_address(table), **found.to_json()})
    else:
        _show(found, dict([predictor.validated(state)]))


def _show(found: ModelEvaluation, earlier: Mapping[str, Mapping[str, float]]) -> None:
    """Print every metric, and what to know before it is believed.

    Parameters
    ----------
    earlier : values that the run found, by the name of their column; no values where they are not known
    """
    from automl_flows.words.metric_table import SCORE, show_metrics

    metrics = {**found.metrics, SCORE: found.score}
    intervals = {**found.intervals.metrics, SCORE: found.intervals.score}
    told = {name: _interval_text(each) for name, each in intervals.items() if each is not None}
    show_metrics(
        {
            counted(found.rows, "row"): metrics,
            "95 % interval": told,
            **{column: values for column, values in earlier.items() if values},
        }
    )
    for sentence in _remarks(found):
        say(f"note: {sentence}")


def _interval_text(interval: Interval) -> str:
    from automl_flows.words.rendering import text_of

    return " to ".join(map(text_of, interval))


def _remarks(found: ModelEvaluation) -> list[str]:
    from automl_flows.words.metric_table import trained_on_text

    sentences = [
        trained_on_text(found.trained_on, found.rows),
        f"{counted(found.unlabelled, 'row')} without a label in column {found.target!r} "
        f"{'is' if found.unlabelled == 1 else 'are'} left out"
        if found.unlabelled
        else "",
        ""
        if found.is_own_scale
        else "the run of this model is not in the home, so 0 of the score is chance on these rows",
        found.deviations.sentence,
    ]
    return [sentence for sentence in sentences if sentence]
