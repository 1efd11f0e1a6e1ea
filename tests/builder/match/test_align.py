"""The alignment is a longest common subsequence, and prefers agreeing details among equals."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from builder.match.align import Token, align

NAMES = st.lists(st.sampled_from("abc"), max_size=9)


def tokens(names: str | list[str]) -> list[Token]:
    return [Token(name) for name in names]


def longest(left: list[str], right: list[str]) -> int:
    @cache
    def best(i: int, j: int) -> int:
        if i == len(left) or j == len(right):
            return 0
        if left[i] == right[j]:
            return 1 + best(i + 1, j + 1)
        return max(best(i + 1, j), best(i, j + 1))

    return best(0, 0)


@given(NAMES, NAMES)
def test_pairs_are_a_longest_common_subsequence(left: list[str], right: list[str]) -> None:
    pairs = align(tokens(left), tokens(right))
    assert all(left[i] == right[j] for i, j in pairs)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))
    assert len(pairs) == longest(left, right)


@given(NAMES, st.integers(0, 9), st.sampled_from("abcx"))
def test_one_inserted_call_leaves_one_unmatched(names: list[str], at: int, extra: str) -> None:
    longer = [*names[:at], extra, *names[at:]]
    assert len(align(tokens(longer), tokens(names))) == len(names)


def test_the_shape_decides_between_equal_names() -> None:
    left = [Token("mul", (4,)), Token("mul", (8,))]
    assert align(left, [Token("mul", (8,))]) == [(1, 0)]


def test_the_argument_decides_between_equal_shapes() -> None:
    left = [Token("mul", (4,), 1.7), Token("mul", (4,), 2.0), Token("add", (4,))]
    right = [Token("mul", (4,), 2.0), Token("add", (4,))]
    assert align(left, right) == [(1, 0), (2, 1)]


def test_thousands_of_equal_calls_around_a_gap_stay_affordable() -> None:
    left = tokens(["x"] * 3000 + ["only here"] + ["y"] * 3000)
    right = tokens(["y"] * 3000 + ["x"] * 3000)
    assert len(align(left, right)) == 3000


def test_unique_calls_cut_a_wide_gap() -> None:
    left = tokens([f"c{i}" for i in range(3000)])
    right = tokens([f"c{i}" for i in range(3000) if i % 7])
    pairs = align(left, right)
    assert [left[i].name for i, _ in pairs] == [token.name for token in right]


def test_the_line_tells_which_of_two_equal_calls_is_new() -> None:
    def call(line: str) -> Token:
        return Token("mul", (2,), (), line)

    assert align([call("new"), call("old")], [call("old")]) == [(1, 0)]
    assert align([call("old"), call("new")], [call("old")]) == [(0, 0)]
    assert align([call("moved"), call("old")], [call("b"), call("c")]) == [(0, 0), (1, 1)]


def test_what_became_of_a_result_tells_which_of_two_equal_calls_is_new() -> None:
    def call(*fate: bool | None, line: str = "the same helper") -> Token:
        return Token("gelu", (2,), (), line, fate)

    unused, used = call(False, False), call(True, True)
    assert align([unused, used], [used]) == [(1, 0)]
    assert align([used, unused], [used]) == [(0, 0)]
    assert align([used], [unused, used]) == [(0, 1)]
    # Of dumps that say less, the rest decides.
    assert align([call(None, False), call(None, True)], [call(None, True)]) == [(1, 0)]
    assert align([call(None, None), call(None, None)], [used]) == [(0, 0)]
    # A line that happens to agree does not outweigh it.
    assert align([call(False, False, line="y"), call(True, True, line="x")], [used]) == [(1, 0)]
