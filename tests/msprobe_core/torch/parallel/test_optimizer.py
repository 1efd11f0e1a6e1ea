"""What each optimizer step reads and writes, by parameter name."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from msprobe.pytorch import PrecisionDebugger


def _optimizer_of(folder: Path) -> dict[str, dict[str, dict[str, dict[str, object]]]]:
    (path,) = folder.glob("step0/*/dump.json")
    found = json.loads(path.read_text())["optimizer"]
    assert isinstance(found, dict)
    return found


def test_each_parameter_has_its_gradient_and_itself_before_and_after(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    debugger = PrecisionDebugger(dump_path=tmp_path, level="mix", task="statistics")
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    debugger.start(model)
    model(torch.randn(4, 3)).square().sum().backward()
    optimizer.step()
    debugger.stop()
    debugger.step()
    debugger.close()
    ((name, step),) = _optimizer_of(tmp_path).items()
    assert name == "Optimizer.SGD.step.0"
    for parameter, value in model.named_parameters():
        assert value.grad is not None
        norms = [step[role][parameter]["Norm"] for role in ("input", "parameters", "output")]
        true = [t.double().norm().item() for t in (value.grad, before[parameter], value.detach())]
        assert torch.allclose(torch.tensor(norms), torch.tensor(true))


def test_a_parameter_without_gradient_is_no_part_of_a_step(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    debugger = PrecisionDebugger(dump_path=tmp_path, level="mix", task="statistics")
    debugger.start(model)
    model[0](torch.randn(4, 3)).sum().backward()
    optimizer.step()
    debugger.stop()
    debugger.step()
    debugger.close()
    (step,) = _optimizer_of(tmp_path).values()
    assert set(step["input"]) == {"0.weight", "0.bias"}
