"""When a step of an optimizer begins, when it takes its gradients, and when it ends.

A step takes its gradients after its closure has run for the first time and after the hooks of
others. A step inside a step of the same optimizer (`super().step()`) is none of its own. One that
raised is over as soon as anything asks: its frame runs no more.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from msprobe_core.torch.gradients.optimizers import (
    has_hooks,
    identity,
    only_makes_state,
    stepping,
)

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Step:
    """One step of an optimizer, while it runs.

    Frames are known by their identity: to hold one would hold what it has, after it raised, too.
    """

    __slots__ = (
        *("_caller", "_code", "_frame"),
        *("has_taken", "is_of_training", "last", "optimizer", "pauses"),
    )

    def __init__(self, optimizer: Any, frame: FrameType) -> None:
        self.optimizer = optimizer
        self.is_of_training = not only_makes_state(frame)
        self.has_taken = False
        self.pauses = 0
        """Closures that run inside of it: the user's code, which is none of the optimizer's."""
        self.last: Any = None
        self._frame, self._caller = id(frame), id(frame.f_back)
        self._code: CodeType = frame.f_code

    def runs_in(self, frame: FrameType | None) -> bool:
        """Whether a frame is the one that the step runs in."""
        return (
            frame is not None
            and id(frame) == self._frame
            and frame.f_code is self._code
            and id(frame.f_back) == self._caller
        )

    def is_below(self, frame: FrameType | None) -> bool:
        """Whether a frame, or one of its callers, is the one that the step runs in."""
        while frame is not None and not self.runs_in(frame):
            frame = frame.f_back
        return frame is not None

    def end(self) -> None:
        """Take off what was hooked for this step alone."""
        if self.last is not None:
            self.last.remove()
            self.last = None


class StepListener:
    """What is told of steps, in this order; nothing of it may raise."""

    def begins(self, step: Step) -> None:
        """A step begins; its closure has not run."""

    def takes(self, step: Step) -> None:
        """The gradients are now what the step computes with."""

    def ends(self, step: Step) -> None:
        """The parameters are updated."""


class StepWatch:
    """Tells a listener of the steps of all optimizers, or of those that are followed."""

    def __init__(self, listener: StepListener, every: bool = False) -> None:
        self._listener = listener
        self._followed: dict[int, Any] | None = None if every else {}
        self._local = _Running()
        self._handles: list[Any] = []
        self._ends: list[Callable[[], None]] = []

    def follow(self, optimizer: Any) -> None:
        """Follow an optimizer, or the one that it wraps.

        Optimizers of Megatron and DeepSpeed are none of torch and have no hooks: their `step` is
        replaced on the instance.
        """
        optimizer = stepping(optimizer)
        if has_hooks(optimizer) and self._followed is not None:
            self._followed[identity(optimizer)] = optimizer
            self.start()
        elif not has_hooks(optimizer):
            self._ends.append(self._replaced(optimizer))

    def start(self) -> None:
        """Hook the steps of torch's optimizers."""
        if not self._handles:
            self._handles = [
                register_optimizer_step_pre_hook(self._before),
                register_optimizer_step_post_hook(self._after),
            ]

    def stop(self) -> None:
        """Take all hooks off; a step that still runs is told of if they are back at its end."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        while self._ends:
            self._ends.pop()()
        for step in self._local.steps:
            step.end()

    def inside(self) -> bool:
        """Whether this thread is in a step, and not in its closure."""
        if not self._local.steps:
            return False
        steps = self._running(sys._getframe(1))
        return bool(steps) and not steps[-1].pauses

    def computing(self) -> set[int]:
        """The identities of optimizers that this thread's steps have taken gradients for: what a
        closure makes from then on is a gradient at another place.
        """
        if not self._local.steps:
            return set()
        steps = self._running(sys._getframe(1))
        return {identity(step.optimizer) for step in steps if step.has_taken}

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> Arguments | None:
        if torch.compiler.is_compiling():
            return None
        if self._followed is not None and identity(optimizer) not in self._followed:
            return None
        step = self._begun(optimizer, sys._getframe(1))
        if step is None:
            return None
        if (watched := self._with_closure(step, args, kwargs)) is not None:
            return watched
        # Hooks of the user's may change gradients: what is hooked now comes after all of them.
        step.last = optimizer.register_step_pre_hook(lambda *_: self._take(step))
        return None

    def _after(self, optimizer: Any, *_: object) -> None:
        if torch.compiler.is_compiling():
            return
        steps = self._local.steps
        if steps and steps[-1].optimizer is optimizer and steps[-1].runs_in(sys._getframe(1)):
            self._end(steps.pop())

    def _begun(self, optimizer: Any, frame: FrameType) -> Step | None:
        """A step that begins in a frame; None for one inside of its own.

        Who follows single optimizers is not told of a step that only makes their state.
        """
        steps = self._running(frame.f_back)
        if any(each.optimizer is optimizer for each in steps):
            return None
        step = Step(optimizer, frame)
        if self._followed is not None and not step.is_of_training:
            return None
        steps.append(step)
        self._listener.begins(step)
        return step

    def _running(self, frame: FrameType | None) -> list[Step]:
        """Steps of this thread that still run, outermost first."""
        steps = self._local.steps
        while steps and not steps[-1].is_below(frame):
            steps.pop().end()
        return steps

    def _take(self, step: Step) -> None:
        if not step.has_taken:
            step.has_taken = True
            self._listener.takes(step)

    def _end(self, step: Step) -> None:
        step.end()
        self._take(step)  # it was given a closure and has not called it
        self._listener.ends(step)

    def _with_closure(
        self,
        step: Step,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Arguments | None:
        """The arguments with a closure that is told of; None where there is none."""
        if callable(kwargs.get("closure")):
            return args, {**kwargs, "closure": self._told_of(step, kwargs["closure"])}
        if len(args) > 1 and callable(args[1]):
            return (args[0], self._told_of(step, args[1]), *args[2:]), kwargs
        return None

    def _told_of(self, step: Step, closure: Callable[..., object]) -> Callable[..., object]:
        # Its attributes are not copied: they may hold a loss and its graph.
        @functools.wraps(closure, updated=())
        def run(*args: object, **kwargs: object) -> object:
            step.pauses += 1
            try:
                result = closure(*args, **kwargs)
            finally:
                step.pauses -= 1
            self._take(step)
            return result

        return run

    def _replaced(self, optimizer: Any) -> Callable[[], None]:
        original = optimizer.step
        own = "step" in vars(optimizer)

        @functools.wraps(original, updated=())
        def step(*args: Any, **kwargs: Any) -> object:
            begun = self._begun(optimizer, sys._getframe())
            if begun is None:
                return original(*args, **kwargs)
            watched = self._with_closure(begun, (optimizer, *args), kwargs)
            if watched is None:
                self._take(begun)
            else:
                args, kwargs = watched[0][1:], watched[1]
            result = original(*args, **kwargs)
            if self._local.steps and self._local.steps[-1] is begun:
                self._end(self._local.steps.pop())
            return result

        optimizer.step = step

        def end() -> None:
            if own:
                optimizer.step = original
            else:
                del optimizer.step

        return end


class _Running(threading.local):
    def __init__(self) -> None:
        self.steps: list[Step] = []
