"""Runs a call at a place: forward, and backward where it was recorded, on copies of its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from msprobe.acc_check.framework import Place, Results, Watch
from msprobe.acc_check.functions import Function, changes_arguments
from msprobe.acc_check.inputs import Inputs, Tree

_LARGEST_STATISTICS = 1 << 16
_WIDE = {torch.complex32: torch.complex128, torch.complex64: torch.complex128}


def run(
    function: Function, api: str, inputs: Inputs, place: Place, watch: Watch | None = None
) -> Results:
    """Run once; `watch` gets the storages of the inputs and is entered around the computation.

    Raises whatever the call raises.
    """
    copies = _Copies(inputs, place)
    called = torch.compile(function, dynamic=False) if place.compiled else function
    clone = inputs.has_backward and changes_arguments(api)
    args, kwargs = copies.handed_in(clone_leaves=clone)
    before = torch.get_rng_state()
    versions = {path: tensor._version for path, tensor in copies.handed.items()}
    watched = watch(copies.storages()) if watch is not None else nullcontext()
    with torch.set_grad_enabled(inputs.has_backward), _autocast(place), watched:
        output = called(*_as_index(api, args), **kwargs)
        gradients = copies.gradients(output) if inputs.has_backward else {}
    returned = {id(leaf) for leaf in _leaves(output)}
    changed = {
        path: _home(tensor)
        for path, tensor in copies.handed.items()
        if id(tensor) not in returned
        and (tensor._version != versions[path] or copies.differs(path, tensor))
    }
    return Results(
        outputs={path: _home(leaf) for path, leaf in leaf_paths(output)},
        changed=changed,
        gradients={path: None if g is None else _home(g) for path, g in gradients.items()},
        drew=not torch.equal(before, torch.get_rng_state()),
    )


class _Copies:
    """The inputs of one run: leaves that gradients are taken of, and what is handed in."""

    def __init__(self, inputs: Inputs, place: Place) -> None:
        self._place = place
        self.leaves: dict[str, torch.Tensor] = {}
        self.handed: dict[str, torch.Tensor] = {}
        self._given: dict[str, torch.Tensor] = {}
        self._args = [self._copy(arg, str(n)) for n, arg in enumerate(inputs.args)]
        self._kwargs = {key: self._copy(value, key) for key, value in inputs.kwargs.items()}
        self._gradients = [
            None if gradient is None else self._moved(gradient) for gradient in inputs.gradients
        ]

    def handed_in(self, *, clone_leaves: bool) -> tuple[list[Any], dict[str, Any]]:
        """Arguments and keywords; a leaf that is written to has to be handed in as a copy."""
        for path, leaf in self.leaves.items():
            cloned = clone_leaves and leaf.requires_grad
            self.handed[path] = leaf.clone() if cloned else leaf

        def tensors(value: Any) -> Any:
            if isinstance(value, _At):
                return self.handed[value.path]
            if isinstance(value, list):
                return [tensors(each) for each in value]
            if isinstance(value, dict):
                return {key: tensors(each) for key, each in value.items()}
            return value

        return [tensors(arg) for arg in self._args], {
            k: tensors(v) for k, v in self._kwargs.items()
        }

    def differs(self, path: str, tensor: torch.Tensor) -> bool:
        """Whether it was written to without a note of torch's, as running statistics are."""
        if tensor.requires_grad or tensor.numel() > _LARGEST_STATISTICS or _is_float8(tensor):
            return False
        before, now = self._moved(self._given[path]), tensor.detach()
        return not same_numbers(before, now)

    def storages(self) -> set[int]:
        """The addresses of what was given: everything else is computed."""
        given = [*self.leaves.values(), *self.handed.values(), *self._gradients]
        return {tensor.untyped_storage().data_ptr() for tensor in given if tensor is not None}

    def gradients(self, output: object) -> dict[str, torch.Tensor | None]:
        """The gradients of all inputs that have one."""
        outputs = [leaf for leaf in _leaves(output) if isinstance(leaf, torch.Tensor)]
        pairs = [(out, g) for out, g in _with_gradient(outputs, self._gradients)]
        wanted = {path: leaf for path, leaf in self.leaves.items() if leaf.requires_grad}
        gradients: dict[str, torch.Tensor | None] = dict.fromkeys(self.leaves)
        if pairs and wanted:
            grads = torch.autograd.grad(
                [out for out, _ in pairs],
                list(wanted.values()),
                [gradient for _, gradient in pairs],
                allow_unused=True,
            )
            gradients.update(zip(wanted, grads))
        return gradients

    def _copy(self, value: Tree, path: str) -> object:
        if isinstance(value, torch.Tensor):
            moved = self._moved(value)
            self._given[path] = value
            self.leaves[path] = moved.requires_grad_(value.requires_grad)
            return _At(path)
        if isinstance(value, list):
            return [self._copy(each, f"{path}.{n}") for n, each in enumerate(value)]
        if isinstance(value, dict):
            return {key: self._copy(each, f"{path}.{key}") for key, each in value.items()}
        if isinstance(value, torch.dtype) and self._place.wide:
            return widened(value)
        return torch.device(self._place.device) if isinstance(value, torch.device) else value

    def _moved(self, tensor: torch.Tensor) -> torch.Tensor:
        dtype = widened(tensor.dtype) if self._place.wide else tensor.dtype
        return tensor.detach().to(self._place.device, dtype, copy=True)


