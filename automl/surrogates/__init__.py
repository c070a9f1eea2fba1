"""Models of the score over encoded configurations, with their uncertainty (SPEC D5, D6, D8)."""
