"""Recall by kind and strength, false alarms by kind, seconds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from findings import PATTERNS, read_sentences


def print_report(data: Path, out: Path, halves: Sequence[str]) -> None:
    spoilt = _runs(out, "spoilt", halves)
    clean = _runs(out, "clean", halves)
    if len(spoilt):
        print(recall(spoilt).to_string(), end="\n\n")
        print(hidden_orders(spoilt).to_string(), end="\n\n")
        missed = spoilt[~spoilt["is_found"]]
        for _, run in missed.iterrows():
            print(
                f"missed: {run['kind']}: {run['defect']} in {run['column']!r} of {run['table']} ({run['order']}, {run['rows']} rows); said {run['said']}"
            )
    facts = _runs(out, "facts", halves)
    sentences = sentences_of(clean.merge(facts, on=["table", "order"])) if len(facts) else facts
    if len(sentences):
        print(alarms(sentences, clean).to_string(), end="\n\n")
        for _, said in sentences[sentences["fact"] == ""].iterrows():
            print(f"false alarm: {said['table']} ({said['order']}): {said['text']}")
        for _, said in sentences[
            (sentences["fact"] != "") & (sentences["kind"] != "duplicates")
        ].iterrows():
            print(f"so it is: {said['table']} ({said['order']}): {said['kind']}: {said['fact']}")
    largest = clean.sort_values("seconds").tail(5)
    print(largest[["table", "rows", "columns", "seconds"]].to_string(index=False))


def sentences_of(clean: pd.DataFrame) -> pd.DataFrame:
    """One line for each sentence on a clean table, with the fact that bears it out."""
    return pd.DataFrame(
        [
            {
                "table": run["table"],
                "order": run["order"],
                "kind": sentence.kind,
                "text": sentence.text,
                "fact": fact,
            }
            for _, run in clean.iterrows()
            for sentence, fact in zip(read_sentences(run["said"]), run["facts"], strict=True)
        ]
    )


def alarms(sentences: pd.DataFrame, clean: pd.DataFrame) -> pd.DataFrame:
    """Tables with a sentence, and with one that no fact bears out, by kind and order of the rows."""
    is_false = sentences["fact"] == ""
    counts = {
        (order, what): chosen[chosen["order"] == order].groupby("kind")["table"].nunique()
        for what, chosen in (("said", sentences), ("false", sentences[is_false]))
        for order in ("source", "shuffled")
    }
    table = pd.DataFrame(counts).reindex(list(PATTERNS)).fillna(0).astype(int)
    any_kind = {
        (order, what): chosen[chosen["order"] == order]["table"].nunique()
        for what, chosen in (("said", sentences), ("false", sentences[is_false]))
        for order in ("source", "shuffled")
    }
    table.loc["any"] = pd.Series(any_kind)
    table.loc["tables"] = clean["table"].nunique()
    return table.sort_index(axis=1)


def recall(spoilt: pd.DataFrame) -> pd.DataFrame:
    """Found and injected, by kind and half."""
    table = spoilt.pivot_table(
        index="kind", columns="half", values="is_found", aggfunc=["sum", "count"], margins=True
    )
    kinds = [*PATTERNS, "groups"]
    return table.reindex([kind for kind in [*kinds, "All"] if kind in table.index])


def hidden_orders(spoilt: pd.DataFrame) -> pd.DataFrame:
    """Found and injected of the orders that no column gives, by whether a fact says that they matter."""
    hidden = spoilt[spoilt["fact"].notna()]
    matters = (hidden["fact"] != "").rename("matters")
    return hidden.groupby(["kind", "half", matters])["is_found"].agg(["sum", "count"])


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Records of a file of JSON lines; none without one."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _runs(out: Path, what: str, halves: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(
        [line for half in halves for line in read_lines(out / f"{what}-{half}.jsonl")]
    )
