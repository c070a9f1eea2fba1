"""Whether what the checks say of a clean table is so, found by other means than theirs.

duplicates
    pandas finds rows with the same features, numbers to four digits.
time
    A forest errs at least a tenth more, and by more than two standard errors, where folds are stretches of
    neighbouring rows (of each class) instead of rows at random.
shift
    A forest tells the first half of the rows (of each class) from the second: area under the curve above 0.6.
    For test rows: nothing, since they were drawn at random.
constant
    In none of 200 random orders of the rows (of each class) has the column so long a run of one value.
leak, id
    Nothing but what the tables' documentation says.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from findings import Sentence
from public_tables import PublicTable
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

MAX_ROWS = 1_500
N_FOLDS = 5
N_TREES = 40
N_ORDERS = 200

DOCUMENTED = {
    ("cjs", "leak"): "TREE determines TR, as the catalog says",
    ("occupancy", "leak"): "Light alone nearly solves it, as the catalog says",
    ("cjs", "id"): "N is an index, as the catalog says",
    ("bike-sharing", "id"): "instant is a row index, as the catalog says",
    ("churn", "id"): "phone_number is an identifier, as the catalog says",
    ("splice", "id"): "Instance_name is an identifier, as the catalog says",
}


class Facts:
    """Of a clean table's training rows and test rows; forests are grown only where they are asked for."""

    def __init__(self, table: PublicTable, train: pd.DataFrame, test: pd.DataFrame) -> None:
        self._table, self._train, self._test = table, train, test
        self._known: dict[str, str] = {}

    def bear_out(self, sentence: Sentence) -> str:
        """What bears the sentence out; empty if nothing does."""
        is_test = "test rows" in sentence.text
        key = f"{sentence.kind}/{is_test}" if sentence.kind != "constant" else sentence.text
        if key not in self._known:
            self._known[key] = self._find(sentence, is_test)
        return self._known[key]

    def _find(self, sentence: Sentence, is_test: bool) -> str:
        if sentence.kind == "duplicates":
            return self._copies(is_test)
        if sentence.kind == "time":
            return self.stretches()
        if sentence.kind == "shift":
            return "" if is_test else self._halves()
        if sentence.kind == "constant":
            return self._runs(sentence.columns[0])
        documented = DOCUMENTED.get((self._table.name, sentence.kind), "")
        if sentence.kind == "id" and not documented:
            kinds = {self._table.kinds.get(name) for name in sentence.columns}
            return "an identifier by schema.json" if kinds & {"id", "text"} else ""
        return documented

    def _copies(self, is_test: bool) -> str:
        train, test = (self._as_texts(part) for part in (self._train, self._test))
        n_copies = int(test.isin(set(train)).sum()) if is_test else int(train.duplicated().sum())
        return f"{n_copies} rows with the features of another" if n_copies else ""

    def _as_texts(self, part: pd.DataFrame) -> pd.Series:
        features = part.drop(columns=self._table.target)
        texts = {
            name: column.map("{:.4g}".format)
            if pd.api.types.is_float_dtype(column)
            else column.map(str, na_action=None)
            for name, column in features.items()
        }
        return pd.DataFrame(texts).agg("\x1f".join, axis=1)

    def stretches(self) -> str:
        """How much more a forest errs on stretches of rows; empty if that is little or chance."""
        X, y, strata = self._sample()
        rng = np.random.default_rng(0)
        places = pd.Series(strata).groupby(strata).cumcount().to_numpy()
        sizes = np.bincount(strata)[strata]
        stretches = places * N_FOLDS // sizes
        at_random = np.empty(len(y), dtype=int)
        for stratum in np.unique(strata):
            rows = np.flatnonzero(strata == stratum)
            at_random[rows] = rng.permutation(stretches[rows])
        near, far = self._losses(X, y, at_random), self._losses(X, y, stretches)
        ratio = float(far.mean() / max(near.mean(), 1e-12))
        error = float((far - near).std() / np.sqrt(len(y)))
        if ratio < 1.1 or far.mean() - near.mean() < 2 * error:
            return ""
        return f"a forest errs {ratio:.2f} times as much on stretches of rows"

    def _losses(self, X: np.ndarray, y: np.ndarray, folds: np.ndarray) -> np.ndarray:
        losses = np.empty(len(y))
        for fold in range(N_FOLDS):
            train, held = folds != fold, folds == fold
            kind = ExtraTreesClassifier if self._table.is_classification else ExtraTreesRegressor
            model = kind(N_TREES, random_state=0, min_samples_leaf=2).fit(X[train], y[train])
            if self._table.is_classification:
                losses[held] = model.predict(X[held]) != y[held]
            else:
                losses[held] = (model.predict(X[held]) - y[held]) ** 2
        return losses

    def _halves(self) -> str:
        X, _, strata = self._sample()
        places = pd.Series(strata).groupby(strata).cumcount().to_numpy()
        is_later = places >= np.bincount(strata)[strata] / 2
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
        model = ExtraTreesClassifier(N_TREES, random_state=0, min_samples_leaf=3)
        chance = cross_val_predict(model, X, is_later, cv=folds, method="predict_proba")[:, 1]
        area = roc_auc_score(is_later, chance)
        return f"a forest tells first from second half, area {area:.2f}" if area > 0.6 else ""

    def _runs(self, name: str) -> str:
        codes = pd.factorize(self._train[name], use_na_sentinel=False)[0]
        strata = self._strata(self._train[self._table.target])
        longest = _longest_run(codes)
        rng = np.random.default_rng(0)
        for _ in range(N_ORDERS):
            mixed = codes.copy()
            for stratum in np.unique(strata):
                rows = np.flatnonzero(strata == stratum)
                mixed[rows] = codes[rng.permutation(rows)]
            if _longest_run(mixed) >= longest:
                return ""
        return f"no run of {longest} rows in {N_ORDERS} random orders"

    def _sample(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        part = self._train.iloc[:: len(self._train) // MAX_ROWS + 1]
        features = part.drop(columns=self._table.target)
        coded = {
            name: column if pd.api.types.is_numeric_dtype(column) else pd.factorize(column)[0]
            for name, column in features.items()
            if self._table.kinds.get(str(name)) not in ("id", "text")
        }
        X = pd.DataFrame(coded).to_numpy(dtype=np.float64)
        target = part[self._table.target]
        y = (
            pd.factorize(target, sort=True)[0]
            if self._table.is_classification
            else target.rank().to_numpy()
        )
        return X, y, self._strata(target)

    def _strata(self, target: pd.Series) -> np.ndarray:
        if self._table.is_classification:
            return pd.factorize(target, sort=True)[0]
        return np.minimum((target.rank(pct=True) * 10).astype(int), 9).to_numpy()


def _longest_run(codes: np.ndarray) -> int:
    borders = np.flatnonzero(np.diff(codes)) + 1
    return int(np.diff(np.concatenate([[0], borders, [len(codes)]])).max())
