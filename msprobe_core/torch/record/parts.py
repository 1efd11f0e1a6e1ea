"""The part of a tensor that is recorded in its place, where the configuration asks for parts."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from msprobe_core.config.slices import Slice


def part_of(tensor: torch.Tensor, slices: Sequence[Slice]) -> torch.Tensor:
    """The part that all slices which fit leave; the tensor itself where none fits.

    A slice fits a tensor that has its dimension, with its size where it tells one. The part is a
    view: it lies in the tensor's own memory.
    """
    fitting = [each for each in slices if _fits(tensor, each)]
    if not fitting:
        return tensor
    places = [slice(None)] * tensor.dim()
    for each in fitting:
        places[each.dim] = slice(each.begin, each.end)
    with torch._C.DisableTorchFunction(), torch.no_grad():
        return tensor[tuple(places)]


def _fits(tensor: torch.Tensor, part: Slice) -> bool:
    return tensor.dim() > part.dim and part.size in (None, tensor.shape[part.dim])
