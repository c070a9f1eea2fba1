"""`Result`: what a run came to, as a record that explains itself in Python and in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, Self

import pandas as pd

from automl.errors import AutoMLError, SettingsError
from automl.home import Home, RunFolder, default_home
from automl.reports.figure import number
from automl.reports.page import Code, Facts, Fragment, Paragraph, Part
from automl.reports.run_choices import choices_of
from automl.reports.sections.answer import answer
from automl.run_state import read_stage
from automl_flows.words.report_page import ReportPage, report_page

NEXT = """\
{owner}.leaderboard()    # every model, in natural units
{owner}.why()            # how it was chosen
{owner}.report()         # the whole page"""


class Told(str):
    """A text that is shown as it is, not as a literal, where a console or a notebook shows values."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        style = "white-space:pre-wrap;overflow-wrap:anywhere"
        return f'<pre style="{style}">{escape(self)}</pre>'


class Result(dict[str, Any]):
    """The record of a run, as ``automl train --json`` prints it, with its pages.

    Parameters
    ----------
    record
        Empty for a run that is not finished.
    folder
        Of the run.
    """

    def __init__(self, record: Mapping[str, Any], folder: RunFolder) -> None:
        super().__init__(record)
        self.folder = folder

    @classmethod
    def of(cls, run: str, home: str | Path | None = None) -> Self:
        """That of an earlier run, finished or not.

        Parameters
        ----------
        run
            Run id, or the beginning of one.
        home
            State folder; None for `AUTOML_HOME` or else ./automl-home.

        Raises
        ------
        SettingsError
            If there is no such run.
        """
        state = Home(Path(home).expanduser().resolve() if home else default_home())
        folder = state.run(run)
        return cls(read_stage(folder, "result") or {}, folder)

    def leaderboard(
        self,
        table: str | pd.DataFrame | None = None,
        *,
        test: bool = False,
        trust: bool = False,
    ) -> pd.DataFrame:
        """The models of the run, best first, in natural units; as ``automl leaderboard --json``.

        Parameters
        ----------
        table
            Labelled rows on which the models are scored too, as a frame or a file.
        test
            Whether they are scored on the test rows of the run.
        trust
            Whether a model that needs pickle may be loaded, which runs its code.

        Returns
        -------
        (n_models, n_columns)
            ``rank`` is missing for the model of the run. Columns of rows that were asked for begin with
            ``test_``. ``model`` is what `automl predict` takes, and empty where none is kept.

        Raises
        ------
        SettingsError
            If the folder of the run is gone, both `table` and `test` are given, or there is nothing to score.
        DataError
            If the models cannot take the table.
        """
        from automl.reports.leaderboard import leaderboard_of

        return leaderboard_of(self._kept(), test=test, table=table, trust=trust).frame()

    def why(self, trial: str | None = None) -> Told:
        """Why the run chose its model, or what became of one trial; the text of ``automl why``.

        Parameters
        ----------
        trial
            Trial id, its short form, or its number.

        Raises
        ------
        SettingsError
            If the folder of the run is gone, or there is no such trial.
        AutoMLError
            If its records are damaged.
        """
        from automl_flows.words.legible import legible, readable_choices
        from automl_flows.words.rendering import facts_lines
        from automl_flows.words.why_run import facts_of
        from automl_flows.words.why_trial import why_trial

        folder = self._kept()
        choices = readable_choices(folder)
        with legible(choices, folder):
            if trial is not None:
                return Told(why_trial(choices, choices.trial(str(trial))).text)
            return Told("\n".join(facts_lines(facts_of(choices))[0]))

    def report(self, output: str | Path | None = None) -> ReportPage:
        """The report of the run: a page that a notebook shows, and ``.open()`` opens in a browser.

        Parameters
        ----------
        output
            File to write; None for the one in the folder of the run.

        Raises
        ------
        SettingsError
            If the folder of the run is gone.
        StorageError
            If the file cannot be written.
        """
        return report_page(self._kept(), None if output is None else Path(output).expanduser())

    def fragment(self, *more: Part, owner: str = "result") -> Fragment:
        """What a notebook shows of the run.

        Parameters
        ----------
        more
            Parts at the end.
        owner
            What the reader calls the result.
        """
        title = f"{self.get('problem') or 'Run'}: {self.folder.run_id}"
        if not self.folder.path.is_dir():
            return Fragment(title, (*self._remembered(), *more))
        try:
            parts = answer(choices_of(self.folder), self.folder).parts
        except AutoMLError as error:
            parts = (Paragraph(error.message, "notice"), *self._remembered())
        return Fragment(title, (*parts, Code(NEXT.format(owner=owner)), *more))

    def _repr_html_(self) -> str:
        return self.fragment().html

    def _remembered(self) -> tuple[Part, ...]:
        """What the record says without the folder of its run."""
        champion = self.get("champion") or {}
        metrics = {name: number(value) for name, value in (self.get("metrics") or {}).items()}
        facts = {
            "champion": champion.get("family"),
            "score": number(self.get("score")),
            **metrics,
            "folder": f"{self.folder.path} is not there, which has the rest",
        }
        return (Facts.of(facts),)

    def _kept(self) -> RunFolder:
        if not self.folder.path.is_dir():
            raise SettingsError(f"the folder of the run is gone: {self.folder.path}")
        return self.folder
