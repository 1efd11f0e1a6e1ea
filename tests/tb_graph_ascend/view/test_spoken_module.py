"""The answer names the class beside a number: of a module, and of one that holds the call."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import builder
from builder.results.database import ResultDatabase
from builder.work.options import BuildOptions
from msprobe_core import PrecisionDebugger, seed_all
from tb_graph_ascend.view.answer import answer
from tb_graph_ascend.view.module_path import spoken_module
from tb_graph_ascend.view.slide import slide


class Scale(nn.Module):
    """A factor, as a call inside of a numbered child."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return torch.mul(x, self.factor)


class Net(nn.Module):
    """The child has a number below a name."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 8), Scale(factor), nn.Linear(8, 4))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sum(self.encoder(x))


def bare(factor: float) -> nn.Module:
    """The child has a number alone."""
    return nn.Sequential(nn.Linear(8, 8), Scale(factor), nn.Linear(8, 4))


def recorded(path: Path, model: nn.Module) -> Path:
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(model):
        model(torch.ones(2, 8)).sum().backward()
    debugger.close()
    return path


@pytest.mark.parametrize(
    ("made", "told"), [(Net, "encoder.1 (Scale)"), (bare, "1 (Scale)")], ids=["named", "bare"]
)
def test_a_call_inside_of_a_numbered_child(tmp_path: Path, made: type[Net], told: str) -> None:
    runs = []
    for name, factor in (("p", 2.0), ("b", 3.0)):
        seed_all()
        runs.append(recorded(tmp_path / name, made(factor)))
    path = builder.build(*runs, tmp_path / "o", BuildOptions(workers=1)).path
    with closing(ResultDatabase(path)) as results:
        said = answer(results)
        assert [cause.spoken for cause in said.causes[:1]] == [told]
        assert f"It begins in {told}" in slide(results, said)


@pytest.mark.parametrize(
    ("module", "node", "told"),
    [
        ("Module.0.Conv2d.forward.0", "Module.0.Conv2d.forward.0", "0 (Conv2d)"),
        ("Module.rnn.LSTM.forward.1", "Module.rnn.LSTM.forward.1", "rnn #1"),
        ("Module.rnn.LSTM.forward.1", "Functional.lstm.1.forward", "rnn"),
        ("Module.up.2.Block.backward.1", "Module.up.2.Block.backward.1", "up.2 (Block) #1"),
        ("Cell.layers.3.Layer.forward.0", "Mint.mul.7.forward", "layers.3 (Layer)"),
        ("Module.mlp.MLP.forward.0", "Functional.linear.0.forward", "mlp"),
        ("optimizer", "Tensor.add_.3.forward", "optimizer"),
    ],
)
def test_what_is_said_of_an_entry(module: str, node: str, told: str) -> None:
    assert spoken_module(module, node) == told
