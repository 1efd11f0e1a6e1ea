"""Measures the outputs of modules and their gradients while the model trains.

Outputs of a recomputation are not measured again (their gradients come from it). Evaluation is not
measured, nor what runs without gradients: such passes are made between steps, in any mode, and are
none of the training's. A tensor that a container hands up unchanged is measured once, by the
innermost module; of those that were chosen whatever else is followed, so that a run with further
modules has all series of one without.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
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
from msprobe_core.torch.monitor.module_calls import ModuleCalls
from msprobe_core.torch.monitor.odd_tensors import why_unmeasured
from msprobe_core.torch.monitor.settings import ALL_MODULES, Settings

_Hooked = tuple[weakref.ref[torch.Tensor], Any]
"""A tensor whose gradient is watched, and what takes the hook off."""
_ITEMS_OF_STEP = "num_items_in_batch"
"""What transformers' Trainer gives a model beside its inputs."""


class StepOwner(Protocol):
    """What a watch needs to know of the step that is open."""

    step_number: int

    def begin(self, *, clean: bool = False) -> None:
        """Finish a step that only waits for its loss; `clean` where nothing of the next has run."""

    def guarded(self, function: Callable[..., None]) -> Callable[..., None]:
        """The function, never raising."""


class ActivationWatch:
    """Follows the chosen modules of one model; `held` takes those that only an alert writes."""

    def __init__(
        self, model: nn.Module, prefix: str, owner: StepOwner, settings: Settings, lanes: Lanes
    ) -> None:
        self._owner, self._settings, self._lanes = owner, settings, lanes
        self._seen: dict[bool, tuple[weakref.ref[torch.Tensor], int]] = {}  # by a chosen module?
        self._losses: list[torch.Tensor] = []
        self._adds_up = False
        self._gradients: dict[tuple[int, str], _Hooked] = {}
        modules = named_modules(model)
        chosen = set(selected_modules(modules, settings.activations))
        self._calls = ModuleCalls()
        self._pass = _Pass()
        begin = owner.guarded(self._begin)

        def enter(*args: object) -> None:
            self._pass.has_gradients = torch.is_grad_enabled()
            if self._pass.has_gradients:
                begin(*args)

        self._calls.before(model, enter)
        further = settings.keep > 0 or settings.every.get(ALL_MODULES, 0) > 0
        every = set(selected_modules(modules, "all")) if further else set()
        for name, module in modules.items():
            if name in chosen or name in every:
                take = owner.guarded(partial(self._take, prefix + name, name in chosen))
                self._calls.after(module, self._of_training(take))
        self._calls.after(model, self._of_training(owner.guarded(self._root)))
        self._calls.after(model, self._leave)

    def end_step(self) -> None:
        """Note the loss that the model handed out, and let go of the step's tensors.

        Micro-batches' losses average. Where the model was told how many items the whole step has
        (transformers since 4.46), each has been divided by that, and they add up.
        """
        self._let_go()
        losses, self._losses = self._losses, []
        if losses:
            total = torch.stack(losses).sum() if self._adds_up else torch.stack(losses).mean()
            self._lanes.main.put("loss", "output.loss", total, scalar=True)

    def close(self) -> None:
        """Take all hooks off."""
        self._calls.close()
        self._let_go()

    def _let_go(self) -> None:
        # A parameter that a module returns, or a tensor that it keeps, outlives the step.
        hooked, self._gradients = self._gradients, {}
        for _, handle in hooked.values():
            handle.remove()
        self._seen = {}

    def _of_training(self, function: Callable[..., None]) -> Callable[..., None]:
        """The function, called only within a pass that may make gradients: inside of one a
        checkpoint's first run makes none.
        """

        def run(*args: object) -> None:
            if torch.is_grad_enabled() or self._pass.has_gradients:
                function(*args)

        return run

    def _leave(self, *_: object) -> None:
        self._pass.has_gradients = False

    def _begin(self, module: nn.Module, _: object) -> None:
        if _is_training(module) and not _in_backward():
            self._owner.begin(clean=True)

    def _root(self, module: nn.Module, _: object, given: dict[str, Any], output: object) -> None:
        if not _is_training(module) or _in_backward():
            return
        if (loss := loss_of(output)) is not None and why_unmeasured(loss) is None:
            self._losses.append(loss.detach().float().mean())
            self._adds_up = given.get(_ITEMS_OF_STEP) is not None

    def _take(
        self, name: str, chosen: bool, module: nn.Module, _: object, _kw: object, output: object
    ) -> None:
        if not _is_training(module):
            return
        recomputed = _in_backward()
        if not recomputed:
            self._owner.begin()
        lane = self._lane_of(chosen)
        if lane is None:
            return
        for suffix, tensor in tensors_of(output):
            if self._is_seen(tensor, chosen):
                continue
            # Not the tensor itself: logits are let go of before the backward pass begins.
            self._seen[chosen] = weakref.ref(tensor), _version_of(tensor)
            if not recomputed and self._is_due("actv"):
                lane.put("actv", name + suffix, tensor)
            if tensor.requires_grad and self._is_due("actv_grad"):
                self._watch_gradient(lane, name + suffix, tensor)

    def _watch_gradient(self, lane: Lane, name: str, tensor: torch.Tensor) -> None:
        """Hook a tensor once a step, though it may be handed out again and again."""
        known = self._gradients.get((id(tensor), name))
        if known is None or known[0]() is not tensor:
            take = self._owner.guarded(partial(self._grad, lane, name))
            hooked = weakref.ref(tensor), tensor.register_hook(take)
            self._gradients[id(tensor), name] = hooked

    def _is_seen(self, tensor: torch.Tensor, chosen: bool) -> bool:
        found = (self._seen.get(by) for by in ((True,) if chosen else (True, False)))
        return any(
            seen is not None and tensor is seen[0]() and _version_of(tensor) == seen[1]
            for seen in found
        )

    def _grad(self, lane: Lane, name: str, gradient: torch.Tensor) -> None:
        lane.put("actv_grad", name, gradient)

    def _lane_of(self, chosen: bool) -> Lane | None:
        if chosen or self._settings.is_due(ALL_MODULES, self._owner.step_number):
            return self._lanes.main
        return self._lanes.held

    def _is_due(self, kind: str) -> bool:
        return self._settings.is_due(kind, self._owner.step_number)


class _Pass(threading.local):
    has_gradients = False
    """Whether the model's call that runs in this thread has begun with gradients enabled."""


class Lanes:
    """The lane that is stored, and that of what waits for an alert, if anything does."""

    def __init__(self, main: Lane, held: Lane | None) -> None:
        self.main, self.held = main, held


def _is_training(module: nn.Module) -> bool:
    return module.training


def _version_of(tensor: torch.Tensor) -> int:
    """How often a tensor was written to; tensors of inference mode do not count that."""
    return -1 if tensor.is_inference() else tensor._version


def _in_backward() -> bool:
    task: int = torch._C._current_graph_task_id()
    return task != -1
