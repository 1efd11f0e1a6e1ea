"""The arguments and gradients of a call as tensors on the CPU, recorded or drawn."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from msprobe.acc_check.draw import draw
from msprobe.acc_check.plan import Call
from msprobe.acc_check.values import NotReproducible, TensorSpec, decode
from msprobe_core.format.regular_file import IrregularFileError, require_regular

Tree = object


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a call is run with. `expected` are the formats of the recorded outputs, in order.

    `gradients` are those of the outputs, in the order of the backward entry; empty: no backward.
    """

    args: list[Tree]
    kwargs: dict[str, Tree]
    gradients: list[torch.Tensor | None]
    has_backward: bool
    expected: tuple[torch.dtype | None, ...]
    is_recorded: bool

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """All tensors among the arguments, each by where it stands: `0`, `1.2`, `weight`."""
        for number, arg in enumerate(self.args):
            yield from _tensors(arg, str(number))
        for key, value in self.kwargs.items():
            yield from _tensors(value, key)


class Source:
    """Makes tensors of specifications: reads them from a folder or draws them with a seed."""

    def __init__(self, folder: Path | None, seed: int) -> None:
        self._folder = folder
        self._seed = seed

    @property
    def is_recorded(self) -> bool:
        return self._folder is not None

    def tensor(self, spec: TensorSpec, place: str) -> torch.Tensor:
        """The tensor at a place of the dump (`<entry>.input.0`); raises NotReproducible."""
        if self._folder is None:
            return draw(spec, self._seed + zlib.crc32(place.encode()))
        if spec.file is None:
            raise NotReproducible(f"{place}: the dump names no file for it")
        return _load(self._folder / spec.file, spec)


def make_inputs(call: Call, source: Source) -> Inputs:
    """All tensors of a call; those that need a gradient are marked so."""
    args = decode(call.forward.get("input_args"))
    kwargs = decode(call.forward.get("input_kwargs") or {})
    assert isinstance(args, list)
    assert isinstance(kwargs, dict)
    forward = f"{call.name}.forward.input"

    gradients, expected = [], _specs(decode(call.forward.get("output")))
    recorded = None if call.backward is None else decode(call.backward.get("input"))
    wanted = _wanted(call, len(_specs([args, kwargs], tensors_only=True)))

    def tensor(spec: TensorSpec, place: str) -> torch.Tensor:
        made = source.tensor(spec, place)
        needs = next(wanted) if spec.requires_grad is None else spec.requires_grad
        return made.requires_grad_(needs and _differentiable(spec.dtype))

    if isinstance(recorded, list):
        gradients = [
            None if spec is None else source.tensor(spec, f"{call.name}.backward.input.{number}")
            for number, spec in enumerate(_specs(recorded))
        ]
    return Inputs(
        args=[map_tree(arg, tensor, f"{forward}.{number}") for number, arg in enumerate(args)],
        kwargs={key: map_tree(value, tensor, f"{forward}.{key}") for key, value in kwargs.items()},
        gradients=gradients,
        has_backward=recorded is not None,
        expected=tuple(None if spec is None else spec.dtype for spec in expected),
        is_recorded=source.is_recorded,
    )


def map_tree(tree: Tree, change: Callable[[TensorSpec, str], object], path: str) -> Tree:
    """The same tree with each specification replaced."""
    if isinstance(tree, TensorSpec):
        return change(tree, path)
    if isinstance(tree, list):
        return [map_tree(each, change, f"{path}.{number}") for number, each in enumerate(tree)]
    if isinstance(tree, dict):
        return {key: map_tree(each, change, f"{path}.{key}") for key, each in tree.items()}
    return tree


def _tensors(tree: Tree, path: str) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(tree, torch.Tensor):
        yield path, tree
    elif isinstance(tree, list):
        for number, each in enumerate(tree):
            yield from _tensors(each, f"{path}.{number}")
    elif isinstance(tree, dict):
        for key, each in tree.items():
            yield from _tensors(each, f"{path}.{key}")


def _wanted(call: Call, tensors: int) -> Iterator[bool]:
    """Whether each tensor needs a gradient, where its record does not say: those that got one.

    A backward entry holds the gradients of all tensors of the call in their order, null where there
    was none; one of another length, or of the reverse order, tells that any may have one.
    """
    sent = call.backward.get("output") if call.backward is not None else None
    if call.backward is None or not isinstance(sent, list) or len(sent) != tensors:
        return iter([call.backward is not None] * tensors)
    return iter([gradient is not None for gradient in sent])


def _specs(tree: Tree, *, tensors_only: bool = False) -> list[TensorSpec | None]:
    return [spec for spec in _walk_specs(tree) if spec is not None or not tensors_only]


def _walk_specs(tree: Tree) -> Iterator[TensorSpec | None]:
    if tree is None or isinstance(tree, TensorSpec):
        yield tree
    elif isinstance(tree, dict):
        for each in tree.values():
            yield from _walk_specs(each)
    elif isinstance(tree, list):
        for each in tree:
            yield from _walk_specs(each)


def _differentiable(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _load(path: Path, spec: TensorSpec) -> torch.Tensor:
    """What a file holds; a format that NumPy cannot name stands in it as float32."""
    try:
        require_regular(path)
        if path.suffix == ".npy":
            return torch.from_numpy(np.load(path, allow_pickle=False)).to(spec.dtype)
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise NotReproducible(f"{path}: missing; dump again with task tensor") from None
    except IrregularFileError as error:
        raise NotReproducible(f"{path}: {error.strerror}") from None
    except Exception as error:  # torch raises what the damage happens to cause
        raise NotReproducible(f"{path}: cannot be read ({type(error).__name__})") from error
    if not isinstance(loaded, torch.Tensor):
        raise NotReproducible(f"{path}: holds no tensor")
    return loaded.detach()
