"""Brings the odd kinds of tensors to strided ones that can be measured and saved."""

from __future__ import annotations

import torch

from msprobe_core.torch.measure.storages import storage_place, storage_size


class Unreadable(Exception):  # noqa: N818 - an outcome, not an error
    """A tensor without readable elements (meta device, fake tensors); the text says which."""


def _keys_of(tensor: torch.Tensor) -> int:
    return int(torch._C._dispatch_keys(tensor).raw_repr())


def _simple_keys() -> frozenset[int]:
    keys = {_keys_of(torch.empty(0)), _keys_of(torch.empty(0, requires_grad=True))}
    with torch.inference_mode():
        keys.add(_keys_of(torch.empty(0)))
    return frozenset(keys)


SIMPLE = _simple_keys()
"""The dispatch keys, as a number, of plain strided tensors on the CPU."""
_dispatch_keys = torch._C._dispatch_keys
PLAIN = (torch.Tensor, torch.nn.Parameter)  # no wrapper around others


SUB_BYTE = {
    getattr(torch, f"{sign}int{bits}"): getattr(torch, f"{sign}int8")
    for sign in ("u", "")
    for bits in range(1, 8)
    if hasattr(torch, f"{sign}int{bits}")
}
"""Integers of less than eight bits, of which torch has no arithmetic, and what their bytes are."""


_ORIGINAL = ("get_original_weight", "to_original_precision")
"""What NF4 and the float8 tensors of torchao call the way back."""


def is_simple(tensor: torch.Tensor) -> bool:
    """Whether the tensor is a plain strided one on the CPU, by its dispatch keys."""
    return _dispatch_keys(tensor).raw_repr() in SIMPLE


OPAQUE = frozenset(
    getattr(torch, name)
    for name in (
        *("bits1x8", "bits2x4", "bits4x2", "bits8", "bits16", "float4_e2m1fn_x2"),
        *("qint8", "quint8", "qint32", "quint4x2", "quint2x4"),
    )
    if hasattr(torch, name)
)
"""Formats whose bytes are no numbers by themselves."""


def whole_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Integers of less than eight bits as integers of eight; any other tensor as it is."""
    whole = SUB_BYTE.get(tensor.dtype)
    return tensor if whole is None else tensor.view(whole)


_QUANTISED = {
    getattr(torch, name): whole
    for name, whole in (
        *(("qint8", torch.int8), ("quint8", torch.uint8), ("qint32", torch.int32)),
        *(("quint4x2", torch.uint8), ("quint2x4", torch.uint8)),
    )
    if hasattr(torch, name)
}


def plain_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor that can be copied and saved, with the same bytes.

    A plain tensor may have a format of quantised ones: torch copies none that has steps, and what
    it loads of one ends the process that reads it, as it has no scale.
    """
    whole = _QUANTISED.get(tensor.dtype)
    return whole_bytes(tensor) if whole is None or tensor.is_quantized else tensor.view(whole)


def elements_of(tensor: torch.Tensor) -> torch.Tensor:
    """A strided tensor with the elements of an odd one; raises Unreadable.

    A distributed tensor gives its local part, a vmapped one its whole batch, a sparse one its
    stored elements, a quantised one (torchao's as well) the numbers that it stands for, a masked
    one zeros where it is masked, another wrapper the one tensor of its format and shape in it.
    """
    values = _elements_of(tensor)
    if not has_memory(values):
        raise Unreadable("no elements: their memory was freed, or never was")
    return values


def has_memory(tensor: torch.Tensor) -> bool:
    """Whether all of a strided tensor's elements lie in memory that is there."""
    if tensor.device.type == "meta" or not torch._C._has_storage(tensor):
        return False
    if type(tensor) not in PLAIN and not is_simple(tensor):
        return False
    if not tensor.numel():
        return True
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    last = tensor.storage_offset() + sum((size - 1) * step for size, step in steps)
    return (last + 1) * tensor.element_size() <= storage_size(tensor) and _has_place(tensor)


def _elements_of(tensor: torch.Tensor) -> torch.Tensor:
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    tensor = _local(tensor)
    if tensor._is_zerotensor():  # it has a size and no place: forward-mode derivatives make them
        return torch.zeros(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    if tensor.device.type == "meta" or hasattr(tensor, "fake_mode"):
        raise Unreadable("no elements: meta or fake tensor")
    if tensor.is_quantized or type(tensor).dequantize is not torch.Tensor.dequantize:
        return tensor.dequantize()
    for name in _ORIGINAL:
        if hasattr(tensor, name):
            original: torch.Tensor = getattr(tensor, name)()
            return original
    if hasattr(tensor, "get_data") and hasattr(tensor, "get_mask"):
        data = tensor.get_data()
        return torch.where(tensor.get_mask(), data, torch.zeros_like(data))
    if tensor.is_nested or tensor.layout is not torch.strided:
        return _stored(tensor.detach())
    if type(tensor) in PLAIN or is_simple(tensor):
        return tensor
    return _wrapped(tensor)


def _stored(tensor: torch.Tensor) -> torch.Tensor:
    """The stored elements of a nested or sparse tensor, or of one in a library's own layout."""
    if tensor.is_nested:
        parts = [part.reshape(-1) for part in tensor.unbind()]
        none = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        return torch.cat(parts) if parts else none
    if tensor.is_mkldnn:
        return tensor.to_dense()
    if tensor.layout is torch.sparse_coo:
        return tensor.coalesce().values()
    return tensor.values()


def _wrapped(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of a wrapper that says nothing of them: those of the one tensor in it that has
    its format and shape.
    """
    held = vars(tensor).values()
    inner = [each for each in held if isinstance(each, torch.Tensor)]
    same = [each for each in inner if each.dtype is tensor.dtype and each.shape == tensor.shape]
    if len(same) == 1:
        return _elements_of(same[0])
    if not inner and _has_place(tensor):
        return tensor.as_subclass(torch.Tensor)
    raise Unreadable(f"no elements: {type(tensor).__name__} holds {len(same)} tensors like itself")


def _has_place(tensor: torch.Tensor) -> bool:
    """Whether a tensor has memory: the storage of a wrapper has a size and no place."""
    try:
        return bool(storage_place(tensor))
    except RuntimeError:
        return False


def _local(tensor: torch.Tensor) -> torch.Tensor:
    if type(tensor) in PLAIN:
        return tensor
    if hasattr(tensor, "_local_tensor") and hasattr(tensor, "to_local"):
        return _local(tensor._local_tensor)
    if hasattr(tensor, "trigger_wait"):  # a collective's result on its way has no memory of its own
        arrived: torch.Tensor = tensor.trigger_wait()
        return arrived
    return tensor


def shape_of(tensor: torch.Tensor) -> list[int]:
    """The shape of what is measured: a distributed tensor's local part.

    A ragged dimension of a nested tensor is -1.
    """
    tensor = _local(tensor)
    if not tensor.is_nested:
        return [_known(size) for size in tensor.shape]
    parts = [list(part.shape) for part in tensor.unbind()]
    if not parts:
        return [0]
    same = [sizes[0] if len(set(sizes)) == 1 else -1 for sizes in zip(*parts)]
    return [len(parts), *same]


def _known(size: int | torch.SymInt) -> int:
    """A size as a number: of a symbol the one it was traced with, as asking would fix it for good;
    -1 where it has none.
    """
    if type(size) is int:
        return size
    hint = getattr(size.node, "hint", None)  # type: ignore[union-attr]  # None has no hint
    return hint if isinstance(hint, int) else -1
