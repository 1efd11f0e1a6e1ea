"""Whether the norm by which gradients are clipped counts every parameter once.

The square of the whole model's norm is the sum of those of its shards and, once, of what ranks
repeat. A norm that counts repeated parameters on each rank is larger, by the same on all ranks, so
that no two ranks disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from builder.dump.statistic_cells import number_of
from builder.operators.table import plain_name
from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.parts import RunValues
from builder.ranks.joining.told import OPTIMIZER
from builder.ranks.placement.copies import are_copies, norm_of
from builder.ranks.placement.mixtures import groups_along

_ROOTS = frozenset(("sqrt", "norm", "vector_norm", "get_total_norm"))
# Squares of norms are added up in single precision, in one order or another.
_ROUNDING = 1e-4


@dataclass(frozen=True, slots=True)
class CountedOften:
    """A norm that counts what ranks along an axis repeat `count` times."""

    call: str
    axis: str
    count: int
    norm: float
    whole: float


def norms_counted_often(
    values: RunValues, axis: str, factors: dict[int, float]
) -> Iterator[CountedOften]:
    """The norms of all gradients that count repeated parameters once for each rank of an axis.

    `factors` are those by which ranks scaled the gradients that their optimizers read.
    """
    count, squares = values.run.layout.size(axis), _squares(values, axis)
    scale = set(factors.values())
    if squares is None or not scale or max(scale) - min(scale) > _ROUNDING * max(scale):
        return
    repeated, cut = (part / max(scale) ** 2 for part in squares)
    once, often = repeated + cut, count * repeated + cut
    if often - once <= 10 * _ROUNDING * often:
        return
    for call, norm in _norms(values):
        if abs(norm**2 - often) <= _ROUNDING * often:
            yield CountedOften(call, axis, count, norm, float(np.sqrt(once)))


def _squares(values: RunValues, axis: str) -> tuple[float, float] | None:
    """The sums of squares of what ranks along an axis repeat and of what they cut.

    Of gradients as optimizers read them; None where ranks share anything out along other axes.
    """
    repeated = cut = 0.0
    for owner, (start, stop) in values.run.dump.ranges.items():
        at = {values.keys[index]: index for index in range(start, stop)}
        if not owner.startswith(OPTIMIZER) or "input.gradient" not in at:
            continue
        weights = groups_along(values, at.get("parameters.value", at["input.gradient"]), axis)
        gradients = list(groups_along(values, at["input.gradient"], axis).values())
        of_replicas = zip(*(group.values() for group in gradients), strict=False)
        if not all(are_copies(replicas) for replicas in of_replicas):
            return None
        norms = [norm_of(record) ** 2 for record in gradients[0].values()]
        if are_copies(list(next(iter(weights.values())).values())):
            repeated += norms[0]
        else:
            cut += sum(norms)
    return (repeated, cut) if repeated and cut else None


def _norms(values: RunValues) -> Iterator[tuple[str, float]]:
    """The roots of one number outside of modules and optimizers that all ranks have alike."""
    for owner, (start, stop) in values.run.dump.ranges.items():
        entry = parse(owner)
        if entry is None or plain_name(entry.type_name) not in _ROOTS:
            continue
        if values.run.dump.parents.get(owner):
            continue
        for index in range(start, stop):
            made = values.records(index)
            if values.keys[index] == "output.0" and made[0].shape == () and are_copies(made):
                yield owner, number_of(made[0].Max)
