"""One model at one level: the step is the same as without a dump, and what is recorded is true.

Module inputs, outputs and arriving gradients are checked against torch's own hooks in float64,
saved tensors against the values themselves.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.models.architectures import Architecture
from msprobe_core import PrecisionDebugger


@dataclass(slots=True)
class Outcome:
    """What was found: whether the step stayed bit-identical, and values that are not true."""

    same_step: bool = True
    values: int = 0
    absent: int = 0
    errors: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost."""
        return self.same_step and not self.wrong and not self.errors


@dataclass(slots=True)
class _Seen:
    inputs: list[dict[str, float]]
    outputs: list[dict[str, float]]
    arrived: dict[str, float] | None = None


def check(architecture: Architecture, level: str, task: str, folder: Path) -> Outcome:
    """Record one step of a model and compare it with the same step unrecorded."""
    torch.manual_seed(0)
    model = architecture.make().train()
    truth, twin = copy.deepcopy(model), copy.deepcopy(model)
    expected = _step(architecture, truth)
    debugger = PrecisionDebugger(task=task, level=level, dump_path=str(folder))
    try:
        with debugger.recording(model):
            found = _step(architecture, model)
    finally:
        debugger.close()
    same = len(found) == len(expected) and all(a.equal(b) for a, b in zip(found, expected))
    outcome = Outcome(same)
    (path,) = folder.glob("step0/*/dump.json")
    data = json.loads(path.read_text(encoding="utf-8"))["data"]
    outcome.errors = int((path.parent / "dump_error_info.log").exists())
    if level in ("L0", "mix"):
        _compare_modules(_watched(architecture, twin), data, outcome)
    if task == "tensor":
        _compare_files(data, path.parent / "dump_tensor_data", outcome)
    return outcome


def _step(architecture: Architecture, model: nn.Module) -> list[Tensor]:
    """Loss, gradients, and parameters after one step of SGD."""
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = architecture.loss(model)
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    optimizer.step()
    return [loss.detach(), *gradients, *(p.detach().clone() for p in model.parameters())]


def _watched(architecture: Architecture, model: nn.Module) -> dict[str, _Seen]:
    """What torch's hooks show of every module call of an unrecorded step, by entry name."""
    seen: dict[str, _Seen] = {}
    counts: dict[str, int] = {}
    starting: list[tuple[str, list[dict[str, float]]]] = []

    def before(module: nn.Module, args: Any, kwargs: Any) -> None:  # noqa: ANN401
        kind = f"{paths[module]}.{type(module).__name__}"
        number = counts[kind] = counts.get(kind, -1) + 1
        given = [numbers(t) for t in _tensors([*args, *kwargs.values()])]
        starting.append((f"Module.{kind}.forward.{number}", given))

    def after(module: nn.Module, args: object, result: object) -> None:
        name, given = starting.pop()
        call = seen[name] = _Seen(given, [numbers(t) for t in _tensors(result)])
        if isinstance(result, Tensor) and result.requires_grad and not _passed_on(result, args):
            result.register_hook(lambda gradient: setattr(call, "arrived", numbers(gradient)))

    paths = {module: path for path, module in model.named_modules() if path}
    for module in paths:
        module.register_forward_pre_hook(before, with_kwargs=True)
        module.register_forward_hook(after)
    _step(architecture, model)
    return seen


def _passed_on(result: Tensor, args: object) -> bool:
    return any(each is result for each in _tensors(args))


def _compare_modules(seen: dict[str, _Seen], data: dict[str, Any], outcome: Outcome) -> None:
    for name, call in seen.items():
        entry = data.get(name)
        if entry is None:
            outcome.wrong.append(f"{name} is missing")
            continue
        given = _records([entry["input_args"], list(entry["input_kwargs"].values())])
        _compare(f"{name}.input", list(given), call.inputs, outcome)
        _compare(f"{name}.output", list(_records(entry["output"])), call.outputs, outcome)
        backward = data.get(name.replace(".forward.", ".backward."))
        if call.arrived is not None and backward is not None:
            arrived = list(_records(backward["input"]))
            if not arrived:
                outcome.absent += 1
            else:
                _compare(f"{name}.gradient", arrived, [call.arrived], outcome)


def _compare(
    name: str, records: list[dict[str, Any]], truth: list[dict[str, float]], outcome: Outcome
) -> None:
    outcome.values += len(truth)
    if len(records) != len(truth):
        outcome.wrong.append(f"{name}: {len(records)} values for {len(truth)}")
        return
    outcome.wrong += [
        f"{name}: {record} is {true}"
        for record, true in zip(records, truth)
        if not record.get("unwritten") and not _agree(record, true)
    ]


def _agree(record: dict[str, Any], true: dict[str, float]) -> bool:
    return all(
        record[key] is not None
        and (record[key] == value or math.isclose(record[key], value, rel_tol=1e-5, abs_tol=1e-6))
        for key, value in true.items()
    )


def _compare_files(data: dict[str, Any], folder: Path, outcome: Outcome) -> None:
    for entry in data.values():
        for record in _records(entry):
            if "data_name" not in record or record["Max"] is None:
                continue
            outcome.values += 1
            saved = torch.load(folder / record["data_name"], weights_only=True)
            if list(saved.shape) != record["shape"] or not _agree(record, numbers(saved)):
                outcome.wrong.append(str(record["data_name"]))


def numbers(tensor: Tensor) -> dict[str, float]:
    """The statistics of a tensor in float64; none of an empty one."""
    if not tensor.numel():
        return {}
    exact = tensor.detach().double()
    found = {"Max": exact.max().item(), "Min": exact.min().item()}
    if tensor.is_floating_point():
        found |= {"Mean": exact.mean().item(), "Norm": exact.norm().item()}
    return found


def _tensors(value: object) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _records(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and value.get("type") == "torch.Tensor":
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _records(each)