@dataclass(frozen=True, slots=True)
class _At:
    """Stands for the tensor of a path, so that leaves and what is handed in may differ."""

    path: str


def widened(dtype: torch.dtype) -> torch.dtype:
    """float64 for floating formats, complex128 for complex ones, integers as they are."""
    return torch.float64 if dtype.is_floating_point else _WIDE.get(dtype, dtype)


def same_numbers(before: torch.Tensor, now: torch.Tensor) -> bool:
    """Whether two tensors of one shape hold the same; NaN is NaN."""
    return bool(((now == before) | ((now != now) & (before != before))).all())  # noqa: PLR0124 - NaN


def _is_float8(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1


def _with_gradient(
    outputs: list[torch.Tensor], gradients: list[torch.Tensor | None]
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Recorded gradients beside their outputs: by position, else by shape in order.

    The shape of an output may depend on data that were drawn: its gradient is ones then.
    """
    if len(gradients) == len(outputs):
        pairs = list(zip(outputs, gradients))
    else:
        given = iter([gradient for gradient in gradients if gradient is not None])
        pairs = [(out, next(given, None)) for out in outputs if out.requires_grad]
    for out, gradient in pairs:
        if out.requires_grad and gradient is not None:
            fits = gradient.shape == out.shape
            yield out, gradient.to(out.dtype) if fits else torch.ones_like(out)


def _as_index(api: str, args: list[Any]) -> list[Any]:
    # A dump writes tuples as lists, and a list of slices is no index.
    if api in ("__setitem__", "__getitem__") and len(args) > 1 and isinstance(args[1], list):
        return [args[0], tuple(args[1]), *args[2:]]
    return args


def _autocast(place: Place) -> AbstractContextManager[object]:
    if place.autocast is None:
        return nullcontext()
    return torch.autocast(torch.device(place.device).type, place.autocast)


def leaf_paths(value: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """What is in tuples, lists and dicts, each by where it stands."""
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        for number, each in enumerate(value):
            yield from leaf_paths(each, f"{path}.{number}" if path else str(number))
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from leaf_paths(each, f"{path}.{key}" if path else str(key))
    elif value is not None:
        yield path or "0", value


def _leaves(value: object) -> list[Any]:
    return [leaf for _, leaf in leaf_paths(value)]


def _home(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    local = value.to_local() if hasattr(value, "to_local") else value
    return local.detach().to("cpu")
