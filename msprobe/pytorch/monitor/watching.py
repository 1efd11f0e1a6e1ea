"""Hooks of a monitor: what goes into and out of modules, gradients, weights and their state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.autograd import Variable

from msprobe.pytorch.monitor.module_gradients import ModuleInputs
from msprobe.pytorch.monitor.safely import safely
from msprobe_core.torch.monitor.module_calls import ModuleCalls

Sink = Callable[[str, str, int, torch.Tensor], None]
"""Called with the kind, the name, the micro-batch and the tensor."""


class ModuleHooks:
    """Hands on the tensors at the chosen modules; inputs and outputs are named by `name_of`, and
    `begun` hears of each call of a module before it.
    """

    def __init__(
        self,
        model: nn.Module,
        chosen: Callable[[str], bool],
        sink: Sink,
        name_of: Callable[[str, str, int, int], str],
        directions: Sequence[str] = ("forward", "backward"),
        begun: Callable[[str], None] | None = None,
    ) -> None:
        self._sink, self._name_of = sink, name_of
        self._numbers: dict[tuple[str, str], int] = {}
        self._open = _Open()
        self._handles: list[Any] = []
        self._calls = ModuleCalls()
        for name, module in model.named_modules():
            if not chosen(name):
                continue
            if begun is not None:
                self._calls.before(module, partial(_tell, begun, name))
            if "forward" in directions:
                self._calls.after(module, partial(safely, self._forward, name))
            if "backward" in directions:
                self._calls.before(module, self._begin)
                self._calls.after(module, partial(self._watch_gradients, name))

    def end_step(self) -> None:
        """Count micro-batches from 0 again, and let go of the step's tensors."""
        self._numbers.clear()
        self._open.calls.clear()
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.remove()

    def close(self) -> None:
        """Take the hooks off."""
        self._calls.close()
        self.end_step()

    def _forward(
        self,
        name: str,
        module: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: object,
    ) -> None:
        if not module.training or torch._C._current_graph_task_id() != -1:
            return
        inputs = [*_tensors(args), *_tensors(list(kwargs.values()))]
        number = self._next("actv", name)
        for side, tensors in (("input", inputs), ("output", list(_tensors(output)))):
            for index, tensor in enumerate(tensors):
                named = self._name_of(name, f"actv.{side}", index, len(tensors))
                safely(self._sink, "actv", named, number, tensor)

    def _begin(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        safely(self._open.begin, module, list(_tensors(args)), torch.is_grad_enabled())

    def _watch_gradients(
        self, name: str, module: nn.Module, _: object, _kw: object, output: object
    ) -> None:
        safely(self._hook, name, module, list(_tensors(output)))

    def _hook(self, name: str, module: nn.Module, outputs: list[torch.Tensor]) -> None:
        begun = self._open.end(module)
        if begun is not None:
            made = sum(each.requires_grad for each in outputs)
            counts = {"input": len(begun.edges), "output": made}
            self._handles += begun.watch(outputs, self._taking(name, counts))

    def _taking(self, name: str, counts: dict[str, int]) -> Callable[..., None]:
        # Passes over one graph are micro-batches of their own: each begins with the first output.
        come: dict[tuple[str, int], int] = {}
        numbers: list[int] = []

        def take(side: str, index: int, gradient: torch.Tensor) -> None:
            which = come[side, index] = come.get((side, index), -1) + 1
            while len(numbers) <= which:
                numbers.append(self._next("actv_grad", name))
            named = self._name_of(name, f"actv_grad.{side}", index, counts[side])
            self._sink("actv_grad", named, numbers[which], gradient)

        return take

    def _next(self, kind: str, name: str) -> int:
        number = self._numbers[kind, name] = self._numbers.get((kind, name), -1) + 1
        return number


class _Open(threading.local):
    """The calls that run in a thread, outermost first, and what went into them.

    One that makes no graph has its place, too: its end is not that of the call around it. One that
    an exception left keeps its place until the call around it ends, in a backward pass until that
    is over: a checkpoint stops its recomputation by an exception as soon as it has what it needs.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[nn.Module, ModuleInputs | None, int]] = []

    def begin(self, module: nn.Module, given: list[torch.Tensor], makes_graph: bool) -> None:
        """A call begins."""
        task = torch._C._current_graph_task_id()
        if task != -1 and all(task != other for *_, other in self.calls):
            Variable._execution_engine.queue_callback(partial(self._end_pass, self.calls, task))
        inputs = None
        if makes_graph:
            with torch.enable_grad():  # else leaves have no place in the graph
                inputs = ModuleInputs(given)
        self.calls.append((module, inputs, task))

    def end(self, module: nn.Module) -> ModuleInputs | None:
        """A call ends; what went into it, None where it made no graph."""
        for place in reversed(range(len(self.calls))):
            if self.calls[place][0] is module:
                inputs = self.calls[place][1]
                del self.calls[place:]
                return inputs
        return None

    @staticmethod
    def _end_pass(calls: list[tuple[nn.Module, ModuleInputs | None, int]], task: int) -> None:
        # Whatever thread calls this, the list is that of the thread whose pass it was.
        calls[:] = [each for each in calls if each[2] != task]


def _tell(begun: Callable[[str], None], name: str, *_: object) -> None:
    safely(begun, name)


def state_of(
    optimizer: Any,
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
