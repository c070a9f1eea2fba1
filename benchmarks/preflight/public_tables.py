"""The sixty public tables: which they are, the half to develop on and the half to report on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

N_TABLES = 60
TEST_SHARE = 0.3
HALVES = ("develop", "report", "reserve")
Half = Literal["develop", "report", "reserve"]


@dataclass(frozen=True)
class PublicTable:
    """A table of the data folder.

    Parameters
    ----------
    kinds
        Kind of each feature by `schema.json`: numeric, nominal, datetime, id or text.
    """

    name: str
    half: Half
    target: str
    task: str
    kinds: dict[str, str]
    frame: pd.DataFrame

    @property
    def is_classification(self) -> bool:
        """Whether the target is of classes."""
        return self.task != "regression"

    @property
    def roles(self) -> dict[str, str]:
        """Roles that a user who knows the schema gives."""
        return {name: "nominal" for name, kind in self.kinds.items() if kind == "nominal"}

    def seed(self, purpose: str) -> np.random.SeedSequence:
        """Equal for an equal table and purpose."""
        text = f"{self.name}/{purpose}".encode()
        return np.random.SeedSequence(int.from_bytes(hashlib.md5(text).digest(), "big"))

    def divided(self, purpose: str = "division") -> tuple[pd.DataFrame, pd.DataFrame]:
        """Training rows and test rows drawn at random, both in the order of the table."""
        rng = np.random.default_rng(self.seed(purpose))
        is_test = np.zeros(len(self.frame), dtype=bool)
        is_test[rng.permutation(len(is_test))[: round(TEST_SHARE * len(is_test))]] = True
        labels = self.frame[self.target]
        if self.is_classification:  # no label may be among the test rows alone
            is_test &= labels.isin(labels[~is_test]).to_numpy()
        parts = self.frame[~is_test], self.frame[is_test]
        return parts[0].reset_index(drop=True), parts[1].reset_index(drop=True)


def halves(data: Path) -> dict[str, Half]:
    """Half of each table, in the order of the digests of their names; the rest is the reserve."""
    names = sorted(
        pd.read_csv(data / "catalog.csv")["name"],
        key=lambda name: hashlib.md5(name.encode()).hexdigest(),
    )
    return {
        name: "reserve" if place >= N_TABLES else ("develop", "report")[place % 2]
        for place, name in enumerate(names)
    }


def read_tables(data: Path, half: Half) -> list[PublicTable]:
    """All tables of a half, rows without a target left out."""
    facts = pd.read_csv(data / "catalog.csv").set_index("name")
    schema = json.loads((data / "schema.json").read_text())
    return [
        _read(data, name, half, facts.loc[name], schema[name]["columns"])
        for name, its_half in halves(data).items()
        if its_half == half
    ]


def _read(
    data: Path, name: str, half: Half, facts: pd.Series, kinds: dict[str, str]
) -> PublicTable:
    target = str(facts["target"])
    texts = dict.fromkeys([column for column, kind in kinds.items() if kind != "numeric"], "str")
    frame = pd.read_csv(data / facts["file"], dtype=texts).dropna(subset=[target])
    return PublicTable(name, half, target, str(facts["task"]), kinds, frame.reset_index(drop=True))
