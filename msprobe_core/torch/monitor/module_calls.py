"""Tells of the calls of followed modules by one hook on all modules of the process.

Nothing lies on the modules themselves: they are copied, saved, scripted and exported as if nobody
followed them, and a copy is not followed. While compiled code runs the hook is off, so that it is
compiled as it would be alone; what it computes is not looked into.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from msprobe_core.torch.watch.compiled_code import CompiledCode

Before = Callable[[nn.Module, tuple[Any, ...]], object]
After = Callable[[nn.Module, tuple[Any, ...], dict[str, Any], Any], object]
"""Called with the module, its arguments, those by keyword and what it returned; raises nothing."""

_MARKS = ("_global_forward_hooks_with_kwargs", "_global_forward_hooks_always_called")


class ModuleCalls:
    """Calls functions before and after the calls of some modules, until `close`."""

    def __init__(self) -> None:
        # By identity: the module stands beside it, so that none is taken for one that has died.
        self._before: dict[int, tuple[nn.Module, list[Before]]] = {}
        self._after: dict[int, tuple[nn.Module, list[After]]] = {}
        self._around: list[tuple[Callable[[], object], Callable[[], object]]] = []

    def before(self, module: nn.Module, function: Before) -> None:
        """Call a function before each call of a module."""
        self._before.setdefault(id(module), (module, []))[1].append(function)
        _switch.add(self)

    def after(self, module: nn.Module, function: After) -> None:
        """Call a function after each call of a module that has not raised."""
        self._after.setdefault(id(module), (module, []))[1].append(function)
        _switch.add(self)

    def around_compiled(self, begins: Callable[[], object], ends: Callable[[], object]) -> None:
        """Call functions where compiled code begins and ends."""
        self._around.append((begins, ends))
        _switch.add(self)

    def close(self) -> None:
        """Follow no module any more."""
        self._before, self._after, self._around = {}, {}, []
        _switch.remove(self)

    def begins(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        """Torch is about to call a module, followed or not."""
        for function in self._before.get(id(module), _NOBODY)[1]:
            function(module, args)

    def ends(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: object
    ) -> None:
        """Torch has called a module, followed or not."""
        for function in self._after.get(id(module), _NOBODY)[1]:
            function(module, args, kwargs, output)

    @property
    def follows(self) -> bool:
        """Whether it is told of any module's calls."""
        return bool(self._before or self._after)

    def awaits(self, module: nn.Module) -> bool:
        """Whether the end of a module's calls is asked for."""
        return id(module) in self._after

    def compiled(self, which: int) -> None:
        """Compiled code begins (0) or has ended (1)."""
        for around in self._around:
            around[which]()


_NOBODY: tuple[None, tuple[()]] = (None, ())


class _Switch:
    """The hooks for all that follow, and when they are off."""

    def __init__(self) -> None:
        self._following: list[ModuleCalls] = []
        self._handles: list[Any] = []
        # Calls that run, and of whose ends is told behind their modules' own hooks.
        self._behind: list[tuple[nn.Module, object]] = []
        self._compiled = CompiledCode(self._begin_compiled, self._end_compiled)

    def add(self, calls: ModuleCalls) -> None:
        if calls not in self._following:
            self._following = [*self._following, calls]
        if len(self._following) == 1:
            self._compiled.start()
        self._on()

    def remove(self, calls: ModuleCalls) -> None:
        if calls not in self._following:
            return
        self._following = [each for each in self._following if each is not calls]
        if not self._following:
            self._off()
            self._compiled.stop()

    def _begin_compiled(self) -> None:
        self._off()
        for calls in self._following:
            calls.compiled(0)

    def _end_compiled(self) -> None:
        for calls in self._following:
            calls.compiled(1)
        self._on()

    def _on(self) -> None:
        asked = any(calls.follows for calls in self._following)
        if asked and not self._handles and not self._compiled.runs:
            self._handles = [
                register_module_forward_pre_hook(self._begins),
                register_module_forward_hook(self._ends, with_kwargs=True),
            ]

    def _off(self) -> None:
        for handle in self._handles:
            handle.remove()
            for name in _MARKS:  # torch leaves them behind
                getattr(nn.modules.module, name, {}).pop(handle.id, None)
        self._handles = []

    def _begins(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        if torch.compiler.is_compiling():
            return
        for calls in self._following:
            calls.begins(module, args)
        if module._forward_hooks and any(calls.awaits(module) for calls in self._following):
            self._end_behind_hooks(module)

    def _ends(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: object
    ) -> None:
        if torch.compiler.is_compiling() or any(one[0] is module for one in self._behind):
            return
        self._tell_end(module, args, kwargs, output)

    def _end_behind_hooks(self, module: nn.Module) -> None:
        """Be told of this call behind the module's own hooks, which may change what it puts out.

        Torch runs hooks of the process before those. What raises has not ended; of a module that
        calls itself the innermost call ends first.
        """
        handled, call = sys.exc_info()[1], (module, object())

        def ends(
            module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: object
        ) -> None:
            if call is not next(one for one in reversed(self._behind) if one[0] is module):
                return
            handle.remove()
            self._behind.remove(call)
            if sys.exc_info()[1] is handled:
                self._tell_end(module, args, kwargs, output)

        self._behind.append(call)
        handle = module.register_forward_hook(ends, with_kwargs=True, always_call=True)

    def _tell_end(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: object
    ) -> None:
        for calls in self._following:
            calls.ends(module, args, kwargs, output)


_switch = _Switch()
