"""What a norm makes of rounding is no finding by scores; what it makes wrong stays one."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from builder.compare.comparison import Comparison, compare
from builder.compare.score import Tolerance
from builder.diagnosis.blame import walk_by_scores
from builder.dump.reader import read_dump
from builder.match.nodes import match_trees
from builder.match.tree import build_tree
from msprobe_core import PrecisionDebugger

_CALL = "Functional.layer_norm.0.forward"


class _Wrong(TorchDispatchMode):
    """A kernel of layer normalisation whose result is too large by half."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        made = func(*args, **(kwargs or {}))
        return (made[0] * 1.5, *made[1:]) if "native_layer_norm" in str(func) else made


def _record(folder: Path, x: torch.Tensor, wrong: bool = False) -> Path:
    """A norm over four numbers that nearly agree."""
    debugger = PrecisionDebugger(level="L1", task="statistics", dump_path=str(folder))
    debugger.start()
    with _Wrong() if wrong else nullcontext():
        functional.layer_norm(x, (4,))
    debugger.stop()
    debugger.step()
    debugger.close()
    return next((folder / "step0").iterdir())


def _compared(problem: Path, benchmark: Path) -> Comparison:
    trees = (build_tree(read_dump(folder)) for folder in (problem, benchmark))
    return compare(match_trees(*trees), Tolerance())


@pytest.mark.parametrize(("wrong", "named"), [(False, []), (True, [_CALL])])
def test_rounding_that_a_norm_blows_up_is_explained(
    wrong: bool, named: list[str], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    x = 1.0 + 1e-5 * torch.randn(64, 4)
    nearly = torch.nextafter(x, torch.full_like(x, 2.0))
    ours = _record(tmp_path / "p", nearly, wrong)
    theirs = _record(tmp_path / "b", x)
    comparison = _compared(ours, theirs)
    at = comparison.matching.problem.by_name[_CALL].exec_order
    assert comparison.nodes.outputs[at] > 0.25
    found = walk_by_scores(comparison, 0.25).findings
    assert [finding.node.name for finding in found] == named
