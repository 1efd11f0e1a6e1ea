"""Tells of the steps of one optimizer, eager or made by compiled code, for who needs no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msprobe_core.torch.gradients.optimizers import stepping
from msprobe_core.torch.gradients.steps import Step, StepListener, StepWatch
from msprobe_core.torch.monitor.compiled_steps import CompiledSteps
from msprobe_core.torch.monitor.module_calls import ModuleCalls

Before = Callable[[Any, bool], None]
"""Called with the optimizer, and whether weights and state are (still) those before its step."""
After = Callable[[Any], None]
"""Called with the optimizer whose step has ended."""


class FollowedSteps(StepListener):
    """Calls `before` when a step takes its gradients and `after` when it has ended, until `close`.

    Neither may raise. Of a step that compiled code has made both are told when that code has
    ended: gradients are those that it has taken, weights and state those that it has made.
    """

    def __init__(self, optimizer: Any, before: Before, after: After) -> None:
        self._optimizer, self._before, self._after = stepping(optimizer), before, after
        self._told_by_hooks: set[int] = set()
        self._watch = StepWatch(self)
        self._watch.follow(optimizer)
        self._compiled = CompiledSteps(
            [self._optimizer], lambda: self._told_by_hooks, self._made_one
        )
        self._calls = ModuleCalls()
        self._calls.around_compiled(self._enter_compiled, self._compiled.ends)

    def takes(self, step: Step) -> None:
        """Called by the watch of steps."""
        self._told_by_hooks.add(0)
        self._before(step.optimizer, True)

    def ends(self, step: Step) -> None:
        """Called by the watch of steps."""
        self._after(step.optimizer)

    def close(self) -> None:
        """Take all hooks off."""
        self._watch.stop()
        self._calls.close()

    def _enter_compiled(self) -> None:
        self._told_by_hooks.clear()
        self._compiled.begins()

    def _made_one(self, _: int) -> None:
        self._before(self._optimizer, False)
        self._after(self._optimizer)
