"""What columns are taken for."""

import numpy as np
import pandas as pd
import pytest

from automl.data.roles import Role, detect_roles, is_id_name

N = 200
RNG = np.random.default_rng(0)


def words(n_words):
    vocabulary = np.array(["good", "bad", "screen", "phone", "the", "is", "very", "slow", "fast"])
    return [" ".join(RNG.choice(vocabulary, n_words)) + f" {i}" for i in range(N)]


COLUMNS = {
    "floats": (RNG.normal(size=N), Role.NUMERIC),
    "unique whole floats": (RNG.permutation(N) * 10.0, Role.NUMERIC),
    "unique integers": (RNG.permutation(10 * N)[:N], Role.NUMERIC),
    "few integers": (np.arange(N) % 3, Role.NUMERIC),
    "nullable integers": (pd.array([1, None, 3, 4] * (N // 4), dtype="Int64"), Role.NUMERIC),
    "nullable floats": (pd.array([1.5, None] * (N // 2), dtype="Float64"), Role.NUMERIC),
    "decreasing": (np.arange(N)[::-1] * 2, Role.NUMERIC),
    "texts of numbers": ([f"{i % 17}.5" for i in range(N)], Role.NUMERIC),
    "numbers with markers": (["?", "-", "n/a", "12.5", "7"] * (N // 5), Role.NUMERIC),
    "numbers mostly missing": (["-"] * (N - 3) + ["1", "2", "3"], Role.NUMERIC),
    "booleans": (np.arange(N) % 2 == 0, Role.NOMINAL),
    "booleans with gaps": (pd.Series([True, False, None, True] * (N // 4), dtype=object), Role.NOMINAL),
    "nullable booleans": (pd.array([True, None] * (N // 2), dtype="boolean"), Role.NOMINAL),
    "texts": (np.array(["a", "b", "c"])[np.arange(N) % 3], Role.NOMINAL),
    "object texts": (pd.Series(["a", None] * (N // 2), dtype=object), Role.NOMINAL),
    "string type": (pd.array(["a", None] * (N // 2), dtype="string"), Role.NOMINAL),
    "categories": (pd.Categorical(["u", "v"] * (N // 2)), Role.NOMINAL),
    "categories of numbers": (pd.Categorical([1, 2] * (N // 2)), Role.NOMINAL),
    "unique categories": (pd.Categorical([f"k{i}" for i in range(N)]), Role.NOMINAL),
    "many texts": ([f"k{i % 120}" for i in range(N)], Role.NOMINAL),
    "ranges": ([">=3", "<3"] * (N // 2), Role.NOMINAL),
    "dates": (pd.date_range("2026-01-01", periods=N), Role.DATE),
    "dates with zone": (pd.date_range("2026-01-01", periods=N, tz="Europe/Berlin"), Role.DATE),
    "iso dates": (pd.date_range("2026-01-01", periods=N).strftime("%Y-%m-%d"), Role.DATE),
    "iso times": (pd.date_range("2026-01-01", periods=N, freq="h").strftime("%Y-%m-%dT%H:%M:%SZ"), Role.DATE),
    "slashed dates": (pd.date_range("2026-01-01", periods=N).strftime("%Y/%m/%d"), Role.DATE),
    "dates with gaps": ((["2026-01-05", None] * (N // 2)), Role.DATE),
    "years": (np.arange(N) % 30 + 1990, Role.NUMERIC),
    "dates as numbers": (20260100 + RNG.integers(0, 28, N), Role.NUMERIC),
    "other dates": ([f"{i % 28 + 1}.01.2026" for i in range(N)], Role.DATE),
    "impossible dates": ([f"2026-13-{i % 28 + 1:02d}" for i in range(N)], Role.NOMINAL),
    "remarks": (words(8), Role.TEXT),
    "long codes": ([f"{i:064d}x" for i in range(N)], Role.ID),
    "unique texts": ([f"k{i}" for i in range(N)], Role.ID),
    "counter": (np.arange(N) + 17, Role.ID),
    "customer_id": (RNG.permutation(N) * 7, Role.ID),
    "userId": (RNG.permutation(N) * 7.0, Role.ID),
    "visit_id": (np.arange(N) % 20, Role.NUMERIC),
    "grid": (RNG.permutation(N) * 7, Role.NUMERIC),
    "empty": ([None] * N, Role.IGNORED),
    "empty floats": ([np.nan] * N, Role.IGNORED),
    "constant": ([3] * N, Role.IGNORED),
    "constant text": (["x"] * N, Role.IGNORED),
    "value or missing": (["x", None] * (N // 2), Role.NOMINAL),
    "lists": ([[1]] * N, Role.IGNORED),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_gets_its_role(name):
    values, role = COLUMNS[name]
    frame = pd.DataFrame({name: values})
    found = detect_roles(frame)[name]
    assert found.role is role, found.reason
    assert found.reason
    assert not found.is_given


def test_unique_values_of_a_tiny_table_are_not_identifiers():
    frame = pd.DataFrame({"id": range(8), "name": list("abcdefgh")})
    assert [role.role for role in detect_roles(frame).values()] == [Role.NUMERIC, Role.NOMINAL]


def test_overrides_win_over_detection():
    frame = pd.DataFrame({"a": range(30), "b": ["x"] * 30})
    roles = detect_roles(frame, {"a": "nominal", "b": Role.TEXT})
    assert (roles["a"].role, roles["b"].role) == (Role.NOMINAL, Role.TEXT)
    assert roles["a"].is_given


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "Id", "user_id", "userId", "order-id", "uuid", "Unnamed: 0", "phone_number"],
)
def test_names_of_identifiers(name):
    assert is_id_name(name)


@pytest.mark.parametrize(
    "name", ["width", "paid", "humidity", "idle", "monkey", "rows", "a1", "keys"]
)
def test_names_that_only_contain_the_letters(name):
    assert not is_id_name(name)
