"""Calls as a dump holds them, made of real tensors, and checks of them with a faulty device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from msprobe.acc_check.call_check import Checked, check_call
from msprobe.acc_check.framework import Operator, Pair, Place, Results, Watch
from msprobe.acc_check.inputs import Inputs, Source
from msprobe.acc_check.plan import Call, read_plan
from msprobe.acc_check.pytorch import PYTORCH, TorchOperator
from msprobe.acc_check.run import run

Function = Callable[..., Any]
Fault = Callable[[Function], Function]
SAMPLE = (
    Path(__file__).parents[2] / "samples" / "tools-26.2.0" / "acc_check" / "input" / "dump.json"
)


def record(value: object) -> object:
    """A value as dump.json has it, statistics and all."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return [record(each) for each in value]
    if value is None:
        return None
    if isinstance(value, torch.dtype):
        return {"type": "torch.dtype", "value": str(value)}
    if isinstance(value, slice):
        return {"type": "slice", "value": [value.start, value.stop, value.step]}
    return {"type": type(value).__name__, "value": value}


def _tensor(tensor: torch.Tensor) -> dict[str, object]:
    found: dict[str, object] = {
        "type": "torch.Tensor",
        "dtype": str(tensor.dtype),
        "shape": list(tensor.shape),
        "requires_grad": tensor.requires_grad,
    }
    values = tensor.detach()
    if values.numel() and not values.is_complex():
        found |= {"Max": values.double().max().item(), "Min": values.double().min().item()}
        if values.is_floating_point():
            wide = values.double()
            found |= {"Mean": wide.mean().item(), "Norm": wide.norm().item()}
    return found


def call(
    name: str, *args: object, backward: bool = False, expected: object = None, **kwargs: object
) -> Call:
    """The entry of `<Prefix>.<api>` with these arguments; gradients of the output are normal.

    `expected` is the recorded output where it matters.
    """
    prefix, _, api = name.partition(".")
    recorded = None
    if backward:
        gradient = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1], "Max": 1.0}
        recorded = {"input": [gradient], "output": []}
    forward = {
        "input_args": record(list(args)),
        "input_kwargs": {key: record(value) for key, value in kwargs.items()},
        "output": [] if expected is None else [record(expected)],
    }
    return Call(f"{name}.0", prefix, api, forward, recorded)


def with_gradient(made: Call, *gradients: torch.Tensor) -> Call:
    """The call with a backward entry that has these gradients of its outputs."""
    return replace(made, backward={"input": record(list(gradients)), "output": []})


def checked(made: Call, fault: Fault | None = None, seed: int = 0, **pair: Any) -> Checked:
    """Check a call of drawn data; a fault is put into the device's side alone."""
    source = Source(None, seed)
    if fault is None:
        return check_call(made, source, Pair(Place(), seed=seed, **pair))

    class Faulty(TorchOperator):
        def run(self, inputs: Inputs, place: Place, watch: Watch | None = None) -> Results:
            function = self.function if place.wide else fault(self.function)
            return run(function, self.api, inputs, place, watch)

    def find(call: Call) -> Operator:
        found = PYTORCH.find(call)
        assert isinstance(found, TorchOperator)
        return Faulty(found.function, found.api)

    faulty = replace(PYTORCH, find=find)
    return check_call(made, source, Pair(Place(), seed=seed, **pair), faulty)


def verdicts(made: Call, fault: Fault | None = None, seed: int = 0) -> tuple[str, str]:
    row = checked(made, fault, seed).row
    return row.forward, row.backward


def why(found: Checked) -> str:
    """What is said of the values that are not right, for a failing test."""
    bad = [row for row in found.row.values if row.status in ("warning", "error")]
    return "; ".join(f"{row.name}: {row.message}" for row in bad) or found.row.message


def sample_calls(dtype: str = "float32") -> Mapping[str, Call]:
    """The 29 recorded calls, by name; in another format if asked for."""
    found = {made.name: made for made in read_plan(SAMPLE).calls}
    return {name: _in_format(made, dtype) for name, made in found.items()}


def _in_format(made: Call, dtype: str) -> Call:
    if dtype == "float32":
        return made
    changed = {"torch.float32": f"torch.{dtype}", "torch.float64": f"torch.{dtype}"}

    def convert(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: changed.get(each, each) if key == "dtype" else convert(each)
                for key, each in value.items()
            }
        return [convert(each) for each in value] if isinstance(value, list) else value

    return replace(made, forward=convert(made.forward), backward=convert(made.backward))
