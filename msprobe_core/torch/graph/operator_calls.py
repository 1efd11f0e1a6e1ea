"""Calls by the names of mindstudio-probe's graph mode: the operators that torch's dispatcher sees.

They are seen where they run: in eager code, in graphs of dynamo's that run as they are, and while a
device captures. What inductor compiles is recorded by its own passes.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from msprobe_core.torch.graph.operators import NAMESPACE, current_log
from msprobe_core.torch.graph.sites import STACKS, Owner, is_tracing, number_of
from msprobe_core.torch.graph.traced import record_call
from msprobe_core.torch.levels.kernels import is_kernel, operator_name


class OperatorCalls(TorchDispatchMode):
    """Records operators that run inside a module's call."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """True: torch takes the mode off while it compiles, and would not compile otherwise."""
        return True

    def __torch_dispatch__(
        self,
        func: Any,
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        caller = _caller(sys._getframe(1)) if _is_recorded(func) else None
        if caller is None or _is_inductors(caller):
            return func(*args, **kwargs)
        site = number_of(Owner(None, operator_name(func), STACKS.capture(caller, None, -1)))
        return record_call(site, func, args, kwargs, tuple(filter(_has_tensors, args)))


def _has_tensors(argument: object) -> bool:
    """Whether mindstudio-probe's graph mode gives an argument a place."""
    members = argument if isinstance(argument, (list, tuple)) else (argument,)
    return any(isinstance(each, torch.Tensor) for each in members)


def leave(mode: OperatorCalls) -> None:
    """Take the mode off; below a mode of the user's it stays, and hands calls on."""
    if _get_current_dispatch_mode() is mode:
        mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]  # torch has no types there


def _is_recorded(func: Any) -> bool:
    log = current_log()
    if log is None or not log.is_inside or not isinstance(func, torch._ops.OpOverload):
        return False
    return func.namespace != NAMESPACE and is_kernel(func) and not is_tracing()


_BETWEEN = (
    "torch._ops",
    "torch._compile",
    "torch._dynamo.",
    "torch._functorch._aot_autograd.",
    "torch.utils._python_dispatch",
    "torch.overrides",
    "msprobe_core.",
)


def _caller(frame: FrameType | None) -> FrameType | None:
    """The code that calls an operator, behind what torch and other modes put between."""
    while frame is not None and _module_of(frame).startswith(_BETWEEN):
        frame = frame.f_back
    return frame


def _is_inductors(caller: FrameType) -> bool:
    """Whether inductor wrote the calling code."""
    return _module_of(caller).startswith("torch._inductor.")


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))
