"""Names of allocators that mean more than themselves."""

ONLY = "only"
"""Alone the first family; ``only:F`` the family F."""
AUTO = "auto"
"""The allocator by expected gain that fits the budget."""
