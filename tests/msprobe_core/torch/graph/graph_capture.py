"""A stand-in for CUDA graphs on the CPU: operations are noted once and replayed without Python.

As on a device, what is captured may neither wait for the host nor read from it; tensors that exist
before the capture are static buffers, and each replay writes into the tensors of the capture.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from msprobe_core.torch.graph import operators

_HOST = frozenset(
    {"_local_scalar_dense", "item", "equal", "is_nonzero", "nonzero", "_to_cpu", "lift_fresh"}
)


class HostCallError(Exception):
    """What is captured has asked the host."""


class GraphCapture(TorchDispatchMode):
    """Notes all operations of a `with`; `replay` runs them again."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[Callable[..., Any], Any, Any, list[Tensor]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        if func.namespace == "msprobe":  # the capture sees what an operator launches
            with self:
                return getattr(operators, name)(*args)
        if name in _HOST:
            raise HostCallError(str(func))
        result = func(*args, **(kwargs or {}))
        made = [each for each in tree_leaves(result) if isinstance(each, Tensor)]
        self.operations.append((func, args, kwargs or {}, made))
        return result

    def replay(self) -> None:
        with torch.no_grad():
            for func, args, kwargs, made in self.operations:
                again = [x for x in tree_leaves(func(*args, **kwargs)) if isinstance(x, Tensor)]
                for buffer, value in zip(made, again, strict=True):
                    if buffer.data_ptr() != value.data_ptr():
                        buffer.copy_(value)
