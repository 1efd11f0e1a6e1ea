"""What happens before and after each step of an optimizer, torch's own or any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch


class Optimizer(Protocol):
    """What is needed of an optimizer; `state` where it has one."""

    param_groups: list[dict[str, Any]]
    step: Callable[..., object]


def around_step(
    optimizer: Optimizer, before: Callable[[], None], after: Callable[[], None]
) -> Callable[[], None]:
    """Call functions, which raise nothing, around each step; what is returned ends it.

    Optimizers of Megatron and DeepSpeed are none of torch and have no hooks: their `step` is
    replaced on the instance.
    """
    if isinstance(optimizer, torch.optim.Optimizer):
        first = optimizer.register_step_pre_hook(lambda *_: before())
        second = optimizer.register_step_post_hook(lambda *_: after())

        def end() -> None:
            first.remove()
            second.remove()

        return end
    original = optimizer.step

    def step(*args: object, **kwargs: object) -> object:
        before()
        result = original(*args, **kwargs)
        after()
        return result

    optimizer.step = step
    return lambda: setattr(optimizer, "step", original)
