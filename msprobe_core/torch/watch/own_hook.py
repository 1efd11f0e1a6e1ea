"""A hook on a user's module that is neither copied nor saved with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_TABLES = ("_forward_pre_hooks", "_forward_hooks")
_MARKS = (
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
)


class OwnHook:
    """Calls a function; in a copy of its module it does nothing."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    def __deepcopy__(self, _: object) -> OwnHook:
        return OwnHook(_nothing)

    def __reduce__(self) -> tuple[type[OwnHook], tuple[Callable[..., None]]]:
        return OwnHook, (_nothing,)


_state_of = vars(torch.nn.Module).get("__getstate__", lambda module: module.__dict__.copy())


def state_without_own_hooks(module: torch.nn.Module) -> dict[str, Any]:
    """What a module is copied and saved by (`Module.__getstate__`), without the hooks of ours."""
    state: dict[str, Any] = _state_of(module)
    tables = {name: state.get(name) or {} for name in _TABLES}
    own = {key for hooks in tables.values() for key in hooks if type(hooks[key]) is OwnHook}
    for name in (*_TABLES, *_MARKS) if own else ():
        hooks = state.get(name)
        if hooks:
            state[name] = type(hooks)((k, hook) for k, hook in hooks.items() if k not in own)
    return state


def _nothing(*_: object) -> None:
    """Watches nothing."""
