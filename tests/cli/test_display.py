"""What is written where: results on stdout, progress on stderr, colors only on terminals."""

from __future__ import annotations

import io
import json

import pytest

from automl.progress import Progress
from automl_flows import progress_display
from automl_flows.progress_display import ProgressDisplay, state_text
from automl_flows.rendering import emit_json, emit_table, seconds_text, text_of, use_color
from automl_flows.results import command
from automl_flows.run_report import decision_rows


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


def test_share_done_follows_trials_or_time():
    assert Progress("search", 30.0, 60.0).share_done == 0.5
    assert Progress("search", 30.0, None, trials_done=5, trials_planned=20).share_done == 0.25
    assert Progress("search", 90.0, 60.0).share_done == 1.0
    assert Progress("search", 90.0, 60.0).seconds_left == 0.0
    assert Progress("search", 1.0).seconds_left is None


def test_progress_names_trials_best_score_and_time_left():
    progress = Progress("search", 20.0, 60.0, 12, 2, 0.91234, "svm")
    assert state_text(progress) == "12 trials, 2 running, best 0.9123 (svm), 40 s left"
    assert state_text(Progress("search", 20.0, 60.0, 3, trials_planned=9)) == "3/9 trials"


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


def test_a_terminal_gets_a_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with ProgressDisplay() as display:
        display.update(Progress("search", 10.0, 60.0, 5, message="something happened"))
    assert "something happened" in terminal.getvalue()


def test_printed_commands_name_the_home_unless_the_environment_does(own_home, monkeypatch):
    assert command(own_home, "show", "X") == "automl show X"
    monkeypatch.delenv("AUTOML_HOME")
    assert command(own_home, "show", "X") == f"automl show X --home {own_home.path}"


def test_decisions_of_a_selection_record_become_rows():
    member = {"trial_id": "20260101-000000-aaaa-s00001", "verdict": "promoted"}
    worse = {"trial_id": "20260101-000000-aaaa-s00002", "verdict": "worse"}
    decision = {
        "node": "root",
        "members": [member, worse],
        "tests": [{"name": "ANOVA", "statistic": 3.0, "pvalue": 0.01, "df": []}],
        "post_hoc": "Tukey",
    }
    assert list(decision_rows({"decisions": [decision]})) == [
        ("root", 2, "s00001", "ANOVA", 0.01, "Tukey")
    ]
    assert list(decision_rows({})) == []
