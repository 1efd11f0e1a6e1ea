"""The arguments and gradients of a call as tensors on the CPU, recorded or drawn."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from msprobe.acc_check.draw import draw
from msprobe.acc_check.plan import Call
from msprobe.acc_check.values import NotReproducible, TensorSpec, decode

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
        return _load(self._folder / spec.file)


def make_inputs(call: Call, source: Source) -> Inputs:
    """All tensors of a call; those that need a gradient are marked so."""
    args = decode(call.forward.get("input_args"))
    kwargs = decode(call.forward.get("input_kwargs") or {})
    assert isinstance(args, list)
    assert isinstance(kwargs, dict)
    forward = f"{call.name}.forward.input"

    def tensor(spec: TensorSpec, place: str) -> torch.Tensor:
        made = source.tensor(spec, place)
        return made.requires_grad_(spec.requires_grad and _differentiable(spec.dtype))

    gradients, expected = [], _specs(decode(call.forward.get("output")))
    recorded = None if call.backward is None else decode(call.backward.get("input"))
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


def _specs(tree: Tree) -> list[TensorSpec | None]:
    return list(_walk_specs(tree))


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


def _load(path: Path) -> torch.Tensor:
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise NotReproducible(f"{path}: missing; dump again with task tensor") from None
    except Exception as error:  # torch raises what the damage happens to cause
        raise NotReproducible(f"{path}: cannot be read ({type(error).__name__})") from error
    if not isinstance(loaded, torch.Tensor):
        raise NotReproducible(f"{path}: holds no tensor")
    return loaded.detach()
