"""Hooks of a monitor: what goes into and out of modules, gradients, weights and their state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from msprobe_core.report import say
from msprobe_core.torch.record.entries import untraced

Sink = Callable[[str, str, int, torch.Tensor], None]
"""Called with the kind, the name, the micro-batch and the tensor."""


class ModuleHooks:
    """Hands on the tensors at the chosen modules; inputs and outputs are named by `name_of`."""

    def __init__(
        self,
        model: nn.Module,
        chosen: Callable[[str], bool],
        sink: Sink,
        name_of: Callable[[str, str, int, int], str],
        directions: Sequence[str] = ("forward", "backward"),
    ) -> None:
        self._sink, self._name_of = sink, name_of
        self._calls: dict[tuple[str, str], int] = {}
        self._handles: list[Any] = []
        for name, module in model.named_modules():
            if not chosen(name):
                continue
            if "forward" in directions:
                hook = partial(self._forward, name)
                self._handles.append(module.register_forward_hook(hook, with_kwargs=True))
            if "backward" in directions:
                hook = partial(self._backward, name)
                self._handles.append(module.register_full_backward_hook(hook))

    def end_step(self) -> None:
        """Count micro-batches from 0 again."""
        self._calls.clear()

    def close(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()

    def _forward(
        self, name: str, module: nn.Module, args: object, kwargs: dict[str, object], output: object
    ) -> None:
        if module.training and torch._C._current_graph_task_id() == -1:
            inputs = [*_tensors(args), *_tensors(list(kwargs.values()))]
            self._hand_on("actv", name, (("input", inputs), ("output", list(_tensors(output)))))

    def _backward(self, name: str, module: nn.Module, inputs: object, outputs: object) -> None:
        sides = (("input", list(_tensors(inputs))), ("output", list(_tensors(outputs))))
        self._hand_on("actv_grad", name, sides)

    def _hand_on(
        self, kind: str, name: str, sides: Sequence[tuple[str, list[torch.Tensor]]]
    ) -> None:
        micro = self._calls[kind, name] = self._calls.get((kind, name), -1) + 1
        for side, tensors in sides:
            for index, tensor in enumerate(tensors):
                named = self._name_of(name, f"{kind}.{side}", index, len(tensors))
                safely(self._sink, kind, named, micro, tensor)


def safely(function: Callable[..., object], *args: object) -> None:
    """Call a function of the monitor; what goes wrong is said and the training goes on."""
    try:
        with torch.no_grad(), untraced():
            function(*args)
    except Exception as error:  # a monitor never ends a run
        say(f"monitor: {type(error).__name__}: {error}")


def state_of(
    optimizer: Any,  # noqa: ANN401
    parameter: torch.Tensor,
    kind: str,
) -> torch.Tensor | None:
    """A parameter's optimizer state by its name, whatever wraps the optimizer."""
    inner = getattr(optimizer, "optimizer", optimizer)
    found = (getattr(inner, "state", {}).get(parameter) or {}).get(kind)
    return found if isinstance(found, torch.Tensor) else None


def _tensors(values: object) -> Iterator[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        yield from (value for value in values if isinstance(value, torch.Tensor))
