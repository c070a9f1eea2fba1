"""Why this model: the selection tree, and what no test could tell from the champion."""

from __future__ import annotations

from collections.abc import Iterator

from automl.home import Home, RunFolder
from automl.records import short_id
from automl.reports.command_line import command
from automl.reports.decision_table import untested
from automl.reports.figure import number
from automl.reports.figures.boxes import tree_of_selection
from automl.reports.page import Code, Figures, Paragraph, Part, Section
from automl.reports.run_choices import RunChoices
from automl.run_records.champion import ChampionRecord
from automl.run_records.ensemble import EnsembleRecord
from automl.selection.dispositions import number_text
from automl.selection.preselection import FRESH
from automl.selection.selection_records import LevelDecision, SelectionRecord, Verdict

KEY, TITLE = "why", "Why this one"


def choice(choices: RunChoices, folder: RunFolder) -> Section:
    """The selection, from the trials to the champion."""
    return Section(KEY, TITLE, tuple(_parts(choices, folder)))


def _parts(choices: RunChoices, folder: RunFolder) -> Iterator[Part]:
    selection = choices.selection
    if selection is None or choices.root is None:
        yield Paragraph("Nothing is decided yet: the candidates have not been compared.")
        return
    yield Paragraph(" ".join(_way(choices, selection)))
    yield Paragraph(" ".join(_sure(choices, choices.root, selection.selection)))
    yield Figures((tree_of_selection(selection.selection),))
    if choices.ensemble is not None:
        yield Paragraph(choices.shortened(_ensemble(choices.ensemble)))
    yield Paragraph("What became of each trial, and whether the record adds up:", "note")
    home = Home(folder.path.parents[1])
    commands = (command(home, "why", choices.run_id, asked) for asked in ("TRIAL", "--check"))
    yield Code("\n".join(commands), "sh")


def _way(choices: RunChoices, selection: ChampionRecord) -> Iterator[str]:
    """From the complete trials to the candidates, and what these were scored on."""
    n_complete, n_candidates = len(choices.complete), len(selection.candidates)
    if n_candidates == 1:
        yield f"Of {n_complete} complete trials one was left to be compared."
    else:
        yield f"Of {n_complete} complete trials {n_candidates} were compared with each other."
    if selection.scoring.source == FRESH:
        n_scores = min(len(candidate.scores) for candidate in selection.candidates)
        yield f"Each has {n_scores} scores on folds that the search never saw."
    else:
        yield "Their scores are those of the search."


def _sure(choices: RunChoices, root: LevelDecision, record: SelectionRecord) -> Iterator[str]:
    """Who could not be told from the champion, and by which test."""
    champion = f"{short_id(choices.champion)} ({_family(choices, choices.champion)})"
    others = [member for member in root.members if member.trial_id != choices.champion]
    yield f"The champion is {champion}."
    if not others:
        yield "No other candidate got to the root of the tree."
        return
    yield _test(root, record)
    equal = [member.trial_id for member in others if member.verdict is not Verdict.WORSE]
    if not equal:
        yield "It found all others there to be worse."
        return
    names = ", ".join(f"{short_id(name)} ({_family(choices, name)})" for name in equal)
    yield f"It could not be told from {names}; among these the ranking decided."


def _test(root: LevelDecision, record: SelectionRecord) -> str:
    if root.post_hoc:
        return f"The test at the root was {root.post_hoc}, at a level of {root.alpha:g}."
    if root.tests:
        last = root.tests[-1]
        return (
            f"The test at the root was {last.name} of all members, p = {number_text(last.pvalue)}, "
            f"at a level of {root.alpha:g}."
        )
    return f"No test was possible at the root: {untested(root, record)}."


def _ensemble(ensemble: EnsembleRecord) -> str:
    if ensemble.evidence is None:
        return "No ensemble was built; the champion alone is the model."
    decision = ensemble.evidence.decision
    verdict = (
        f"An ensemble of {len(ensemble.members)} replaced the champion"
        if ensemble.replaced_champion
        else "The champion alone is the model; no ensemble replaced it"
    )
    text = (
        f"{verdict}: on folds that its weights had not seen, its score differs by "
        f"{number(decision.difference, 3)} from that of the best single model (corrected t, one-sided, "
        f"p = {number_text(decision.pvalue)}, level {decision.alpha:g})."
    )
    return f"{text} That passes the test, but {decision.objection}." if decision.objection else text


def _family(choices: RunChoices, trial_id: str) -> str:
    trial = choices.trials.get(trial_id)
    return trial.configuration.family if trial else "unknown family"
