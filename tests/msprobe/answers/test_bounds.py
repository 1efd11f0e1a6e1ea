"""Whatever an answer holds, it is at most 4 KB of JSON, and pages lose nothing."""

from __future__ import annotations

import json
import math
from dataclasses import is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msprobe.answers.bounds import MOST_BYTES, bounded
from msprobe.answers.next_recording import NextRecordings
from msprobe.answers.node_values import NodeValues
from msprobe.answers.nodes import ExplainedNode, Neighbours
from msprobe.answers.overview import FindingList, ResultList, ResultOverview
from msprobe.answers.shown_paths import ShownPaths
from msprobe.answers.two_results import TwoResults

PATHS = ShownPaths([Path("/served")])
LONG = "\U0001f600" * 30_000  # four bytes each in UTF-8
HUGE = 10**18
MOST_KEYS = 12  # of measures, and of what a claim counts


class Listed(msgspec.Struct, frozen=True):
    """An answer with a head and a list."""

    head: Any
    entries: list[Any]


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**62), 2**62),
    st.floats(),
    st.text(max_size=3000),
)
RECORDS = st.dictionaries(
    st.sampled_from("abcdefgh"), st.one_of(LEAVES, st.lists(LEAVES, max_size=40)), max_size=8
)


@given(head=RECORDS, entries=st.lists(RECORDS, max_size=60), offset=st.integers(0, 70))
def test_any_answer_has_room(head: dict[str, Any], entries: list[Any], offset: int) -> None:
    page = bounded(Listed(head, entries), "entries", offset, PATHS)
    text = msgspec.json.encode(page)
    assert len(text) <= MOST_BYTES
    assert json.loads(text)["total"] == len(entries)


@given(entries=st.lists(st.integers(0, 9), max_size=400), width=st.integers(1, 2000))
def test_pages_lose_nothing(entries: list[int], width: int) -> None:
    answer = Listed("", [f"{n}" * width for n in entries])
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = bounded(answer, "entries", offset, PATHS)
        seen += [text[0] for text in page["entries"]]
        assert page["more"] is None or page["more"] > offset
        offset = page["more"]
    assert seen == [str(n) for n in entries]


def _full(kind: object) -> Any:
    """Something of a type as long as a file could make it."""
    known, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {name: _full(of) for name, of in get_type_hints(kind).items()}
    if isinstance(kind, type) and is_dataclass(kind):
        return {name: _full(of) for name, of in get_type_hints(kind).items()}
    if known in (list, tuple):
        return [_full(inner[0])] * 50
    if known is dict:
        return {f"{n} {LONG}": _full(inner[1]) for n in range(MOST_KEYS)}
    if known in (Union, UnionType):
        return max(map(_full, inner), key=lambda one: len(str(one)))
    return {bool: True, int: HUGE, float: -1 / 3, type(None): None}.get(kind, LONG)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("answer", "listed"),
    [
        (FindingList, "findings"),
        (ExplainedNode, "way"),
        (Neighbours, "neighbours"),
        (NextRecordings, "recordings"),
        (NodeValues, "values"),
        (ResultList, "results"),
        (ResultOverview, "pairs"),
        (TwoResults, "changes"),
    ],
)
def test_the_largest_answer_of_each_kind_has_room_for_an_entry(
    answer: type[msgspec.Struct], listed: str
) -> None:
    full = _full(answer)
    entries = full.pop(listed)
    page = bounded(Listed(full, entries), "entries", 0, PATHS)
    assert len(msgspec.json.encode(page)) <= MOST_BYTES
    assert len(page["entries"]) >= 1
    assert page["more"] == len(page["entries"])


def test_what_is_cut_is_told() -> None:
    answer = Listed({"reasons": ["r" * 900] * 30}, ["x" * 5000])
    page = bounded(answer, "entries", 0, PATHS)
    assert page["entries"][0].endswith("…")
    assert page["head"]["left_out"]["reasons"] == 30 - len(page["head"]["reasons"])


def test_numbers_that_json_lacks_are_texts() -> None:
    page = bounded(Listed([math.nan, math.inf, 0.1 + 0.2], [-math.inf]), "entries", 0, PATHS)
    assert page["head"] == ["nan", "inf", 0.3]
    assert page["entries"] == ["-inf"]
