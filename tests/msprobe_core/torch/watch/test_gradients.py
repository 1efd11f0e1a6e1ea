"""Gradients of a whole step: several passes, every parameter, and nothing that outlives it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump, tensors
from tests.msprobe_core.models import one_step
from tests.msprobe_core.torch.watch.test_module_gradients import (
    ReturnsItsInput,
    UsesItsOutput,
    same,
)

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


class Critic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.b(torch.tanh(self.a(x)))  # type: ignore[no-any-return]


def test_both_passes_through_one_graph_are_recorded(debugger: Make, dumps: Read) -> None:
    torch.manual_seed(0)
    model, x, seen = Critic(), torch.randn(3, 4, requires_grad=True), []

    def step() -> None:
        y = model(x)
        y.register_hook(lambda gradient: seen.append(gradient.norm().item()))
        (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (y.mean() * 100 + (gradient.norm() - 1) ** 2).backward()

    one_step(debugger(level="mix"), model, step)
    dump = dumps()[0]
    for number, name in enumerate(("Linear", "Linear@2")):
        entry = dump.data[f"Module.b.{name}.backward.0"]
        assert entry["input"][0]["Norm"] == pytest.approx(seen[number], rel=1e-5)
    assert dump.construct["Functional.linear@2.1.backward"] == "Module.b.Linear@2.backward.0"


class Odd(nn.Module):
    """Parameters of its own, of a module that is never called, and shared by two modules."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.first, self.second, self.silent = (nn.Linear(4, 4) for _ in range(3))
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        h = self.second(self.first(x)) * self.scale
        return nn.functional.linear(h, self.silent.weight).sum()


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_every_parameter_has_its_gradient(level: str, debugger: Make, dumps: Read) -> None:
    model = Odd()
    one_step(debugger(level=level), model, lambda: model(torch.ones(2, 4)).backward())
    data = dumps()[0].data
    for entry, parameter in (
        ("Module.Odd", "scale"),
        ("Module.first.Linear", "weight"),
        ("Module.second.Linear", "weight"),
        ("Module.silent.Linear", "weight"),
    ):
        (record,) = data[f"{entry}.parameters_grad.0"][parameter]
        owner = model if entry == "Module.Odd" else model.get_submodule(entry.split(".")[1])
        assert same(record, getattr(owner, parameter).grad)


@pytest.mark.parametrize("level", ["L0", "L1", "mix"])
@pytest.mark.parametrize("backward", [False, True])
def test_a_recorded_graph_is_freed(level: str, backward: bool, debugger: Make) -> None:
    model = nn.Sequential(nn.Linear(4, 4), UsesItsOutput(), ReturnsItsInput())
    target, kept = debugger(level=level), []

    def step() -> None:
        x = torch.ones(2, 4, requires_grad=True) * 1.0
        kept.append(weakref.ref(x))
        first = model[1](model[0](x))
        y = model[2](first[1])[0]
        kept.append(weakref.ref(y))
        if backward:
            (y.sum() + first[0].sum()).backward()

    one_step(target, model, step)
    gc.collect()
    assert [value() for value in kept] == [None, None]


def test_gradients_of_all_entries_are_tensors_or_null(debugger: Make, dumps: Read) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Identity(), UsesItsOutput())
    one_step(debugger(level="mix"), model, lambda: model(torch.ones(2, 4))[1].sum().backward())
    for name, entry in dumps()[0].data.items():
        if ".backward" in name:
            assert list(tensors(entry)), name


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_no_hook_outlives_its_step(level: str, debugger: Make) -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    target = debugger(level=level)

    def living() -> int:
        gc.collect()
        functions = (each for each in gc.get_objects() if type(each) is FunctionType)
        return sum(each.__name__ == "fired" for each in functions)

    before = living()
    for _ in range(5):
        one_step(target, model, lambda: model(torch.ones(2, 4)))
    assert living() <= before


def calls_in_place(x: Tensor) -> Tensor:
    first = nn.functional.relu(x * 2, inplace=True)
    return nn.functional.leaky_relu(first * 3, 0.1, True).sum()


def calls_that_pass_on(x: Tensor) -> Tensor:
    same = nn.functional.dropout(input=x * 2, p=0.0)
    return same.to(torch.float32).contiguous().exp().sum()


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (calls_in_place, ["sum", "leaky_relu", "__mul__", "relu", "__mul__"]),
        (calls_that_pass_on, ["sum", "exp", "__mul__"]),
    ],
)
def test_the_gradients_of_a_call_are_those_of_its_own_node(
    run: Callable[[Tensor], Tensor], expected: list[str], debugger: Make, dumps: Read
) -> None:
    x, target = torch.linspace(-1, 1, 5, requires_grad=True), debugger(level="L1")
    target.start()
    run(x).backward()
    target.stop()
    target.step()
    dump = dumps()[0]
    backward = [name for name in dump.names if name.endswith(".backward")]
    assert [name.split(".")[1] for name in backward] == expected
    assert x.grad is not None
    assert same(dump.data[backward[-1]]["output"][0], x.grad)


class _Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(value)
        return value * value

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (value,) = ctx.saved_tensors
        return torch.mul(gradient, 2 * value)


class _Squares(torch.nn.Module):
    def forward(self, value: torch.Tensor) -> torch.Tensor:
        return _Square.apply(value) + 1


class _HoldsSquares(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.inner = torch.nn.Linear(2, 2), _Squares()

    def forward(self, value: torch.Tensor) -> torch.Tensor:
        return self.inner(self.first(value)).sum()


def test_calls_of_a_users_backward_stand_in_the_module_that_made_it(
    debugger: Callable[..., PrecisionDebugger], dumps: Callable[[], list[RankDump]]
) -> None:
    model, target = _HoldsSquares(), debugger(level="mix")
    target.start(model)
    model(torch.ones(1, 2)).backward()
    target.stop()
    target.step()
    construct = dumps()[0].construct
    assert construct["Torch.mul.0.forward"] == "Module.inner._Squares.backward.0"
    assert construct["Tensor.__rmul__.0.forward"] == "Module.inner._Squares.backward.0"
    assert construct["Module.inner._Squares.backward.0"] is None


def _moved(parameter: nn.Parameter) -> Callable[..., None]:
    """What Megatron's DDP hooks on the node that accumulates: the gradient goes to a buffer."""

    def hook(*_: object) -> None:
        assert parameter.grad is not None
        parameter.main_grad.add_(parameter.grad)  # type: ignore[operator]
        parameter.grad = None

    return hook


def test_gradients_that_are_moved_to_a_buffer_are_those_that_it_holds(
    debugger: Make, dumps: Read
) -> None:
    """Of each micro-batch what has come together so far, as of `.grad`."""
    torch.manual_seed(0)
    model, held, kept = Critic(), {}, []
    for parameter in model.parameters():
        parameter.main_grad = torch.zeros_like(parameter)  # type: ignore[attr-defined]
        node: Any = parameter.expand_as(parameter).grad_fn
        accumulates = node.next_functions[0][0]
        accumulates.register_hook(_moved(parameter))
        kept.append(accumulates)
    recorder = debugger(level="mix", task="statistics")
    recorder.start(model)
    for number in range(2):
        model(torch.randn(3, 4)).square().sum().backward()
        held[number] = model.a.weight.main_grad.double().norm().item()  # type: ignore[operator]
    recorder.stop()
    recorder.step()
    (dump,) = dumps()
    found = [
        dump.data[f"Module.a.Linear.parameters_grad.{number}"]["weight"][0]["Norm"]
        for number in range(2)
    ]
    assert found == pytest.approx([held[0], held[1]])
