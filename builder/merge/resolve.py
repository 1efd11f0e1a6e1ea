"""Gives the values of two logical runs their numbers: decides how each lies, and joins its parts.

What cannot be joined is set aside with a reason; parts that should repeat each other and do not are
conflicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from builder.merge.joining import RoleJoin
from builder.merge.logical_run import LogicalRun
from builder.merge.resolution import Conflict, Resolution, Sides
from builder.merge.roles import (
    Numbers,
    Reading,
    Role,
    decide,
    gradient_factor,
    has_factor,
    numbers_of,
    padded_readings,
    readings,
    roles_of,
)
from builder.merge.told import LayoutFile, check_used


def resolve(
    problem: LogicalRun,
    benchmark: LogicalRun,
    pairs: Sequence[tuple[int, int]],
    weak: frozenset[str],
    layouts: Sequence[LayoutFile] = (),
) -> Resolution:
    """Fill in the records of both runs' dumps, in place.

    `pairs` are indices of values that belong together; `weak` names entries inside what the layout
    itself rewrites: their values count only where some reading explains them. `layouts` are told by
    name, one file for both runs or one for each. Raises InputError for a rule that fits no value.
    """
    sides = Sides(problem, benchmark, weak, layouts)
    resolution = _Resolver(sides).run(pairs)
    check_used(layouts, frozenset(sides.values[0].used | sides.values[1].used))
    return resolution


class _Resolver:
    def __init__(self, sides: Sides) -> None:
        self.sides, self.result = sides, sides.result

    def run(self, pairs: Sequence[tuple[int, int]]) -> Resolution:
        tensors = [pair for pair in pairs if self._is_tensor_pair(*pair)]
        for pair in set(pairs) - set(tensors):
            self._resolve_argument(*pair)
        tensors = [pair for pair in tensors if not self._is_local(pair)]
        roles = list(roles_of(*self.sides.values, tensors))
        grouped = {row for role in roles for row in role.rows}
        for pair in tensors:
            if pair not in grouped:
                self.sides.set_aside(pair, "parts are missing")
        self.result.factor = self._factor(roles)
        for role in roles:
            self._resolve_role(role)
        return self.result

    def _factor(self, roles: Sequence[Role]) -> float:
        counts: set[float] = set()
        for run in self.sides.runs:
            layout = run.layout
            sizes = [float(layout.size("dp")), float(layout.size("cp"))]
            sizes.append(float(layout.micro_batches or 1))
            counts |= {float(np.prod(chosen)) for chosen in product(*((1.0, s) for s in sizes))}
        options = sorted(counts | {1.0 / count for count in counts})
        if len(options) == 1:
            return 1.0
        return gradient_factor(roles, self.sides.values, options)

    def _is_local(self, pair: tuple[int, int]) -> bool:
        """Whether a value has no counterpart, as the user says; it is set aside then."""
        rules = [v.rule(index) for v, index in zip(self.sides.values, pair, strict=True)]
        is_local = any(rule is not None and rule.is_local for rule in rules)
        if is_local:
            self.sides.set_aside(pair, "local, as the layout file says")
        return is_local

    def _is_tensor_pair(self, ours: int, theirs: int) -> bool:
        return all(
            values.run.records[values.run.parts[index].records[0]].dtype is not None
            for values, index in zip(self.sides.values, (ours, theirs), strict=True)
        )

    def _resolve_argument(self, ours: int, theirs: int) -> None:
        """Sizes that are cut, and what else an argument says of the layout, tell nothing."""
        left, right = self.sides.values[0].records(ours)[0], self.sides.values[1].records(theirs)[0]
        if left.value == right.value and left.group_ranks == right.group_ranks:
            return
        is_size = isinstance(left.value, (int, list)) or left.group_ranks is not None
        if is_size or self.sides.is_weak(ours):
            self.sides.runs[0].dump.values.records[ours] = right
            self.result.set_aside["sizes and groups of the layout"] += 1

    def _resolve_padded(self, role: Role, numbers: Numbers, listed: Sequence[Reading]) -> None:
        """Cut padding off tensors; statistics that it went into are not comparable."""
        if listed and self.sides.by_tensor:
            # Statistics do not tell how far it is from any reading: the usual one is taken.
            role.reading, role.error = listed[0], np.full(len(role.rows), np.inf)
            role.options = [(role.reading, role.error)]
            RoleJoin(self.sides, role, numbers).write()
            return
        reason = "padding of the vocabulary" if listed else "its shapes fit no layout"
        for row in role.rows:
            self.sides.set_aside(row, reason)

    def _resolve_role(self, role: Role) -> None:
        is_plain = role.is_trivial and (self.result.factor == 1.0 or not has_factor(role))
        if is_plain and not any(self.sides.is_weak(row[0]) for row in role.rows):
            self.result.compared += len(role.rows)
            return
        numbers = numbers_of(role, self.sides.values, sketched=not self.sides.by_tensor)
        is_reduced = any(self.sides.values[0].feeds_reduction(row[0]) for row in role.rows)
        may_sum = (
            is_reduced,
            any(self.sides.values[1].feeds_reduction(row[1]) for row in role.rows),
        )
        listed = readings(role, may_sum)
        if not listed:
            self._resolve_padded(role, numbers, padded_readings(role, may_sum))
            return
        decide(role, numbers, listed, self.result.factor, is_reduced)
        RoleJoin(self.sides, role, numbers).write()


__all__ = ["Conflict", "Resolution", "resolve"]
