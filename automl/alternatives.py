"""Words among which one is chosen, where settings and what does the work must mean the same.

Only what loads at once is here, since the command line lists these words.
"""

from __future__ import annotations

from typing import Literal

ClassWeighting = Literal["none", "balanced"]
ValueCounting = Literal["auto", "always", "never"]
Decision = Literal["learned", "given"]
"""How two classes are separated: by a learned threshold, or by the costs alone."""
FinalKind = Literal["bag", "refit", "bag_and_refit"]
"""Fold models together, one model fitted again on all rows, or all of these together."""
Resource = Literal["auto", "folds", "rows", "iterations"]
"""Dimensions in which a partial trial saves work."""
PromotionRule = Literal["superior", "not_worse", "always"]
"""Rules of promotion: the evidence that a new model needs to take the champion's alias."""
How = Literal["search", "warm", "refit"]
"""Ways of retraining: the whole search, a short one, or the champion's recipe once more."""
AskedHow = Literal["auto", "search", "warm", "refit"]
"""``auto``: what a drift report asks for, which may be nothing (`automl.monitoring.ladder`)."""
