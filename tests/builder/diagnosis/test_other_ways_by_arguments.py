"""Which other arguments may move all numbers by a little, so that less of a difference heals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from builder.compare.comparison import compare
from builder.compare.score import Tolerance
from builder.diagnosis.blame import flows_of
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.healing import Healing
from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import Tree, build_tree
from msprobe.pytorch import PrecisionDebugger

Way = Callable[[Tensor], Tensor]


class _Going(nn.Module):
    def __init__(self, way: Way) -> None:
        super().__init__()
        self.way = way

    def forward(self, x: Tensor) -> Tensor:
        return self.way(x)


def _padded(width: int) -> Way:
    return lambda x: functional.pad(x, (width, 0))


def _times(factor: float) -> Way:
    return lambda x: torch.mul(x, factor)


def _plus(number: float | Tensor) -> Way:
    return lambda x: torch.add(x, number)


def _recorded(folder: Path, way: Way) -> Tree:
    torch.manual_seed(3)
    debugger = PrecisionDebugger(level="mix", dump_path=str(folder))
    model = _Going(way)
    with debugger.recording(model):
        model(torch.randn(4, 9))
    debugger.close()
    (rank,) = (folder / "step0").iterdir()
    return build_tree(read_dump(rank))


@pytest.mark.parametrize(
    ("ways", "key", "wanted"),
    [
        ((_padded(2), _padded(0)), "input.1.0", False),
        ((_plus(2), _plus(torch.full((1,), 2.0))), "input.1", False),
        ((_plus(2), _plus(torch.full((1,), 2.25))), "input.1", True),
        ((_plus(2), _plus(torch.tensor([2.0, 2.25, 2.0] * 3))), "input.1", True),
        ((_times(1.5), _times(1.0)), "input.1", True),
    ],
)
def test_sizes_and_equal_numbers_move_none(
    ways: tuple[Way, Way], key: str, wanted: bool, tmp_path: Path
) -> None:
    ours, theirs = (_recorded(tmp_path / str(n), way) for n, way in enumerate(ways))
    comparison = compare(match_trees(ours, theirs), Tolerance())
    facts = Facts(comparison, threshold=0.1)
    node = next(n for n in ours.in_order if n.kind == "api")
    (row,) = (r for r in facts.paired.rows(node) if comparison.keys[r] == key)
    reasons = [facts.argument_reason(row)]
    finding = Finding("argument_differs", node, "problem", 0, list(reasons))
    assert Healing(facts, flows_of(comparison)).may_move_all(finding) == wanted
