"""Below a dispatch mode of the user's torch counts no write to tensors in a list."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from msprobe_core import PrecisionDebugger
from msprobe_core.torch.memory.users_dispatch import UsersDispatch
from tests.msprobe_core.dump_reading import RankDump

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


class Through(TorchDispatchMode):
    """Hands on to what an operator calls, past the operator itself."""

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return func._op(*args, **(kwargs or {}))


class Same(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Net(nn.Module):
    """Shows memory, writes a part of it that no sample touches, and shows it again."""

    def __init__(self, inside: bool) -> None:
        super().__init__()
        self.before, self.after, self.again, self.outside = Same(), Same(), Same(), Same()
        self.inside = inside

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            made = x * 1.0
            self.before(made)
            with Through() if self.inside else nullcontext():
                torch._foreach_mul_([made[7:9]], 200.0)
                self.after(made)
                torch._foreach_mul_([made[7:9]], 2.0)
                self.again(made)
                torch._foreach_mul_([made[7:9]], 2.0)
            return self.outside(made)  # type: ignore[no-any-return]


@pytest.mark.parametrize("entered", ["before the recording", "in the step"])
@pytest.mark.parametrize("level", ["L0", "mix"])
def test_what_lists_of_tensors_write_is_measured_again(
    entered: str, level: str, debugger: Make, dumps: Read
) -> None:
    inside = entered == "in the step"
    net, recording = Net(inside), debugger(level=level)
    with nullcontext() if inside else Through():
        recording.start(net)
        net(torch.ones(3000))
        recording.stop()
    recording.step()
    (dump,) = dumps()
    expected = {"before": 1.0, "after": 200.0, "again": 400.0, "outside": 800.0}
    for module, most in expected.items():
        record = dump.data[f"Module.{module}.Same.forward.0"]["input_args"][0]
        assert record["Max"] == most


def test_torchs_own_modes_and_those_that_ended_cost_nothing() -> None:
    told: list[bool] = []
    trace: Any = SimpleNamespace(
        closed=False,
        book=SimpleNamespace(look_closely=told.append),
        safely=lambda _, run, *values: run(*values),
    )
    watch = UsersDispatch(trace)
    watch.start()
    with FlopCounterMode(display=False):
        assert told == []
    with Through(), Through():
        assert told[-1]
    assert not told[-1]
    count = len(told)
    watch.stop()
    with Through():
        assert len(told) == count
