"""Where MindSpore keeps what a recording asks of it beside its public names.

Read in MindSpore 2.7.1 to 2.10.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from mindspore import Tensor, get_context

try:  # from 2.9 on
    from mindspore.graph.api import _no_grad, _pynative_executor
except ImportError:
    from mindspore.common.api import _no_grad, _pynative_executor  # 2.7.1, 2.8

executor: Any = _pynative_executor


class _Own(threading.local):
    depth = 0
    """Above 0 while a thread records: what it calls of MindSpore then is nobody's step."""


_own = _Own()


class Untraced:
    """What this thread runs inside is recorded by nobody."""

    def __enter__(self) -> None:
        _own.depth += 1

    def __exit__(self, *raised: object) -> None:
        _own.depth -= 1


untraced = Untraced()


def is_recording_itself() -> bool:
    """Whether this thread runs code of the recording."""
    return _own.depth > 0


def summed(one: Any, other: Any) -> Any:
    """The sum of two tensors, which leaves no trace in autograd.

    On the CPU NumPy adds: to the same bits, since one addition is rounded once, and without a
    kernel of MindSpore's that would be waited for in the middle of its backward pass.
    """
    with untraced, _no_grad():
        if get_context("device_target") == "CPU":
            arrays = one.asnumpy(), other.asnumpy()
            if all(array.dtype.kind == "f" for array in arrays):
                return Tensor(np.add(*arrays))
        return one + other


def keeps_gradients() -> bool:
    """Whether what runs now will have gradients: inside `value_and_grad` and the like."""
    return bool(executor.requires_grad())


def current_pass() -> object:
    """What tells the running backward pass from others; None outside of any."""
    told = getattr(executor, "get_current_autodiff_engine_id", None)
    return None if told is None else told()


def at_the_end_of_the_pass(run: Any) -> None:
    """Call a function when the running backward pass has ended."""
    executor.queue_backward_final_callback(run)
