"""Tells where elements of a tensor are written without a sign in its version.

What is wrapped at `start` is put back at `stop`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch

from msprobe_core.capture.replacing import Replacements
from msprobe_core.capture.trace import Trace

_DATA = inspect.getattr_static(torch.Tensor, "data")
_KEEPING = "_unsafe_preserve_version_counter"


class KeptVersions:
    """Distrusts what is remembered of tensors that are written with their version put back.

    FSDP gathers parameters so, into memory that it has just allocated or emptied.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._replaced = Replacements()

    def start(self) -> None:
        """Wrap torch's context for such writes, where this version of torch has it."""
        original = getattr(torch.autograd, _KEEPING, None)
        if original is None or self._replaced:
            return

        @functools.wraps(original)
        def keeping(tensors: object) -> Any:  # noqa: ANN401
            _distrust(self._trace, tensors)
            return original(tensors)

        self._replaced.put(torch.autograd, _KEEPING, keeping)

    def stop(self) -> None:
        """Put the original back."""
        self._replaced.restore()


class UnseenWrites:
    """Distrusts what is remembered of a tensor whose elements were given away.

    Needed at level L0, where no function mode is there to see `.data` and `numpy()`.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._replaced = Replacements()

    def start(self) -> None:
        """Wrap `data`, `numpy` and `__array__`."""
        if self._replaced:
            return
        self._replaced.put(torch.Tensor, "data", property(self._get, self._set))
        for name in ("numpy", "__array__"):
            self._replaced.put(torch.Tensor, name, self._wrapped(getattr(torch.Tensor, name)))

    def stop(self) -> None:
        """Put the originals back."""
        self._replaced.restore()

    def _get(self, tensor: torch.Tensor) -> Any:  # noqa: ANN401
        _distrust(self._trace, tensor)
        return _DATA.__get__(tensor)

    def _set(self, tensor: torch.Tensor, value: torch.Tensor) -> None:
        _DATA.__set__(tensor, value)
        _distrust(self._trace, tensor)

    def _wrapped(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def given_away(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            _distrust(self._trace, tensor)
            return original(tensor, *args, **kwargs)

        return given_away


def _distrust(trace: Trace, value: object) -> None:
    try:
        with torch._C.DisableTorchFunction():
            trace.book.distrust(value)
    except Exception as error:  # nothing of this may reach the user's step
        trace.report("a tensor", error)
