"""Puts the hooks of graph mode on a module, and takes them off for a while in their place.

`nn.TransformerEncoderLayer` has a fast path in evaluation, whose numbers are others, and leaves it
where it or a module in it has hooks: there `forward` is replaced on the instance.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType
from typing import Any

import torch
from torch import nn

from msprobe_core.torch.graph.traced import ModuleHooks, run_as_it_is

_TABLES = ("_forward_pre_hooks", "_forward_hooks")
_MARKS = ("_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs")
_FORWARD = "forward"


class ModuleMarks:
    """The hooks of one module, from the beginning on."""

    def __init__(self, module: nn.Module, hooks: ModuleHooks, by_forward: bool) -> None:
        self._module = module
        self._handles: list[Any] = []
        self._forward: Any = None
        self._aside: dict[str, list[tuple[int, Any]]] = {}
        if by_forward:
            self._replace_forward(hooks)
        else:
            self._handles = [
                module.register_forward_pre_hook(hooks.before, with_kwargs=True),
                module.register_forward_hook(hooks.after, with_kwargs=True),
            ]

    def set_aside(self) -> None:
        """Take the hooks off until `put_back`."""
        if self._forward is not None:
            self._take_forward_off()
            return
        own = {handle.id for handle in self._handles}
        for name in (*_TABLES, *_MARKS):
            table = getattr(self._module, name)
            self._aside[name] = list(table.items())
            for key in own & table.keys():
                del table[key]

    def put_back(self) -> None:
        """Have the hooks where they were, before those that came later."""
        if self._forward is not None:
            vars(self._module)[_FORWARD] = self._forward
            return
        own = {handle.id for handle in self._handles}
        for name, before in self._aside.items():
            table = getattr(self._module, name)
            now = dict(table)
            kept = {key: hook for key, hook in before if key in own or key in now}
            table.clear()
            table.update({**kept, **now})
        self._aside.clear()

    def remove(self) -> None:
        """Take the hooks off for good."""
        self._take_forward_off()
        for handle in self._handles:
            handle.remove()

    def _replace_forward(self, hooks: ModuleHooks) -> None:
        own = vars(self._module).get(_FORWARD)
        if own is not None:  # somebody else's; whatever it calls has no hooks of ours
            return
        forward = type(self._module).forward

        def recorded(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            given = hooks.before(module, args, kwargs)
            if given is not None:
                args, kwargs = given
            result = forward(module, *args, **kwargs)
            hooks.after(module, args, kwargs, result)
            return result

        run_as_it_is(recorded.__code__)
        self._forward = MethodType(recorded, self._module)
        vars(self._module)[_FORWARD] = self._forward

    def _take_forward_off(self) -> None:
        if self._forward is not None and vars(self._module).get(_FORWARD) is self._forward:
            del vars(self._module)[_FORWARD]


def asking_for_hooks(root: nn.Module) -> Iterator[nn.Module]:
    """The modules below a root whose hooks torch asks for before it chooses its way."""
    for module in root.modules():
        if isinstance(module, nn.TransformerEncoderLayer):
            yield from module.modules()


_state_of = vars(torch.nn.Module).get("__getstate__", lambda module: module.__dict__.copy())


def state_without_own_forward(module: nn.Module) -> dict[str, Any]:
    """What a module is copied and saved by (`Module.__getstate__`), without a `forward` of ours:
    its copy has its class's.
    """
    state: dict[str, Any] = _state_of(module)
    function = getattr(state.get(_FORWARD), "__func__", None)
    if getattr(function, "__module__", None) == __name__:
        del state[_FORWARD]
    return state
