"""The lists of what searches: one line and a source each."""

from __future__ import annotations

import pytest

from automl.bandits.registry import ALLOCATORS
from automl.optimizers.registry import OPTIMIZERS


@pytest.mark.parametrize(
    ("command", "kind", "entries"),
    [("optimizers", "optimizer", OPTIMIZERS), ("allocators", "allocator", ALLOCATORS)],
)
def test_every_entry_is_listed_with_one_line_and_its_source(automl, command, kind, entries):
    outcome = automl(command)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert len(lines) == len(entries) + 1
    for line, (name, entry) in zip(lines[1:], entries.items(), strict=True):
        assert line.startswith(name)
        assert entry.summary in line
        assert line.rstrip().endswith(entry.source)
    rows = automl(command, "--json").json
    assert rows == [
        {kind: name, "summary": entry.summary, "source": entry.source}
        for name, entry in entries.items()
    ]
