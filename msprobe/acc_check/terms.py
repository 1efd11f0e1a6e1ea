"""How many terms an operator accumulates into one element of its result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

_CONTRACTIONS: dict[str, Callable[[Sequence[torch.Size]], int]] = {
    "mm": lambda s: s[0][-1],
    "bmm": lambda s: s[0][-1],
    "mv": lambda s: s[0][-1],
    "dot": lambda s: s[0][-1],
    "vdot": lambda s: s[0][-1],
    "linear": lambda s: s[0][-1],
    "addmm": lambda s: s[1][-1],
    "addmv": lambda s: s[1][-1],
    "baddbmm": lambda s: s[1][-1],
    "addbmm": lambda s: s[1][-1] * s[1][0],
    "convolution": lambda s: math.prod(s[1][1:]),
    "convolution_backward": lambda s: max(
        math.prod(s[0]) // max(s[0][1], 1), math.prod(s[2]) // max(min(s[2][:2]), 1)
    ),
}


def accumulated_terms(operator: str, inputs: Sequence[torch.Tensor], results: int | None) -> int:
    """Terms per element of an ATen operator (its bare name).

    `results` is the number of elements that come out, None where it is not known yet. Known
    contractions have their length; what gives fewer elements than it takes sums the rest up;
    anything else may sum along its longest dimension.
    """
    shapes = [tensor.shape for tensor in inputs]
    contraction = _CONTRACTIONS.get(operator)
    if contraction is not None:
        try:
            return max(1, int(contraction(shapes)))
        except IndexError:
            pass  # an overload with other arguments
    taken = max((math.prod(shape) for shape in shapes), default=1)
    if results and taken > results:
        return taken // results
    return max((size for shape in shapes for size in shape), default=1)


def is_pointwise(operator: Any) -> bool:
    """Whether each element of the result depends on one element of each input."""
    return torch.Tag.pointwise in operator.tags


def bare_name(operator: Any) -> str:
    """`addmm` of `aten.addmm.default`, without the mark of an in-place form."""
    name = str(operator._schema.name).rpartition(":")[2]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name
