"""Records what each optimizer step reads and writes, by parameter name: gradient, before, after.

It stands beside `data` in dump.json, as the member `optimizer`: one entry a step, readers of the
older form pass it over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from msprobe_core.capture.entry import Entry, entry_text
from msprobe_core.capture.trace import Trace
from msprobe_core.torch.record.entries import guarded, untraced
from msprobe_core.values.text import quoted

Model = torch.nn.Module | Sequence[torch.nn.Module]
Named = list[tuple[str, torch.nn.Parameter]]


class OptimizerWatch:
    """Hooks the steps of all optimizers; an open entry waits for its step's end."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._names: dict[int, str] = {}
        self._handles: list[Any] = []
        self._open: tuple[Entry, Named] | None = None
        self._done: list[Entry] = []
        self._count: dict[str, int] = {}

    def find(self, model: Model) -> None:
        """Take the names of a model's parameters."""
        if self._trace.selection.takes_all:
            self._names = _names_of(model)

    def start(self) -> None:
        """Watch the parameters. Call it after others have hooked the optimizer."""
        if not self._names or self._handles:
            return
        self._handles = [
            register_optimizer_step_pre_hook(self._enter),
            register_optimizer_step_post_hook(self._leave),
        ]

    def stop(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def text(self) -> str | None:
        """The entries as the text of a JSON object; None when no step was seen."""
        if not self._done:
            return None
        return "{" + ",\n".join(entry_text(entry) for entry in self._done) + "}"

    def _enter(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self._trace.safely(f"Optimizer.{type(optimizer).__name__}", self._begin, optimizer)

    def _leave(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        self._trace.safely(f"Optimizer.{type(optimizer).__name__}", self._end)

    def _begin(self, optimizer: torch.optim.Optimizer) -> None:
        self._open = None
        with untraced():
            updated = self._updated_by(optimizer)
        owner = f"Optimizer.{type(optimizer).__name__}.step"
        number = self._count[owner] = self._count.get(owner, -1) + 1
        entry = Entry(f"{owner}.{number}")
        read = [(name, parameter.grad) for name, parameter in updated]
        guarded(self._trace, entry, '"input": {}', _fill, "input", read)
        guarded(self._trace, entry, '"parameters": {}', _fill, "parameters", updated)
        self._open = (entry, updated)

    def _end(self) -> None:
        if self._open is None:
            return
        entry, updated = self._open
        self._open = None
        guarded(self._trace, entry, '"output": {}', _fill, "output", updated)
        if entry.parts:
            self._done.append(entry)

    def _updated_by(self, optimizer: torch.optim.Optimizer) -> Named:
        """The parameters that a step changes; those whose gradient cannot be read are reported."""
        updated: Named = []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                name = self._names.get(id(parameter))
                if name is None:
                    continue
                has_gradient = self._trace.safely(f"gradient of {name}", _has_gradient, parameter)
                updated += [(name, parameter)] if has_gradient else []
        return updated


def _names_of(model: Model) -> dict[int, str]:
    if isinstance(model, torch.nn.Module):
        return {id(parameter): name for name, parameter in model.named_parameters()}
    return {
        id(parameter): f"{index}.{name}"
        for index, part in enumerate(model)
        for name, parameter in part.named_parameters()
    }


def _has_gradient(parameter: torch.Tensor) -> bool:
    return parameter.grad is not None


def _fill(
    trace: Trace, entry: Entry, role: str, values: Sequence[tuple[str, torch.Tensor]]
) -> None:
    entry.parts.append(f'"{role}": {{')
    for number, (name, tensor) in enumerate(values):
        entry.parts.append(f"{', ' if number else ''}{quoted(name)}: ")
        entry.parts.append(trace.book.record(tensor, f"{entry.name}.{role}", name))
    entry.parts.append("}")
