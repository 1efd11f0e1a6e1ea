"""Which calls of all ranks are one call, whether ranks are looked at one by one or as peers."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import Dump
from builder.dump.twins import Twins
from builder.dump.values import Record, Values
from builder.ranks.assembly.assemble import assemble, assemble_like
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.assembly.peers import make_alike
from builder.ranks.layout.coordinates import Place, RunLayout

_CALLS = ["Module.fc.Linear.forward.0", "Functional.relu.0.forward", "Functional.gelu.0.forward"]


def _dump(names: list[str], rank: int) -> Dump:
    ranges = {name: (place, place + 1) for place, name in enumerate(names)}
    records = [Record(type="torch.Tensor", dtype="torch.float32", Mean=rank) for _ in names]
    values = Values(["output.0"] * len(names), records)
    parents = dict.fromkeys(names)
    return Dump(
        Path(f"{rank}"), "statistics", "mix", "pytorch", values, ranges, parents, {}, {}, []
    )


def _run(lists: list[list[str]], axis: str, *, join: bool, shared: bool) -> LogicalRun:
    twins = Twins()
    dumps = {rank: _dump(names, rank) for rank, names in enumerate(lists)}
    if shared:
        dumps = {rank: twins.shared(dump) for rank, dump in dumps.items()}
    places = {rank: Place(rank, {axis: rank}) for rank in dumps}
    return assemble(dumps, RunLayout({axis: len(lists)}, places), 1, join)


def _told(run: LogicalRun) -> list[tuple[str, list[tuple[int, object]]]]:
    """By entry, the ranks of its parts and the numbers of their records."""
    return [
        (name, [(part.rank, run.records[part.record].Mean) for part in run.parts[start]])
        for name, (start, _) in run.dump.ranges.items()
    ]


def test_peers_are_grouped_as_ranks_that_are_looked_at_one_by_one() -> None:
    lists = [_CALLS, _CALLS[:2], _CALLS, _CALLS[::-1]]
    for axis, join in (("tp", True), ("dp", True), ("dp", False)):
        alone = _run(lists, axis, join=join, shared=False)
        peers = _run(lists, axis, join=join, shared=True)
        assert _told(alone) == _told(peers)
        assert alone.origin == peers.origin
        assert list(alone.dump.parents) == list(peers.dump.parents)


def test_a_call_has_a_part_of_every_rank_that_makes_it() -> None:
    run = _run([_CALLS, _CALLS[:2]], "tp", join=True, shared=True)
    assert dict(_told(run))["Functional.relu.0.forward"] == [(0, 0), (1, 1)]
    assert dict(_told(run))["Functional.gelu.0.forward"] == [(0, 0)]


def test_micro_batches_that_are_not_joined_are_calls_of_their_own() -> None:
    run = _run([_CALLS, _CALLS], "dp", join=False, shared=True)
    assert dict(_told(run))["Functional.relu.0.forward"] == [(0, 0)]
    assert dict(_told(run))["Functional.relu.1.forward"] == [(1, 1)]


def test_a_run_that_makes_the_calls_of_another_is_put_together_like_it() -> None:
    twins = Twins()
    sides = [
        {rank: twins.shared(_dump(_CALLS[: 3 - rank % 2], first + rank)) for rank in range(4)}
        for first in (0, 10)
    ]
    places = {rank: Place(rank, {"tp": rank % 2, "dp": rank // 2}) for rank in range(4)}
    layout = RunLayout({"tp": 2, "dp": 2}, places)
    assert make_alike(*sides)
    for join in (True, False):
        alike = assemble_like(assemble(sides[0], layout, 1, join), sides[1])
        anew = assemble(sides[1], layout, 1, join)
        assert _told(alike) == _told(anew)
        assert alike.dump == anew.dump
        assert (alike.origin, alike.folders) == (anew.origin, anew.folders)


def test_runs_of_other_calls_are_not_alike() -> None:
    twins = Twins()
    ours, theirs = ({0: twins.shared(_dump(names, 0))} for names in (_CALLS, _CALLS[:2]))
    assert not make_alike(ours, theirs)


def test_a_module_has_the_mode_that_all_its_ranks_tell() -> None:
    dumps = {rank: _dump(_CALLS, rank) for rank in range(2)}
    layout = RunLayout({"tp": 2}, {rank: Place(rank, {"tp": rank}) for rank in dumps})
    told = _CALLS[0]
    for modes, expected in (((True, True), {told: True}), ((False, False), {told: False})):
        for rank, dump in dumps.items():
            dump.modes = {told: modes[rank]}
        run = assemble(dumps, layout, 1, join=True)
        assert run.dump.modes == expected
        assert assemble_like(run, dumps).dump.modes == expected
    dumps[0].modes = {told: True}
    assert assemble(dumps, layout, 1, join=True).dump.modes == {}
    dumps[0].modes = {}
    assert assemble(dumps, layout, 1, join=True).dump.modes == {}
