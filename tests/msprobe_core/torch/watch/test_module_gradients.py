"""Gradients of modules against taps: identity functions of autograd around a copy of the module.

For tensors that are arguments themselves the taps are checked against register_full_backward_hook.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump
from tests.msprobe_core.models import one_step

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]
Tensor = torch.Tensor


class TwoOutputs(nn.Module):
    """No input has a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.p, self.q = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.p(x.detach()), self.q(x.detach())


class UsesItsOutput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.p = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.p(x)
        return h, h.exp()


class ThreeArguments(nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return q * 1 + k * 2 + v * 4


class TwoPaths(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return a * 2, b * 3


class FromAList(nn.Module):
    def forward(self, xs: list[Tensor]) -> Tensor:
        return torch.cat(xs, -1)


class FromADict(nn.Module):
    def forward(self, *, given: dict[str, Any]) -> dict[str, Tensor]:
        return {"sum": given["a"] + given["b"][0], "product": given["a"] * 5}


class ReturnsItsInput(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x * 2


@dataclass
class Result:
    loss: Tensor
    hidden: list[Tensor]


class GivesADataclass(nn.Module):
    def forward(self, x: Tensor) -> Result:
        return Result(x.sum() * 2, [x * 3, x.exp()])


class InPlace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mul_(2.0)


class Case(nn.Module):
    """A module `m` between two linear layers, and how they are put together."""

    def __init__(self, m: nn.Module, use: Callable[[Case, Tensor], Tensor]) -> None:
        super().__init__()
        self.before, self.other, self.m, self.use = nn.Linear(4, 4), nn.Linear(4, 4), m, use

    def forward(self, x: Tensor) -> Tensor:
        return self.use(self, x)


def rebound(case: Case, x: Tensor) -> Tensor:
    y = case.before(x)
    y = case.m(y)
    return (y * 2 + y.exp() + y).sum()


def used_once(case: Case, x: Tensor) -> Tensor:
    return (case.m(case.before(x)) * 2).sum()


def used_at_once(case: Case, x: Tensor) -> Tensor:
    y = case.before(x)
    return (case.m(y) * 2 + y * 3).sum()  # type: ignore[no-any-return]


def given_on(case: Case, x: Tensor) -> Tensor:
    y = case.before(x)
    return (case.other(case.m(y)) + y * 3).sum()  # type: ignore[no-any-return]


def two_used(case: Case, x: Tensor) -> Tensor:
    a, b = case.m(case.before(x))
    return a.sum() * 3 + (b * b).sum()


def first_used(case: Case, x: Tensor) -> Tensor:
    return case.m(case.before(x), case.other(x))[0].sum()  # type: ignore[no-any-return]


def with_residual(case: Case, x: Tensor) -> Tensor:
    y = case.before(x)
    return (case.m(y)[1] + y * 7).sum()


def listed(case: Case, x: Tensor) -> Tensor:
    return (case.m([case.before(x), case.other(x)]) ** 2).sum()  # type: ignore[no-any-return]


def keyed(case: Case, x: Tensor) -> Tensor:
    found = case.m(given={"a": case.before(x), "b": [case.other(x)]})
    return (found["sum"] * found["product"]).sum()  # type: ignore[no-any-return]


def cell(case: Case, x: Tensor) -> Tensor:
    h, c = case.m(x, (case.before(x), case.other(x)))
    return h.sum() + 3 * c.sum()  # type: ignore[no-any-return]


def recurrent(case: Case, x: Tensor) -> Tensor:
    out, _ = case.m(case.before(x)[None])
    return (out**2).sum()  # type: ignore[no-any-return]


def passed_on(case: Case, x: Tensor) -> Tensor:
    same, double = case.m(case.before(x))
    return (same * 5).sum() + double.sum()  # type: ignore[no-any-return]


def as_dataclass(case: Case, x: Tensor) -> Tensor:
    found = case.m(case.before(x))
    return found.loss + found.hidden[1].sum()  # type: ignore[no-any-return]


def attention(case: Case, x: Tensor) -> Tensor:
    found, _ = case.m(case.before(x)[None], case.other(x)[None], x[None])
    return (found**2).sum()  # type: ignore[no-any-return]


CASES: dict[str, tuple[nn.Module, Callable[[Case, Tensor], Tensor]]] = {
    "linear": (nn.Linear(4, 4), used_once),
    "linear used thrice": (nn.Linear(4, 4), rebound),
    "identity": (nn.Identity(), used_once),
    "identity rebound": (nn.Identity(), rebound),
    "dropout of nothing": (nn.Dropout(0.0), rebound),
    "dropout when evaluated": (nn.Dropout(0.5).eval(), used_once),
    "identity used at once": (nn.Identity(), used_at_once),
    "identity given to a module": (nn.Dropout(0.0), given_on),
    "two outputs": (TwoOutputs(), two_used),
    "output used inside": (UsesItsOutput(), two_used),
    "unused output": (TwoPaths(), first_used),
    "residual around it": (UsesItsOutput(), with_residual),
    "list": (FromAList(), listed),
    "keyword with a dict": (FromADict(), keyed),
    "LSTM cell": (nn.LSTMCell(4, 4), cell),
    "LSTM": (nn.LSTM(4, 4, num_layers=2), recurrent),
    "GRU": (nn.GRU(4, 4), recurrent),
    "returns its input": (ReturnsItsInput(), passed_on),
    "dataclass": (GivesADataclass(), as_dataclass),
    "in place": (InPlace(), used_once),
    "attention": (nn.MultiheadAttention(4, 2, batch_first=True), attention),
    "layers": (nn.Sequential(nn.Linear(4, 4), nn.Identity(), nn.ReLU(inplace=True)), rebound),
}


class _Tap(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, seen: dict[str, Tensor], path: str) -> Tensor:
        ctx.seen, ctx.path = seen, path
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        ctx.seen[ctx.path] = gradients[0].clone()
        return gradients[0], None, None


def tapped(value: Any, seen: dict[str, Tensor], path: str) -> Any:
    if isinstance(value, Tensor):
        return _Tap.apply(value, seen, path) if value.requires_grad else value
    if isinstance(value, dict):
        return {key: tapped(each, seen, f"{path}.{key}") for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(tapped(each, seen, f"{path}.{n}") for n, each in enumerate(value))
    if isinstance(value, Result):
        return Result(
            tapped(value.loss, seen, f"{path}.loss"), tapped(value.hidden, seen, f"{path}.hidden")
        )
    return value


class Tapped(nn.Module):
    """What a module receives and gives, with a tap on every tensor."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.arrived: dict[str, Tensor] = {}
        self.sent: dict[str, Tensor] = {}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        args = tuple(tapped(each, self.sent, str(n)) for n, each in enumerate(args))
        begun = len(args)
        kwargs = {
            key: tapped(each, self.sent, str(begun + n))
            for n, (key, each) in enumerate(kwargs.items())
        }
        return tapped(self.inner(*args, **kwargs), self.arrived, "")


def truth(case: Case, x: Tensor) -> tuple[list[Tensor], dict[str, Tensor]]:
    """What arrives at the outputs in order, and what is sent to each place of the inputs."""
    twin = copy.deepcopy(case)
    twin.m = Tapped(twin.m)
    twin(x).backward()
    return list(twin.m.arrived.values()), twin.m.sent


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The tensor records of a list of values with their places."""
    if isinstance(value, dict) and value.get("type") == "torch.Tensor":
        yield path, value
    elif isinstance(value, (dict, list)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in pairs:
            yield from leaves(each, f"{path}.{key}" if path else str(key))


def same(record: Mapping[str, Any], gradient: Tensor) -> bool:
    exact = gradient.double()
    numbers = {"Max": exact.max(), "Min": exact.min(), "Norm": exact.norm(), "Mean": exact.mean()}
    return all(
        record[key] == pytest.approx(value.item(), rel=1e-5, abs=1e-6)
        for key, value in numbers.items()
    )


@pytest.mark.parametrize("level", ["L0", "mix"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_recorded_is_what_arrives_and_is_sent(
    name: str, level: str, debugger: Make, dumps: Read
) -> None:
    torch.manual_seed(1)
    module, use = CASES[name]
    case, x = Case(copy.deepcopy(module), use), torch.randn(3, 4)
    arrived, sent = truth(case, x)
    one_step(debugger(level=level), case, lambda: case(x).backward())
    (entry,) = (
        value
        for key, value in dumps()[0].data.items()
        if key.startswith(f"Module.m.{type(module).__name__}.backward.")
    )
    received = [record for _, record in leaves(entry["input"])]
    assert len(received) == len(arrived)
    for record in received:
        assert any(same(record, gradient) for gradient in arrived)
    for gradient in arrived:
        assert any(same(record, gradient) for record in received)
    records = dict(leaves(entry["output"]))
    assert records.keys() == sent.keys()
    assert all(same(records[place], gradient) for place, gradient in sent.items())


@pytest.mark.parametrize("name", ["linear", "identity", "residual around it", "layers"])
def test_the_taps_are_torchs_own_hooks(name: str) -> None:
    torch.manual_seed(1)
    module, use = CASES[name]
    case, x = Case(copy.deepcopy(module), use), torch.randn(3, 4)
    arrived, sent = truth(case, x)
    seen: dict[str, Any] = {}

    def hook(_: nn.Module, given: Any, received: Any) -> None:
        seen.update(received=received, given=given)

    case.m.register_full_backward_hook(hook)
    case(x).backward()
    received = [each for each in seen["received"] if each is not None]
    for gradient in arrived:
        assert any(gradient.allclose(each) for each in received)
    for place, gradient in sent.items():
        if place.isdigit():
            assert seen["given"][int(place)].allclose(gradient)


def test_one_tensor_in_three_places_has_no_gradient_of_its_own(debugger: Make, dumps: Read) -> None:
    case = Case(ThreeArguments(), lambda c, x: c.m(y := c.before(x), y, y).sum())
    one_step(debugger(level="L0"), case, lambda: case(torch.ones(2, 4)).backward())
    entry = dumps()[0].data["Module.m.ThreeArguments.backward.0"]
    assert entry["output"] == [None, None, None]
    assert entry["input"][0]["Max"] == 1.0


def test_what_a_module_passes_on_stays_the_tensor_that_it_is(debugger: Make) -> None:
    """Why some gradients are null: torch's own hook has them, at a price the user would pay."""

    def use(case: Case, x: Tensor) -> Tensor:
        y = case.before(x)
        z = case.m(y)
        assert z is y
        z.add_(1)
        return (y * 3 + z * 5).sum()  # type: ignore[no-any-return]

    case = Case(nn.Identity(), use)
    one_step(debugger(level="mix"), case, lambda: case(torch.ones(2, 4)).backward())
    case.m.register_full_backward_hook(lambda *_: None)
    with pytest.raises(AssertionError):
        case(torch.ones(2, 4))
    y = torch.ones(3, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        case.m(y).add_(1)


def test_what_cannot_be_told_apart_is_null(debugger: Make, dumps: Read) -> None:
    def use(case: Case, x: Tensor) -> Tensor:
        y = case.before(x)
        z = case.m(y)
        return (z * 2 + y * 3).sum()  # type: ignore[no-any-return]

    case = Case(nn.Identity(), use)
    one_step(debugger(level="L0"), case, lambda: case(torch.ones(2, 4)).backward())
    assert dumps()[0].data["Module.m.Identity.backward.0"] == {"input": [None], "output": [None]}
