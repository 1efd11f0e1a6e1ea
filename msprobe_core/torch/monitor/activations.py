"""Measures the outputs of modules and their gradients while the model trains.

Outputs of a recomputation are not measured again (their gradients come from it); evaluation is not
measured. A tensor that a container hands up unchanged is measured once, by the innermost module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import torch
from torch import nn

from msprobe_core.torch.monitor.followed_modules import (
    loss_of,
    named_modules,
    selected_modules,
    tensors_of,
)
from msprobe_core.torch.monitor.lane import Lane
from msprobe_core.torch.monitor.settings import ALL_MODULES, Settings
from msprobe_core.torch.monitor.shards import local_part

_ITEMS_OF_STEP = "num_items_in_batch"
"""What transformers' Trainer gives a model beside its inputs."""


class StepOwner(Protocol):
    """What a watch needs to know of the step that is open."""

    step_number: int

    def begin(self) -> None:
        """Finish a step that only waits for its loss."""

    def guarded(self, function: Callable[..., None]) -> Callable[..., None]:
        """The function, never raising."""


class ActivationWatch:
    """Hooks the chosen modules of one model; `held` takes those that only an alert writes."""

    def __init__(
        self, model: nn.Module, prefix: str, owner: StepOwner, settings: Settings, lanes: Lanes
    ) -> None:
        self._owner, self._settings, self._lanes = owner, settings, lanes
        self._seen: tuple[torch.Tensor, int] | None = None
        self._losses: list[torch.Tensor] = []
        self._adds_up = False
        modules = named_modules(model)
        chosen = set(selected_modules(modules, settings.activations))
        root = owner.guarded(self._root)
        self._handles: list[Any] = [model.register_forward_hook(root, with_kwargs=True)]
        further = settings.keep > 0 or settings.every.get(ALL_MODULES, 0) > 0
        every = set(selected_modules(modules, "all")) if further else set()
        for name, module in modules.items():
            if name in chosen or name in every:
                take = owner.guarded(partial(self._take, prefix + name, name in chosen))
                self._handles.append(module.register_forward_hook(take))

    def end_step(self) -> None:
        """Note the loss that the model handed out, and let go of the last output.

        Micro-batches' losses average. Where the model was told how many items the whole step has
        (transformers since 4.46), each has been divided by that, and they add up.
        """
        self._seen = None
        losses, self._losses = self._losses, []
        if losses:
            total = torch.stack(losses).sum() if self._adds_up else torch.stack(losses).mean()
            self._lanes.main.put("loss", "output.loss", total, scalar=True)

    def close(self) -> None:
        """Take the hooks off."""
        for handle in self._handles:
            handle.remove()

    def _root(
        self, module: nn.Module, _: object, given: Mapping[str, object], output: object
    ) -> None:
        if not _is_training(module) or _in_backward():
            return
        self._owner.begin()
        if (loss := loss_of(output)) is not None:
            self._losses.append(loss.detach().float().mean())
            self._adds_up = given.get(_ITEMS_OF_STEP) is not None

    def _take(self, name: str, chosen: bool, module: nn.Module, _: object, output: object) -> None:
        if not _is_training(module):
            return
        recomputed = _in_backward()
        if not recomputed:
            self._owner.begin()
        lane = self._lane_of(chosen)
        if lane is None:
            return
        for suffix, tensor in tensors_of(output):
            if self._is_seen(tensor):
                continue
            self._seen = (tensor, tensor._version)
            if not recomputed and self._is_due("actv"):
                lane.put("actv", name + suffix, local_part(tensor))
            if tensor.requires_grad and self._is_due("actv_grad"):
                tensor.register_hook(self._owner.guarded(partial(self._grad, lane, name + suffix)))

    def _is_seen(self, tensor: torch.Tensor) -> bool:
        return (
            self._seen is not None and tensor is self._seen[0] and tensor._version == self._seen[1]
        )

    def _grad(self, lane: Lane, name: str, gradient: torch.Tensor) -> None:
        lane.put("actv_grad", name, local_part(gradient))

    def _lane_of(self, chosen: bool) -> Lane | None:
        if chosen or self._settings.is_due(ALL_MODULES, self._owner.step_number):
            return self._lanes.main
        return self._lanes.held

    def _is_due(self, kind: str) -> bool:
        return self._settings.is_due(kind, self._owner.step_number)


class Lanes:
    """The lane that is stored, and that of what waits for an alert, if anything does."""

    def __init__(self, main: Lane, held: Lane | None) -> None:
        self.main, self.held = main, held


def _is_training(module: nn.Module) -> bool:
    return module.training and not torch.compiler.is_compiling()


def _in_backward() -> bool:
    task: int = torch._C._current_graph_task_id()
    return task != -1
