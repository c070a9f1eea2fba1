"""Names of the states in which flows of retraining end, besides Prefect's own."""

from __future__ import annotations

PROMOTED, KEPT, UNCHANGED = "Promoted", "Kept", "Unchanged"
REFUSED = "Refused"
"""Of a run whose file cannot be used."""
BROKEN = "Broken"
"""Of a run that ended by an error that is neither the file's nor a service's."""
OWN_ENDS = (PROMOTED, KEPT, UNCHANGED, REFUSED, BROKEN)
