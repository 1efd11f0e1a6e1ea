"""Modules that leave their fast path where they have hooks take it while graph mode records."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.msprobe_core.torch.graph.conftest import MakeDebugger

pytestmark = pytest.mark.filterwarnings("ignore")


class Padded(nn.Module):
    """An encoder whose rows of padding are zeros on the fast path only."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.encoder, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(8, 2)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        result: Tensor = self.head(self.encoder(x, src_key_padding_mask=mask))
        return result


X = torch.linspace(-1, 1, 80).reshape(2, 5, 8)
MASK = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])


def made() -> Padded:
    torch.manual_seed(0)
    return Padded()


def run(model: Padded, how: str, backend: str) -> list[Tensor]:
    call: Any = model if backend == "none" else torch.compile(model, backend=backend)
    if how == "trained":
        loss = call(X).square().sum()
        model.zero_grad()
        loss.backward()
        return [loss.detach(), *(p.grad.clone() for p in model.parameters() if p.grad is not None)]
    with torch.no_grad():
        return [call(X, MASK) if how == "padded" else call(X)]


def entries(folder: Path, step: int) -> dict[str, Any]:
    path = next((folder / "dump").glob(f"step{step}/*/dump.json"))
    found: dict[str, Any] = json.loads(path.read_text())["data"]
    return found


@pytest.mark.parametrize("backend", ["none", "aot_eager"])
@pytest.mark.parametrize("level", ["L0", "mix"])
@pytest.mark.parametrize("how", ["padded", "evaluated", "trained"])
def test_the_way_is_that_without_a_recording(
    how: str, level: str, backend: str, graph_debugger: MakeDebugger, tmp_path: Path
) -> None:
    alone = run(made().train(how == "trained"), how, backend)
    torch._dynamo.reset()
    debugger, model = graph_debugger(level), made().train(how == "trained")
    for _ in range(2):
        debugger.start(model)
        found = run(model, how, backend)
        debugger.stop()
        debugger.step()
        assert all(a.equal(b) for a, b in zip(found, alone, strict=True))
    debugger.close()
    assert not any("forward" in vars(module) for module in model.modules())
    dump = entries(tmp_path, 1)
    name = "Module.encoder.layers.1.TransformerEncoderLayer.forward.0"
    assert name in dump
    inner = "Module.encoder.layers.1.linear1.Linear.forward.0"
    assert (inner in dump) == (how == "trained")


def test_gradients_of_inputs_are_those_of_torch(
    graph_debugger: MakeDebugger, tmp_path: Path
) -> None:
    model, wanted = made(), list[float]()
    debugger = graph_debugger("L0", grad_inputs=True)
    debugger.start(model)
    x = X.clone().requires_grad_()
    model.encoder.layers[0](x).square().sum().backward()
    debugger.stop()
    debugger.step()
    debugger.close()
    assert x.grad is not None
    wanted.append(x.grad.double().norm().item())
    entry = entries(tmp_path, 0)["Module.encoder.layers.0.TransformerEncoderLayer.backward.0"]
    assert [each["Norm"] for each in entry["output"]] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("how", ["copied", "saved"])
def test_a_copy_is_not_recorded(how: str, graph_debugger: MakeDebugger, tmp_path: Path) -> None:
    model = made()
    debugger = graph_debugger("L0")
    debugger.start(model)
    if how == "copied":
        other = copy.deepcopy(model)
    else:
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        other = torch.load(file, weights_only=False)
    other(X)
    model(X * 2)
    debugger.stop()
    debugger.step()
    debugger.close()
    assert not any("forward" in vars(module) for module in other.modules())
    names = [each for each in entries(tmp_path, 0) if "TransformerEncoderLayer.forward" in each]
    assert [each.rpartition(".")[2] for each in names] == ["0", "0"]


def test_a_forward_of_the_user_is_left_alone(graph_debugger: MakeDebugger, tmp_path: Path) -> None:
    model = made()
    layer: Any = model.encoder.layers[0].linear1
    own = layer.forward = lambda x: torch.zeros(*x.shape[:-1], 16)
    debugger = graph_debugger("L0")
    debugger.start(model)
    model(X)
    debugger.stop()
    debugger.step()
    debugger.close()
    assert layer.forward is own
    assert "Module.encoder.layers.0.linear2.Linear.forward.0" in entries(tmp_path, 0)
