"""Names of the ways in which predictions become one."""

from __future__ import annotations

from typing import Literal

Combine = Literal["mean", "median", "vote"]
