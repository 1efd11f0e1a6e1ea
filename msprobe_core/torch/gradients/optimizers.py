"""Which optimizer steps behind the one that a program has in its hands."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

import torch


class Optimizer(Protocol):
    """What is needed of an optimizer; `state` where it has one."""

    param_groups: list[dict[str, Any]]
    step: Callable[..., object]


_HOOKS = "_optimizer_step_pre_hooks"
_NESTED = 12
"""Frames between a function below and the step that it makes: it calls `step` itself."""
_STATE_MAKERS = {
    "_init_optim_state": "torch.distributed.checkpoint.",
    "initialize_optimizer_states": "deepspeed.",
}
"""Functions that run `step` with gradients of zeros, so that there is a state to load into."""


def stepping(optimizer: Any) -> Any:
    """The optimizer of torch inside of wrappers that only inherit from it, or the one given.

    accelerate's, apex's and schedule-free ones never call torch's constructor: they have no hooks
    of their own, and their `step` may do nothing while gradients accumulate.
    """
    seen: set[int] = set()
    while isinstance(optimizer, torch.optim.Optimizer) and not has_hooks(optimizer):
        seen.add(id(optimizer))
        inner = [each for each in vars(optimizer).values() if _is_inner(each, seen)]
        if not inner:
            break
        optimizer = inner[0]
    return optimizer


def has_hooks(optimizer: object) -> bool:
    """Whether torch calls hooks around the optimizer's steps."""
    return isinstance(optimizer, torch.optim.Optimizer) and hasattr(optimizer, _HOOKS)


def identity(optimizer: Any) -> int:
    """The same of an optimizer and of a wrapper that shares its hooks (Lightning's do)."""
    return id(getattr(optimizer, _HOOKS, optimizer))


def only_makes_state(caller: FrameType | None) -> bool:
    """Whether a step was asked for by what prepares a checkpoint, not by a training."""
    for _ in range(_NESTED):
        if caller is None:
            return False
        package = _STATE_MAKERS.get(caller.f_code.co_name)
        if package is not None and caller.f_globals.get("__name__", "").startswith(package):
            return True
        caller = caller.f_back
    return False


def _is_inner(value: object, seen: set[int]) -> bool:
    return isinstance(value, torch.optim.Optimizer) and id(value) not in seen
