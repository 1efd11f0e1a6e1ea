"""Whether a fault is one: its wrong program differs from the right one, its twin does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from faultbench import fault as faults
from faultbench import processes
from faultbench.processes import RunError, Tool

# How many times farther than a sound change a fault must move the results.
CLEARLY = 2.0


def check(identifier: str, work: Path, python: str) -> Iterator[str]:
    """Run the programs of a fault without a tool; what is not as its file says."""
    fault = faults.load(identifier)
    tool = Tool("plain", python, 120.0)
    try:
        for script in fault.scripts:
            processes.record(tool, fault, script, work / Path(script).stem)
    except RunError as error:
        yield str(error)
        return
    wrong, twin = distance(fault, work, "wrong"), distance(fault, work, "twin")
    if wrong <= fault.sound * CLEARLY:
        yield f"{identifier}: wrong.py is only {wrong:.2g} from right.py: no fault to be seen"
    if twin > fault.sound:
        yield f"{identifier}: twin.py is {twin:.2g} from right.py: no sound change"


def distance(fault: faults.Fault, work: Path, script: str) -> float:
    """How far apart two programs end: relative distance of what the steps returned or of all
    parameters and buffers together, whichever is larger.

    0 without such a script; infinite where values are missing or not finite on one side alone.
    All parameters are one vector, because Adam makes rounding of any gradient that should be zero
    into a full step of that one parameter.
    """
    if f"{script}.py" not in fault.scripts:
        return 0.0
    worst = 0.0
    for rank in range(fault.ranks):
        left, right = (_values(work / f"{side}.rank{rank}.pt") for side in (script, "right"))
        worst = max(worst, *(_apart(a, b) for a, b in zip(left, right, strict=True)))
    return worst


def _values(path: Path) -> tuple[torch.Tensor, torch.Tensor]:
    saved: dict[str, Any] = torch.load(path, weights_only=True)
    model = [value for value in saved["model"].values() if torch.is_tensor(value)]
    return _one_vector(saved["results"]), _one_vector(model)


def _one_vector(tensors: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat([torch.zeros(1), *(tensor.flatten().double() for tensor in tensors)])


def _apart(left: torch.Tensor, right: torch.Tensor) -> float:
    if left.shape != right.shape:
        return float("inf")
    if not torch.equal(left.isfinite(), right.isfinite()):
        return float("inf")
    a, b = left.nan_to_num(), right.nan_to_num()
    return float((a - b).norm() / b.norm().clamp(min=1e-12))
