"""Values that the user saves by name: mindstudio-probe's debug.json, and true gradients."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from msprobe_core import PrecisionDebugger
from tests.msprobe_core.conftest import ROOT
from tests.msprobe_core.dump_reading import RankDump
from tests.msprobe_core.torch.watch.test_module_gradients import same

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
PEER = ROOT / "tests" / "samples" / "tools-26.2.0" / "compare" / "debug" / "debug_golden.json"


def test_the_files_of_level_debug(debugger: Make, dumps: Read) -> None:
    target = debugger(level="debug")
    x = torch.ones(3, 4, requires_grad=True)
    target.save(x * 2, "h")
    target.step()
    dump = dumps()[0]
    assert sorted(p.name for p in dump.path.iterdir()) == ["debug.json", "stack.json"]
    peer = json.loads(PEER.read_text())
    assert {key: dump.head[key] for key in peer if key != "data"} == {
        key: value for key, value in peer.items() if key != "data"
    }
    assert peer["data"]["h.0.debug"].keys() <= dump.data["h.0.debug"].keys()


def test_gradients_stand_in_the_shape_of_the_value(debugger: Make, dumps: Read) -> None:
    target, seen = debugger(level="debug"), {}
    x = torch.linspace(-1, 1, 6, requires_grad=True)
    one, other, unused = x * 2, x.exp(), x * 3
    one.register_hook(lambda gradient: seen.update(one=gradient))
    other.register_hook(lambda gradient: seen.update(other=gradient))
    target.save({"a": one, "b": [other, (unused, 1, None, "text")]}, "nest")
    target.save(7, "number")
    target.save(one, "without", save_backward=False)
    (one.square().sum() + other.sum() * 3).backward()
    target.step()
    data = dumps()[0].data
    assert list(data) == [
        *("nest.0.debug", "nest_grad.0.debug", "number.0.debug"),
        *("number_grad.0.debug", "without.0.debug"),
    ]
    found = data["nest_grad.0.debug"]
    assert same(found["a"], seen["one"]) and same(found["b"][0], seen["other"])
    assert found["b"][1] == [None, None, None, None]
    assert data["number.0.debug"] == {"type": "int", "value": 7}
    assert data["number_grad.0.debug"] is None


@pytest.mark.parametrize("level", ["debug", "L1"])
@pytest.mark.parametrize("grad", [True, False])
def test_a_leaf_saved_before_its_first_use(
    level: str, grad: bool, debugger: Make, dumps: Read
) -> None:
    target, leaf = debugger(level=level), torch.linspace(1, 2, 5, requires_grad=True)
    with torch.set_grad_enabled(grad):
        target.save(leaf, "leaf")
        target.save(leaf, "leaf")
    (leaf**3).sum().backward()
    target.step()
    data = dumps()[0].data
    assert leaf.grad is not None
    for number in range(2):
        if level == "debug":
            record = data[f"leaf_grad.{number}.debug"]
        else:
            (record,) = data[f"Debug.leaf.{number}.backward"]["input"]
        assert same(record, leaf.grad)


def test_a_leaf_saved_in_each_step(debugger: Make, dumps: Read) -> None:
    target, leaf = debugger(level="debug"), torch.linspace(1, 2, 5, requires_grad=True)
    expected = []
    for scale in (1.0, 10.0):
        target.save(leaf, "leaf")
        leaf.grad = None
        (leaf * scale).sum().backward()
        assert leaf.grad is not None
        expected.append(leaf.grad.clone())
        target.step()
    for dump, gradient in zip(dumps(), expected, strict=True):
        assert list(dump.data) == ["leaf.0.debug", "leaf_grad.0.debug"]
        assert same(dump.data["leaf_grad.0.debug"], gradient)
    assert not leaf._backward_hooks


@pytest.mark.parametrize("level", ["debug", "L1"])
def test_two_passes(level: str, debugger: Make, dumps: Read) -> None:
    target, x = debugger(level=level), torch.linspace(1, 2, 5, requires_grad=True)
    y = x.exp()
    target.save(y, "y")
    torch.autograd.grad(y.sum(), x, retain_graph=True)
    (y * 5).sum().backward()
    target.step()
    data = dumps()[0].data
    if level == "debug":  # as in mindstudio-probe, the last one stays
        assert data["y_grad.0.debug"]["Max"] == 5.0
    else:
        assert data["Debug.y.0.backward"]["input"][0]["Max"] == 1.0
        assert data["Debug.y@2.0.backward"]["input"][0]["Max"] == 5.0


def test_saved_values_are_files_at_task_tensor(debugger: Make, dumps: Read) -> None:
    target = debugger(level="debug", task="tensor")
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    target.save([y], "y")
    (y * 4).sum().backward()
    target.step()
    dump = dumps()[0]
    for name, file, value in (("y", "y.0.debug.0.pt", 2.0), ("y_grad", "y_grad.0.debug.0.pt", 4.0)):
        assert dump.data[f"{name}.0.debug"][0]["data_name"] == file
        assert torch.load(dump.path / "dump_tensor_data" / file).tolist() == [value] * 3


def test_two_runs_of_level_debug_are_compared(debugger: Make, tmp_path: Path) -> None:
    for side, scale in (("problem", 3.0), ("benchmark", 2.0)):
        target = debugger(level="debug", dump_path=str(tmp_path / side))
        torch.manual_seed(0)
        model = nn.Linear(4, 4)
        hidden = model(torch.ones(2, 4))
        target.save(hidden, "hidden")
        target.save(hidden * scale, "scaled")
        hidden.sum().backward()
        target.close()
    result = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "out")
    assert [finding.name for finding in result.findings] == ["scaled.0.debug"]
