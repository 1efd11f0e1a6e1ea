"""Search over names agrees with looking at one name after the other, and always comes to an end."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.database.queries import Names
from builder.database.records import Side
from tb_graph_ascend.server.errors import BadArgumentError
from tb_graph_ascend.server.names import NameIndex

NAMES = st.lists(st.text(alphabet="aAbB.é\n😀", max_size=12), min_size=1, max_size=20)
TEXTS = st.text(alphabet="aAbB.é\n😀", min_size=1, max_size=10)
EXPRESSIONS = st.sampled_from(
    ["a", "^a", "b$", "a.b", "[^a]", r"\W", "a*", "^$", "(a|b)+é", r"a\.?b", "[^b]+$", "(?i)A"]
)


def index_of(names: list[str]) -> tuple[NameIndex, list[int], list[Side]]:
    ids = [10 + 3 * i for i in range(len(names))]
    sides: list[Side] = ["problem" if i % 3 else "benchmark" for i in range(len(names))]
    return NameIndex(Names(ids, sides, names)), ids, sides


@given(NAMES, TEXTS, st.booleans())
def test_text_is_found_where_it_is(names: list[str], text: str, case: bool) -> None:
    index, ids, _ = index_of(names)
    flat = [name.replace("\n", " ") for name in names]
    if case:
        expected = [i for i, name in zip(ids, flat) if text in name]
    else:
        expected = [i for i, name in zip(ids, flat) if text.lower() in name.lower()]
    assert index.by_text(text, case=case).tolist() == expected


@given(NAMES, EXPRESSIONS, st.booleans())
def test_expression_matches_each_name_alone(names: list[str], pattern: str, case: bool) -> None:
    index, ids, _ = index_of(names)
    expression = re.compile(pattern, 0 if case else re.IGNORECASE)
    flat = [name.replace("\n", " ") for name in names]
    expected = [i for i, name in zip(ids, flat) if expression.search(name)]
    assert index.by_expression(pattern, case=case).tolist() == expected


@given(NAMES)
def test_side_narrows_the_hits(names: list[str]) -> None:
    index, ids, sides = index_of(names)
    for side in ("problem", "benchmark"):
        found = index.by_expression("", case=True, side=side).tolist()
        assert found == [i for i, own in zip(ids, sides) if own == side]


def test_expression_without_end_is_given_up() -> None:
    index, _, _ = index_of(["a" * 70 + "b"] * 3)
    began = time.monotonic()
    with pytest.raises(BadArgumentError, match="takes too long"):
        index.by_expression(r"(a|aa|aaa)+$", case=True)
    assert time.monotonic() - began < 10


def test_bad_expression_says_where() -> None:
    index, _, _ = index_of(["a"])
    with pytest.raises(BadArgumentError, match="no regular expression"):
        index.by_expression("a(", case=True)
