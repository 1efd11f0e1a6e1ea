"""Which parameters of a model, or parts of them, a tensor is that an optimizer updates.

Sharded optimizers update no parameter of the model: flat buffers of several, one rank's share of
each, copies in single precision. Which elements these are is told by FullyShardedDataParallel of
torch, by Megatron's `main_param`, and by the memory that a share and its parameter have in common.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import torch

Model = torch.nn.Module | Sequence[torch.nn.Module]
_WRAPPER = "_fsdp_wrapped_module."


class Piece(NamedTuple):
    """A run of an optimizer's tensor: `length` elements from `start`, in order of memory.

    They are those of the parameter `name` from `offset` on, which has `whole` elements.
    """

    name: str
    start: int
    offset: int
    length: int
    whole: int

    @property
    def is_share(self) -> bool:
        """Whether the parameter has more elements than these."""
        return self.length < self.whole

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """These elements of the optimizer's tensor, or of its gradient."""
        if self.start == 0 and self.length == tensor.numel():
            return tensor
        return tensor.detach().reshape(-1)[self.start : self.start + self.length]


class ParameterNames:
    """The names of a model's parameters, and of what optimizers update in their place."""

    def __init__(self, model: Model | None = None) -> None:
        self._named = list(_named(model))
        sizes = ((name, parameter, _size(parameter)) for name, parameter in self._named)
        self._pieces = {id(p): [Piece(n, 0, 0, size, size)] for n, p, size in sizes}
        self._pieces |= dict(_of_fully_sharded(model))

    def __bool__(self) -> bool:
        return bool(self._named)

    def pieces_of(self, tensors: Iterable[torch.Tensor]) -> Iterator[list[Piece]]:
        """What each tensor is of the parameters; nothing where no one tells.

        Others than the model's own are looked for anew in each call: an id that is free is given
        to another tensor.
        """
        found: _Elsewhere | None = None
        for tensor in tensors:
            known = self._pieces.get(id(tensor))
            if known is None:
                found = found or _Elsewhere(self._named)
                known = found.pieces_of(tensor)
            yield known


def _size(tensor: torch.Tensor) -> int:
    """The number of elements, without asking a subclass, which may raise."""
    with torch._C.DisableTorchFunctionSubclass():
        return torch.Tensor.numel(tensor)


def _named(model: Model | None) -> Iterator[tuple[str, torch.Tensor]]:
    if model is None:
        return
    if isinstance(model, torch.nn.Module):
        yield from model.named_parameters()
        return
    for index, part in enumerate(model):
        for name, parameter in part.named_parameters():
            yield f"{index}.{name}", parameter


# --- torch's FullyShardedDataParallel -----------------------------------------------------------


def _of_fully_sharded(model: Model | None) -> Iterator[tuple[int, list[Piece]]]:
    """The shards of flat parameters, and of the parameters that are views of them."""
    modules = [] if model is None else [model] if isinstance(model, torch.nn.Module) else [*model]
    for index, each in enumerate(modules):
        chunk = f"{index}." if len(modules) > 1 else ""
        for path, module in each.named_modules():
            flat: Any = getattr(getattr(module, "_handle", None), "flat_param", None)
            if flat is not None and hasattr(flat, "_shard_param_infos"):
                before = chunk + f"{path}.".replace(_WRAPPER, "").lstrip(".")
                yield from _of_flat(flat, before)


def _of_flat(flat: Any, before: str) -> Iterator[tuple[int, list[Piece]]]:
    pieces = []
    views = flat._params or [None] * len(flat._fqns)
    sizes = [shape.numel() for shape in flat._shapes]
    told = zip(flat._fqns, sizes, flat._shard_param_infos, views, strict=True)
    for name, whole, info, view in told:
        if not info.in_shard:
            continue
        place = (info.intra_param_start_idx, info.numel_in_shard, whole)
        pieces.append(Piece(before + name, info.offset_in_shard, *place))
        if view is not None:
            yield id(view), [Piece(before + name, 0, *place)]
    yield id(flat), pieces


# --- copies and shares of parameters ------------------------------------------------------------


