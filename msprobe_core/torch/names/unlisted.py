"""Names of calls that are on no list, as risk level ALL writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from msprobe_core.torch.names.api_table import Api

OPERATORS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)
_PREFIXES = {
    "torch.nn.functional": "Functional",
    "torch._C._nn": "Functional",
    "torch._tensor": "Tensor",
}
_NO_CALLS = ("__get__", "__set__", "__delete__", "backward", "_set_grad_enabled")


def unlisted_api(func: Callable[..., Any]) -> Api | None:
    """The name of a function that is on no list; None for properties and the like."""
    if isinstance(func, OPERATORS):
        name = str(func).removeprefix("aten.")
        return Api("Aten", name, True)
    name = getattr(func, "__name__", "")
    if not name or name in _NO_CALLS:
        return None
    owner = getattr(func, "__objclass__", None)
    if owner is not None:
        return Api("Tensor", name, True)
    module = getattr(func, "__module__", None) or ""
    if str(getattr(func, "__qualname__", "")).startswith("Tensor."):
        return Api("Tensor", name, True)
    return Api(_PREFIXES.get(module, "Torch"), name, True)
