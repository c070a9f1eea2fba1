"""What is written where: results on stdout, progress on stderr, colors only on terminals."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from automl.durations import seconds_text
from automl.progress import Best, Progress
from automl.records import Configuration
from automl.reports.command_line import command
from automl.reports.decision_table import chance_name, decision_rows
from automl.selection.clusters import Candidate
from automl.selection.levels import select
from automl.selection.selection_records import SelectionRecord
from automl_flows.progress_artifact import described
from automl_flows.words import progress_display
from automl_flows.words.progress_display import ProgressDisplay, sparkline, state_text
from automl_flows.words.rendering import emit_facts, emit_json, emit_table, text_of, use_color
from automl_flows.words.run_report import show_decisions


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_json_has_no_infinities(capsys):
    emit_json({"a": float("inf"), "b": [float("nan"), 1.5], "c": ("x", None, True)})
    assert json.loads(capsys.readouterr().out) == {
        "a": None,
        "b": [None, 1.5],
        "c": ["x", None, True],
    }


def test_a_table_without_a_terminal_is_plain_and_keeps_brackets(capsys):
    emit_table(["name", "score"], [["[bold]x", 0.123456], ["y", None]], right=["score"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["[bold]x", "0.1235"]
    assert "\x1b" not in "".join(lines)


def test_long_tables_are_not_cut_without_a_terminal(capsys):
    emit_table(["a", "b"], [["x" * 150, "y" * 150]])
    assert "y" * 150 in capsys.readouterr().out


def test_on_a_terminal_long_facts_go_on_below_their_beginning(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    emit_facts({"how sure": "word " * 20, "link": "http://" + "a" * 80})
    first, second, *_ = terminal.getvalue().splitlines()
    assert first.startswith("how sure  word word")
    assert second.startswith("          word")
    assert max(len(first), len(second)) <= 60
    assert "http://" + "a" * 80 in terminal.getvalue()


def test_colors_need_a_terminal_and_no_no_color(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert use_color(Terminal())
    assert not use_color(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not use_color(Terminal())


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (95, "95 s"), (720, "12 min"), (11160, "3.1 h"), (None, "")],
)
def test_durations_read_well(seconds, text):
    assert seconds_text(seconds) == text


def test_cells_are_short():
    assert [text_of(v) for v in (None, True, 0.123456789, float("nan"), 7)] == [
        "", "yes", "0.1235", "-", "7",
    ]  # fmt: skip


def test_share_done_follows_time_or_trials_and_stages():
    assert Progress("search", 30.0, 60.0).share_done == 0.5
    assert Progress("search", 30.0, None, trials_done=5, trials_planned=20).share_done == 0.25
    later = Progress(
        "honest score", 30.0, None, trials_done=20, trials_planned=20, stages_planned=5
    )
    assert later.share_done == 20 / 25
    assert replace(later, stages_done=5).share_done == 1.0
    assert Progress("search", 90.0, 60.0).share_done == 1.0
    assert Progress("search", 90.0, 60.0).seconds_left == 0.0
    assert Progress("search", 1.0).seconds_left is None


def test_progress_names_trials_best_score_and_time_left():
    best = Best(0.91234, "svm", "accuracy", 0.95)
    progress = Progress("search", 20.0, 60.0, 12, 2, 1, 3, slots=2, best=best)
    assert state_text(progress) == (
        "12 trials (1 failed, 3 raced), 2 of 2 slots busy, best accuracy 0.95, score 0.9123 (svm), 40 s left"
    )
    assert state_text(Progress("search", 20.0, 60.0, 3, trials_planned=9)) == "3/9 trials"


def test_planned_trials_tell_the_time_left_by_their_pace():
    progress = Progress("search", 30.0, trials_done=10, trials_planned=40)
    assert state_text(progress) == "10/40 trials, about 90 s left"
    assert replace(progress, trials_done=4).trials_seconds_left is None
    assert replace(progress, trials_done=40).trials_seconds_left == 0.0


def test_the_line_of_best_scores_rises_to_the_right():
    assert sparkline([0.1]) == ""
    assert sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert sparkline([0.3, 0.3]) == "▁▁"
    assert sparkline([0.1, 0.2, 0.9, *[0.9] * 17]) == "▁▂" + "█" * 18
    many = sparkline([float(i) for i in range(1000)])
    assert len(many) == 24
    assert (many[0], many[-1]) == ("▁", "█")
    assert list(many) == sorted(many)


def test_lines_come_at_every_stage_and_rarely_between(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 11.0, 12.0])
    monkeypatch.setattr(progress_display.time, "monotonic", lambda: next(clock))
    with ProgressDisplay() as display:
        for stage in ("search", "search", "search", "final"):
            display.update(Progress(stage, 1.0, 60.0))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert [line.split()[2] for line in captured.err.splitlines()] == [
        "search:", "search:", "final:",
    ]  # fmt: skip


def test_messages_are_never_held_back(capsys):
    with ProgressDisplay() as display:
        for number in range(3):
            display.update(Progress("search", 1.0, 60.0, message=f"message {number}"))
    assert [f"message {n}" in capsys.readouterr().err for n in range(1)] == [True]


def test_a_terminal_gets_stage_best_model_and_trials(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    best = Best(0.7, "svm", "accuracy", 0.8, (0.5, 0.6, 0.7))
    with ProgressDisplay() as display:
        display.update(Progress("search", 10.0, 60.0, 5, best=best, message="something happened"))
    shown = terminal.getvalue()
    for text in (
        "something happened",
        "search",
        "50 s left",
        "best accuracy 0.8",
        "5 trials",
        "▁▅█",
    ):
        assert text in shown


def test_the_page_of_prefect_says_the_same():
    best = Best(0.7, "svm", "accuracy", 0.8, (0.5, 0.7))
    told = described(Progress("search", 10.0, 60.0, 5, best=best))
    assert told == "**search**: 5 trials, best accuracy 0.8, score 0.7000 (svm), 50 s left `▁█`"


def test_printed_commands_name_the_home_unless_the_environment_does(own_home, monkeypatch):
    assert command(own_home, "show", "X") == "automl show X"
    monkeypatch.delenv("AUTOML_HOME")
    assert command(own_home, "show", "X") == f"automl show X --home {own_home.path}"


def chosen(scores, **options):
    made = [
        Candidate(name, Configuration(name[0], {"id": name}), tuple(values))
        for name, values in scores.items()
    ]
    record = select(made, test_train_ratio=0.25, **options)
    return SelectionRecord.from_json(json.loads(json.dumps(record.to_json())))


def scores_of(**means):
    rng = np.random.default_rng(0)
    return {name: mean + 0.01 * rng.normal(size=10) for name, mean in means.items()}


def test_every_member_of_every_decision_becomes_a_row_without_an_empty_cell():
    selection = chosen(scores_of(a1=0.9, a2=0.5, b1=0.9, c1=0.899), test="closed")
    rows = list(decision_rows(selection))
    assert [row[0] for row in rows] == ["a", "", "b", "c", "root", "", ""]
    assert all(cell for row in rows for cell in row[1:])
    by_place = {(row[0], row[1]): row[3:] for row in rows}
    best = "the best here, the others are compared with it"
    assert by_place["a", "a1"] == (best, "-", "promoted")
    assert by_place["", "a2"][0] == "corrected t, closed test"
    assert by_place["", "a2"][2] == "worse"
    assert by_place["b", "b1"] == ("none: alone here", "-", "promoted")
    assert sorted(row[4] for row in rows[4:]) == ["-", "1", "1"]
    assert chance_name(selection) == "p-value"


def test_a_node_without_a_test_of_pairs_says_why_or_names_the_test_of_all():
    equal = {name: [0.5] * 4 for name in ("a1", "a2")}
    assert next(decision_rows(chosen(equal)))[3:5] == ("none: all scores are equal", "-")
    single = {"a1": [0.5], "a2": [0.6]}
    assert next(decision_rows(chosen(single)))[3:5] == ("none: one score each admits no test", "-")
    _, omnibus, *_ = decision_rows(chosen(scores_of(a1=0.9, a2=0.9), test="friedman"))
    assert omnibus[3] == "Friedman of all"
    assert 0.05 <= float(omnibus[4]) <= 1


def test_probabilities_of_being_worse_are_not_called_pvalues(capsys):
    selection = chosen(scores_of(a1=0.9, a2=0.5), test="bayesian")
    show_decisions(selection)
    printed = capsys.readouterr().out
    assert "P(worse)" in printed
    assert "p-value" not in printed
    assert [row[4] for row in decision_rows(selection)][:2] == ["-", "1"]
