"""Measures a training step by step: activations, gradients, weights, optimizer state, scalars.

A step is open while it computes and is finished once: by `step`, or at the latest when the next one
begins; between the optimizer's end and that moment it only waits for its loss. All numbers are read
at once then. Whatever fails here is said, and the training goes on: what cannot be measured is one
missing number, and only steps of which nothing is left, three in a row, end the monitoring.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import nn

from msprobe_core.format.series import SETTING
from msprobe_core.monitor.omissions import Omissions
from msprobe_core.monitor.step_values import Measured, StepValues
from msprobe_core.report import say
from msprobe_core.torch.gradients import clipping
from msprobe_core.torch.gradients.clipping import Clip, ClipListener
from msprobe_core.torch.gradients.optimizers import Optimizer, identity, stepping
from msprobe_core.torch.gradients.steps import Step, StepListener, StepWatch
from msprobe_core.torch.monitor.activations import ActivationWatch, Lanes
from msprobe_core.torch.monitor.compiled_steps import CompiledSteps
from msprobe_core.torch.monitor.followed_parameters import Numbered
from msprobe_core.torch.monitor.lane import Lane
from msprobe_core.torch.monitor.module_calls import ModuleCalls
from msprobe_core.torch.monitor.odd_tensors import worded
from msprobe_core.torch.monitor.parameters import ParameterWatch
from msprobe_core.torch.monitor.rank_joining import Joined, RankJoining
from msprobe_core.torch.monitor.rank_post import RankPost
from msprobe_core.torch.monitor.settings import Settings
from msprobe_core.torch.monitor.step_gradients import GradientsTold
from msprobe_core.torch.monitor.told_settings import ToldSettings
from msprobe_core.torch.record.entries import untraced

Model = nn.Module | Sequence[nn.Module]
_MOST_LOST = 3
"""Steps in a row of which nothing was left. A full disk may be emptied and does not count."""


class Collector(StepListener, ClipListener):
    """Hooks a model and its optimizers. Raises ConfigError for settings that do not fit them."""

    def __init__(
        self,
        model: Model,
        settings: Settings,
        sink: Callable[[StepValues], None],
        start: int = 0,
        post: RankPost | None = None,
        ended: Callable[[bool], None] = lambda clean: None,
    ) -> None:
        """`ended` is called after each step where the user's modes stand as he left them, and with
        whether nothing of the next step has run yet.
        """
        parts = [model] if isinstance(model, nn.Module) else list(model)
        self.step_number = start
        self._settings, self._sink, self._ended = settings, sink, ended
        self._omissions = Omissions()
        held = Lane(settings, self._left_out) if settings.keep else None
        self._lanes = Lanes(Lane(settings, self._left_out), held)
        self._told = ToldSettings(partial(self._lanes.main.put_value, SETTING))
        self._parameters = ParameterWatch(parts, settings, self._lanes.main)
        self._joining = RankJoining(post) if self._parameters.has_others else None
        self._optimizers: list[Optimizer] = []
        self._stepped: set[int] = set()
        self._expects = False
        self._clipped: Numbered = []
        self._lost = 0
        self._left = False
        self._clean: bool | None = None  # whether the step ended cleanly that nobody was told of
        self._lock = threading.RLock()
        self._depth = 0
        self._began = time.perf_counter()
        self._watches = [
            ActivationWatch(part, f"{i}." if len(parts) > 1 else "", self, settings, self._lanes)
            for i, part in enumerate(parts)
        ]
        self._steps = StepWatch(self)
        self._compiled = CompiledSteps(self._optimizers, lambda: self._stepped, self._made_one)
        calls = ModuleCalls()
        calls.around_compiled(self.guarded(self._enter_compiled), self.guarded(self._compiled.ends))
        self._ends: list[Callable[[], None]] = [
            clipping.listen(self),
            self._steps.stop,
            calls.close,
        ]

    @property
    def running(self) -> bool:
        """Whether anything is measured (still)."""
        return self._lost < _MOST_LOST and not self._left

    def add(self, optimizer: Optimizer) -> None:
        """Follow an optimizer; anything that has `step` and `param_groups`."""
        optimizer = stepping(optimizer)
        if identity(optimizer) not in map(identity, self._optimizers):
            self._optimizers.append(optimizer)
            self._steps.follow(optimizer)

    def begin(self, *, clean: bool = False) -> None:
        """Finish a step that only waits for its loss; whatever begins the next one calls it."""
        if self._stepped and len(self._stepped) == len(self._optimizers):
            self._finish(clean)

    def begins(self, step: Step) -> None:
        """Called by the watch of steps: learning rates are those that a step begins with."""
        self.guarded(self._begins)(step)

    def takes(self, step: Step) -> None:
        """Called by the watch of steps: the gradients are what the optimizer computes with."""
        self.guarded(self._takes)(step)

    def ends(self, step: Step) -> None:
        """Called by the watch of steps: the parameters are those of the next step."""
        self.guarded(self._stepped_by)(step)

    def clips(self, clip: Clip) -> None:
        """Called by the watch of clipping, of whatever model."""
        self.guarded(self._clips)(clip)

    def clipped(self, clip: Clip) -> None:
        """Called by the watch of clipping when it is over."""
        self.guarded(self._note_clipped)(clip)

    def step(self, loss: object = None, **scalars: float) -> None:
        """Finish the step; one in which no optimizer stepped was skipped."""
        self.guarded(self._ended_by_user)(loss, scalars)

    def close(self) -> None:
        """Finish what is open and take all hooks off."""
        self.guarded(self.begin)(clean=True)
        self._omissions.say_all()
        self._take_off()
        if self._joining is not None:
            self._joining.close()

    def leave(self) -> None:
        """In a process that was forked: measure nothing; the open step is the parent's."""
        self._left = True
        self._take_off()

    def guarded(self, function: Callable[..., None]) -> Callable[..., None]:
        """The same function, unseen by whatever else watches the run; it never raises."""

        def run(*args: object, **kwargs: object) -> None:
            if not self.running:
                return
            with self._lock:
                self._depth += 1
                try:
                    with untraced(), torch.no_grad():
                        function(*args, **kwargs)
                except Exception as error:  # a monitor never ends a run
                    self._omissions.note(self.step_number, "a part of the step", worded(error))
                finally:
                    self._depth -= 1
                clean = None
                if not self._depth:
                    clean, self._clean = self._clean, None
            if clean is not None:
                self._ended(clean)

        return run

    def _take_off(self) -> None:
        for watch in self._watches:
            watch.close()
        while self._ends:
            self._ends.pop()()

    def _left_out(self, what: str, reason: str) -> None:
        self._omissions.note(self.step_number, what, reason)

    def _ended_by_user(self, loss: object, scalars: dict[str, float]) -> None:
        self.guarded(self._put_scalars)(loss, scalars)
        self._finish(clean=True)

    def _put_scalars(self, loss: object, scalars: dict[str, float]) -> None:
        main = self._lanes.main
        if isinstance(loss, torch.Tensor):
            main.put("loss", "loss", loss.detach().float().mean(), scalar=True)
        elif loss is not None:
            main.put_value("loss", "loss", float(loss))  # type: ignore[arg-type]  # what is no number raises
        for name, value in scalars.items():
            main.put_value(name, name, float(value))
        if not self._stepped:
            main.put_value("skipped", "skipped", 1.0)

    def _clips(self, clip: Clip) -> None:
        computing = self._steps.computing()
        waiting = [one for one in self._optimizers if identity(one) not in computing]
        self._clipped = self._parameters.clipped_of(clip, waiting)
        if self._clipped:
            self.begin()
            self._expect_updates()
            self._parameters.measure_gradients(self._clipped, self.step_number)

    def _note_clipped(self, clip: Clip) -> None:
        if self._clipped:
            self._told.clip(clip, self.step_number)
            self._parameters.measure_factor(self._clipped, clip, self.step_number)
            self._clipped = []

    def _enter_compiled(self) -> None:
        self._expect_updates()
        self._compiled.begins()

    def _made_one(self, number: int) -> None:
        """Compiled code has made a step of an optimizer."""
        self._begin_step(number)
        self._parameters.measure_taken(self._optimizers[number], self.step_number)
        self._end_step_of(number)

    def _begins(self, step: Step) -> None:
        self._begin_step(self._number_of(step))

    def _begin_step(self, number: int) -> None:
        if number in self._stepped:
            self._finish()  # it steps again, and nobody said that a step had ended
        self._expect_updates()
        self.guarded(self._put_rates)(number)

    def _takes(self, step: Step) -> None:
        self._parameters.measure_taken(step.optimizer, self.step_number)

    def _put_rates(self, number: int) -> None:
        for index, group in enumerate(self._optimizers[number].param_groups):
            name = f"group{index}" if number == 0 else f"optimizer{number}.group{index}"
            if "lr" in group:
                self._lanes.main.put_value("lr", name, float(group["lr"]))
            self.guarded(self._told.group)(name, group, self.step_number)

    def _expect_updates(self) -> None:
        """Remember weights once a step, before the first of its optimizers changes any."""
        if not self._expects:
            self._expects = True
            self.guarded(self._parameters.expect_updates)(self._optimizers)

    def _stepped_by(self, step: Step) -> None:
        self._end_step_of(self._number_of(step))

    def _end_step_of(self, number: int) -> None:
        self._stepped.add(number)
        self.guarded(self._parameters.measure_updated)(self._optimizers[number], self.step_number)
        if len(self._stepped) == len(self._optimizers):
            self.guarded(self._parameters.measure_ratios)(self.step_number)

    def _number_of(self, step: Step) -> int:
        known = [identity(each) for each in self._optimizers]
        return known.index(identity(step.optimizer))

    def _finish(self, clean: bool = False) -> None:
        step = self.step_number
        self.step_number += 1
        self._clean = clean
        try:
            self._end_step(step)
        except Exception as error:  # a monitor never ends a run
            self._lose(step, error)

    def _end_step(self, step: int) -> None:
        """Read all numbers of the open step; the next one is open then."""
        main, held = self._lanes.main, self._lanes.held
        for watch in self._watches:
            self.guarded(watch.end_step)()
        now = time.perf_counter()
        self.guarded(main.put_value)("seconds", "seconds", now - self._began)
        self._began = now
        self._stepped, self._expects = set(), False
        self._told.end_step()
        reserved, own = main.read()
        waiting = held.read()[1] if held is not None else None

        def complete(joined: Joined, told: GradientsTold) -> None:
            try:
                finished = self._parameters.finish(joined, main.book, told)
                values = Measured(*main.table(own, finished.rows))
                kept = None if held is None or waiting is None else Measured(*held.table(waiting))
                self._sink(StepValues(step, values, kept, finished.differing))
                self._lost = 0
            except Exception as error:  # a monitor never ends a run
                self._lose(step, error)

        pieces = self._parameters.collect(reserved, step, complete)
        if self._joining is not None:
            self._joining.put(pieces)
        else:
            pieces.complete(pieces.alone())

    def _lose(self, step: int, error: Exception) -> None:
        if isinstance(error, OSError):
            say(f"monitoring, step {step} is not written: {error}")
            return
        self._lost += 1
        end = "" if self.running else "; nothing is measured any more, the training goes on"
        say(f"monitoring, step {step} is lost: {worded(error)}{end}")
