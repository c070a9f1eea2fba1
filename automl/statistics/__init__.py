"""Statistical tests as pure functions that return results, not prose (B14, algorithm 2)."""
