"""`msprobe check` on sums that are missing, misplaced or doubled, each beside its right twin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
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


def _by_scores(run: Experiment, *, summed: bool) -> None:
    """Attention by products of heads into a buffer, masked in place, as megatron-core's is."""
    for index in range(run.size.layers):
        attention: Any = layer_of(run, index).attention
        attention.forward = partial(_of_heads, attention)
        if not summed:
            attention.out.leave = same


def _of_heads(attention: Any, x: Tensor, positions: Tensor) -> Tensor:
    q, k, v = attention.qkv(x).chunk(3, -1)
    q, k, v = (t.unflatten(-1, (-1, attention.width)).transpose(1, 2) for t in (q, k, v))
    q, (batch, heads, length, width) = attention.norm_q(q), q.shape
    flat = [t.reshape(batch * heads, length, width) for t in (q, k, v)]
    buffer = torch.empty(batch * heads, length, length)
    scores = torch.baddbmm(buffer, flat[0], flat[1].transpose(1, 2), beta=0.0, alpha=0.5)
    unseen = positions[:, None, :, None] < positions[:, None, None, :]
    scores = scores.view(batch, heads, length, length).masked_fill_(unseen, -10000.0)
    shares = torch.softmax(scores, -1).view(batch * heads, length, length)
    mixed = torch.bmm(shares, flat[2]).view(batch, heads, length, width)
    return attention.out(mixed.transpose(1, 2).flatten(-2))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("change", "check", "node", "text"),
    [
        (
            lambda run: _by_scores(run, summed=False),
            "partial",
            "layers.0.attention.out",
            "its part of a sum",
        ),
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
        lambda run: _by_scores(run, summed=True),
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
