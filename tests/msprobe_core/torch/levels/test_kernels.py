"""Level L2: the kernels below listed calls are those that a dispatch mode of the test sees."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import builder
from builder import BuildOptions
from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


class Net(nn.Module):
    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        self.up, self.down, self.factor = nn.Linear(8, 16), nn.Linear(16, 4), factor

    def forward(self, x: Tensor) -> Tensor:
        y = F.gelu(self.up(x))
        y[0] = 0.5
        return F.layer_norm(self.down(y), (4,)) * self.factor


class Seen(TorchDispatchMode):
    """What runs below autograd: operators and the norms of their results."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[tuple[str, float]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        first = result[0] if isinstance(result, tuple) else result
        if isinstance(first, Tensor) and first.is_floating_point():
            self.ran.append((func.overloadpacket.__name__, first.double().norm().item()))
        return result


def train(net: Net) -> list[Tensor]:
    torch.manual_seed(0)
    out = net(torch.randn(5, 8))
    (out * torch.arange(4.0)).sum().backward()
    return [out.detach(), *(p.grad for p in net.parameters() if p.grad is not None)]


def recorded(make: Make, net: Net, tmp_path: Path, wanted: list[str], **more: Any) -> list[Tensor]:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"level": "L2", "statistics": {"list": wanted}}))
    target = make(config_path=str(config), **more)
    target.start(model=net)
    seen = train(net)
    target.stop()
    target.step()
    target.close()
    return seen


def below(dump: RankDump, parent: str) -> dict[str, float]:
    """The kernels of a call and the norms of what they put out."""
    return {
        name.split(".")[1]: dump.data[name]["output"][0]["Norm"]
        for name in dump.names
        if dump.construct.get(name) == parent and name.startswith("Aten.")
    }


def test_kernels_stand_below_their_calls_with_the_values_that_ran(
    debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    torch.manual_seed(1)
    net = Net()
    plain = train(copy.deepcopy(net))
    with Seen() as seen:
        train(copy.deepcopy(net))
    both = recorded(debugger, net, tmp_path, ["gelu", "layer_norm", "linear.1", "setitem"])
    assert all(torch.equal(a, b) for a, b in zip(both, plain, strict=True))
    (dump,) = dumps()
    assert dump.head["level"] == "L2"
    linear, norm = "Functional.linear.1", "Functional.layer_norm.0"
    forward = below(dump, f"{linear}.forward")
    assert list(forward) == ["addmm"]
    assert forward["addmm"] == pytest.approx([n for op, n in seen.ran if op == "addmm"][1])
    backward = below(dump, f"{linear}.backward")
    assert set(backward) == {"mm", "sum"}
    assert set(below(dump, f"{norm}.forward")) == {"native_layer_norm"}
    assert set(below(dump, f"{norm}.backward")) == {"native_layer_norm_backward"}
    for owner in ("gelu", "gelu_backward"):
        (expected,) = (n for op, n in seen.ran if op == owner)
        way = "backward" if owner.endswith("backward") else "forward"
        assert below(dump, f"Functional.gelu.0.{way}")[owner] == pytest.approx(expected)
    assert "Functional.linear.0.forward" not in dump.data
    module = dump.construct[f"{linear}.forward"]
    assert module == "Module.down.Linear.forward.0"
    assert [n for n in dump.names if n.startswith(("Aten.fill_", "Aten.copy_"))]
    entry = dump.data[next(n for n in dump.names if n.startswith("Aten.addmm"))]
    assert entry["input_args"][1]["shape"] == [5, 16]
    (stack,) = {str(dump.stack_of(n)) for n in (f"{linear}.forward", "Aten.addmm.0.forward")}
    assert "linear" in stack
    assert not list((tmp_path / "dump").rglob("dump_error_info.log"))


def test_a_module_in_the_list_brings_the_kernels_inside(
    debugger: Make, dumps: Read, tmp_path: Path
) -> None:
    recorded(debugger, Net(), tmp_path, ["Module.up."])
    (dump,) = dumps()
    assert set(below(dump, "Functional.linear.0.forward")) == {"addmm"}
    assert not any("gelu" in name or "linear.1" in name for name in dump.names)


def test_kernels_are_compared_and_drawn_below_their_call(debugger: Make, tmp_path: Path) -> None:
    for side, factor in (("problem", 1.01), ("benchmark", 1.0)):
        torch.manual_seed(1)
        where = str(tmp_path / side)
        recorded(debugger, Net(factor), tmp_path, ["mul", "layer_norm"], dump_path=where)
    options = BuildOptions(workers=1)
    result = builder.build(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "out", options)
    assert all(o.unmatched_problem == o.unmatched_benchmark == 0 for o in result.outcomes)
    assert result.findings[0].name == "Aten.mul.0.forward"


def test_torch_npu_dumps_the_kernels_itself_call_by_call(
    debugger: Make, dumps: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def set_dump(file: str) -> None:
        settings = json.loads(Path(file).read_text())["dump"]
        assert (settings["dump_mode"], settings["dump_op_switch"]) == ("all", "on")
        assert Path(settings["dump_path"]) == Path(file).parent
        done.append(Path(file).parent.name)

    def note(name: str) -> Callable[[], None]:
        return lambda: done.append(name)

    module: Any = ModuleType("torch_npu")
    names = ("synchronize", "init_dump", "finalize_dump")
    module.npu = SimpleNamespace(set_dump=set_dump, **{name: note(name) for name in names})
    monkeypatch.setitem(sys.modules, "torch_npu", module)
    recorded(debugger, Net(), tmp_path, ["gelu"])
    calls = ("Functional.gelu.0.forward", "Functional.gelu.0.backward")
    around = [["synchronize", "init_dump", c, "synchronize", "finalize_dump"] for c in calls]
    assert done == [*around[0], *around[1]]
    (dump,) = dumps()
    assert (dump.path / "kernel_dump" / calls[0]).is_dir()
    assert not any(name.startswith("Aten.") for name in dump.names)
