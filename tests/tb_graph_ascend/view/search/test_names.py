"""Search over names agrees with looking at one name after the other, and always comes to an end."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tb_graph_ascend.view.search.names import NameIndex

NAMES = st.lists(st.text(alphabet="aAbB.é09\n😀", max_size=12), min_size=1, max_size=20)
TEXTS = st.text(alphabet="aAbB.é09\n😀", min_size=1, max_size=10)
EXPRESSIONS = st.sampled_from(
    ["a", "^a", "b$", "a.b", "[^a]", r"\W", "a*", "^$", "(a|b)+é", r"a\.?b", "[^b]+$", "(?i)A"]
)


@given(NAMES, TEXTS, st.booleans())
def test_text_is_found_where_it_is(names: list[str], text: str, case: bool) -> None:
    flat = [name.replace("\n", " ") for name in names]
    if case:
        expected = [text in name for name in flat]
    else:
        expected = [text.lower() in name.lower() for name in flat]
    index = NameIndex(names)
    assert index.containing(text, case=case)[index.place].tolist() == expected


@given(NAMES, EXPRESSIONS, st.booleans())
def test_expression_matches_each_name_alone(names: list[str], pattern: str, case: bool) -> None:
    expression = re.compile(pattern, re.ASCII | (0 if case else re.IGNORECASE))
    flat = [name.replace("\n", " ") for name in names]
    expected = [expression.search(name) is not None for name in flat]
    index = NameIndex(names)
    assert index.matching(pattern, case=case)[index.place].tolist() == expected


@given(NAMES)
def test_rank_sorts_like_the_names(names: list[str]) -> None:
    rank = NameIndex(names).rank.tolist()
    flat = [name.replace("\n", " ") for name in names]
    by_rank = sorted(range(len(flat)), key=rank.__getitem__)
    assert [flat[i] for i in by_rank] == sorted(flat)


def test_nearest_are_the_parts_of_names_written_most_alike() -> None:
    names = NameIndex(["Torch.softmax.0.forward", "Module.layers.0.self_attn.Attn.forward.0"])
    assert names.nearest("sofmax") == ["softmax"]
    assert names.nearest("Self_Atn") == ["self_attn"]
    assert names.nearest("convolution") == []


def test_sides_with_the_same_names_share_them() -> None:
    alike, other = NameIndex(["a", "b", "a"], ["a", "b", "a"]), NameIndex(["a", "b"], ["c", "b"])
    assert alike.place.tolist() == [0, 1, 0, 0, 1, 0]
    assert other.place.tolist() == [0, 1, 2, 1]
    assert other.containing("c", case=False)[other.place].tolist() == [False, False, True, False]
