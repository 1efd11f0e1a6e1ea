"""Layouts that a value may have: per axis repeated, cut, a part of a sum, or a part of a mean.

Which of them are possible follows from the shapes alone; a pure function lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Literal

from builder.dump.joined_tensors import JoinKind

ValueClass = Literal["parameter", "gradient", "forward", "backward", "call_gradient"]
Shape = tuple[int, ...]
# pp joins the copies of tied weights alone: all else lies on one stage.
AXIS_NAMES = ("tp", "cp", "dp", "micro", "pp")


@dataclass(frozen=True, slots=True)
class AxisLayout:
    """How a value lies along one axis; `dim` is that of a cut."""

    axis: str
    size: int
    kind: JoinKind
    dim: int = 0

    def __str__(self) -> str:
        text = f"S({self.dim})" if self.kind == "S" else {"A": "P(avg)"}.get(self.kind, self.kind)
        return f"{self.axis}: {text}"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible layout, innermost axis first, the whole's shape, and how unusual it is."""

    axes: tuple[AxisLayout, ...]
    shape: Shape
    cost: float

    @property
    def sums(self) -> bool:
        """Whether parts are added up, which extremes and norms do not survive."""
        return any(axis.kind in "PA" for axis in self.axes)


@lru_cache(maxsize=1 << 14)
def candidates(
    shapes: tuple[Shape, ...],
    sizes: tuple[int, ...],
    value_class: ValueClass,
    may_sum: bool,
    recorded: tuple[tuple[str, str], ...] = (),
) -> tuple[Candidate, ...]:
    """All layouts that the parts' shapes allow, usual ones first.

    `shapes` run through the axes with the first the fastest, `sizes` are those of AXIS_NAMES,
    `may_sum` allows partial sums where they are not usual, `recorded` are known placements by axis.
    """
    known = dict(recorded)
    active = [(axis, size) for axis, size in zip(AXIS_NAMES, sizes, strict=True) if size > 1]
    dims = max((len(shape) for shape in shapes), default=0)
    options = [
        list(_recorded(axis, size, known[axis]) if axis in known else _options(axis, size, dims))
        for axis, size in active
    ]
    layouts = []
    for axes in product(*options):
        shape = _whole(shapes, axes)
        unknown = (axis for axis in axes if axis.axis not in known)
        cost = sum(_cost(axis, value_class, may_sum, dims) for axis in unknown)
        if shape is not None and cost < _NEVER:
            layouts.append(Candidate(axes, shape, cost))
    return tuple(sorted(layouts, key=lambda candidate: candidate.cost))


# Costs only put the readings that fit equally well in order, the usual first: whole numbers tell
# kinds apart, tenths what is of one kind. What costs as much as this is left out.
_NEVER = 100.0


def _options(axis: str, size: int, dims: int) -> Iterator[AxisLayout]:
    yield AxisLayout(axis, size, "R")
    for dim in range(dims):
        yield AxisLayout(axis, size, "S", dim)
    yield AxisLayout(axis, size, "P")
    yield AxisLayout(axis, size, "A")
    yield AxisLayout(axis, size, "D")


def _recorded(axis: str, size: int, placement: str) -> Iterator[AxisLayout]:
    if placement.startswith("S("):
        yield AxisLayout(axis, size, "S", int(placement[2:-1]))
    elif placement == "P":
        yield AxisLayout(axis, size, "P")
    elif placement == "P(avg)":
        yield AxisLayout(axis, size, "A")
    else:
        yield AxisLayout(axis, size, "R")


def _whole(shapes: Sequence[Shape], axes: Sequence[AxisLayout]) -> Shape | None:
    """The shape of the whole; None where the parts do not fit together so."""
    left = list(shapes)
    for axis in axes:
        joined = []
        for start in range(0, len(left), axis.size):
            part = left[start : start + axis.size]
            if axis.kind == "S":
                fixed = {(*s[: axis.dim], *s[axis.dim + 1 :]) for s in part if len(s) > axis.dim}
                if len(fixed) != 1 or any(len(s) <= axis.dim for s in part):
                    return None
                first = part[0]
                extent = sum(s[axis.dim] for s in part)
                joined.append((*first[: axis.dim], extent, *first[axis.dim + 1 :]))
            elif len(set(part)) == 1:
                joined.append(part[0])
            else:
                return None
        left = joined
    return left[0] if len(left) == 1 else None


def _cost(axis: AxisLayout, value_class: ValueClass, may_sum: bool, dims: int) -> float:
    if value_class in ("parameter", "gradient"):
        # Replicas may share a parameter out (ZeRO, FSDP), micro-batches never do.
        unusual = {"tp": 0.0, "micro": _NEVER, "pp": _NEVER}.get(axis.axis, 0.5)
        cut = 1.0 + 0.1 * axis.dim + unusual
        if value_class == "parameter":
            return {"R": 0.0, "S": cut}.get(axis.kind, _NEVER)
        summed = 0.0 if axis.axis != "tp" else 0.3
        return {"R": 0.2, "S": cut, "P": summed}.get(axis.kind, _NEVER)
    if axis.kind == "D":
        later = value_class in ("backward", "call_gradient") and axis.axis == "tp"
        return 2.4 if later and dims else _NEVER
    if axis.kind in "PA":
        # A loss is the mean over the ranks' shares of the batch.
        if dims == 0 and axis.axis != "tp":
            return 0.3 if axis.kind == "A" else 0.4
        if axis.kind == "P" and (may_sum or value_class == "call_gradient"):
            return 2.0
        # A gradient of what stands before several column-parallel layers is summed up later.
        later = axis.kind == "P" and value_class == "backward" and axis.axis == "tp"
        return 2.5 if later else _NEVER
    if axis.axis == "tp":
        return 0.0 if axis.kind == "R" else 1.0 + 0.1 * axis.dim
    usual_dim = 1 if axis.axis == "cp" else 0
    if axis.kind == "S":
        return 0.3 * abs(axis.dim - usual_dim)
    return 0.5
