"""`msprobe check` on sums that are missing, misplaced or doubled, each beside its right twin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from torch.nn import functional

from builder.dump.sources import find_sources
from builder.ranks.checks.self_check import CheckFinding, check_dump
from builder.ranks.layout.coordinates import Sizes
from evaluation.parallel.collective import Reduce
from evaluation.parallel.experiment import Experiment
from evaluation.parallel.faults.base import layer_of, model_of
from evaluation.parallel.layers import same
from evaluation.parallel.layout import Layout
from evaluation.parallel.record import record
from evaluation.parallel.size import Size

TP = Layout(tp=2)
Change = Callable[[Experiment], None]


def _found(folder: Path, change: Change, layout: Layout = TP) -> list[CheckFinding]:
    record(layout, folder, "statistics", 0, Size(), change)
    return check_dump(find_sources(folder / "dump"), Sizes()).findings


def _never_summed(run: Experiment) -> None:
    """No layer adds up what its attention gives, so that none outvotes the others."""
    for index in range(run.size.layers):
        layer_of(run, index).attention.out.leave = same


def _rows_never_summed(run: Experiment) -> None:
    model_of(run).embedding.leave = same


def _activated_before_it_is_summed(run: Experiment) -> None:
    group = run.mesh.group("tp")
    layer_of(run, 1).mlp.down.leave = lambda x: Reduce.apply(functional.silu(x), group)


def _activated_when_it_is_summed(run: Experiment) -> None:
    group = run.mesh.group("tp")
    layer_of(run, 1).mlp.down.leave = lambda x: functional.silu(Reduce.apply(x, group))


def _summed_twice(run: Experiment) -> None:
    group = run.mesh.group("tp")
    layer_of(run, 1).mlp.down.leave = lambda x: Reduce.apply(Reduce.apply(x, group), group)


def _averaged_behind_its_sum(run: Experiment) -> None:
    group = run.mesh.group("tp")
    layer_of(run, 1).mlp.down.leave = lambda x: Reduce.apply(Reduce.apply(x, group), group) / 2


def _divided_before_it_is_summed_again(run: Experiment) -> None:
    group = run.mesh.group("tp")
    layer_of(run, 1).mlp.down.leave = lambda x: Reduce.apply(Reduce.apply(x, group) * 0.5, group)


def _scaled_before_it_is_summed(run: Experiment) -> None:
    """A part of a sum goes through what is linear unharmed."""
    group = run.mesh.group("tp")
    layer_of(run, 1).mlp.down.leave = lambda x: Reduce.apply(x * 0.5, group)


@pytest.mark.parametrize(
    ("change", "check", "node", "text"),
    [
        (_never_summed, "partial", "layers.0.attention.out", "adds to it"),
        (_rows_never_summed, "partial", "embedding", "adds to it"),
        (_activated_before_it_is_summed, "partial", "layers.1.mlp.down", "is not linear"),
        (_summed_twice, "collective", "Distributed.all_reduce", "2 times as much"),
    ],
)
def test_a_part_that_is_used_as_the_whole_is_named_first(
    tmp_path: Path, change: Change, check: str, node: str, text: str
) -> None:
    first = _found(tmp_path, change)[0]
    assert (first.check, first.axis, first.ranks) == (check, "tp", (0, 1))
    assert node in first.node
    assert text in first.text


@pytest.mark.parametrize(
    "change",
    [
        _activated_when_it_is_summed,
        _averaged_behind_its_sum,
        _divided_before_it_is_summed_again,
        _scaled_before_it_is_summed,
    ],
)
def test_the_right_twin_of_a_fault_is_no_finding(tmp_path: Path, change: Change) -> None:
    assert _found(tmp_path, change) == []


@pytest.mark.parametrize("layout", [Layout(tp=2, dp=2), Layout(tp=2, pp=2, micro_batches=2)])
def test_missing_sums_are_named_on_every_stage_and_replica(tmp_path: Path, layout: Layout) -> None:
    def last(run: Experiment) -> None:
        if run.mesh.at("pp") == layout.pp - 1:
            chunk = model_of(run).layers
            chunk[len(chunk) - 1].attention.out.leave = same  # type: ignore[union-attr]

    first = _found(tmp_path, last, layout)[0]
    assert (first.check, first.axis) == ("partial", "tp")
    assert "layers.3.attention.out" in first.node
