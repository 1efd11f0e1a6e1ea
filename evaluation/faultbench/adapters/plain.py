"""No tool: the steps run as they are, which recordings are timed against; answers nothing."""

from __future__ import annotations

from pathlib import Path

from faultbench.answer import Pair
from faultbench.program import Program
from faultbench.row import Row


def record(program: Program, folder: Path) -> None:
    """Run the steps."""
    for step in program.steps():
        step()


def answer(pair: Pair) -> list[Row]:
    """Nothing: the self-test of the metrics at the bottom of the scale."""
    return []
