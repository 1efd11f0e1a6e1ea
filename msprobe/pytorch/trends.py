"""A training as trends: `Trends` follows a model and its optimizer, step by step, into a folder.

>>> trends = Trends("trends", model, optimizer)
>>> for batch in batches:
...     loss = model(batch)
...     loss.backward()
...     optimizer.step()
...     trends.step(loss=loss)
>>> trends.close()
"""

from __future__ import annotations

import atexit
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from torch import nn

from msprobe.pytorch.trend_arguments import (
    OnAlert,
    check_model,
    checked_folder,
    checked_optimizer,
    checked_reaction,
    checked_scaler,
)
from msprobe.pytorch.trend_twin import Twin, rounded_otherwise
from msprobe_core.debugger import PrecisionDebugger
from msprobe_core.monitor.forks import leave_to_the_parent
from msprobe_core.monitor.step_values import StepValues
from msprobe_core.monitor.trend_recorder import Recorder
from msprobe_core.report import say
from msprobe_core.torch.gradients.optimizers import Optimizer
from msprobe_core.torch.monitor.collector import Collector, Model
from msprobe_core.torch.monitor.followed_modules import Activations, clean_name
from msprobe_core.torch.monitor.rank_post import open_post
from msprobe_core.torch.monitor.settings import Settings, check_count, check_switch
from msprobe_core.torch.rank import current_rank

DUMPS = "dumps"
"""Below the trends: what `on_alert="dump"` records, by step and rank."""


class Scaler(Protocol):
    """The part of torch's GradScaler that is read."""

    def get_scale(self) -> float:
        """The factor by which the loss is multiplied."""


