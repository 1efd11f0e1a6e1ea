"""Which functions are calls of interest, and what users call them.

They are found by rules in the MindSpore that is there, so that a new release needs no new list: all
public functions that compute on tensors, of the places where users find them.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mindspore import Tensor, mint, ops

# Modules of `mindspore.ops` whose functions compute nothing on tensors, or make other functions.
_NO_CALCULATION = (
    "mindspore.ops.composite",
    "mindspore.ops.function.comm_func",
    "mindspore.ops.function.debug_func",
    "mindspore.ops.function.grad",
    "mindspore.ops.function.parameter_func",
    "mindspore.ops.op_info_register",
    "mindspore.ops.operations._ms_kernel",
    "mindspore.ops.primitive",
    "mindspore.ops.vm_impl_registry",
)
# Methods that ask a tensor for something, set something up or hand its elements to Python.
# `astype` calls `to`, which is the name that users of mindstudio-probe know it by.
_NO_CALLS = frozenset(
    "astype asnumpy numpy item tolist itemset dim ndimension numel nelement stride size data_ptr "
    "storage storage_offset untyped_storage get_bytes flush_from_cache from_numpy hooks "
    "register_hook requires_grad_ retain_grad init_data init_empty set_ set_cast_dtype "
    "set_const_arg set_device_address set_dtype set_init_flag assign_value assign_value_cpp value "
    "is_complex is_contiguous is_floating_point is_init is_pinned is_shared is_signed pin_memory "
    "offload offload_file_path persistent_data_from_numpy wait_pipeline data_sync delete_ move_to "
    "to_coo to_csr to_dlpack".split()
)
_OPERATORS = frozenset(
    f"__{name}__"
    for name in (
        "abs add and eq floordiv ge getitem gt iadd ifloordiv imod imul invert isub itruediv le lt "
        "matmul mod mul ne neg or pos pow radd rfloordiv rmatmul rmod rmul rpow rsub rtruediv "
        "setitem sub truediv xor"
    ).split()
)
_COLLECTIVES = frozenset(
    "all_gather all_gather_into_tensor all_gather_object all_reduce all_to_all all_to_all_single "
    "barrier batch_isend_irecv broadcast broadcast_object_list gather gather_into_tensor irecv "
    "isend recv reduce reduce_scatter reduce_scatter_tensor scatter send".split()
)


@dataclass(frozen=True, slots=True)
class Space:
    """A place where users find functions: the prefix of their entries, and their names."""

    prefix: str
    owner: Any
    names: tuple[str, ...]


@lru_cache(maxsize=1)
def spaces() -> tuple[Space, ...]:
    """All places, with the functions that this release has in them."""
    functional, distributed = mint.nn.functional, mint.distributed
    return (
        Space("Tensor", Tensor, tuple(filter(_is_method, dir(Tensor)))),
        Space("Functional", ops, _functions(ops)),
        Space("Mint", mint, _functions(mint)),
        Space("MintFunctional", functional, _functions(functional)),
        Space("MintDistributed", distributed, _collectives(distributed)),
    )


def _functions(owner: Any) -> tuple[str, ...]:
    return tuple(name for name in dir(owner) if _is_calculation(name, getattr(owner, name)))


def _is_calculation(name: str, value: object) -> bool:
    if name.startswith("_") or not inspect.isfunction(value):
        return False
    return value.__module__.startswith("mindspore") and not value.__module__.startswith(
        _NO_CALCULATION
    )


def _is_method(name: str) -> bool:
    if name.startswith("_"):
        return name in _OPERATORS
    method = inspect.getattr_static(Tensor, name)
    return (
        name not in _NO_CALLS
        and not name.startswith(("new_", "is"))
        and (inspect.isfunction(method) or inspect.ismethoddescriptor(method))
        and not isinstance(method, (staticmethod, classmethod))
    )


def _collectives(owner: Any) -> tuple[str, ...]:
    return tuple(name for name in dir(owner) if name in _COLLECTIVES)
