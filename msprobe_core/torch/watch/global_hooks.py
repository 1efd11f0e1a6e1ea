"""Hooks on the calls of all modules of the process, and how they go without a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

_MARKS = ("_global_forward_hooks_with_kwargs", "_global_forward_hooks_always_called")


class GlobalHooks:
    """Calls `before` and `after` around each call of a module, `after` also when it has raised."""

    def __init__(
        self, before: Callable[..., Any], after: Callable[..., Any], with_kwargs: bool = False
    ) -> None:
        self._handles: list[Any] = [
            register_module_forward_pre_hook(before),
            register_module_forward_hook(after, with_kwargs=with_kwargs, always_call=True),
        ]

    def remove(self) -> None:
        """Take both off, and the marks that torch itself leaves behind for ever."""
        for handle in self._handles:
            handle.remove()
            for name in _MARKS:
                getattr(torch.nn.modules.module, name, {}).pop(handle.id, None)
        self._handles = []