class Trends:
    """Follows a training into a folder; a second start in the same folder goes on there.

    `activations`: "blocks" (repeated layers, their attention and MLP), "all", names of modules, or
    None. `every`: steps between measurements of a kind ({"param": 10}; "actv_all" for all
    modules). `keep`: so many last steps of all modules wait in memory until an alert writes them.
    `keep_steps`: so many steps stay at full resolution. `on_alert`: "log", "dump" (record the next
    step whole) or a function. Raises ConfigError for a wrong setting and OSError where nothing can
    be written; after that nothing that fails here reaches the training.
    """

    def __init__(  # noqa: PLR0913  # each is a setting of its own, all but three by name
        self,
        directory: str | Path,
        model: Model,
        optimizer: Optimizer | None = None,
        *,
        activations: Activations = "blocks",
        every: Mapping[str, int] | None = None,
        keep: int = 0,
        keep_steps: int | None = None,
        zeros: bool = False,
        nonfinite: bool = False,
        local: bool = False,
        tie_every: int = 16,
        alerts: bool = True,
        on_alert: OnAlert = "log",
        scaler: Scaler | None = None,
        start_iteration: int = 0,
    ) -> None:
        settings = Settings(
            activations, {} if every is None else every, keep, local, tie_every, zeros, nonfinite
        )
        check_switch("alerts", alerts)
        check_count("start_iteration", start_iteration)
        if keep_steps is not None:
            check_count("keep_steps", keep_steps)
        self._twin = Twin.asked()
        self.directory = checked_folder(directory)
        if self._twin is not None:
            self.directory, alerts = self._twin.place(self.directory), False
        self._model: Model | None = model
        self._scaler = checked_scaler(scaler)
        self._on_alert = checked_reaction(on_alert)
        check_model(model)
        if optimizer is not None:
            checked_optimizer(optimizer)
        self._dump: PrecisionDebugger | None = None
        self._asked = False  # an alert waits for a step that can be recorded whole
        self._left = self._said_left = False
        post = None if local else open_post(str(directory))
        self._collector: Collector | None = None
        collector = Collector(model, settings, self._take, start_iteration, post, self._ended)
        try:
            self._recorder = Recorder(
                self.directory,
                current_rank() or 0,
                _facts(model, settings),
                keep_steps=keep_steps,
                keep=keep,
                alerts=alerts,
            )
        except OSError:
            collector.close()
            raise
        self._collector = collector
        self._open = True
        self._first_step = start_iteration
        self._rounded = ExitStack()
        if self._twin is not None and self._twin.rounds:
            self._rounded.enter_context(rounded_otherwise())
        leave_to_the_parent(self)
        if optimizer is not None:
            self.add(optimizer)
        atexit.register(self.close)

    def add(self, optimizer: Optimizer) -> None:
        """Follow a further optimizer; with several, `step` says when a step has ended."""
        if self._collector is not None:
            self._collector.add(checked_optimizer(optimizer))

    def step(self, loss: object = None, **scalars: float) -> None:
        """End the step after `optimizer.step()`: its loss, and whatever else has a name.

        Without it a step ends when the next one begins, and its loss is that of a model which
        hands one out. A step in which no optimizer stepped is noted as skipped.
        """
        if self._left:
            self._say_left()
        if self._collector is None:
            return
        if self._scaler is not None:
            scalars.setdefault("loss_scale", float(self._scaler.get_scale()))
        self._collector.step(loss, **scalars)

    def close(self) -> None:
        """Finish the last step and take all hooks off; nothing is measured any more."""
        if not self._open:
            return
        self._open = False
        atexit.unregister(self.close)
        if self._collector is not None:
            self._collector.close()
        self._end_dump()
        self._recorder.close()
        self._rounded.close()
        self._let_go()

    def leave(self) -> None:
        """In a process that was forked: the training, its log and its alerts are the parent's."""
        if self._open:
            self._open, self._left = False, True
            self._dump = None
            atexit.unregister(self.close)
            if self._collector is not None:
                self._collector.leave()
            self._recorder.leave()
            self._let_go()

    def _let_go(self) -> None:
        """Whoever keeps this object keeps neither model nor optimizer alive by it."""
        self._model = self._collector = None

    def _say_left(self) -> None:
        if not self._said_left:
            self._said_left = True
            say("trends: step in a forked process: the trends are its parent's; make others here")

    def __enter__(self) -> Trends:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _take(self, values: StepValues) -> None:
        self._recorder.take(values)

    def _ended(self, clean: bool) -> None:
        """React to a step's alerts. `clean`: nothing of the next step has run yet."""
        self._end_twin()
        try:
            self._react(clean)
        except Exception as error:  # of the user's function, or a dump that cannot be made
            say(f"trends: on_alert: {type(error).__name__}: {error}")

    def _end_twin(self) -> None:
        """Nothing but its first steps is wanted of a twin."""
        collector = self._collector
        if self._twin is None or collector is None or not self._open:
            return
        if collector.step_number - self._first_step >= self._twin.steps:
            self.close()
            raise SystemExit(0)

    def _react(self, clean: bool) -> None:
        self._end_dump()
        if self._on_alert == "log":
            return
        alerts = self._recorder.found(wait=True)
        if callable(self._on_alert):
            for alert in alerts:
                self._on_alert(alert)
            return
        self._asked = self._open and (self._asked or bool(alerts))
        if self._asked and clean and self._collector is not None:
            self._asked = False
            self._begin_dump(self._collector.step_number)

    def _begin_dump(self, step: int) -> None:
        """Record a step whole, beside the trends."""
        if PrecisionDebugger.current is not None:
            say("trends: a PrecisionDebugger is there already, so the alert records no step")
            return
        self._dump = PrecisionDebugger(
            task="statistics", level="mix", dump_path=self.directory / DUMPS, step=[step]
        )
        self._dump.set_init_step(step)
        self._dump.start(self._model)

    def _end_dump(self) -> None:
        dump, self._dump = self._dump, None
        if dump is not None:
            dump.stop()
            dump.step()
            dump.close()


def _facts(model: Model, settings: Settings) -> dict[str, Any]:
    """What `run.json` says: the module tree in the model's order, and the settings."""
    parts: Sequence[nn.Module] = [model] if isinstance(model, nn.Module) else list(model)
    prefixes = [f"{i}." if len(parts) > 1 else "" for i in range(len(parts))]
    modules = [
        [prefix + clean_name(name), type(module).__name__]
        for prefix, part in zip(prefixes, parts, strict=True)
        for name, module in part.named_modules()
        if clean_name(name)
    ]
    activations = settings.activations
    return {
        "modules": modules,
        "world_size": _world_size(),
        "config": {
            "activations": activations if isinstance(activations, str) else list(activations or []),
            "every": dict(settings.every),
            "keep": settings.keep,
            "local": settings.local,
        },
    }


def _world_size() -> int:
    from torch import distributed

    ready = distributed.is_available() and distributed.is_initialized()
    return distributed.get_world_size() if ready else 1
