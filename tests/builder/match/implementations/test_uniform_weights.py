"""Weights that are one number throughout pair by the modules that they stand in."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Literal

import numpy as np

from builder.match.implementations.uniform_weights import pair_constants
from tests.builder.match.implementations.test_weight_pairs import named, side

ONES, ZEROS = np.ones(8), np.zeros(8)


class Edges:
    """Edges as far apart as a test says, all of one norm where it says anything."""

    def __init__(self, told: Callable[[str, str], float] | None = None) -> None:
        self._told = told

    def apart(self, path: str, other: str) -> float:
        return inf if self._told is None else self._told(path, other)

    def norm(self, side: Literal[0, 1], path: str) -> float:
        return nan if self._told is None else 1.0


_UNKNOWN = Edges()


def test_a_bias_that_one_program_leaves_out_moves_no_other() -> None:
    ours = side(a__0__q__bias=ZEROS, a__0__v__bias=ZEROS, a__1__q__bias=ZEROS, a__1__v__bias=ZEROS)
    theirs = side(
        **{f"b__{n}__{part}__bias": ZEROS for n in range(2) for part in ("query", "key", "value")}
    )
    paths = {
        f"a.{n}.{short}": f"b.{n}.{long}"
        for n in range(2)
        for short, long in (("q", "query"), ("v", "value"))
    }
    assert [(p, b) for _, p, b in named(list(pair_constants(paths, ours, theirs, _UNKNOWN)))] == [
        ((f"{path}.bias",), (f"{other}.bias",)) for path, other in paths.items()
    ]


def test_norms_of_one_place_pair_by_what_most_layers_read() -> None:
    ours = side(**{f"a__{n}__{name}__w": ONES for n in range(3) for name in ("qn", "kn")})
    theirs = side(**{f"b__{n}__{name}__w": ONES for n in range(3) for name in ("key", "query")})
    alike = {("qn", "query"), ("kn", "key")}

    def apart(path: str, other: str) -> float:
        if path.startswith("a.2"):  # behind a fault nothing is near
            return 1.4
        return 0.01 if (path[-2:], other.rpartition(".")[2]) in alike else 0.3

    paths = {f"a.{n}": f"b.{n}" for n in range(3)}
    found = named(list(pair_constants(paths, ours, theirs, Edges(apart))))
    assert {(p, b) for _, (p,), (b,) in found} == {
        (f"a.{n}.{one}.w", f"b.{n}.{other}.w") for n in range(3) for one, other in alike
    }


def test_biases_of_projections_that_are_fused_are_joined() -> None:
    ours = side(a__qkv__bias=np.zeros(24))
    theirs = side(b__q__bias=ZEROS, b__k__bias=ZEROS, b__v__bias=ZEROS)
    assert named(list(pair_constants({"a": "b"}, ours, theirs, _UNKNOWN))) == [
        ("joined", ("a.qkv.bias",), ("b.q.bias", "b.k.bias", "b.v.bias"))
    ]


def test_where_nothing_tells_and_counts_differ_none_pair() -> None:
    ours, theirs = side(a__n1__w=ONES), side(b__n1__w=ONES, b__n2__w=ONES)
    assert list(pair_constants({"a": "b"}, ours, theirs, _UNKNOWN)) == []
    twice = side(a__n1__w=ONES, a__n2__w=ONES)
    assert named(list(pair_constants({"a": "b"}, twice, theirs, _UNKNOWN))) == [
        ("same", ("a.n1.w",), ("b.n1.w",)),
        ("same", ("a.n2.w",), ("b.n2.w",)),
    ]


def test_what_reads_and_puts_out_the_same_pairs_wherever_it_stands() -> None:
    """A norm at the end of a block is that in front of the next one; behind a fault none is."""
    ours = side(start__w=ONES, a__0__end__w=ONES, a__1__end__w=ONES, a__2__end__w=ONES)
    theirs = side(b__0__front__w=ONES, b__1__front__w=ONES, b__2__front__w=ONES, last__w=ONES)

    def apart(path: str, other: str) -> float:
        number = -1 if path == "start" else int(path[2])
        to = 3 if other == "last" else int(other[2])
        return 0.01 if number + 1 == to and number < 2 else 0.4

    paths = {f"a.{n}": f"b.{n}" for n in range(3)}
    found = named(list(pair_constants(paths, ours, theirs, Edges(apart))))
    assert {(p, b) for _, (p,), (b,) in found} == {
        ("start.w", "b.0.front.w"),
        ("a.0.end.w", "b.1.front.w"),
        ("a.1.end.w", "b.2.front.w"),
    }
