"""Texts become components: of the training rows alone, the same later, of bounded size, stored without pickles."""

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from automl.data.checks import Columns
from automl.data.table import Table, prepare_table
from automl.errors import DataError, SettingsError
from automl.evaluation.cache import FoldCache
from automl.evaluation.fitting import FoldData, _components
from automl.inference.column_schema import MOST_LETTERS
from automl.inference.schema import TableSchema
from automl.inference.trusted import TRUSTED_TYPES
from automl.meta_features.description import describe
from automl.preprocessing import TextEncoder, build_preprocessor
from automl.preprocessing import texts as texts_module
from automl.records import Task

COLUMNS = Columns("y")
KINDS = ("words", "words_letters")


def notes(n=120, seed=0):
    """Texts whose words tell two classes apart, and these classes."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 2
    words = np.array(["late", "broken", "refund", "thanks", "great", "quick", "order", "shop"])
    shares = np.array([[3, 3, 3, 1, 1, 1, 2, 2], [1, 1, 1, 3, 3, 3, 2, 2]]) / 16
    return [
        " ".join(rng.choice(words, 12, p=shares[k])) + f" number {i}" for i, k in enumerate(classes)
    ], classes


@pytest.fixture
def table():
    texts, classes = notes()
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"size": rng.normal(size=120), "note": texts, "kind": classes})
    frame.loc[5, "note"] = None
    return prepare_table(frame, target="kind")


def test_free_text_is_used_and_stays_text_in_the_typed_frame(table):
    assert table.frame["note"].dtype == object
    assert table.frame["note"][5] is None
    assert table.schema.columns[1].is_optional
    assert not any("note" in note for note in table.notes)


def test_a_table_of_nothing_but_text_can_be_learned_from():
    texts, classes = notes()
    table = prepare_table(pd.DataFrame({"note": texts, "kind": classes}), target="kind")
    assert describe(table, rng=np.random.default_rng(0)).values["n_columns"] == 1.0
    assert build_preprocessor({}, seed=1).fit_transform(table.frame, table.y).shape[1] > 1


def test_components_are_those_of_weighted_counts(table):
    texts = ["" if text is None else text for text in table.frame["note"]]
    encoder = TextEncoder("words", n_components=3, random_state=4)
    found = encoder.fit_transform(table.frame[["note"]])
    weighted = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit_transform(texts)
    components = encoder.components_[0]
    np.testing.assert_allclose(found, weighted @ components.T, atol=1e-5)
    np.testing.assert_allclose(components @ components.T, np.eye(3), atol=1e-5)
    best = np.linalg.svd(weighted.toarray(), compute_uv=False)[:3]
    assert np.linalg.norm(found) > 0.98 * np.linalg.norm(best)
    assert list(found.columns) == ["note.words0", "note.words1", "note.words2"]


@pytest.mark.parametrize("kind", KINDS)
def test_terms_come_from_the_training_rows_alone(kind, table):
    encoder = TextEncoder(kind, n_components=4).fit(table.frame[["note"]].iloc[:100])
    known = encoder.transform(table.frame[["note"]].iloc[100:])
    new = pd.DataFrame({"note": ["zzzz qqqq", "", None]}, dtype=object)
    assert known.to_numpy().any()
    assert not encoder.transform(new).to_numpy().any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_the_same_components_in_any_company(kind, table, monkeypatch):
    texts = table.frame[["note"]]
    encoder = TextEncoder(kind, n_components=4).fit(texts)
    together = encoder.transform(texts)
    monkeypatch.setattr(texts_module, "CHUNK_ROWS", 7)
    np.testing.assert_allclose(encoder.transform(texts), together, atol=1e-6)
    np.testing.assert_allclose(encoder.transform(texts.iloc[[9]]), together.iloc[[9]], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_the_components(kind, table):
    texts = table.frame[["note"]]
    one, two, other = (
        TextEncoder(kind, n_components=4, random_state=seed).fit(texts) for seed in (1, 1, 2)
    )
    for first, second, third in zip(
        one.components_, two.components_, other.components_, strict=True
    ):
        np.testing.assert_array_equal(first, second)
        assert not np.array_equal(first, third)


@pytest.mark.parametrize("kind", KINDS)
def test_a_preprocessor_with_texts_is_stored_without_a_pickle(kind, table):
    choices = {"prep.text": kind, "prep.scaler": "standard"}
    preprocessor = build_preprocessor(choices, seed=1)
    matrix = preprocessor.fit_transform(table.frame, table.y)
    data = skops.io.dumps(preprocessor)
    assert set(skops.io.get_untrusted_types(data=data)) <= TRUSTED_TYPES
    again = skops.io.loads(data, trusted=sorted(TRUSTED_TYPES))
    np.testing.assert_array_equal(again.transform(table.frame), matrix)
    names = list(again.get_feature_names_out())
    assert names[:2] == ["size", "note.words0"]
    assert len(names) == matrix.shape[1]


def test_without_texts_their_columns_are_left_out(table):
    preprocessor = build_preprocessor({"prep.text": "none"}, seed=1)
    np.testing.assert_allclose(
        preprocessor.fit_transform(table.frame, table.y)[:, 0], table.frame["size"], rtol=1e-6
    )
    assert list(preprocessor.get_feature_names_out()) == ["size"]


@pytest.mark.parametrize("encoder", ["onehot", "ordinal", "target", "native"])
def test_texts_stand_beside_every_encoding(encoder, table):
    frame = table.frame.assign(color=pd.Categorical(["a", "b", "c"] * 40))
    preprocessor = build_preprocessor({"prep.encoder": encoder}, seed=1)
    matrix = preprocessor.fit_transform(frame, table.y)
    later = preprocessor.transform(frame)
    assert matrix.shape == later.shape == (120, len(preprocessor.get_feature_names_out()))
    assert "note.words0" in preprocessor.get_feature_names_out()


@given(st.lists(st.one_of(st.none(), st.text(max_size=30)), min_size=1, max_size=12))
@settings(max_examples=40, deadline=None)
def test_any_texts_give_finite_numbers(values):
    frame = pd.DataFrame({"c": pd.Series(values, dtype=object)})
    out = TextEncoder("words_letters", n_components=3).fit(frame).transform(frame).to_numpy()
    assert np.isfinite(out).all()
    assert len(out) == len(values)


@given(
    st.lists(
        st.tuples(*[st.one_of(st.none(), st.text(min_size=1, max_size=9).map("x".__add__))] * 2),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=30, deadline=None)
def test_texts_survive_the_way_through_files(tmp_path_factory, rows):
    raw = pd.DataFrame(rows, columns=["a", "b"], dtype=object).assign(n=1.0)
    roles = {"a": "text", "n": "numeric", "b": "text"}
    schema = TableSchema.from_json(json.loads(json.dumps(TableSchema.fit(raw, roles).to_json())))
    frame = schema.transform(raw)
    table = Table(
        frame=frame,
        y=np.zeros(len(raw)),
        task=Task("regression"),
        columns=COLUMNS,
        schema=schema,
        digest="",
        row_digests=np.zeros(len(raw), dtype=np.uint64),
    )
    loaded = Table.load(table.write(tmp_path_factory.mktemp("table")))
    pd.testing.assert_frame_equal(loaded.frame, frame)


def test_long_texts_are_read_so_far_as_there_is_room(monkeypatch):
    raw = pd.DataFrame({"c": ["a" * 9000, "b"]})
    typed = TableSchema.fit(raw, {"c": "text"}).transform(raw)
    assert len(typed["c"][0]) == MOST_LETTERS
    monkeypatch.setattr(texts_module, "MOST_LETTERS", 2 * 150)
    assert TextEncoder().fit(typed).longest_ == 150
    monkeypatch.setattr(texts_module, "MOST_LETTERS", 2)
    assert TextEncoder().fit(typed).longest_ == texts_module.SHORTEST_LIMIT


def test_terms_are_learned_from_a_bounded_sample(monkeypatch, table):
    monkeypatch.setattr(texts_module, "FIT_LETTERS", 2000)
    whole = TextEncoder().fit(table.frame[["note"]])
    step = -(-sum(len(text or "") for text in table.frame["note"]) // 2000)
    part = TextEncoder().fit(table.frame[["note"]].iloc[::step])
    assert step > 1
    assert whole.terms_ == part.terms_


def test_texts_of_a_fold_are_fitted_once_for_all_other_choices(monkeypatch, table):
    fitted = []
    fit = TextEncoder.fit
    monkeypatch.setattr(
        TextEncoder, "fit", lambda self, X: fitted.append(self.method) or fit(self, X)
    )
    cache, data = FoldCache(2**20), FoldData("search", 0, 0)
    training, validation = table.frame.iloc[:80], table.frame.iloc[80:]
    matrices = []
    for scaler in ("none", "standard"):
        preprocessor = build_preprocessor({"prep.scaler": scaler}, seed=1)
        found = _components(preprocessor, cache, data, training, validation)
        preprocessor.fit_transform(training, table.y[:80], components=found.training)
        matrices.append(preprocessor.transform(validation, components=found.validation))
        np.testing.assert_array_equal(matrices[-1], preprocessor.transform(validation))
    other = build_preprocessor({"prep.text": "words_letters"}, seed=1)
    _components(other, cache, data, training, validation)
    assert fitted == ["words", "words_letters"]
    assert not np.array_equal(*matrices)


def test_wrong_parameters_and_columns_are_refused(table):
    with pytest.raises(SettingsError, match="method must be one of none, words, words_letters"):
        TextEncoder("letters").fit(table.frame[["note"]])
    with pytest.raises(SettingsError, match="n_components must be at least 1; got 0"):
        TextEncoder(n_components=0).fit(table.frame[["note"]])
    with pytest.raises(DataError, match="a frame of texts is expected; got ndarray"):
        TextEncoder().fit(np.zeros((2, 2)))
    preprocessor = build_preprocessor({}, seed=1).fit(table.frame, table.y)
    with pytest.raises(DataError, match=r"columns of texts must be \['note'\]; got \[\]"):
        preprocessor.transform(table.frame.drop(columns="note"))
