"""Brings the odd kinds of tensors to strided ones that can be measured and saved."""

from __future__ import annotations

import torch


class Unreadable(Exception):  # noqa: N818 - an outcome, not an error
    """A tensor without readable elements (meta device, fake tensors); the text says which."""


def _keys_of(tensor: torch.Tensor) -> int:
    return int(torch._C._dispatch_keys(tensor).raw_repr())


def _simple_keys() -> frozenset[int]:
    keys = {_keys_of(torch.empty(0)), _keys_of(torch.empty(0, requires_grad=True))}
    with torch.inference_mode():
        keys.add(_keys_of(torch.empty(0)))
    return frozenset(keys)


_SIMPLE = _simple_keys()
PLAIN = (torch.Tensor, torch.nn.Parameter)  # no wrapper around others


def is_simple(tensor: torch.Tensor) -> bool:
    """Whether the tensor is a plain strided one on the CPU, by its dispatch keys."""
    return torch._C._dispatch_keys(tensor).raw_repr() in _SIMPLE


def elements_of(tensor: torch.Tensor) -> torch.Tensor:
    """A strided tensor with the elements of an odd one; raises Unreadable.

    A distributed tensor gives its local part, a vmapped one its whole batch, a sparse one its
    stored elements, a quantised one (torchao's as well) the numbers that it stands for.
    """
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    tensor = _local(tensor)
    if tensor.device.type == "meta" or hasattr(tensor, "fake_mode"):
        raise Unreadable("no elements: meta or fake tensor")
    if tensor.is_quantized or type(tensor).dequantize is not torch.Tensor.dequantize:
        return tensor.dequantize()
    if hasattr(tensor, "get_original_weight"):  # NF4
        original: torch.Tensor = tensor.get_original_weight()
        return original
    if tensor.is_nested:
        return torch.cat([part.reshape(-1) for part in tensor.detach().unbind()])
    if tensor.layout is torch.sparse_coo:
        return tensor.detach().coalesce().values()
    if tensor.layout is not torch.strided:
        return tensor.detach().values()
    return tensor


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
        return [int(size) for size in tensor.shape]
    parts = [list(part.shape) for part in tensor.unbind()]
    if not parts:
        return [0]
    same = [sizes[0] if len(set(sizes)) == 1 else -1 for sizes in zip(*parts)]
    return [len(parts), *same]
