"""A tensor whose parts lie in the files of several ranks, joined when it is opened.

No more than one joined tensor is in memory at a time; the order of joining is innermost first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from builder.dump.tensor_data import TensorData, data_of
from builder.dump.tensor_files import TensorFileError, open_tensor, shape_of

JoinKind = Literal["R", "S", "P", "A", "D"]
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Variant:
    """How cut parts lie behind each other where it is not simply in their order.

    `pieces` are the proportions of fused pieces that are each cut; `zigzag` parts hold chunks r
    and 2n-1-r; `rows` is the extent of a dimension in front of the cut one that was flattened into
    it.
    """

    pieces: tuple[int, ...] = (1,)
    zigzag: bool = False
    rows: int = 1


@dataclass(frozen=True, slots=True)
class Join:
    """How the parts along one axis make one value.

    R: all the same, `dim` is then the part to take. S: behind each other along `dim`.
    P: their sum. A: their mean. D: their sum, each element non-zero in one part only.
    """

    kind: JoinKind
    size: int
    dim: int = 0
    variant: Variant = Variant()


@dataclass(frozen=True, slots=True)
class JoinedTensor:
    """Files and shapes of the parts, the first join's index running fastest; `factor` divides.

    `extents` are those of the whole where it ends in padding; `is_transposed` turns it at last.
    `left` and `right` are files of matrices that the whole is multiplied with, over its last two
    dimensions.
    """

    files: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    joins: tuple[Join, ...]
    factor: float = 1.0
    extents: tuple[int, ...] | None = None
    is_transposed: bool = False
    left: str | None = None
    right: str | None = None


def open_joined(joined: JoinedTensor) -> TensorData:
    """The numbers of a joined tensor; raises TensorFileError for parts that cannot be read."""
    return data_of(read_joined(joined))


def read_joined(joined: JoinedTensor) -> Array:
    """The joined tensor as an array."""
    parts = [read_part(f, shape) for f, shape in zip(joined.files, joined.shapes, strict=True)]
    whole = joined_whole(parts, joined)
    if joined.left is not None or joined.right is not None:
        whole = _product(whole, joined.left, joined.right)
    return whole if joined.factor == 1.0 else whole / joined.factor


def joined_whole(parts: list[Array], joined: JoinedTensor) -> Array:
    """The parts joined, without padding, the way round in which the value is compared."""
    whole = without_padding(join_parts(parts, joined.joins), joined.extents)
    return np.ascontiguousarray(whole.T) if joined.is_transposed else whole


def without_padding(whole: Array, extents: tuple[int, ...] | None) -> Array:
    """The front of a tensor, up to some extents; all of it where there are none."""
    return whole if extents is None else whole[tuple(slice(extent) for extent in extents)]


def _product(whole: Array, left: str | None, right: str | None) -> Array:
    whole = whole.astype(np.float64)
    if left is not None:
        whole = np.matmul(read_part(left, shape_of(left)), whole)
    if right is not None:
        whole = np.matmul(whole, read_part(right, shape_of(right)))
    return whole


def read_part(file: str, shape: tuple[int, ...]) -> Array:
    """One part as an array. Raises TensorFileError when it is broken or of another shape."""
    with open_tensor(file) as data:
        flat = np.array(data.block(0, data.size))
    if flat.size != prod(shape):
        raise TensorFileError(f"{file} has {flat.size} numbers, its record says {list(shape)}")
    return flat.reshape(shape)


def join_parts(parts: list[Array], joins: tuple[Join, ...]) -> Array:
    """Join arrays axis by axis; their number is the product of the joins' sizes."""
    for join in joins:
        parts = [
            _joined_once(parts[start : start + join.size], join)
            for start in range(0, len(parts), join.size)
        ]
    (whole,) = parts
    return whole


def _joined_once(parts: list[Array], join: Join) -> Array:
    if join.kind == "R":
        return parts[join.dim]
    if join.kind == "S":
        return _concatenated(parts, join)
    total = np.sum([part.astype(np.float64) for part in parts], axis=0)
    return np.asarray(total / len(parts) if join.kind == "A" else total)


def _concatenated(parts: list[Array], join: Join) -> Array:
    dim, variant = join.dim, join.variant
    if variant.rows > 1:
        split = [_unflattened(part, dim, variant.rows) for part in parts]
        inner = Join("S", join.size, dim + 1, replace(variant, rows=1))
        whole = _concatenated(split, inner)
        return whole.reshape(*whole.shape[:dim], -1, *whole.shape[dim + 2 :])
    if variant.zigzag:
        halves = [np.array_split(part, 2, dim) for part in parts]
        return np.concatenate([h[0] for h in halves] + [h[1] for h in halves[::-1]], dim)
    if len(variant.pieces) > 1:
        shares = [_split(part, variant.pieces, dim) for part in parts]
        ordered = [share[piece] for piece in range(len(variant.pieces)) for share in shares]
        return np.concatenate(ordered, dim)
    return np.concatenate(parts, dim)


def _split(part: Array, pieces: tuple[int, ...], dim: int) -> list[Array]:
    """A part's share of each piece; raises TensorFileError where it does not divide so."""
    unit, rest = divmod(part.shape[dim], sum(pieces))
    if rest:
        said = "+".join(map(str, pieces))
        raise TensorFileError(f"an extent of {part.shape[dim]} has no pieces of {said}")
    return np.split(part, np.cumsum(pieces)[:-1] * unit, dim)


def _unflattened(part: Array, dim: int, rows: int) -> Array:
    return part.reshape(*part.shape[:dim], rows, -1, *part.shape[dim + 1 :])
