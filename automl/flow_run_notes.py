"""Which flow run each attempt at a run is, and on whose page: `orchestrator.json` of the run folder.

The flows write it and this module knows nothing else of them, so that links and descriptions can name
a run's own page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from automl.durable import write_whole
from automl.home import RunFolder

LOCAL = "local"
"""Name of the database in the home folder, whichever server uses it."""


@dataclass(frozen=True)
class FlowRunNote:
    """Facts about the flow run of one attempt.

    Parameters
    ----------
    server : `LOCAL`, or the public address of another API
    is_settled : whether the flow run says what the folder says, for good
    flow_run : its id; empty while it is not known
    page : its address when it was noted; empty if its server ended with the command
    """

    server: str
    is_settled: bool = False
    flow_run: str = ""
    page: str = ""


def read_notes(folder: RunFolder) -> dict[int, FlowRunNote]:
    """Notes by the number of the attempt, from 1; empty where there are none that can be read."""
    try:
        content = json.loads((folder.path / "orchestrator.json").read_text(encoding="utf-8"))
        return {int(number): FlowRunNote(**note) for number, note in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_notes(folder: RunFolder, notes: Mapping[int, FlowRunNote]) -> None:
    """Write the notes of all attempts."""
    text = json.dumps({str(number): asdict(note) for number, note in notes.items()})
    write_whole(folder.path / "orchestrator.json", [text.encode()], "the note of its flow runs")


def latest_note(folder: RunFolder) -> FlowRunNote | None:
    """Note of the last attempt whose flow run is known; None if there is none."""
    known = {number: note for number, note in read_notes(folder).items() if note.flow_run}
    return known[max(known)] if known else None
