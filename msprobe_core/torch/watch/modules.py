"""Records module calls through torch's global module hooks: nothing is put on the modules.

Models stay what they were for deepcopy, pickle and scripting.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.replacing import Replacements
from msprobe_core.capture.threads import ThreadState
from msprobe_core.capture.trace import Trace
from msprobe_core.format import module_entry
from msprobe_core.report import say
from msprobe_core.torch.intervene.graft import Graft
from msprobe_core.torch.intervene.isolation import Isolation
from msprobe_core.torch.names.frame_locals import local_of
from msprobe_core.torch.parallel import OutermostCalls
from msprobe_core.torch.record.entries import (
    close_forward,
    guarded,
    untraced,
    write_input,
    write_output,
)
from msprobe_core.torch.watch.calls import CallMode
from msprobe_core.torch.watch.global_hooks import GlobalHooks
from msprobe_core.torch.watch.gradients import GradientWatch
from msprobe_core.torch.watch.model_modules import (
    Model,
    named_modules,
    say_what_is_not_seen,
    with_parameters,
)
from msprobe_core.torch.watch.own_hook import OwnHook, state_without_own_hooks
from msprobe_core.torch.watch.parameter_gradients import ParameterWatch
from msprobe_core.torch.watch.running_module import CompiledBorder, RunningModule
from msprobe_core.values.text import quoted


class ModuleWatch:
    """Hooks all module calls of the process and records those of the started models."""

    def __init__(
        self,
        trace: Trace,
        threads: ThreadState,
        gradients: GradientWatch,
        mode: CallMode | None,
        isolation: Isolation | None,
        outermost: OutermostCalls | None = None,
    ) -> None:
        self._mode, self._isolation, self._outermost = mode, isolation, outermost
        self._single = False
        self.graft: Graft | None = None
        self._trace, self._threads, self._gradients = trace, threads, gradients
        self._parameters = ParameterWatch(trace)
        self._paths: dict[int, tuple[str, torch.nn.Module]] = {}
        self._compiled: list[tuple[torch.nn.Module, str]] = []
        self._replaced = Replacements()
        self._late: set[int] = set()
        self._late_handles: list[Any] = []
        self._handles: list[Any] = []
        self._all_modules: list[tuple[torch.nn.Module, str]] = []

    def find(self, model: Model, recorded: bool) -> None:
        """Take the modules of a model, or of each model of a list: `start` watches them."""
        say_what_is_not_seen(model)
        if not recorded:
            return
        self._paths = {id(module): (path, module) for path, module in named_modules(model)}
        self._all_modules = [*with_parameters(model)]
        self._compiled = [
            (module, path)
            for path, module in self._paths.values()
            if module._compiled_call_impl is not None
        ]
        if self._isolation is not None:
            for path in self._isolation.missing({path for path, _ in self._paths.values()}):
                say(f"load: the model has no module {path!r}; nothing is loaded for it")

    def start_single(self, module: torch.nn.Module, name: str) -> None:
        """Watch one module alone, under a name of the user's."""
        self._paths = {id(module): (name, module)}
        self._single = True
        self.start()

    def start(self) -> None:
        """Hook all module calls, if there are modules to watch."""
        if not self._paths or self._handles:
            return
        for module, path in self._compiled:
            compiled: Any = module._compiled_call_impl
            call = self._with_border(module, path, compiled)
            self._replaced.put(module, "_compiled_call_impl", call)
        self._come_after_the_users_hooks()
        self._handles = [GlobalHooks(self._before, self._after, with_kwargs=True)]

    def _come_after_the_users_hooks(self) -> None:
        """Torch runs global hooks before a module's own: of a module with such, what it receives
        and returns is taken by hooks behind them.
        """
        if self._single:
            return
        for _, module in self._paths.values():
            if module._forward_pre_hooks or module._forward_hooks:
                self._late.add(id(module))
                before, after = OwnHook(self._before_late), OwnHook(self._after_late)
                self._late_handles += [
                    module.register_forward_pre_hook(before, with_kwargs=True),
                    module.register_forward_hook(after, with_kwargs=True, always_call=True),
                ]
        if self._late:
            self._replaced.put(torch.nn.Module, "__getstate__", state_without_own_hooks)

    def stop(self) -> None:
        """Remove the hooks."""
        for handle in [*self._handles, *self._late_handles]:
            handle.remove()
        self._handles, self._late_handles = [], []
        self._replaced.restore()

    def lose(self) -> None:
        """Watch no module any more; what is still running of them has no end."""
        local = self._threads.local
        while local.open:
            running = local.open.pop()
            self._trace.safely(running.call.forward, self._end_without_result, running)
        local.running.clear()
        self._paths, self._compiled, self._late = {}, [], set()

    def enter_compiled(self) -> None:
        """Compiled code begins: the module that it is has been called, if it is one."""
        borders = self._threads.local.borders
        if not borders or borders[-1].running is not None or self._is_quiet():
            return
        border = borders[-1]
        self._begin_safely(border.path, border.module, border.args, border.kwargs)
        border.running = self._threads.local.open[-1]

    def _with_border(
        self, module: torch.nn.Module, path: str, compiled: Callable[..., Any]
    ) -> Callable[..., Any]:
        """The call of a module that is compiled in place, recorded from outside.

        No hook tells of it: torch runs them inside, where the code that was compiled before has
        none. Where torch runs it call by call after all, hooks do tell.
        """

        @functools.wraps(compiled)
        def call(*args: Any, **kwargs: Any) -> Any:
            local, result = self._threads.local, None
            border = CompiledBorder(path, module, args, kwargs)
            local.borders.append(border)
            try:
                result = compiled(*args, **kwargs)
            finally:
                local.borders.pop()
                if border.running is not None:
                    self._after(module, result)
            return result

        return call

    def begin_pass(self) -> None:
        """Before autograd runs: watch the parameters that no call of their module has shown."""
        for module, path in self._all_modules:
            self._parameters.watch(module, path, None)

    def forget(self) -> None:
        """The step has ended: hold nothing of its graph."""
        self._parameters.forget()
        self._all_modules = []

    def _before(self, module: torch.nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        known = self._paths.get(id(module))
        if known is None or id(module) in self._late or self._is_quiet():
            return None
        frame = _frame_of_call()
        kwargs: Any = {} if frame is None else local_of(frame, "kwargs") or {}
        return self._begin_safely(known[0], module, args, kwargs)

    def _before_late(
        self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """As `_before`, after the user's own hooks of the module."""
        known = self._paths.get(id(module))
        if known is None or self._is_quiet():
            return None
        fresh = self._begin_safely(known[0], module, args, kwargs)
        return None if fresh is None else (fresh, kwargs)

    def _begin_safely(
        self, path: str, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...] | None:
        try:
            with untraced():
                return self._begin(path, module, args, kwargs)
        except Exception as error:  # nothing of this may reach the user's step
            self._trace.report(f"Module.{path}", error)
            return None

    def _is_quiet(self) -> bool:
        muted = self._threads.muted and not self._single
        return bool(self._threads.local.quiet or muted or not self._handles or self._trace.closed)

    def _begin(
        self, path: str, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...] | None:
        trace, local = self._trace, self._threads.local
        frame = _frame_of_call()
        kind = type(module).__name__
        number = trace.next_call(f"{path}.{kind}")
        while local.open and local.open[-1].is_over:
            local.running.pop()
            self._end_without_result(local.open.pop())
        parent = local.running[-1] if local.running else None
        call = ModuleCall(
            module_entry(path, kind, number, "forward"),
            module_entry(path, kind, number, "backward"),
            parent,
        )
        fresh: tuple[Any, ...] | None = None
        if self._isolation is not None and self._isolation.concerns(path):
            fresh = args = self._isolation.replace(call.forward, args, kwargs)
        if self.graft is not None and self.graft.concerns(call.forward):
            self.graft.parameters(call.forward, path, module)
            fresh, kwargs_too = self.graft.inputs(call.forward, args, kwargs)
            kwargs.update(kwargs_too)
        selection = trace.selection
        if parent is None and self._outermost is not None:
            self._outermost.note(call.forward, args, kwargs)
        for_forward = parent is not None and parent.picked_forward
        for_backward = parent is not None and parent.picked_backward
        call.picked_forward = for_forward or selection.expands(call.forward)
        call.picked_backward = for_backward or selection.expands(call.backward)
        selection.enter(call.forward)
        entry: Entry | None = None
        stack = trace.capture_stack(frame, parent)
        if selection.forward and selection.wants(call.forward, call.picked_forward):
            entry = Entry(call.forward, stack)
            trace.modes.note(call.forward, module.training)
            write_input(trace, entry, args, kwargs)
        if frame is not None:
            call.base_frame = frame.f_back
            call.base_stack = trace.capture_stack(frame.f_back, parent)
        begun = self._gradients.begin_module([*args, *kwargs.values()])
        local.running.append(call)
        running = RunningModule(module, call, entry, begun)
        running.frame = frame
        running.entered = self._mode is not None and self._mode.enter_again()
        local.open.append(running)
        return fresh

    def _after(
        self,
        module: torch.nn.Module,
        *rest: Any,
    ) -> Any:
        local = self._threads.local
        if id(module) not in self._paths or not local.open or self._is_quiet():
            return None
        result = rest[-1]
        try:
            with untraced():
                if id(module) in self._late and local.open[-1].module is module:
                    self._keep_parameters(local.open[-1])
                    return None
                result = self._grafted(module, rest)
                self._end_of(module, result)
        except Exception as error:  # nothing of this may reach the user's step
            self._trace.report(f"Module.{self._paths[id(module)][0]}", error)
        return None if result is rest[-1] else result

    def _after_late(self, module: torch.nn.Module, *rest: Any) -> Any:
        """As `_after`, after the user's own hooks of the module."""
        local = self._threads.local
        if id(module) not in self._paths or not local.open or self._is_quiet():
            return None
        result = rest[-1]
        try:
            with untraced():
                result = self._grafted(module, rest)
                self._end_of(module, result)
        except Exception as error:  # nothing of this may reach the user's step
            self._trace.report(f"Module.{self._paths[id(module)][0]}", error)
        return None if result is rest[-1] else result

    def _grafted(self, module: torch.nn.Module, rest: tuple[Any, ...]) -> Any:
        """What a module returns, from the other dump where the `graft` section says so."""
        running = self._threads.local.open[-1]
        if self.graft is None or running.module is not module:
            return rest[-1]
        return self.graft.output(running.call.forward, rest[0], rest[-1])

    def _end_of(self, module: torch.nn.Module, result: object) -> None:
        """End a call, and those inside it whose end an exception has skipped."""
        local = self._threads.local
        while local.open:
            running = local.open.pop()
            local.running.pop()
            self._end(running, result if running.module is module else None)
            if running.module is module:
                return

    def _keep_parameters(self, running: RunningModule) -> None:
        # FSDP's own hook frees them before the late one comes.
        self._parameters.watch(running.module, self._paths[id(running.module)][0], running.call)
        if running.entry is not None:
            running.parameters = Entry(running.entry.name)
            self._write_parameters(running.parameters, running.module)

    def _write_parameters(self, entry: Entry, module: torch.nn.Module) -> None:
        guarded(self._trace, entry, '"parameters": {}', _fill_parameters, module)

    def _end_without_result(self, running: RunningModule) -> None:
        running.call.base_frame = None
        if running.entered and self._mode is not None:
            self._mode.leave()
        if running.entry is not None:
            close_forward(self._trace, running.entry)
        self._trace.place_module(running.call, backward=False)

    def _end(self, running: RunningModule, result: object) -> None:
        trace, call = self._trace, running.call
        caller, call.base_frame = call.base_frame, None
        if running.entered and self._mode is not None:
            self._mode.leave()
        entry = running.entry
        if entry is not None:
            write_output(trace, entry, result)
            if running.parameters is None:
                self._write_parameters(entry, running.module)
            else:
                entry.parts += [", ", *running.parameters.parts]
                entry.abnormal |= running.parameters.abnormal
            close_forward(trace, entry)
        trace.place_module(call, backward=False)
        trace.selection.leave(call.forward)
        path = self._paths.get(id(running.module))
        if path is not None and id(running.module) not in self._late:
            self._parameters.watch(running.module, path[0], call)
        self._gradients.watch_module(call, running.begun, result, caller)


def _frame_of_call() -> FrameType | None:
    """The frame in which torch.nn.Module runs the hooks of a call, whatever wraps them."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != torch.nn.modules.module.__file__:
        frame = frame.f_back
    return frame


def _fill_parameters(trace: Trace, entry: Entry, module: torch.nn.Module) -> None:
    entry.parts.append('"parameters": {')
    present = {name: value for name, value in module._parameters.items() if value is not None}
    for position, (name, value) in enumerate(present.items()):
        entry.parts.append(f"{', ' if position else ''}{quoted(name)}: ")
        trace.arguments.value(value, f"{entry.name}.parameters", name, entry.parts)
    entry.parts.append("}")
