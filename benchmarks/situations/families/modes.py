"""What users put around torch: modes, counters, tracers, profilers. They see nothing of ours."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.situations.situation import Made, Net, normal, situation, train


class Functions(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class Operations(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


@situation("a function mode of the user's", core=True, looks_at_itself=True)
def function_mode() -> Made:
    model = Net()

    def step(_: int) -> Any:
        with Functions() as mode:
            loss = train(model)
        return loss, mode.seen

    return model, step


@situation("a dispatch mode of the user's", core=True, looks_at_itself=True)
def dispatch_mode() -> Made:
    model = Net()

    def step(_: int) -> Any:
        with Operations() as mode:
            loss = train(model)
        return loss, mode.seen

    return model, step


@situation("a counter of operations", core=True)
def flop_counter() -> Made:
    model = Net()

    def step(_: int) -> Any:
        with FlopCounterMode(display=False) as counter:
            loss = train(model)
        return loss, counter.get_total_flops()

    return model, step


@situation("make_fx within the step")
def make_fx_in_step() -> Made:
    model = Net()

    def step(_: int) -> Any:
        found = make_fx(lambda x: model.blocks[0](x).sum())(normal(4, 8))
        return [node.name for node in found.graph.nodes]

    return model, step


class UsesItsOutput(nn.Module):
    """What it returns gets gradients from within and from without, which autograd adds up."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.layer(x)
        return y, (y * 2).sum(), torch.tanh(y).mean()


@situation("the profiler", core=True, looks_at_itself=True)
def profiler() -> Made:
    model = nn.ModuleList([Net(), UsesItsOutput()])

    def step(_: int) -> Any:
        with profile(activities=[ProfilerActivity.CPU]) as found:
            loss = train(model[0])
            y, *others = model[1](normal(4, 8))
            (y.sin().sum() + sum(others)).backward()
        counts = {e.key: e.count for e in found.key_averages() if e.key.startswith("aten::")}
        return loss, sorted(counts.items())

    return model, step


@situation("torch.device as a context")
def device_context() -> Made:
    model = Net()

    def step(_: int) -> Any:
        with torch.device("cpu"):
            return train(model), torch.ones(3)

    return model, step
