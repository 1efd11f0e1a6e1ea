"""Notes replicas of a joined value that differ, and positions that lie elsewhere than is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from builder.ranks.joining.joined_sketches import (
    have_sketches,
    join_sketches,
    magnitude,
    sketch_disagreement,
    sketch_error,
)
from builder.ranks.joining.joined_statistics import MEAN, difference, disagreement, join_statistics
from builder.ranks.joining.layouts import AXIS_NAMES, AxisLayout, Candidate
from builder.ranks.joining.parts import Floats
from builder.ranks.joining.positions import misplaced
from builder.ranks.joining.resolution import Conflict, Sides
from builder.ranks.joining.roles import Numbers, Reading, Role
from builder.ranks.joining.tolerances import nearer, recorded_rounding, same, which_are_off


class Replicas:
    """The replicas of one role under its reading; `tables` are the joined values of both sides."""

    def __init__(
        self,
        owner: Sides,
        role: Role,
        numbers: Numbers,
        reading: Reading,
        tables: tuple[Floats, ...],
        factor: float,
    ) -> None:
        self.owner, self.role, self.numbers = owner, role, numbers
        self.reading, self.tables, self.factor = reading, tables, factor
        self.sides = (reading.problem, reading.benchmark)
        self.own: set[int] = set()  # instances of which each rank has one of its own, by nature

    def conflicts(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Note replicas that differ; by side and instance the axis and the part that stands out."""
        conflicts: dict[tuple[int, int], tuple[int, int]] = {}
        limit = self._limits()
        for side, candidate in enumerate(self.sides):
            table = self.numbers.tables[side]
            for axis, layout in enumerate(candidate.axes):
                if layout.kind != "R":
                    continue
                apart = disagreement(table, candidate.axes, axis)
                if self.numbers.sketches is not None:
                    sketches = self.numbers.sketches[side]
                    apart = np.fmax(apart, sketch_disagreement(sketches, candidate.axes, axis))
                for at in np.flatnonzero(apart > limit).tolist():
                    row = self.role.rows[at]
                    if self.owner.is_weak(row[0]):
                        continue
                    if self.owner.is_own(side, row[side]):
                        self.own.add(at)
                        continue
                    conflicts[side, at] = self._conflict(side, at, axis, float(apart[at]))
        self._note_positions()
        return conflicts

    def _limits(self) -> Floats:
        """How far replicas [instances] may be apart.

        Those of a parameter take the same steps, so that only what is recorded of them may differ;
        activations that every rank computes for itself may round differently.
        """
        if self.role.value_class == "parameter":
            count = max(self.numbers.counts[0].max(initial=1.0), 1.0)
            return np.full(len(self.role.rows), 2 * recorded_rounding(float(count)))
        return same(self.numbers.rounding)

    def _noise(self, at: int) -> float:
        """What two runs have a replica apart at least; more shows in the least error itself."""
        is_parameter = self.role.value_class == "parameter"
        return float((self._limits() if is_parameter else self.numbers.rounding)[at])

    def _note_positions(self) -> None:
        """Note positions that do not lie as the problem run says."""
        order = self.owner.runs[0].layout.cp_order
        for at, (index, _) in enumerate(self.role.rows):
            places = misplaced(self.reading, self.numbers.tables[0][:, at], order)
            if not places:
                continue
            values = self.owner.values[0]
            cp = AXIS_NAMES.index("cp")
            ranks = {part.rank for part in values.run.parts[index] if part.at[cp] in places}
            owner, key = values.owner[index], values.keys[index]
            conflict = Conflict(owner, key, "cp", tuple(sorted(ranks)), 1.0, False, order)
            self.owner.result.conflicts.append(conflict)

    def _conflict(self, side: int, at: int, axis: int, apart: float) -> tuple[int, int]:
        candidate, table = self.sides[side], self.numbers.tables[side][:, at : at + 1]
        rest = (*candidate.axes[:axis], *candidate.axes[axis + 1 :])
        counts = self.numbers.counts[side][None, None]
        other = self.tables[1 - side][:, at : at + 1] * (self.factor if side == 0 else 1.0)
        errors = []
        for part in range(candidate.axes[axis].size):
            picked = parts_at(table, candidate.axes, axis, part)
            own = parts_at(counts, candidate.axes, axis, part)
            joined = join_statistics(picked, own[0, 0], rest)
            error = float(difference(joined, other, float(np.prod(candidate.shape)))[0])
            errors.append(float(np.fmax(error, self._sketch_error(side, at, axis, part))))
        worst = int(np.nanargmax(errors)) if not np.isnan(errors).all() else 0
        if side == 0:
            values = self.owner.values[0]
            index = self.role.rows[at][0]
            self.owner.result.conflicts.append(
                Conflict(
                    values.owner[index],
                    values.keys[index],
                    candidate.axes[axis].axis,
                    self._guilty(index, candidate, axis, errors, self._noise(at)),
                    apart,
                    self.role.value_class == "parameter",
                    adds_up=self._adds_up(at, axis),
                )
            )
        return axis, worst

    def _adds_up(self, at: int, axis: int) -> bool:
        """Whether the mean of the sum over an axis is that of the benchmark, and no part's is."""
        axes = list(self.sides[0].axes)
        axes[axis] = replace(axes[axis], kind="P")
        parts = self.numbers.tables[0][:, at : at + 1] / self.factor
        summed = join_statistics(parts, self.numbers.counts[0], axes)[MEAN, 0]
        wanted = float(self.tables[1][MEAN, at])
        near = float(nearer(self.numbers.rounding[at])) * abs(wanted)
        return bool(abs(summed - wanted) < near and (abs(parts[MEAN] - wanted) > near).all())

    def _sketch_error(self, side: int, at: int, axis: int, part: int) -> float:
        """How far the whole is from the other side with one of the replicas; NaN if unknown."""
        if self.numbers.sketches is None:
            return float("nan")
        ours, theirs = (table[at : at + 1] for table in self.numbers.sketches)
        if side == 1:
            ours, theirs = theirs, ours
        picked, axes = sketches_at(ours, self.sides[side].axes, axis, part)
        others = self.sides[1 - side].axes
        if not have_sketches(axes, others):
            return float("nan")
        factor = self.factor if side == 0 else 1.0 / self.factor
        joined = join_sketches(picked, axes) / factor
        rounding = self.numbers.rounding[at : at + 1]
        wanted = join_sketches(theirs, others)
        return float(sketch_error(joined, wanted, magnitude(theirs), rounding)[0])

    def _guilty(
        self, index: int, candidate: Candidate, axis: int, errors: list[float], rounding: float
    ) -> tuple[int, ...]:
        off = [part for part, is_off in enumerate(which_are_off(errors, rounding)) if is_off]
        place = AXIS_NAMES.index(candidate.axes[axis].axis)
        parts = self.owner.runs[0].parts[index]
        taken = off or range(len(errors))
        coordinates = sorted({part.at[place] for part in parts})
        wanted = {coordinates[part] for part in taken}
        return tuple(sorted({part.rank for part in parts if part.at[place] in wanted}))


def parts_at(table: Floats, axes: Sequence[AxisLayout], axis: int, part: int) -> Floats:
    """The parts [4, instances, fewer parts] at one place of an axis."""
    inner = int(np.prod([a.size for a in axes[:axis]], dtype=int))
    size = axes[axis].size
    grid = table.reshape(*table.shape[:2], -1, size, inner)
    return np.asarray(grid[:, :, :, part].reshape(*table.shape[:2], -1))


def sketches_at(
    table: Floats, axes: Sequence[AxisLayout], axis: int, part: int
) -> tuple[Floats, tuple[AxisLayout, ...]]:
    """The sketches [1, fewer parts, 8] at one place of an axis, and the axes that are left."""
    picked = parts_at(table.transpose(2, 0, 1), axes, axis, part).transpose(1, 2, 0)
    return picked, (*axes[:axis], *axes[axis + 1 :])
