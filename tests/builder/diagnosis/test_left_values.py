"""Where a program without modules of its own leaves the values of one that has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import builder
from builder.reasons import LeavesValues
from builder.work.outcome import StoredFinding
from msprobe.pytorch import PrecisionDebugger

WIDTH = 12


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.two(F.gelu(self.one(x)))


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(Layer(), Layer(), Layer())

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


def by_erf(x: Tensor) -> Tensor:
    """What gelu is, from other operations."""
    return x * (torch.erf(x * 0.5**0.5) + 1.0) / 2.0


class Functions(nn.Module):
    """The same model of functions over a list of weights."""

    def __init__(self, layers: Layers, activations: list[Callable[[Tensor], Tensor]]) -> None:
        super().__init__()
        self.weights = nn.ParameterList(p.detach().clone() for p in layers.parameters())
        self.activations = activations

    def forward(self, x: Tensor) -> Tensor:
        for number, activation in enumerate(self.activations):
            w1, b1, w2, b2 = self.weights[4 * number : 4 * number + 4]
            x = torch.addmm(b2, activation(torch.addmm(b1, x, w1.t())), w2.t()) + x
        return x


def findings(
    tmp_path: Path, activations: list[Callable[[Tensor], Tensor]], dtype: torch.dtype
) -> tuple[StoredFinding, ...]:
    torch.manual_seed(2)
    original = Layers().to(dtype)
    x = torch.randn(8, WIDTH).to(dtype)
    for name, model in (("theirs", original), ("ours", Functions(original, activations))):
        debugger = PrecisionDebugger(dump_path=str(tmp_path / name), level="mix", step=[0])
        debugger.start(model=model)
        model(x).square().sum().backward()
        debugger.stop()
        debugger.step()
    return builder.build(tmp_path / "ours", tmp_path / "theirs", tmp_path / "o").findings


def test_a_sound_program_leaves_them_nowhere(tmp_path: Path) -> None:
    assert findings(tmp_path, [by_erf] * 3, torch.float32) == ()


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_the_last_value_that_is_met_tells_the_call_behind_it(layer: int, tmp_path: Path) -> None:
    activations: list[Callable[[Tensor], Tensor]] = [by_erf] * 3
    activations[layer] = F.silu
    first = findings(tmp_path, activations, torch.float32)[0]
    assert isinstance(first.reasons[0], LeavesValues)
    assert first.name == "Functional.silu.0.forward"


def test_in_half_formats_it_is_not_told(tmp_path: Path) -> None:
    found = findings(tmp_path, [F.silu, by_erf, by_erf], torch.bfloat16)
    assert not any(isinstance(reason, LeavesValues) for f in found for reason in f.reasons)


class OneProjection(nn.Module):
    """A block that computes both of its branches from one weight, beside one another."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.fused = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.one, self.two = (nn.Linear(2 * WIDTH, WIDTH, bias=False) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        left, right = self.fused(self.norm(x)).chunk(2, -1)
        return x + self.one(left.tanh()) + self.two(F.silu(right))


class Branch(nn.Module):
    def __init__(self, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.into = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.out = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.activation(self.into(x)))


class Branches(nn.Module):
    """The same block, whose branches are modules of their own and are summed first."""

    def __init__(self, block: OneProjection, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.norm, self.left, self.right = block.norm, Branch(torch.tanh), Branch(activation)
        halves = block.fused.weight.detach().chunk(2)
        for branch, into, out in zip((self.left, self.right), halves, (block.one, block.two)):
            branch.into.weight = nn.Parameter(into.clone())
            branch.out.weight = nn.Parameter(out.weight.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        x_norm = self.norm(x)
        return x + (self.left(x_norm) + self.right(x_norm))


@pytest.mark.parametrize("fault", [False, True])
def test_a_module_without_a_partner_is_named_that_a_layer_before_puts_out_the_same(
    fault: bool, tmp_path: Path
) -> None:
    torch.manual_seed(2)
    original = nn.ModuleDict({"h": nn.Sequential(*(OneProjection() for _ in range(3)))})
    gelu = (F.silu, F.gelu if fault else F.silu, F.silu)
    layers = nn.Sequential(*map(Branches, original["h"], gelu))
    x = torch.randn(8, WIDTH)
    for name, model in (("theirs", original["h"]), ("ours", layers)):
        debugger = PrecisionDebugger(dump_path=str(tmp_path / name), level="mix", step=[0])
        debugger.start(model=model)
        model(x).square().sum().backward()
        debugger.stop()
        debugger.step()
    found = builder.build(tmp_path / "ours", tmp_path / "theirs", tmp_path / "o").findings
    expected = ["Module.1.right.Branch.forward.0"] if fault else []
    assert [finding.name for finding in found] == expected