class _Elsewhere:
    """Copies of parameters, and what shares memory with them, while all of them are alive.

    Of each storage its parameters stand in order, beside the furthest end of any before: those
    that a run of memory meets are found without asking all.
    """

    def __init__(self, named: Iterable[tuple[str, torch.Tensor]]) -> None:
        self._copied: dict[int, tuple[str, torch.Tensor]] = {}
        self._stored: dict[int, list[tuple[int, str, torch.Tensor]]] = defaultdict(list)
        for name, parameter in named:
            self._copied.setdefault(id(getattr(parameter, "main_param", None)), (name, parameter))
            if _is_plain(parameter):
                begin = parameter.data_ptr()
                storage = parameter.untyped_storage().data_ptr()
                self._stored[storage].append((begin, name, parameter))
        self._ends: dict[int, list[int]] = {}
        for storage, own in self._stored.items():
            own.sort(key=lambda one: one[0])
            ends = (begin + p.numel() * p.element_size() for begin, _, p in own)
            self._ends[storage] = list(accumulate(ends, max))

    def pieces_of(self, tensor: torch.Tensor) -> list[Piece]:
        """What a tensor is of the parameters."""
        name, parameter = self._copied.get(id(tensor), ("", tensor))
        if parameter is not tensor and getattr(parameter, "main_param", None) is tensor:
            own = _of_main_parameter(name, parameter, tensor)
            if own is not None:
                return [own]
        return list(self._in_memory(tensor)) if _is_plain(tensor) else []

    def _in_memory(self, tensor: torch.Tensor) -> Iterator[Piece]:
        """The parameters that share memory with a tensor, as they lie in it."""
        storage = tensor.untyped_storage().data_ptr()
        stored, ends = self._stored.get(storage, []), self._ends.get(storage, [])
        behind = tensor.data_ptr() + tensor.numel() * tensor.element_size()
        for begin, name, parameter in stored[bisect_right(ends, tensor.data_ptr()) :]:
            if begin >= behind:
                return
            run = _common_run(parameter, tensor)
            if run is not None:
                offset, start, length = run
                yield Piece(name, start, offset, length, parameter.numel())


def _of_main_parameter(name: str, parameter: torch.Tensor, tensor: torch.Tensor) -> Piece | None:
    """Megatron's copy of a parameter, or of this rank's share of one.

    A share is a run of elements; which one is told by the memory of what it was made of, else by
    its values, which are the parameter's before they were rounded.
    """
    length, whole = tensor.numel(), parameter.numel()
    offset = 0 if length == whole else _offset_in(parameter, tensor)
    return None if offset is None else Piece(name, 0, offset, length, whole)


def _offset_in(parameter: torch.Tensor, share: torch.Tensor) -> int | None:
    main_gradient, gradient = getattr(parameter, "main_grad", None), share.grad
    pairs: list[tuple[object, object]] = [(parameter, share), (main_gradient, gradient)]
    for whole, part in pairs:
        if isinstance(whole, torch.Tensor) and isinstance(part, torch.Tensor):
            run = _common_run(whole, part)
            if run is not None:
                return run[0]
    last = parameter.numel() - share.numel()
    flat, own = parameter.detach().reshape(-1), share.detach().to(parameter.dtype)
    for offset in (0, last):
        if torch.equal(flat[offset : offset + share.numel()], own.reshape(-1)):
            return offset
    return None


def _common_run(one: torch.Tensor, other: torch.Tensor) -> tuple[int, int, int] | None:
    """Where two tensors have the same memory: the place in either, and how many elements."""
    if one.dtype != other.dtype or not (_is_plain(one) and _is_plain(other)):
        return None
    ours, theirs = one.data_ptr(), other.data_ptr()
    begin = max(ours, theirs)
    size = one.element_size()
    end = min(ours + one.numel() * size, theirs + other.numel() * size)
    if ours == 0 or end <= begin:
        return None
    return (begin - ours) // size, (begin - theirs) // size, (end - begin) // size


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor has elements of its own, one behind the other in memory."""
    is_strided = tensor.layout == torch.strided and not hasattr(tensor, "_local_tensor")
    return is_strided and not tensor.is_meta and tensor.is_contiguous()
