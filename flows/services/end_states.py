"""Names of the states in which flows of retraining end, besides Prefect's own."""

from __future__ import annotations

PROMOTED, KEPT, UNCHANGED = "Promoted", "Kept", "Unchanged"
REFUSED = "Refused"
"""State of a run whose file cannot be used."""
BROKEN = "Broken"
"""State of a run that ended by an error that is neither the file's nor a service's."""
OWN_ENDS = (PROMOTED, KEPT, UNCHANGED, REFUSED, BROKEN)
