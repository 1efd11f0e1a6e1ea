"""All that watches a run, entered and left as one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Protocol

import torch

from msprobe_core.capture.threads import ThreadState
from msprobe_core.capture.trace import Trace
from msprobe_core.config import Config
from msprobe_core.torch.memory.unseen_writes import UnseenWrites
from msprobe_core.torch.names.call_site import call_sites
from msprobe_core.torch.parallel import OutermostCalls
from msprobe_core.torch.record.entries import untraced
from msprobe_core.torch.watch.backward_runs import BackwardRuns
from msprobe_core.torch.watch.calls import CallMode, call_mode_type
from msprobe_core.torch.watch.collectives import CollectiveWatch
from msprobe_core.torch.watch.custom_functions import CustomApis
from msprobe_core.torch.watch.gradients import GradientWatch
from msprobe_core.torch.watch.isolation import Isolation
from msprobe_core.torch.watch.modules import Model, ModuleWatch
from msprobe_core.torch.watch.regions import RegionWatch
from msprobe_core.torch.watch.replaced_functions import ReplacedFunctions
from msprobe_core.torch.watch.unlisted_calls import AutogradFunctions, unlisted_api


class _Watch(Protocol):
    """What is entered and left with a recording."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Capture:
    """The hooks and modes of one step; `start` and `stop` may alternate."""

    def __init__(
        self, config: Config, trace: Trace, custom: CustomApis, isolation: Isolation | None
    ) -> None:
        self._records_modules = config.records_modules
        self._threads = ThreadState()
        self._trace = trace
        self._gradients = GradientWatch(trace)
        self._regions = RegionWatch(self._threads, trace)
        self._mode: CallMode | None = None
        self._others: list[_Watch] = [UnseenWrites(trace, sees_calls=config.records_calls)]
        self._custom = custom
        if config.records_calls:
            self._watch_calls(config.risk_level)
        self._others.append(BackwardRuns(self._begin_pass, self._end_pass, self._mode))
        self.outermost = OutermostCalls(trace)
        self._modules = ModuleWatch(
            trace, self._threads, self._gradients, self._mode, isolation, self.outermost
        )
        self._single: ModuleWatch | None = None

    def start(self, model: Model | None) -> None:
        """Watch from here on."""
        if model is not None and self._records_modules:
            self._modules.start(model)
        elif model is not None:
            self._modules.start_borders(model)
        self._regions.start()
        for other in self._others:
            other.start()
        if self._mode is not None:
            self._custom.start(self._mode)
            self._mode.start()

    def stop(self) -> None:
        """Leave everything as it was before `start`."""
        if self._mode is not None:
            self._mode.stop()
        self._custom.stop()
        self.end_single()
        self._modules.stop()
        self._regions.stop()
        for other in self._others:
            other.stop()

    def begin_single(self, module: torch.nn.Module, name: str) -> None:
        """Record one module by a name of the user's, and nothing else, until `end_single`."""
        self.end_single()
        self._threads.muted = True
        self._single = ModuleWatch(self._trace, self._threads, self._gradients, None, None)
        self._single.start_single(module, name)

    def end_single(self) -> None:
        """Record everything again."""
        if self._single is not None:
            self._single.stop()
            self._single = None
        self._threads.muted = False

    def forget(self) -> None:
        """The step has ended: hold nothing of its graph."""
        self._gradients.forget()
        self._modules.forget()
        self.outermost.forget()

    def _begin_pass(self, roots: Sequence[object], gradients: Sequence[object]) -> None:
        try:
            with untraced():
                self._modules.begin_pass()
                self._gradients.begin_pass(roots, gradients)
        except Exception as error:  # nothing of this may reach the user's step
            self._trace.report("the start of a backward pass", error)

    def _end_pass(self) -> None:
        distributed = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            # What averages gradients over ranks is not seen: it runs below Python.
            self._trace.safely("a backward pass", self._trace.book.forget_gradients)

    def _watch_calls(self, risk_level: str) -> None:
        sites = call_sites(risk_level)
        make = call_mode_type()
        unlisted = unlisted_api if risk_level == "ALL" else None
        self._mode = make(
            self._trace, sites, self._threads, self._gradients, self._regions, unlisted
        )
        others: list[_Watch] = [
            CollectiveWatch(self._trace, self._threads, self._regions, risk_level),
            ReplacedFunctions(self._mode, risk_level),
        ]
        if risk_level == "ALL":
            others.append(AutogradFunctions(self._mode))
        self._others += others
