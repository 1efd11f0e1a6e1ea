"""Graph mode on programs with branches, leaves that modules return, and odd tensors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.torch.graph.conftest import MakeDebugger

pytestmark = pytest.mark.filterwarnings("ignore")


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        result: Tensor = torch.cond(x.sum() > 0, self.one, self.other, (x,))
        return result


class Prompt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self) -> Tensor:
        return self.weight


class Prompted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.prompt, self.head = Prompt(), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.head(x + self.prompt())
        return result


class Box:
    value: Tensor


class Boxed(nn.Module):
    """Keeps a value in an object, and puts another in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        box = Box()
        box.value = self.first(x).sin()
        box.value = self.last(box.value)
        return box.value


def stepped(model: nn.Module, backend: str, debugger: PrecisionDebugger | None) -> list[Tensor]:
    run = model if backend == "none" else torch.compile(model, backend=backend)
    found = []
    for _ in range(3):
        model.zero_grad()
        if debugger is not None:
            debugger.start(model)
        out = run(torch.ones(2, 4))
        out.sum().backward()
        if debugger is not None:
            debugger.stop()
            debugger.step()
        found += [out.detach().clone()]
        found += [p.grad.clone() for p in model.parameters() if p.grad is not None]
    return found


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("level", ["L0", "mix"])
def test_what_a_program_writes_to_attributes_behind_a_record_is_not_lost(
    level: str, backend: str, graph_debugger: MakeDebugger
) -> None:
    """Torch 2.13 loses it behind any hook of a gradient."""
    torch.manual_seed(0)
    model = Boxed()
    alone = stepped(model, backend, None)
    torch._dynamo.reset()
    target = graph_debugger(level)
    recorded = stepped(model, backend, target)
    target.close()
    assert len(alone) == len(recorded)
    assert all(a.equal(b) for a, b in zip(alone, recorded, strict=True))
    attributes = torch._dynamo.variables.dicts.SideEffectsProxyDict
    assert "side_effects" not in vars(attributes)  # as it was


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_branch_over_modules_runs_as_alone(
    level: str, graph_debugger: MakeDebugger, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    model = Branching()
    alone = stepped(model, "aot_eager", None)
    torch._dynamo.reset()
    target = graph_debugger(level)
    recorded = stepped(model, "aot_eager", target)
    target.close()
    assert all(a.equal(b) for a, b in zip(alone, recorded, strict=True))
    dump = next((tmp_path / "dump").glob("step1/*/dump.json")).read_text()
    assert "Module.first.Linear.forward.0" in dump


@pytest.mark.parametrize("backend", ["none", "eager", "aot_eager"])
@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_leaf_keeps_no_hook(
    level: str, backend: str, graph_debugger: MakeDebugger, tmp_path: Path
) -> None:
    model = Prompted()
    target = graph_debugger(level)
    expected = stepped(model, backend, target)
    assert not model.prompt.weight._backward_hooks
    target.close()
    entry = json.loads(next((tmp_path / "dump").glob("step2/*/dump.json")).read_text())["data"]
    gradient = entry["Module.prompt.Prompt.backward.0"]["input"][0]
    assert gradient["Norm"] == pytest.approx(expected[-3].double().norm().item(), rel=1e-6)


def test_sparse_gradients_and_nested_tensors_pass(graph_debugger: MakeDebugger) -> None:
    model = nn.Sequential(nn.Embedding(4, 4, sparse=True), nn.Linear(4, 4))
    target = graph_debugger("L0")
    target.start(model)
    model(torch.tensor([1, 1])).sum().backward()
    with torch.no_grad():
        rows = model[1](torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(1, 4)]))
    target.stop()
    target.step()
    target.close()
    assert model[0].weight.grad.is_sparse  # type: ignore[union-attr,operator]
    assert rows.is_nested


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_quantised_tensors_pass(graph_debugger: MakeDebugger) -> None:
    class Quantised(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)

    model = nn.Sequential(nn.Linear(4, 4), Quantised(), nn.Identity())
    target = graph_debugger("L0")
    target.start(model)
    with torch.no_grad():
        made = model(torch.ones(2, 4))
    target.stop()
    target.step()
    target.close()
    assert made.is_quantized


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_backward_pass_in_compiled_code_makes_no_further_graphs(
    level: str, graph_debugger: MakeDebugger
) -> None:
    def counted(target: PrecisionDebugger | None) -> tuple[int, int]:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))

        @torch.compile(backend="aot_eager")
        def both(x: Tensor) -> Tensor:
            loss = model(x).square().mean()
            loss.backward()
            return loss.detach()

        for _ in range(2):
            if target is not None:
                target.start(model)
            both(torch.ones(2, 4))
            if target is not None:
                target.stop()
                target.step()
        counters = torch._dynamo.utils.counters
        return counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())

    alone = counted(None)
    target = graph_debugger(level)
    assert counted(target) == alone
    target.close()
