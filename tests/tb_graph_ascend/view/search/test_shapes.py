"""A text is found in the names that have it, however few shapes they share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_graph_ascend.view.search import shapes as module
from tb_graph_ascend.view.search.shapes import NameShapes

NAMES = st.lists(st.text(alphabet="ab.019é", max_size=8), min_size=1, max_size=12)
TEXTS = st.text(alphabet="ab.019é", min_size=1, max_size=4)


def found(names: list[str], text: str) -> list[bool] | None:
    lines = [name.encode() + b"\n" for name in names]
    starts = np.cumsum([0, *map(len, lines)])[:-1]
    raw = np.frombuffer(b"".join(lines), dtype=np.uint8)
    hit = NameShapes(["\n".join(names)], len(names)).containing(text.encode(), raw, starts)
    return None if hit is None else hit.tolist()


@given(NAMES, TEXTS)
def test_text_is_found_where_it_is(names: list[str], text: str) -> None:
    assert found(names, text) == [text in name for name in names]


def test_text_that_overlaps_itself_is_found_at_each_place() -> None:
    assert found(["1.1.2", "1.1.3"], "1.2") == [True, False]


def test_too_many_shapes_are_left_to_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LOOKS", 1)
    assert found(["a1", "b1"], "1") is None
    assert found(["a1", "b1"], "b") == [False, True]
