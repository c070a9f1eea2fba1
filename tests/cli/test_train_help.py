"""The options of ``automl train`` are made from the settings, and only for who asks for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from automl.settings import SECTIONS


def test_the_help_lists_options_by_section(automl):
    text = automl("train", "--help").out
    places = [text.index(f"\n{section.title}:\n") for section in SECTIONS.values()]
    assert places == sorted(places)
    sections = dict(zip(SECTIONS, (text[start:] for start in places), strict=True))
    search = " ".join(sections["search"].removesuffix(sections["selection"]).split())
    assert "--allocator NAME" in search
    assert "[default: gp_prior]" in search
    assert "--seed" not in search
    assert "Undefined" not in text


@pytest.mark.parametrize(
    ("arguments", "needs_settings"), [(["--help"], False), (["train", "--help"], True)]
)
def test_other_commands_do_not_wait_for_the_settings(arguments, needs_settings):
    code = (
        "import sys\nfrom automl_flows.commands.cli import run\n"
        f"code = run({arguments!r})\n"
        "print(code, 'pydantic' in sys.modules, 'sklearn' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.splitlines()[-1] == f"0 {needs_settings} False"


def test_a_dry_run_lists_settings_by_section(automl, table):
    text = automl("train", table, "--target", "y", "--dry-run").out
    assert f"\n {SECTIONS['score'].title}\n" in text
    assert text.index("  folds ") < text.index(f" {SECTIONS['search'].title}")
