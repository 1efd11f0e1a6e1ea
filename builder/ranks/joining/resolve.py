"""Gives the values of two logical runs their numbers: decides how each lies, and joins its parts.

What cannot be joined is set aside with a reason; parts that should repeat each other and do not are
conflicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.joining.resolution import Conflict, Resolution, Sides
from builder.ranks.joining.role_join import RoleJoin
from builder.ranks.joining.roles import (
    Fit,
    Numbers,
    Pairs,
    Reading,
    Role,
    decide,
    gradient_factor,
    has_factor,
    has_vote,
    numbers_of,
    padded_readings,
    readings,
    roles_of,
)
from builder.ranks.joining.shared_experts import of_shared_experts, spread_unseen
from builder.ranks.joining.told import LayoutFile, check_used
from builder.ranks.joining.tolerances import Roundings
from builder.ranks.joining.transposed import Transposition, turned_matrices


def resolve(
    problem: LogicalRun,
    benchmark: LogicalRun,
    pairs: Pairs,
    weak: frozenset[str],
    layouts: Sequence[LayoutFile] = (),
    roundings: Roundings | None = None,
) -> Resolution:
    """Fill in the records of both runs' dumps, in place.

    `pairs` [n, 2] are indices of values that belong together; `weak` names entries inside what the
    layout itself rewrites: their values count only where some reading explains them. `layouts` are
    told by name, one file for both runs or one for each; `roundings` say how precise values are.
    Raises InputError for a rule that fits no
    value.
    """
    sides = Sides(problem, benchmark, weak, layouts)
    resolution = _Resolver(sides, roundings or Roundings()).run(pairs)
    check_used(layouts, frozenset(sides.values[0].used | sides.values[1].used))
    return resolution


class _Resolver:
    def __init__(self, sides: Sides, roundings: Roundings) -> None:
        self.sides, self.result, self.roundings = sides, sides.result, roundings

    def run(self, pairs: Pairs) -> Resolution:
        tensors = self._tensors(pairs)
        if self.sides.moves_tokens:
            tensors = of_shared_experts(self.sides, tensors, self.roundings)
        options = self._factors()
        telling = self._is_telling(tensors, votes=len(options) > 1)
        roles, lost = roles_of(*self.sides.values, tensors[telling])
        if len(options) > 1:
            self.result.factor = gradient_factor(roles, self.sides.values, options, self.roundings)
        if self.result.factor != 1.0:
            roles, lost = roles_of(*self.sides.values, tensors)
        else:
            self.result.compared += int((~telling).sum())
        for pair in lost:
            self.sides.set_aside(pair, "parts are missing")
        self.transposition = Transposition(self.sides.values, roles)
        for role in roles:
            self._resolve_role(role)
        if self.result.unseen_share:
            known = spread_unseen(self.result.unseen_share, self.sides.values[0])
            self.result.unseen_share = known
        return self.result

    def _tensors(self, pairs: Pairs) -> Pairs:
        """The pairs of tensors that are to be joined; what else there is gets what it needs."""
        ours, theirs = (
            np.array([record.dtype is not None for record in run.dump.values.records], dtype=bool)
            for run in self.sides.runs
        )
        are_tensors = ours[pairs[:, 0]] & theirs[pairs[:, 1]]
        for left, right in pairs[~are_tensors].tolist():
            self._resolve_argument(left, right)
        tensors = np.asarray(pairs[are_tensors])
        if not self.sides.are_told:
            return tensors
        are_local = [self._is_local((left, right)) for left, right in tensors.tolist()]
        return np.asarray(tensors[~np.array(are_local, dtype=bool)])

    def _is_telling(self, tensors: Pairs, *, votes: bool) -> NDArray[np.bool_]:
        """Which pairs have to be looked at; the others are whole on both sides.

        Those are compared as they are, unless something tells of a factor between gradients.
        """
        alone = [
            np.array([len(parts.records) == 1 for parts in run.parts], dtype=bool)
            for run in self.sides.runs
        ]
        values = self.sides.values[0]
        weak = {values.role(owner) for owner in self.sides.weak}
        ranges = values.run.dump.ranges
        weak_calls = {_call(owner) for owner in self.sides.weak}
        wanted = [
            (_call(owner) in weak_calls and values.role(owner) in weak)
            or (votes and has_vote(owner))
            for owner in ranges
        ]
        lengths = [stop - start for start, stop in ranges.values()]
        is_wanted = np.repeat(np.array(wanted, dtype=bool), lengths)
        whole = alone[0][tensors[:, 0]] & alone[1][tensors[:, 1]]
        turned = turned_matrices(self.sides, tensors)
        return np.asarray(~whole | is_wanted[tensors[:, 0]] | turned)

    def _factors(self) -> list[float]:
        """The factors that gradients of the problem may have more than the benchmark's."""
        counts: set[float] = set()
        for run in self.sides.runs:
            layout = run.layout
            sizes = [float(layout.size("dp")), float(layout.size("cp"))]
            sizes.append(float(layout.micro_batches or 1))
            counts |= {float(np.prod(chosen)) for chosen in product(*((1.0, s) for s in sizes))}
        return sorted(counts | {1.0 / count for count in counts})

    def _is_local(self, pair: tuple[int, int]) -> bool:
        """Whether a value has no counterpart, as the user says; it is set aside then."""
        rules = [v.rule(index) for v, index in zip(self.sides.values, pair, strict=True)]
        is_local = any(rule is not None and rule.is_local for rule in rules)
        if is_local:
            self.sides.set_aside(pair, "local, as the layout file says")
        return is_local

    def _resolve_argument(self, ours: int, theirs: int) -> None:
        """Sizes that are cut, and what else an argument says of the layout, tell nothing."""
        problem, benchmark = (run.dump.values.records for run in self.sides.runs)
        left, right = problem[ours], benchmark[theirs]
        if left.value == right.value and left.group_ranks == right.group_ranks:
            return
        is_size = isinstance(left.value, (int, list)) or left.group_ranks is not None
        if is_size or self.sides.is_weak(ours):
            problem[ours] = right
            self.result.set_aside["sizes and groups of the layout"] += 1

    def _resolve_padded(self, role: Role, numbers: Numbers, listed: Sequence[Reading]) -> None:
        """Cut padding off tensors; statistics that it went into are not comparable.

        Replicas within a run have the same padding, and are held against each other all the same.
        """
        if listed:
            # Statistics do not tell how far it is from any reading: the usual one is taken.
            unknown = np.full(len(role.rows), np.inf)
            role.reading, role.fit = listed[0], Fit(unknown, numbers.rounding)
            role.options = [(role.reading, role.fit)]
            join = RoleJoin(self.sides, role, numbers)
            if self.sides.by_tensor:
                join.write()
                return
            join.conflicts()
        reason = "padding of the vocabulary" if listed else "its shapes fit no layout"
        for row in role.rows:
            self.sides.set_aside(row, reason)

    def _resolve_role(self, role: Role) -> None:
        transposed = self.transposition.readings(role)
        is_plain = role.is_trivial and (self.result.factor == 1.0 or not has_factor(role))
        if is_plain and not transposed and not any(self.sides.is_weak(row[0]) for row in role.rows):
            self.result.compared += len(role.rows)
            return
        sketched = not self.sides.by_tensor
        numbers = numbers_of(role, self.sides.values, self.roundings, sketched=sketched)
        is_reduced = any(self.sides.values[0].feeds_reduction(row[0]) for row in role.rows)
        may_sum = (
            is_reduced,
            any(self.sides.values[1].feeds_reduction(row[1]) for row in role.rows),
        )
        listed = transposed or readings(role, may_sum)
        if not listed:
            self._resolve_padded(role, numbers, padded_readings(role, may_sum))
            return
        decide(role, numbers, listed, self.result.factor, is_reduced)
        RoleJoin(self.sides, role, numbers).write()


def _call(owner: str) -> str:
    """A call without its number and direction."""
    return owner.rsplit(".", 2)[0]


__all__ = ["Conflict", "Resolution", "resolve"]
