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


@pytest.fixture(autouse=True)
def _nothing_compiled_before() -> None:
    torch._dynamo.reset()


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


class Counting:
    """A backend that runs graphs as they are and counts what it compiles and runs."""

    def __init__(self) -> None:
        self.compiled = self.runs = 0

    def __call__(self, graph: Any, _: object) -> Callable[..., Any]:
        self.compiled += 1

        def run(*args: Any) -> Any:
            self.runs += 1
            return graph.forward(*args)

        return run


@pytest.mark.parametrize("level", ["L0", "mix"])
@pytest.mark.parametrize("before", [True, False])
def test_modules_compiled_in_place_stay_compiled(
    level: str, before: bool, debugger: Make, dumps: Read
) -> None:
    backend, model = Counting(), nn.Sequential(Net(), nn.Linear(4, 4))
    expected = model(torch.ones(2, 4))
    model[0].compile(backend=backend)
    if before:
        model(torch.ones(2, 4))
    target = debugger(level=level)
    assert step(target, model).equal(expected) and step(target, model).equal(expected)
    compiled, runs = backend.compiled, backend.runs
    assert model(torch.ones(2, 4)).equal(expected)
    assert (backend.compiled, backend.runs) == (compiled, runs + 1)
    assert runs == 2 + before
    data = dumps()[0].data
    assert data["Module.0.Net.forward.0"]["input_args"][0]["Norm"] == pytest.approx(8**0.5)
    assert data["Module.0.Net.forward.0"]["output"][0]["shape"] == [2, 4]
    assert "Module.0.Net.backward.0" in data
    assert not any(".first.Linear.forward" in name for name in data)
    assert "weight" in data["Module.0.first.Linear.parameters_grad.0"]


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_a_module_compiled_in_place_where_nothing_is_compiled(
    level: str, debugger: Make, dumps: Read
) -> None:
    backend, model = Counting(), nn.Sequential(Net())
    model[0].compile(backend=backend)
    with torch.compiler.set_stance("force_eager"):
        step(debugger(level=level), model)
    names = dumps()[0].names
    assert "Module.0.first.Linear.forward.0" in names
    assert "Module.0.Net.forward.0" in names and "Module.0.Net.forward.1" not in names
    assert backend.runs == 0


@pytest.mark.parametrize("fullgraph", [True, False])
@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("level", ["L0", "L1"])
def test_a_compiled_function_stays_compiled(
    level: str, before: bool, fullgraph: bool, debugger: Make, dumps: Read
) -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * 2.0

    backend, x, model = Counting(), torch.ones(3), nn.Sequential(nn.Linear(3, 3))
    compiled = torch.compile(double, backend=backend, fullgraph=fullgraph)
    expected = double(x)
    if before:
        compiled(x)
    target = debugger(level=level)
    target.start(model)
    found = compiled(x), torch.cos(compiled(model(x)))
    target.stop()
    target.step()
    assert found[0].equal(expected)
    count = backend.compiled
    assert compiled(x).equal(expected) and backend.compiled == count
    dump = dumps()[0]
    assert dump.head["compiled"] == {"calls": 2}
    if level == "L1":
        forward = [name for name in dump.names if name.endswith("forward")]
        assert forward == ["Functional.linear.0.forward", "Torch.cos.0.forward"]


def test_a_part_that_is_not_compiled_inside(debugger: Make) -> None:
    backend = Counting()

    def broken(x: torch.Tensor) -> torch.Tensor:
        y = (x * 2).sin()
        torch._dynamo.graph_break()
        return y[slice(0, 2)].sum()

    compiled = torch.compile(broken, backend=backend)
    x = torch.arange(4.0)
    expected = compiled(x)
    target = debugger(level="L1")
    target.start()
    assert compiled(x).equal(expected)
    target.stop()
    target.step()
    count = backend.compiled
    assert compiled(x).equal(expected) and backend.compiled == count
