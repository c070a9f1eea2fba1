"""Models of the score over encoded configurations, with their uncertainty (L14, section 2; H18, sections 2.5.2 and 5.3)."""
