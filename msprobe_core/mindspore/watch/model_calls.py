"""Records some calls of the model only: `start(model, token_range=[first, last])`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindspore import nn

from msprobe_core.capture.replacing import Replacements
from msprobe_core.capture.trace import Trace


class TokenRange:
    """Counts the model's calls from 0 and watches those of the range."""

    def __init__(
        self,
        model: nn.Cell,
        first: int,
        last: int,
        switch_on: Callable[[nn.Cell], None],
        switch_off: Callable[[], None],
        trace: Trace,
    ) -> None:
        self._model, self._range = model, range(first, last + 1)
        self._on, self._off, self._trace = switch_on, switch_off, trace
        self._calls = 0
        self._replaced = Replacements()

    def is_for(self, model: nn.Cell, first: int, last: int) -> bool:
        """Whether this counts the calls of that model for that range: then it goes on counting."""
        return self._model is model and self._range == range(first, last + 1)

    def start(self) -> None:
        """Count from here on."""
        if not self._replaced:
            self._replaced.put(nn.Cell, "__call__", self._counted(nn.Cell.__call__))

    def stop(self) -> None:
        """Leave the class as it was."""
        self._replaced.restore()

    def _counted(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(cell: nn.Cell, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - torch asks for this name
            if cell is not self._model:
                return nn_call(cell, *args, **kwargs)
            number, self._calls = self._calls, self._calls + 1
            if number not in self._range:
                return inner(cell, *args, **kwargs)
            self._trace.safely("token_range", self._on, cell)
            try:
                return inner(cell, *args, **kwargs)
            finally:
                self._off()

        nn_call = inner
        return __call__
