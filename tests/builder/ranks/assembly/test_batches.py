"""Shares of a batch are put where the benchmark has them, by checksums of their rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from builder.dump.reader import Dump, FedInput
from builder.dump.values import Values
from builder.ranks.assembly.batches import Fed, fed_to, moved_shares, other_rows
from builder.ranks.layout.coordinates import Place, RunLayout

_TOKENS = ("embedding", "0")


def _fed(rows: dict[tuple[int, int], tuple[str, ...]], replicas: int, micro_batches: int) -> Fed:
    return Fed({_TOKENS: rows}, replicas, micro_batches)


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.randoms(use_true_random=False))
def test_shares_dealt_out_in_any_order_come_back(
    replicas: int, micro_batches: int, size: int, random: Random
) -> None:
    shares = [(dp, m) for m in range(micro_batches) for dp in range(replicas)]
    rows = [str(number) for number in range(len(shares) * size)]
    parts = [tuple(rows[n * size : (n + 1) * size]) for n in range(len(shares))]
    dealt = list(parts)
    random.shuffle(dealt)
    ours = _fed(dict(zip(shares, dealt, strict=True)), replicas, micro_batches)
    theirs = _fed({(0, 0): tuple(rows)}, 1, 1)
    moved = moved_shares(ours, theirs)
    there = {moved.get(share, share): part for share, part in zip(shares, dealt, strict=True)}
    assert [there[share] for share in shares] == parts


def test_rows_that_do_not_tell_leave_the_usual_order() -> None:
    theirs = _fed({(0, 0): ("a", "b", "c", "d")}, 1, 1)
    usual = _fed({(0, 0): ("a", "b"), (1, 0): ("c", "d")}, 2, 1)
    assert moved_shares(usual, theirs) == {}
    swapped = _fed({(0, 0): ("c", "d"), (1, 0): ("a", "b")}, 2, 1)
    assert moved_shares(swapped, theirs) == {(1, 0): (0, 0), (0, 0): (1, 0)}
    strided = _fed({(0, 0): ("a", "c"), (1, 0): ("b", "d")}, 2, 1)
    other = _fed({(0, 0): ("e", "f"), (1, 0): ("a", "b")}, 2, 1)
    again = _fed({(0, 0): ("a", "a", "a", "a")}, 1, 1)
    assert moved_shares(strided, theirs) == moved_shares(other, theirs) == {}
    assert moved_shares(swapped, again) == moved_shares(swapped, Fed({}, 1, 1)) == {}


def test_rows_that_the_benchmark_was_not_fed_are_counted_with_the_ranks_that_read_them() -> None:
    theirs = _fed({(0, 0): ("a", "b", "c", "d")}, 1, 1)
    usual = _fed({(0, 0): ("a", "b"), (1, 0): ("c", "d")}, 2, 1)
    swapped = _fed({(0, 0): ("c", "d"), (1, 0): ("a", "b")}, 2, 1)
    strided = _fed({(0, 0): ("a", "c"), (1, 0): ("b", "d")}, 2, 1)
    foreign = _fed({(0, 0): ("e", "f"), (1, 0): ("g", "h")}, 2, 1)
    fewer = _fed({(0, 0): ("a",), (1, 0): ("b",)}, 2, 1)
    for silent in (usual, swapped, strided, foreign, fewer, Fed({}, 1, 1)):
        assert other_rows(silent, theirs) is None
    twice = other_rows(_fed({(0, 0): ("a", "b"), (1, 0): ("a", "b")}, 2, 1), theirs)
    assert twice is not None
    assert (twice.path, twice.key, twice.count, twice.total) == (*_TOKENS, 2, 4)
    assert twice.replicas == (1,)
    moved = other_rows(_fed({(0, 0): ("c", "e"), (1, 0): ("a", "b")}, 2, 1), theirs)
    assert moved is not None and (moved.count, moved.replicas) == (1, (0,))


def test_the_first_rank_of_each_replica_tells_its_rows() -> None:
    def dump(*rows: str) -> Dump:
        name = "Module.module.embedding.Embedding.forward"
        inputs = {f"{name}.{n}": {"0": FedInput((1, 2), row, (row,))} for n, row in enumerate(rows)}
        empty = Dump(Path("d"), "statistics", "mix", "pytorch", Values(), {}, {}, {}, {}, [])
        return replace(empty, inputs=inputs)

    places = {r: Place(r, {"tp": r % 2, "dp": r // 2}) for r in range(4)}
    layout = RunLayout({"tp": 2, "dp": 2}, places)
    fed = fed_to({r: dump(f"{r}0", f"{r}1") for r in range(4)}, layout, 2)
    (rows,) = fed.rows.values()
    assert rows == {(0, 0): ("00",), (0, 1): ("01",), (1, 0): ("20",), (1, 1): ("21",)}
    assert fed.usual == [(0, 0), (1, 0), (0, 1), (1, 1)]
