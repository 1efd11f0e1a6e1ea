"""Primitives that are attributes of cells: those of which the dump holds all that they compute.

A primitive is made with settings and called later; the dump has the call alone. Most have no
setting that matters; whether a product transposes shows in the shapes, where they are not square.
Those of others (an epsilon, a stride) are known nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor
from torch.nn import functional as F

from msprobe.acc_check.mindspore.ops_in_torch import OPS
from msprobe.acc_check.mindspore.words import Meaning
from msprobe.acc_check.plan import Call
from msprobe.acc_check.values import NotReproducible, TensorSpec, decode

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Primitive:
    """The class of a primitive, the settings that it was made with, and what it then computes."""

    kind: str
    meaning: Meaning
    settings: dict[str, bool] = field(default_factory=dict)


def primitive_of(call: Call) -> Primitive:
    """The primitive of `<attribute>.<Class>`; raises NotReproducible where its settings matter."""
    kind = call.api.rpartition(".")[2]
    if kind in _PRODUCTS:
        return _product(kind, call)
    meaning = _MEANINGS.get(kind)
    if meaning is None:
        raise NotReproducible(f"the dump does not hold the settings that a {kind} was made with")
    return Primitive(kind, meaning)


def _biased(x: Tensor, bias: Tensor) -> Tensor:
    """The channel is the second dimension, the last one of a matrix (NCHW)."""
    return x + bias.reshape(1, -1, *[1] * (x.dim() - 2))


def _product(kind: str, call: Call) -> Primitive:
    shapes = [spec.shape for spec in _specs(call.forward.get("input_args"))]
    outputs = [spec.shape for spec in _specs(call.forward.get("output"))]
    if len(shapes) != 2 or len(outputs) != 1 or min(map(len, shapes)) < 2:
        raise NotReproducible("its entry holds no two matrices and their product")
    ways = [
        (first, second)
        for first, second in product((False, True), repeat=2)
        if _fits(_turned(shapes[0], first), _turned(shapes[1], second), outputs[0])
    ]
    if len(ways) != 1:
        raise NotReproducible("which matrices were transposed does not show in their shapes")
    ((first, second),) = ways

    def multiplied(x: Tensor, y: Tensor) -> Tensor:
        return torch.matmul(x.mT if first else x, y.mT if second else y)

    settings = {"transpose_a": first, "transpose_b": second}
    return Primitive(kind, Meaning("matmul", multiplied), settings)


def _turned(shape: Shape, transposed: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if transposed else shape


def _fits(left: Shape, right: Shape, made: Shape) -> bool:
    return left[-1] == right[-2] and made[-2:] == (left[-2], right[-1])


def _specs(recorded: object) -> Sequence[TensorSpec]:
    found = decode(recorded)
    return (
        [each for each in found if isinstance(each, TensorSpec)] if isinstance(found, list) else []
    )


_PRODUCTS = ("MatMul", "BatchMatMul")
_LIKE_OPS = (
    "add sub mul div pow maximum minimum exp log sqrt rsqrt square neg abs sigmoid tanh transpose "
    "shape gather cast"
)
_MEANINGS = {
    **{name.capitalize(): OPS[name] for name in _LIKE_OPS.split()},
    "RealDiv": OPS["div"],
    "ExpandDims": OPS["expand_dims"],
    "Reshape": OPS["reshape"],
    "BiasAdd": Meaning("add", _biased),
    "Dense": Meaning("linear", F.linear),
    "ReLU": Meaning("relu", F.relu),
    "SiLU": Meaning("silu", F.silu),
}
