"""Finds the function that a recorded call names; no table of APIs is needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

from msprobe.acc_check.values import NotReproducible

Function = Callable[..., Any]


def find_function(prefix: str, api: str) -> Function:
    """The function behind `<prefix>.<api>`; raises NotReproducible where there is none.

    A dump may come from anywhere, so only what computes on tensors is found: no function that
    reads or writes files, no other module that a namespace happens to import.
    """
    for namespace in _namespaces(prefix):
        target = namespace
        for part in api.split(".") if prefix == "Aten" else [api]:
            target = getattr(target, part, None)
        if callable(target) and _computes(target):
            return target  # type: ignore[no-any-return]  # narrowed to a callable of anything
    raise NotReproducible(f"there is no {prefix}.{api} to run in torch {torch.__version__}")


_COMPILED = ("builtin_function_or_method", "method_descriptor", "wrapper_descriptor", "OpOverload")
_WRITTEN_IN = (
    *("torch.functional", "torch.nn.functional", "torch._tensor", "torch._jit_internal"),
    *("torch._VF", "torch._linalg_utils", "torch._C", "torch_npu"),
)
_NO_COMPUTATION = frozenset("from_file import_ir_module set_num_threads manual_seed".split())


def _computes(function: Function) -> bool:
    kind = type(function).__name__
    if kind.startswith(_COMPILED):
        return getattr(function, "__name__", "") not in _NO_COMPUTATION
    return str(getattr(function, "__module__", "")).startswith(_WRITTEN_IN)


def changes_arguments(api: str) -> bool:
    """Whether the name says that an argument is written to."""
    in_place = api.endswith("_") and not api.endswith("__")
    return in_place or api == "__setitem__" or (api.startswith("__i") and api in _IN_PLACE)


_IN_PLACE = frozenset(
    f"__i{name}__"
    for name in "add and div floordiv lshift mod mul or pow rshift sub xor truediv matmul".split()
)


def _namespaces(prefix: str) -> list[Any]:
    if prefix in _BY_PREFIX:
        return _BY_PREFIX[prefix]()
    raise NotReproducible(f"calls of {prefix} are not known here")


def _npu() -> list[Any]:
    try:
        return [import_module("torch_npu"), torch.ops.npu]
    except ImportError:
        raise NotReproducible("torch_npu is not installed here; run it on an NPU") from None


_BY_PREFIX: dict[str, Callable[[], list[Any]]] = {
    "Tensor": lambda: [torch.Tensor],
    "Torch": lambda: [torch, torch.linalg],
    "Functional": lambda: [torch.nn.functional, torch._C._nn],
    "VF": lambda: [torch._VF],
    "Aten": lambda: [torch.ops.aten],
    "NPU": _npu,
}
