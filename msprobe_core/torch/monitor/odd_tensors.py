"""A table of measurements in which one odd tensor is one missing number, said with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._C import _functorch

from msprobe_core.monitor.moments import Rows
from msprobe_core.torch.measure.strided import PLAIN, has_memory
from msprobe_core.torch.monitor.tensor_moments import MomentTable

LeftOut = Callable[[int, torch.Tensor | None, str], None]
"""Called with the place, the tensor (None when it is gone) and why it has no number."""
_WITHOUT_NUMBERS = frozenset({"FakeTensor", "FunctionalTensor"})
"""Subclasses that stand for a tensor while a program is traced."""


def why_unmeasured(tensor: torch.Tensor) -> str | None:
    """Why a tensor cannot be measured; None where it can, as far as its form tells."""
    if _functorch.maybe_current_level() is not None:
        # What is computed of it is a value of the transform and dies with it.
        return "inside a transform of torch.func, such as vmap, there are no numbers yet"
    if tensor.is_nested:
        return "nested tensors are not measured"
    if type(tensor).__name__ in _WITHOUT_NUMBERS:
        return f"a {type(tensor).__name__} has no numbers"
    if is_freed(tensor):
        return "its memory was freed"
    return None


def is_freed(tensor: torch.Tensor) -> bool:
    """Whether a plain tensor's memory is gone: to read an element of it would end the process."""
    is_plain = type(tensor) in PLAIN and tensor.layout is torch.strided
    return is_plain and not (tensor.is_meta or tensor._is_zerotensor() or has_memory(tensor))


class CarefulTable(MomentTable):
    """Never raises for what cannot be measured or read; `left_out` is told of it."""

    def __init__(self, zeros: bool, nonfinite: bool, eps: float, left_out: LeftOut) -> None:
        super().__init__(zeros, nonfinite, eps)
        self._left_out = left_out

    def put(self, place: int, tensor: torch.Tensor) -> bool:
        """Measure a tensor into a place; False for what has no moments or cannot be measured."""
        try:
            reason = why_unmeasured(tensor)
            if reason is None:
                return super().put(place, tensor)
        except Exception as error:  # told with the tensor that is left out
            reason = worded(error)
        self._left_out(place, tensor, reason)
        return False

    def read(self, count: int) -> Rows:
        """The rows of the places 0 to count - 1, without those that cannot be read."""
        try:
            return super().read(count)
        except Exception:  # one of thousands: the others are whole
            self._drop_unreadable()
            return super().read(count)

    def _drop_unreadable(self) -> None:
        for key, waiting in list(self._waiting.items()):
            each = len(waiting.scalars) // len(waiting.places)
            parts = [waiting.scalars[at : at + each] for at in range(0, len(waiting.scalars), each)]
            kept = [at for at, part in enumerate(parts) if self._is_readable(waiting, at, part)]
            waiting.scalars = [scalar for at in kept for scalar in parts[at]]
            waiting.places = [waiting.places[at] for at in kept]
            waiting.sizes = [waiting.sizes[at] for at in kept]
            if not kept:
                del self._waiting[key]

    def _is_readable(self, waiting: Any, at: int, scalars: list[torch.Tensor]) -> bool:
        try:
            torch.stack(scalars).to("cpu", torch.float64).tolist()
        except Exception as error:  # told with the tensor that is left out
            self._left_out(waiting.places[at], None, worded(error))
            return False
        return True


def worded(error: Exception) -> str:
    """An error in one line."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
