"""torch.compile and the dumper: compiled parts compute as without a dump, the rest is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump
from tests.msprobe_core.models import Net

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
pytestmark = pytest.mark.filterwarnings("ignore")


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plain = nn.Linear(4, 4)
        self.fast: Any = torch.compile(Net(), backend="eager")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fast(self.plain(x)).sum()


def step(target: PrecisionDebugger, model: Any) -> torch.Tensor:
    target.start(model)
    found = model(torch.ones(2, 4))
    found.sum().backward()
    target.stop()
    target.step()
    return found  # type: ignore[no-any-return]


def test_a_compiled_submodule_is_recorded_at_its_border(debugger: Make, dumps: Read) -> None:
    model = Outer()
    expected = model(torch.ones(2, 4))
    assert step(debugger(level="mix"), model).equal(expected)
    dump = dumps()[0]
    assert dump.data["Module.fast.OptimizedModule.forward.0"]["output"][0]["shape"] == [2, 4]
    assert not any(".first." in name for name in dump.names)
    assert "Module.fast.OptimizedModule.backward.0" in dump.names
    after = dump.names[dump.names.index("Module.fast.OptimizedModule.forward.0") + 1]
    assert after == "Tensor.sum.0.forward"


def test_calls_around_a_compiled_submodule(debugger: Make, dumps: Read) -> None:
    model = Outer()
    expected = model(torch.ones(2, 4))
    assert step(debugger(level="L1"), model).equal(expected)
    forward = [name for name in dumps()[0].names if name.endswith("forward")]
    assert forward == [
        "Functional.linear.0.forward",
        "Tensor.sum.0.forward",
        "Tensor.sum.1.forward",
    ]


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
def test_a_model_that_is_compiled_as_a_whole(
    level: str, debugger: Make, dumps: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    model = torch.compile(Net(), backend="eager")
    expected = model(torch.ones(2, 4))
    assert step(debugger(level=level), model).equal(expected)
    calls = [] if level == "L0" else ["Tensor.sum.0.forward", "Tensor.sum.0.backward"]
    assert dumps()[0].names == calls
    assert "what runs inside is not seen" in capsys.readouterr().err


def test_a_model_compiled_in_place_is_recorded_call_by_call(debugger: Make, dumps: Read) -> None:
    model = Net()
    expected = model(torch.ones(2, 4))
    model.compile(backend="eager")
    assert step(debugger(level="mix"), model).equal(expected)
    names = dumps()[0].names
    for wanted in ("Module.first.Linear.forward.0", "Torch.relu.0.forward"):
        assert wanted in names
    assert "Module.second.Linear.backward.0" in names


def test_a_compiled_function(debugger: Make, dumps: Read) -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * 2.0

    compiled = torch.compile(double, backend="eager")
    x = torch.ones(3)
    expected = compiled(x)
    target = debugger(level="L1")
    target.start()
    found = compiled(x)
    target.stop()
    target.step()
    assert found.equal(expected)
    assert dumps()[0].names == ["Torch.sin.0.forward", "Tensor.__mul__.0.forward"]
