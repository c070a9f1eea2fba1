"""Statistical tests as pure functions that return results, not prose (SPEC J3, J4)."""
