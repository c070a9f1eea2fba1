"""Texts to numbers: weighted counts of words and of letter sequences, condensed to a few components.

Each text is a row of counts. A count c of a term weighs (1 + log c) * (log((1 + n) / (1 + df)) + 1), where df of n
texts have the term; rows have length 1. The components of a truncated singular value decomposition of these
rows, learned on training texts, are the numbers.

References
----------
.. [1] Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, chapters 6.2 and 18.4.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from automl.errors import DataError, SettingsError

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import CountVectorizer

Table = NDArray[np.float32]

METHODS = ("none", "words", "words_letters")
LONGEST_TEXT = 2000
"""Letters of a text that are read."""
SHORTEST_LIMIT = 100
"""Letters that are read however many the texts are: a sentence."""
MOST_LETTERS = 20_000_000
"""Most letters of all texts of the training rows that are counted; where there are more, each text is read less far."""
FIT_LETTERS = 4_000_000
"""Letters of the texts that terms and components are learned from: some 10 s, 500 MiB."""
CHUNK_ROWS = 2000
"""Rows whose counts are in memory at a time."""
FEWEST_TEXTS = 2
"""Fewest texts that must have a term."""


@dataclass(frozen=True)
class Terms:
    """Terms that are counted in a text.

    Parameters
    ----------
    analyzer, sizes
        See `CountVectorizer`; `sizes` is its ``ngram_range``.
    most
        Terms that are kept, the most frequent ones.
    """

    name: str
    analyzer: str
    sizes: tuple[int, int]
    most: int

    def counter(self, **options: Any) -> CountVectorizer:
        """Counts of these terms."""
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(
            analyzer=self.analyzer,
            ngram_range=self.sizes,
            dtype=np.float32,
            **options,
        )


WORDS = Terms("words", "word", (1, 2), 10_000)
LETTERS = Terms("letters", "char_wb", (3, 4), 20_000)
KINDS: dict[str, tuple[Terms, ...]] = {
    "none": (),
    "words": (WORDS,),
    "words_letters": (WORDS, LETTERS),
}


class TextEncoder(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """Makes numbers of the texts in each column of a frame; a missing text is an empty one.

    Parameters
    ----------
    method : one of `METHODS`
        ``words``: words and pairs of neighboring words; ``words_letters``: also sequences of three and four letters
        inside words; ``none``: no numbers.
    n_components : >= 1
        Of each kind of terms in each column, as far as there are terms and rows.
    random_state
        Decides the start of the decomposition.

    Notes
    -----
    Letters are lower-cased. Time grows with the letters of the rows, of which at most `MOST_LETTERS` are read;
    memory with `FIT_LETTERS` and `CHUNK_ROWS`, not with the rows.
    """

    def __init__(
        self, method: str = "words", *, n_components: int = 32, random_state: int = 0
    ) -> None:
        self.method = method
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Learn terms, weights and components of the columns of X (n_rows, n_columns).

        Raises
        ------
        SettingsError
            If a parameter is not allowed.
        """
        if self.method not in METHODS:
            raise SettingsError(f"method must be one of {', '.join(METHODS)}; got {self.method!r}")
        if self.n_components < 1:
            raise SettingsError(f"n_components must be at least 1; got {self.n_components!r}")
        self.text_names_ = _names(X)
        self.longest_ = int(np.clip(MOST_LETTERS // max(X.size, 1), SHORTEST_LIMIT, LONGEST_TEXT))
        self.terms_: list[list[str]] = []
        self.weights_: list[Table] = []
        self.components_: list[Table] = []
        for column in map(X.__getitem__, X.columns):
            sample = _sample(_read(column, self.longest_))
            for kind in KINDS[self.method]:
                self._fit_terms(kind, sample)
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Frame of the components, (n_rows, n_components of all columns).

        Raises
        ------
        DataError
            If the columns are not those that were fitted.
        """
        check_is_fitted(self, "components_")
        if _names(X) != self.text_names_:
            raise DataError(f"columns of texts must be {self.text_names_}; got {_names(X)}")
        parts = [np.empty((len(X), 0), dtype=np.float32)]
        for column in map(X.__getitem__, X.columns):
            texts = _read(column, self.longest_)
            for kind in KINDS[self.method]:
                parts.append(self._components_of(texts, kind, len(parts) - 1))
        return pd.DataFrame(np.hstack(parts), columns=self.names(), index=X.index)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Names of the output columns, such as ``note.words0``."""
        return np.array(self.names(), dtype=object)

    def names(self) -> list[str]:
        """Names of the components."""
        kinds = [(name, kind) for name in self.text_names_ for kind in KINDS[self.method]]
        return [
            f"{name}.{kind.name}{number}"
            for (name, kind), components in zip(kinds, self.components_, strict=True)
            for number in range(len(components))
        ]

    def __getstate__(self) -> dict[str, Any]:
        """State with the terms as one text: thousands of texts are slow to store singly."""
        state = dict(super().__getstate__())
        if "terms_" in state:
            state["terms_"] = json.dumps(self.terms_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Inverse of `__getstate__`."""
        if "terms_" in state:
            state = {**state, "terms_": json.loads(state["terms_"])}
        super().__setstate__(state)

    def _fit_terms(self, kind: Terms, texts: list[str]) -> None:
        from sklearn.utils.extmath import randomized_svd

        counter = kind.counter(max_features=kind.most, min_df=min(FEWEST_TEXTS, len(texts)))
        try:
            counts = counter.fit_transform(texts)
        except ValueError:  # no term is in two texts
            self._keep([], np.empty(0, np.float32), np.empty((0, 0), np.float32))
            return
        documents = np.bincount(counts.indices, minlength=counts.shape[1])
        weights = (np.log((1.0 + len(texts)) / (1.0 + documents)) + 1.0).astype(np.float32)
        rows = _weighted(counts, weights)
        n_components = min(self.n_components, *rows.shape)
        _, _, components = randomized_svd(rows, n_components, random_state=self.random_state)
        terms = [str(term) for term in counter.get_feature_names_out()]
        self._keep(terms, weights, components.astype(np.float32))

    def _keep(self, terms: list[str], weights: Table, components: Table) -> None:
        self.terms_.append(terms)
        self.weights_.append(weights)
        self.components_.append(components)

    def _components_of(self, texts: list[str], kind: Terms, place: int) -> Table:
        terms, components = self.terms_[place], self.components_[place]
        out = np.empty((len(texts), len(components)), dtype=np.float32)
        if not terms:
            return out
        counter = kind.counter(vocabulary=terms)
        for start in range(0, len(texts), CHUNK_ROWS):
            counts = counter.transform(texts[start : start + CHUNK_ROWS])
            out[start : start + CHUNK_ROWS] = _weighted(counts, self.weights_[place]) @ components.T
        return out


def _names(X: pd.DataFrame) -> list[str]:
    if not isinstance(X, pd.DataFrame):
        raise DataError(f"a frame of texts is expected; got {type(X).__name__}")
    return [str(name) for name in X.columns]


def _read(texts: pd.Series, longest: int) -> list[str]:
    return [text[:longest] if isinstance(text, str) else "" for text in texts]


def _sample(texts: list[str]) -> list[str]:
    """As many texts, evenly spaced, as have `FIT_LETTERS` letters together on average."""
    step = -(-sum(map(len, texts)) // FIT_LETTERS)
    return texts[:: max(step, 1)]


def _weighted(counts: Any, weights: Table) -> Any:
    """Rows of length 1 of sparse counts, which are changed."""
    from sklearn.preprocessing import normalize

    np.log(counts.data, out=counts.data)
    counts.data += 1.0
    counts.data *= weights[counts.indices]
    return normalize(counts, copy=False)
