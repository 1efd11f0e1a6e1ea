"""Another format is one cause: what it rounds later, forward or backward, is no further one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.builder.diagnosis.recorded_programs import found
from tests.told import facts

Way = Callable[[nn.Linear, Tensor], Tensor]


class Net(nn.Module):
    """A layer between two others, computed in one way or another."""

    def __init__(self, way: Way, whole: bool = False) -> None:
        super().__init__()
        self.put, self.layer, self.out = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 4)
        self.way, self.whole = way, whole

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.whole):
            y = self.out(self.way(self.layer, torch.tanh(self.put(x))))
        return y.float()


def plainly(layer: nn.Linear, x: Tensor) -> Tensor:
    return layer(x)  # type: ignore[no-any-return]


def functionally(layer: nn.Linear, x: Tensor) -> Tensor:
    return F.linear(x, layer.weight, layer.bias)


def cast_by_hand(layer: nn.Linear, x: Tensor) -> Tensor:
    half = F.linear(x.bfloat16(), layer.weight.bfloat16(), layer.bias.bfloat16())
    return half.float()


def cast_by_autocast(layer: nn.Linear, x: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return layer(x).float()  # type: ignore[no-any-return]


def half_layer(layer: nn.Linear, x: Tensor) -> Tensor:
    return layer.bfloat16()(x.bfloat16()).float()  # type: ignore[no-any-return]


def cast_and_back(layer: nn.Linear, x: Tensor) -> Tensor:
    return plainly(layer, x.half().float())


def activation_in_half(layer: nn.Linear, x: Tensor) -> Tensor:
    return torch.sin(layer(x).half()).float()


def activation(layer: nn.Linear, x: Tensor) -> Tensor:
    return torch.sin(layer(x))


WAYS: dict[str, tuple[Way, Way, str]] = {
    "operands cast": (cast_by_hand, functionally, "bfloat16"),
    "autocast": (cast_by_autocast, plainly, "linear.1"),
    "a layer of another format": (half_layer, plainly, "bfloat16"),
    "there and back": (cast_and_back, plainly, "float"),
    "an activation": (activation_in_half, activation, "half"),
}


@pytest.mark.parametrize("ways", WAYS.values(), ids=WAYS)
def test_one_call_in_another_format_is_one_cause(
    tmp_path: Path, ways: tuple[Way, Way, str]
) -> None:
    problem, benchmark, call = ways
    made = {"way": problem}
    (cause,) = found(tmp_path, lambda way=benchmark: Net(way), **made)
    assert call in cause.name


@pytest.mark.parametrize("way", [plainly, activation])
def test_a_run_in_another_format_is_one_cause_that_says_so_or_none(
    tmp_path: Path, way: Way
) -> None:
    """Where most is of the other format, that is the setting of the comparison."""
    programs = iter((True, False))  # the problem runs first
    causes = found(tmp_path, lambda: Net(way, whole=next(programs)))
    assert [facts(c.reasons[0])["code"] for c in causes] in ([], ["precision_differs"])


def test_a_gradient_that_is_changed_beside_is_named(tmp_path: Path) -> None:
    """The format explains roundings, and nothing beyond them."""

    def hooked(layer: nn.Linear, x: Tensor) -> Tensor:
        y = cast_by_autocast(layer, x)

        def scaled(gradient: Tensor) -> Tensor:
            with torch._C.DisableTorchFunction():
                return 1.1 * gradient

        y.register_hook(scaled)
        return y

    first, second = found(tmp_path, lambda way=plainly: Net(way), way=hooked)
    assert first.name == "Functional.linear.1.forward" and "backward" in second.name
