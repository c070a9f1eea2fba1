"""Five tables as services get them, made from a seed: whole numbers, gaps, categories, dates, texts of numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

N_ROWS = 4000


def churn(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Two classes; whole numbers, gaps, three columns of categories, dates as D/M/Y."""
    income = np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3.0, 1.0, n).round(2))
    days = pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": income,
            "plan": rng.choice(["basic", "plus", "pro"], n),
            "city": rng.choice([f"c{i:02d}" for i in range(30)], n),
            "since": (pd.Timestamp("2024-01-01") + days).strftime("%d/%m/%Y"),
            "calls": rng.integers(0, 9, n),
            "active": rng.choice([True, False], n),
        }
    )
    signal = 0.03 * (frame["age"] - 45) + 0.6 * (frame["plan"] == "pro") + 0.2 * frame["calls"]
    return frame.assign(target=_classes(signal - 1.2, ["no", "yes"], rng))


def loans(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Two classes as whole numbers; whole numbers with gaps, ten columns of categories."""
    frame = pd.DataFrame({f"k{i}": rng.choice(list("abcdef"), n) for i in range(10)})
    frame["months"] = _gaps(rng.integers(6, 72, n).astype(float), 0.15, rng)
    frame["amount"] = rng.integers(250, 20_000, n)
    signal = (frame["k0"] == "a") - 0.02 * frame["months"].fillna(30) + frame["amount"] / 15_000
    return frame.assign(target=_classes(signal - 0.3, [0, 1], rng))


def goods(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Four classes; twenty numbers with gaps and two columns of categories."""
    frame = pd.DataFrame(
        {f"x{i:02d}": _gaps(rng.normal(size=n).round(3), 0.05, rng) for i in range(20)}
    )
    frame["maker"] = rng.choice([f"m{i}" for i in range(15)], n)
    frame["grade"] = rng.choice(["A", "B", None], n, p=[0.5, 0.4, 0.1])
    signal = frame["x00"].fillna(0) + (frame["grade"] == "A") + 0.5 * frame["x01"].fillna(0)
    return frame.assign(target=_classes(signal, ["p", "q", "r", "s"], rng))


def houses(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Numbers to predict; areas with gaps, whole rooms, quarters of a town, years."""
    frame = pd.DataFrame(
        {
            "area": _gaps(rng.gamma(6.0, 18.0, n).round(1), 0.08, rng),
            "rooms": rng.integers(1, 9, n),
            "built": rng.integers(1890, 2024, n),
            "quarter": rng.choice([f"q{i}" for i in range(20)], n),
            "heating": rng.choice(["gas", "oil", "wood", None], n),
        }
    )
    price = 3000 * frame["area"].fillna(100) + 20_000 * frame["rooms"]
    price *= 1.0 + 0.03 * frame["quarter"].str[1:].astype(int)
    return frame.assign(target=(price * rng.lognormal(0.0, 0.15, n)).round())


def rides(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Numbers to predict; two columns of dates with times, kilometres as text with a comma."""
    start = pd.Timestamp("2025-03-01") + pd.to_timedelta(rng.integers(0, 90 * 86_400, n), unit="s")
    minutes = rng.gamma(3.0, 6.0, n)
    kilometres = minutes * rng.normal(0.5, 0.1, n).clip(0.1)
    frame = pd.DataFrame(
        {
            "picked": start.strftime("%Y-%m-%d %H:%M:%S"),
            "dropped": (start + pd.to_timedelta(minutes.round(), unit="m")).strftime(
                "%Y-%m-%d %H:%M:%S"
            ),
            "km": [f"{value:.2f}".replace(".", ",") for value in kilometres],
            "riders": rng.integers(1, 6, n),
            "zone": rng.choice([f"z{i}" for i in range(40)], n),
        }
    )
    return frame.assign(target=(3.0 + 1.8 * kilometres + rng.normal(0, 1.0, n)).round(2))


TABLES: dict[str, Callable[[np.random.Generator, int], pd.DataFrame]] = {
    "churn": churn,
    "loans": loans,
    "goods": goods,
    "houses": houses,
    "rides": rides,
}


def make(name: str, n_rows: int = N_ROWS, seed: int = 20) -> pd.DataFrame:
    """A table with its column ``target``."""
    return TABLES[name](np.random.default_rng(seed), n_rows)


def _gaps(values: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(values)) < share, np.nan, values)


def _classes(signal: pd.Series, labels: list, rng: np.random.Generator) -> np.ndarray:
    """Labels by the quantiles of a noisy signal."""
    noisy = np.asarray(signal, dtype=float) + rng.normal(0.0, 0.7, len(signal))
    cuts = np.quantile(noisy, np.linspace(0, 1, len(labels) + 1)[1:-1])
    return np.asarray(labels, dtype=object)[np.digitize(noisy, cuts)]
