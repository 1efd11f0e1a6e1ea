"""Records a small program twice, in the problem with changes, and says what the build finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

import builder
from builder.work.outcome import StoredFinding
from msprobe.pytorch import PrecisionDebugger

Change = Callable[[Tensor], Tensor]
Program = Callable[..., nn.Module]


def same(x: Tensor) -> Tensor:
    return x


def hooked(x: Tensor, factor: float = 3.0) -> Tensor:
    """The same, with a gradient that nothing recorded multiplies on its way back."""

    def multiplied(gradient: Tensor) -> Tensor:
        with torch._C.DisableTorchFunction():
            return factor * gradient

    x.register_hook(multiplied)
    return x


def recorded(path: Path, program: Program, **changes: Change) -> Path:
    torch.manual_seed(0)
    model = program(**changes)
    x = torch.randn(32, 16)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(model):
        model(x).square().sum().backward()
    debugger.close()
    return path


def found(tmp_path: Path, program: Program, **changes: Change) -> tuple[StoredFinding, ...]:
    ours = recorded(tmp_path / "problem", program, **changes)
    theirs = recorded(tmp_path / "benchmark", program)
    return builder.build(ours, theirs, tmp_path / "o").findings


def names(findings: tuple[StoredFinding, ...]) -> list[str]:
    return [finding.name for finding in findings]
