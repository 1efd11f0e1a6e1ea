"""An update that differs by a hair of its step is let pass where the others agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.builder.diagnosis.small_runs import findings, walked
from tests.msprobe_core.torch.record.test_tensors import record

SIZE, STEP = 64, 0.01
SEED = torch.Generator().manual_seed(1)
BEFORE, GRADIENT = (0.05 * torch.randn(SIZE, generator=SEED) for _ in range(2))
ONE = torch.zeros(SIZE)
ONE[3] = 1.0


def update(place: int, off: torch.Tensor, sketch: bool) -> dict[str, Any]:
    """What the optimizer did to a parameter, and by how much it is off."""
    start = (1 + place / 8) * BEFORE
    after = start - STEP * GRADIENT.sign() + off
    gradient, before, written = (record(each, sketch=sketch) for each in (GRADIENT, start, after))
    return {
        "input_args": [],
        "input_kwargs": {"gradient": gradient},
        "parameters": {"value": before},
        "output": {"value": written},
    }


def run(*off: torch.Tensor, sketch: bool = True) -> dict[str, Any]:
    none = torch.zeros(SIZE)
    every = [*off, *[none] * (10 - len(off))]
    return {f"Optimizer.w{k}.0.forward": update(k, each, sketch) for k, each in enumerate(every)}


@pytest.mark.parametrize(("off", "sketch"), [(6e-3 * ONE, True), (3e-4 * torch.ones(SIZE), False)])
def test_a_hair_of_one_step_is_let_pass_and_left_to_the_next(
    tmp_path: Path, off: torch.Tensor, sketch: bool
) -> None:
    result = walked(tmp_path, run(STEP * off, sketch=sketch), run(sketch=sketch))
    assert result.findings == []
    assert len(result.tolerated) == 1


@pytest.mark.parametrize(
    "off",
    [
        pytest.param([0.05 * STEP * ONE], id="a part of the step that can be seen"),
        pytest.param([6e-4 * STEP * torch.ones(SIZE)] * 3, id="more than a few updates"),
    ],
)
def test_what_an_optimizer_does_wrong_is_named(tmp_path: Path, off: list[torch.Tensor]) -> None:
    named = findings(tmp_path, run(*off), run())
    assert named[0].node.name == "Optimizer.w0.0.forward"
