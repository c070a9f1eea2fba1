"""Settings of a run, in sections whose fields say all about themselves.

`fields` is how one is declared; `data`, `resources`, `score`, `search`, `selection`, `ensemble` and
`registration` are the sections; `model` joins them. `presets`, `idle`, `sources` and `reference` read
what the fields say.
"""

from automl.settings.all_settings import SECTIONS, Settings
from automl.settings.fields import PresetName
from automl.settings.resources import DEFAULT_BUDGET_SECONDS
from automl.settings.search import LEARNED

__all__ = [
    "DEFAULT_BUDGET_SECONDS",
    "LEARNED",
    "SECTIONS",
    "PresetName",
    "Settings",
]
