"""Experts of their own on each rank: what chooses and weighs them is each rank's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.ranks.assembly.assemble import assemble
from builder.ranks.joining.own_values import OwnValues
from builder.ranks.joining.parts import RunValues
from builder.ranks.layout.coordinates import Sizes, layout_of
from evaluation.placements.case import Case
from evaluation.placements.families.experts import backward, mixed
from evaluation.placements.run import Run
from evaluation.placements.suite import record


def _told(run: Run) -> None:
    """Two experts on each of two tensor-parallel ranks, which the dumper is told of."""
    header = run.header
    assert header is not None
    axes = header["axes"]
    assert isinstance(axes, dict)
    axes["ep"] = {"rank": run.rank, "size": 2, "ranks": [0, 1]}
    axes["etp"] = {"rank": 0, "size": 1, "ranks": [run.rank]}
    header["experts"] = {"first": 2 * run.rank, "count": 2}
    model = mixed(run, "tp")
    run.train(model, lambda step: backward(run, model, step))


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> RunValues:
    folder: Path = tmp_path_factory.mktemp("experts")
    record(Case("told", "first", {"tp": 2}, _told, (), is_told=True), False, "float32", folder)
    dumps = {rank: read_dump(folder / "dump" / "step0" / f"rank{rank}") for rank in range(2)}
    return RunValues(assemble(dumps, layout_of(dumps, Sizes(), folder), 1, join=True))


@pytest.mark.parametrize(
    ("entry", "key", "is_own"),
    [
        ("Tensor.__eq__.0.forward", "output.0", True),  # the index of another expert on each
        ("Tensor.__mul__.0.forward", "input.0", True),  # what this expert answers
        ("Tensor.__mul__.0.forward", "input.1", True),  # the mask of its tokens
        ("Tensor.__add__.0.forward", "output.0", True),  # and their sum, until it is reduced
        ("Functional.layer_norm.0.forward", "output.0", False),
        ("Torch.softmax.0.forward", "output.0", False),
        ("Distributed.all_reduce.0.forward", "output.0", False),
    ],
)
def test_what_follows_from_a_ranks_own_experts_is_its_own_until_it_is_summed(
    values: RunValues, entry: str, key: str, is_own: bool
) -> None:
    start, stop = values.run.dump.ranges[entry]
    index = next(i for i in range(start, stop) if values.keys[i] == key)
    assert OwnValues(values).is_own(index) is is_own
