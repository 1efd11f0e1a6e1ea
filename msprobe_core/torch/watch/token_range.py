"""Records only some calls of the model: the tokens first to last of a generation loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from msprobe_core.capture.trace import Trace
from msprobe_core.torch.watch.global_hooks import GlobalHooks


class TokenRange:
    """Switches recording on before call `first` of the model and off after call `last`.

    Calls count from 0, as steps do; both ends are included.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        first: int,
        last: int,
        switch_on: Callable[[], None],
        switch_off: Callable[[], None],
        trace: Trace,
    ) -> None:
        self._model, self._first, self._last = model, first, last
        self._on, self._off, self._trace = switch_on, switch_off, trace
        self._count = -1
        self._handles: list[Any] = []

    def is_for(self, model: torch.nn.Module, first: int, last: int) -> bool:
        """Whether this counts the calls of that model for that range: then it goes on counting."""
        return self._model is model and (self._first, self._last) == (first, last)

    def start(self) -> None:
        """Count the model's calls from here on."""
        self._handles = [GlobalHooks(self._before, self._after)]

    def stop(self) -> None:
        """Count no longer."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _before(self, module: torch.nn.Module, _: object) -> None:
        if module is not self._model:
            return
        self._count += 1
        if self._count == self._first:
            self._trace.safely("the first call of token_range", self._on)

    def _after(self, module: torch.nn.Module, *_: object) -> None:
        if module is self._model and self._count == self._last:
            self._trace.safely("the last call of token_range", self._off)
