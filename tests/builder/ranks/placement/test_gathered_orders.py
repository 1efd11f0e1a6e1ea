"""Parts that are gathered and put together in another order than ranks have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from builder.dump.sources import find_sources
from builder.ranks.checks.self_check import CheckFinding, check_dump
from builder.ranks.layout.coordinates import Sizes
from builder.reasons import GatheredOutOfOrder
from evaluation.parallel.collective import Gather
from evaluation.parallel.experiment import Experiment
from evaluation.parallel.faults.base import layer_of, model_of
from evaluation.parallel.layout import Layout
from evaluation.parallel.record import record
from evaluation.parallel.size import Size

TP, CP = Layout(tp=2), Layout(cp=2)
Change = Callable[[Experiment], None]


def _found(folder: Path, layout: Layout, change: Change) -> list[CheckFinding]:
    record(layout, folder, "statistics", 0, Size(), change)
    return check_dump(find_sources(folder / "dump"), Sizes()).findings


def _head(run: Experiment, *, turned: bool) -> None:
    """Logits that are gathered, cut into as many pieces and put together again."""
    head, group = model_of(run).head, run.mesh.group("tp")

    def gathered(x: torch.Tensor) -> torch.Tensor:
        pieces = Gather.apply(x, group, x.ndim - 1, False).chunk(2, -1)
        return torch.cat(pieces[::-1] if turned else pieces, -1)

    head.leave = gathered


def _halves_of_each_row(run: Experiment) -> None:
    """Pieces along another dimension than the parts' are no parts."""
    head, group = model_of(run).head, run.mesh.group("tp")

    def gathered(x: torch.Tensor) -> torch.Tensor:
        whole = Gather.apply(x, group, x.ndim - 1, False)
        return torch.cat(torch.cat(whole.chunk(2, 0)[::-1], 0).chunk(2, 0)[::-1], 0)

    head.leave = gathered


def _positions(run: Experiment) -> None:
    group = run.mesh.group("cp")

    def swapped(positions: torch.Tensor) -> torch.Tensor:
        return torch.cat(Gather.apply(positions, group, 1, False).chunk(2, 1)[::-1], 1)

    layer_of(run, 2).attention.spread_positions = swapped


@pytest.mark.parametrize(
    ("layout", "change", "inside"),
    [
        (TP, lambda run: _head(run, turned=True), "Module.head"),
        (CP, _positions, "Module.layers.2.attention"),
    ],
)
def test_another_order_is_named_where_it_is_gathered(
    tmp_path: Path, layout: Layout, change: Change, inside: str
) -> None:
    first = _found(tmp_path, layout, change)[0]
    assert isinstance(first.reasons[0], GatheredOutOfOrder)
    assert (first.reasons[0].order, first.reasons[0].usual) == ("1, 0", "0, 1")
    assert first.node.startswith("Distributed.all_gather.")
    assert first.inside.startswith(inside)


@pytest.mark.parametrize("change", [lambda run: _head(run, turned=False), _halves_of_each_row])
def test_the_order_of_ranks_is_left_alone(tmp_path: Path, change: Change) -> None:
    assert _found(tmp_path, TP, change) == []
