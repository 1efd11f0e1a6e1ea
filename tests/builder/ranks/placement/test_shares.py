"""Which ranks read rows that are another's, by checksums of what they are fed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builder.dump.reader import Axis, Dump, FedInput, Parallel
from builder.dump.values import Record, Values
from builder.ranks.layout.coordinates import Sizes, layout_of
from builder.ranks.placement.shares import SharedRows, misread_rows

CALL = "Module.Net.forward.0"


def _dump(axis: str, place: int, size: int, rows: str) -> Dump:
    axes = {axis: Axis(rank=place, size=size, ranks=tuple(range(size)))}
    fed = FedInput(shape=(len(rows), 4), checksum=rows, rows=tuple(rows))
    step = {"input": {"weight": Record(dtype="torch.float32")}}
    empty = Dump(Path(), "statistics", "mix", "pytorch", Values(), {}, {}, {}, {}, [])
    parallel = Parallel(axes=axes, world_size=size, rank=place)
    inputs = {CALL: {"0": fed, "positions": replace_rows(fed)}}
    return replace(empty, parallel=parallel, inputs=inputs, optimizer={"step": step})


def replace_rows(fed: FedInput) -> FedInput:
    """Positions: the same in every row, and on every rank."""
    return FedInput(shape=fed.shape, checksum="p", rows=("p",) * len(fed.rows))


def _misread(axis: str, *rows: str) -> list[SharedRows]:
    dumps = {rank: _dump(axis, rank, len(rows), own) for rank, own in enumerate(rows)}
    return list(misread_rows(dumps, layout_of(dumps, Sizes(), "dump")))


def test_replicas_that_share_rows_are_named_where_others_have_their_own() -> None:
    (found,) = _misread("dp", "ab", "cd", "ef", "ef")
    assert (found.axis, found.ranks, found.argument) == ("dp", (2, 3), "0")
    assert not found.is_of_all


def test_one_share_for_all_replicas_may_be_meant_so() -> None:
    (found,) = _misread("fsdp", "ab", "ab")
    assert found.is_of_all


@pytest.mark.parametrize("rows", [("ab", "cd"), ("ab", "bc"), ("aa", "aa"), ("a", "a")])
def test_shares_of_their_own_and_rows_that_tell_nothing_are_left_alone(
    rows: tuple[str, str],
) -> None:
    assert _misread("dp", *rows) == []


def test_ranks_that_cut_layers_read_the_rows_in_one_order() -> None:
    assert _misread("tp", "ab", "ab") == []
    (found,) = _misread("tp", "ab", "ba")
    assert found.reordered


def test_an_axis_of_a_name_that_nobody_knows_says_nothing() -> None:
    assert _misread("model", "ab", "ab") == []


def test_a_run_that_trains_nothing_may_read_one_prompt_everywhere() -> None:
    dumps = {r: replace(_dump("dp", r, 2, "ab"), optimizer={}) for r in range(2)}
    assert list(misread_rows(dumps, layout_of(dumps, Sizes(), "dump"))) == []
