"""Measures a training step by step: activations, gradients, weights, optimizer state, scalars.

A step is open while it computes and is finished once: by `step`, or at the latest when the next one
begins; between the optimizer's end and that moment it only waits for its loss. All numbers are read
at once then. Whatever fails here is said, and the training goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch
from torch import nn

from msprobe_core.monitor.moments import Rows, empty_rows
from msprobe_core.monitor.step_values import Measured, StepValues
from msprobe_core.report import say
from msprobe_core.torch.gradients import clipping
from msprobe_core.torch.gradients.clipping import Clip, ClipListener
from msprobe_core.torch.gradients.optimizers import Optimizer, identity, stepping
from msprobe_core.torch.gradients.steps import Step, StepListener, StepWatch
from msprobe_core.torch.monitor.activations import ActivationWatch, Lanes
from msprobe_core.torch.monitor.followed_parameters import Numbered
from msprobe_core.torch.monitor.lane import Lane
from msprobe_core.torch.monitor.parameters import ParameterWatch
from msprobe_core.torch.monitor.settings import Settings
from msprobe_core.torch.record.entries import untraced

Model = nn.Module | Sequence[nn.Module]
_MOST_FAILURES = 3
"""One odd tensor is passed over; what fails again and again is left alone."""


class Collector(StepListener, ClipListener):
    """Hooks a model and its optimizers. Raises ConfigError for settings that do not fit them."""

    def __init__(
        self, model: Model, settings: Settings, sink: Callable[[StepValues], None], start: int = 0
    ) -> None:
        parts = [model] if isinstance(model, nn.Module) else list(model)
        self.step_number = start
        self._settings, self._sink = settings, sink
        held = Lane(settings) if settings.keep else None
        self._lanes = Lanes(Lane(settings), held)
        self._parameters = ParameterWatch(parts, settings, self._lanes.main)
        self._optimizers: list[Optimizer] = []
        self._stepped: set[int] = set()
        self._expects = False
        self._clipped: Numbered = []
        self._failures = 0
        self._began = time.perf_counter()
        self._watches = [
            ActivationWatch(part, f"{i}." if len(parts) > 1 else "", self, settings, self._lanes)
            for i, part in enumerate(parts)
        ]
        self._steps = StepWatch(self)
        self._ends: list[Callable[[], None]] = [clipping.listen(self), self._steps.stop]

    @property
    def running(self) -> bool:
        """Whether anything is measured (still)."""
        return self._failures < _MOST_FAILURES

    def add(self, optimizer: Optimizer) -> None:
        """Follow an optimizer; anything that has `step` and `param_groups`."""
        optimizer = stepping(optimizer)
        if identity(optimizer) not in map(identity, self._optimizers):
            self._optimizers.append(optimizer)
            self._steps.follow(optimizer)

    def begin(self) -> None:
        """Finish a step that only waits for its loss; whatever begins the next one calls it."""
        if self._stepped and len(self._stepped) == len(self._optimizers):
            self._finish()

    def begins(self, step: Step) -> None:
        """Called by the watch of steps: learning rates are those that a step begins with."""
        self.guarded(self._begins, counts=True)(step)

    def takes(self, step: Step) -> None:
        """Called by the watch of steps: the gradients are what the optimizer computes with."""
        self.guarded(self._takes)(step)

    def ends(self, step: Step) -> None:
        """Called by the watch of steps: the parameters are those of the next step."""
        self.guarded(self._stepped_by, counts=True)(step)

    def clips(self, clip: Clip) -> None:
        """Called by the watch of clipping, of whatever model."""
        self.guarded(self._clips)(clip)

    def clipped(self, clip: Clip) -> None:
        """Called by the watch of clipping when it is over."""
        self.guarded(self._note_clipped)(clip)

    def step(self, loss: object = None, **scalars: float) -> None:
        """Finish the step; one in which no optimizer stepped was skipped."""
        self.guarded(self._told, counts=True)(loss, scalars)

    def close(self) -> None:
        """Finish what is open and take all hooks off."""
        self.guarded(self.begin, counts=True)()
        for watch in self._watches:
            watch.close()
        while self._ends:
            self._ends.pop()()

    def guarded(
        self, function: Callable[..., None], *, counts: bool = False
    ) -> Callable[..., None]:
        """The same function, unseen by whatever else watches the run; it never raises.

        Those that count steps go on when measuring has failed, as long as other ranks wait for
        this one in a reduction.
        """

        def run(*args: object, **kwargs: object) -> None:
            if not self.running and not (counts and self._parameters.is_cut):
                return
            try:
                with torch.no_grad(), untraced():
                    function(*args, **kwargs)
            except Exception as error:  # a monitor never ends a run
                self._fail(error)

        return run

    def _fail(self, error: Exception) -> None:
        self._failures += 1
        end = "" if self.running else "; nothing is measured any more, the training goes on"
        say(f"monitoring, step {self.step_number}: {type(error).__name__}: {error}{end}")

    def _told(self, loss: object, scalars: dict[str, float]) -> None:
        self.guarded(self._put_scalars)(loss, scalars)
        self._finish()

    def _put_scalars(self, loss: object, scalars: dict[str, float]) -> None:
        main = self._lanes.main
        if isinstance(loss, torch.Tensor):
            main.put("loss", "loss", loss.detach().float().mean(), scalar=True)
        elif loss is not None:
            main.put_value("loss", "loss", float(loss))  # type: ignore[arg-type]
        for name, value in scalars.items():
            main.put_value(name, name, float(value))
        if not self._stepped:
            main.put_value("skipped", "skipped", 1.0)

    def _clips(self, clip: Clip) -> None:
        self._clipped = self._parameters.clipped_of(clip, self._optimizers)
        if self._clipped:
            self.begin()
            self._expect_updates()
            self._parameters.measure_gradients(self._clipped, self.step_number)

    def _note_clipped(self, clip: Clip) -> None:
        if self._clipped:
            self._parameters.measure_factor(self._clipped, clip, self.step_number)
            self._clipped = []

    def _begins(self, step: Step) -> None:
        number = self._number_of(step)
        if number in self._stepped:
            self._finish()  # it steps again, and nobody said that a step had ended
        self._expect_updates()
        self.guarded(self._put_rates)(number)

    def _takes(self, step: Step) -> None:
        self._parameters.measure_taken(step.optimizer, self.step_number)

    def _put_rates(self, number: int) -> None:
        for index, group in enumerate(self._optimizers[number].param_groups):
            if "lr" in group:
                name = f"group{index}" if number == 0 else f"optimizer{number}.group{index}"
                self._lanes.main.put_value("lr", name, float(group["lr"]))

    def _expect_updates(self) -> None:
        """Remember weights once a step, before the first of its optimizers changes any."""
        if not self._expects:
            self._expects = True
            self.guarded(self._parameters.expect_updates)(self._optimizers)

    def _stepped_by(self, step: Step) -> None:
        self._stepped.add(self._number_of(step))
        self.guarded(self._parameters.measure_updated)(step.optimizer, self.step_number)
        if len(self._stepped) == len(self._optimizers):
            self.guarded(self._parameters.measure_ratios)(self.step_number)

    def _number_of(self, step: Step) -> int:
        known = [identity(each) for each in self._optimizers]
        return known.index(identity(step.optimizer))

    def _finish(self) -> None:
        step, main, held = self.step_number, self._lanes.main, self._lanes.held
        self.step_number += 1
        for watch in self._watches:
            self.guarded(watch.end_step)()
        now = time.perf_counter()
        self.guarded(main.put_value)("seconds", "seconds", now - self._began)
        self._began = now
        self._stepped, self._expects = set(), False
        reserved, own = self._read(main)
        finished = self._parameters.finish(reserved, main.book, step)
        finished.add_scalars(main.book)
        values = Measured(*main.table(own, finished.rows))
        waiting = Measured(*held.table(held.read()[1])) if held is not None else None
        if self.running:
            self._sink(StepValues(step, values, waiting, finished.differing))

    def _read(self, main: Lane) -> tuple[Rows, Rows]:
        try:
            return main.read()
        except Exception as error:  # other ranks may wait for what this one holds
            self._fail(error)
            return self._parameters.nothing(), empty_rows(0)
