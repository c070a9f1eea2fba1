"""Presets: values of settings that go together."""

from __future__ import annotations

from typing import Any

from automl.settings import AUTO, Settings

_SEARCH = {"optimizer": "gp_sampled", "allocator": AUTO}

PRESETS: dict[str, dict[str, Any]] = {
    "thesis": {
        "data_mode": "halves",
        "folds": 10,
        "holdout_above_rows": None,
        "adapt_folds": False,
        "portfolio": False,
        "racing": False,
        "decision": "given",
        "candidate_repeats": 3,
        "selection_test": "thesis",
        "criteria": {
            "generalization": 0.8,
            "speed": 0.05,
            "stability": 0.05,
            "simplicity": 0.05,
            "interpretability": 0.05,
        },
        "ensemble": "none",
        "final": "refit",
        "reserve": 0.4,
    },
    "fast": {
        **_SEARCH,
        "folds": 3,
        "holdout_above_rows": 10_000,
        "candidate_limit": 4,
        "candidate_repeats": 1,
        "final": "refit",
        "reserve": 0.15,
    },
    "balanced": _SEARCH,
    "best": {
        **_SEARCH,
        "folds": 8,
        "holdout_above_rows": None,
        "candidate_limit": 20,
        "layers": 2,
        "bag_up_to_rows": 1_000_000,
        "reserve": 0.25,
    },
}


def usual_value(preset: str, name: str) -> Any:
    """What a setting is by its preset, or else by default, where nobody says anything."""
    return PRESETS[preset].get(name, Settings.model_fields[name].default)
