"""All that watches a run, entered and left as one."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

import torch

from msprobe_core.capture.threads import ThreadState
from msprobe_core.config import Config
from msprobe_core.errors import LifecycleError
from msprobe_core.torch.fast_paths import FastPaths
from msprobe_core.torch.intervene.graft import Graft
from msprobe_core.torch.intervene.isolation import Isolation
from msprobe_core.torch.levels.kernels import KernelCalls
from msprobe_core.torch.levels.npu_kernels import npu_kernels
from msprobe_core.torch.memory.memory_trace import MemoryTrace
from msprobe_core.torch.memory.unseen_writes import UnseenWrites
from msprobe_core.torch.memory.users_dispatch import UsersDispatch
from msprobe_core.torch.names.call_site import call_sites
from msprobe_core.torch.parallel import OptimizerWatch, OutermostCalls, parallel_header
from msprobe_core.torch.record.entries import untraced
from msprobe_core.torch.watch.backward_runs import BackwardRuns
from msprobe_core.torch.watch.calls import CallMode
from msprobe_core.torch.watch.collectives import CollectiveWatch
from msprobe_core.torch.watch.compiled_code import CompiledCode
from msprobe_core.torch.watch.custom_functions import CustomApis, CustomCalls
from msprobe_core.torch.watch.gradients import GradientWatch
from msprobe_core.torch.watch.model_modules import Model
from msprobe_core.torch.watch.modules import ModuleWatch
from msprobe_core.torch.watch.npu_functions import NpuFunctions
from msprobe_core.torch.watch.other_threads import OtherThreads
from msprobe_core.torch.watch.regions import RegionWatch
from msprobe_core.torch.watch.replaced_functions import ReplacedFunctions
from msprobe_core.torch.watch.token_range import TokenRange
from msprobe_core.torch.watch.unlisted_calls import AutogradFunctions, namer


class _Part(Protocol):
    """What hooks or replaces something of torch's for all threads, and takes it back."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class TorchWatch:
    """The hooks and modes of one step; `start` and `stop` may alternate.

    While compiled code runs in any thread, what concerns all threads is taken back. `_paused`
    counts the threads in it.
    """

    def __init__(
        self,
        config: Config,
        trace: MemoryTrace,
        custom: CustomApis,
        isolation: Isolation | None,
        graft: Graft | None = None,
    ) -> None:
        self._records_modules = config.records_modules
        self._threads = ThreadState()
        self._trace, self._isolation, self._graft = trace, isolation, graft
        self._gradients = GradientWatch(trace)
        self._optimizers = OptimizerWatch(trace)
        self._regions = RegionWatch(trace, self._optimizers)
        self._outermost = OutermostCalls(trace)
        self._mode = self._call_mode(config) if config.records_calls else None
        self._collectives: CollectiveWatch | None = None
        self._watches: list[_Part] = [
            UnseenWrites(trace, sees_calls=config.records_calls),
            UsersDispatch(trace),
        ]
        self._replaced: ReplacedFunctions | None = None
        if self._mode is not None:
            self._collectives = CollectiveWatch(
                trace, self._threads, self._regions, config.risk_level
            )
            self._replaced = ReplacedFunctions(self._mode, config.risk_level)
            self._watches += [
                FastPaths(),
                self._collectives,
                CustomCalls(custom, self._mode),
                self._replaced,
                NpuFunctions(self._mode),
                OtherThreads(self._mode),
            ]
            if config.risk_level == "ALL":
                self._watches.append(AutogradFunctions(self._mode))
        self._watches.append(BackwardRuns(self._begin_pass, self._begin_run, self._mode))
        self._modules = ModuleWatch(
            trace, self._threads, self._gradients, self._mode, isolation, self._outermost
        )
        self._modules.graft = graft
        if self._mode is not None:
            self._mode.graft = graft
        self._watches += [self._modules, self._regions]
        self._single: ModuleWatch | None = None
        self._compiled = CompiledCode(self._enter_compiled, self._leave_compiled)
        self._lock, self._paused, self._is_on = threading.Lock(), 0, False
        self._compiled_calls = 0

    def start(self, model: Model | None) -> None:
        """Watch from here on."""
        self._is_on = True
        self._threads.begin()
        if model is not None:
            self._modules.find(model, self._records_modules)
            self._optimizers.find(model)
        if self._replaced is not None:
            self._replaced.find()
        for watch in self._watches:
            watch.start()
        self._compiled.start()
        if self._mode is not None:
            self._mode.start()

    def stop(self) -> None:
        """Leave everything as it was before `start`, whatever of it fails."""
        self._is_on = False
        stops: list[Callable[[], None]] = [self._compiled.stop]
        if self._mode is not None:
            stops.append(self._mode.stop)
        stops.append(self.end_single)
        stops += [watch.stop for watch in reversed(self._watches)]  # some wrap what others did
        stops.append(self._modules.lose)
        if self._collectives is not None:
            stops.append(self._collectives.finish_all)
        for stop in stops:
            self._trace.safely("the end of a recording", stop)

    def count_calls(self, model: torch.nn.Module, first: int, last: int) -> TokenRange:
        """What watches those calls of the model alone, counted from 0; both ends are included."""
        return TokenRange(model, first, last, partial(self.start, model), self.stop, self._trace)

    def place(self, model: Model | None, parallel: Mapping[str, object] | None) -> str | None:
        """The axes of a parallel run that this process stands on, as JSON.

        Raises LifecycleError for what the user says of them.
        """
        try:
            return parallel_header(model, parallel)
        except LifecycleError:
            raise
        except Exception as error:  # what his parameters raise must not reach his step
            self._trace.report("the axes of a parallel run", error)
            return None

    def notes(self) -> dict[str, str]:
        """What dump.json says of the step beside its entries, as JSON by its key."""
        notes: dict[str, str] = {}
        if self._isolation is not None:
            notes["loaded"] = json.dumps(self._isolation.replaced)
        if self._graft is not None:
            notes["grafted"] = json.dumps(self._graft.replaced)
        notes |= self._outermost.notes()
        if self._compiled_calls:
            notes["compiled"] = json.dumps({"calls": self._compiled_calls})
        optimizer = self._optimizers.text()
        if optimizer is not None:
            notes["optimizer"] = optimizer
        return notes

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
            self._single.lose()
            self._single = None
        self._threads.muted = False

    def forget(self) -> None:
        """The step has ended: hold nothing of its graph."""
        self._gradients.forget()
        self._modules.forget()
        self._outermost.forget()

    def _enter_compiled(self) -> None:
        self._compiled_calls += 1
        self._trace.safely("compiled code", self._modules.enter_compiled)
        if self._mode is not None:
            self._mode.step_aside()
        with self._lock:
            self._paused += 1
            if self._paused == 1:
                for watch in reversed(self._watches):
                    self._trace.safely("compiled code", watch.stop)

    def _leave_compiled(self) -> None:
        with self._lock:
            self._paused -= 1
            if self._paused == 0 and self._is_on:
                for watch in self._watches:
                    self._trace.safely("compiled code", watch.start)
        if self._mode is not None and self._is_on:
            self._mode.come_back()

    def _begin_pass(self, roots: Sequence[object], gradients: Sequence[object]) -> None:
        try:
            with untraced():
                self._modules.begin_pass()
                self._gradients.begin_pass(roots, gradients)
        except Exception as error:  # nothing of this may reach the user's step
            self._trace.report("the start of a backward pass", error)

    def _begin_run(self) -> Callable[[], None]:
        end_of_gradients = self._gradients.begin_run()

        def end() -> None:
            end_of_gradients()
            distributed = sys.modules.get("torch.distributed")
            if (
                distributed is not None
                and distributed.is_available()
                and distributed.is_initialized()
            ):
                # What averages gradients over ranks is not seen: it runs below Python.
                self._trace.safely("a backward pass", self._trace.book.forget_gradients)

        return end

    def _call_mode(self, config: Config) -> CallMode:
        named = namer(config.custom_op_namespaces, config.risk_level)
        sites = call_sites(config.risk_level)
        given = (self._trace, sites, self._threads, self._gradients, self._regions, named)
        if config.records_kernels:
            return KernelCalls(*given, own=npu_kernels(self._trace.directory))
        return CallMode(*given)
