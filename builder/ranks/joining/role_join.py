"""Joins the values of one role as its reading says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

import msgspec
import numpy as np
from numpy.typing import NDArray

from builder.dump.joined_tensors import JoinedTensor, Variant, read_joined
from builder.dump.tensor_files import TensorFileError
from builder.dump.values import Record
from builder.operators.table import has
from builder.ranks.joining.joined_sketches import (
    are_cut_alike,
    have_sketches,
    join_sketches,
    sketch_text,
)
from builder.ranks.joining.joined_statistics import join_statistics
from builder.ranks.joining.layouts import Shape
from builder.ranks.joining.part_tensors import joined_tensor, repeats_itself, ways_of
from builder.ranks.joining.parts import Floats
from builder.ranks.joining.replicas import Replicas, parts_at, sketches_at
from builder.ranks.joining.resolution import Sides
from builder.ranks.joining.roles import (
    Fit,
    Numbers,
    Reading,
    Role,
    exceeded_bounds,
    has_factor,
    sketch_errors_of,
)
from builder.ranks.joining.shared_experts import exchanged_share, share_of_ties
from builder.ranks.joining.tolerances import nearer, same
from msprobe_core.format import is_integer_dtype

Variants = tuple[tuple[Variant, ...], tuple[Variant, ...]]
Choice = tuple[int, int]  # an axis and the part along it that stands for all
# Tensors of a role that are read to tell how fused or interleaved parts lie: a fault may sit in one
# or two of them, and each is read once for each of the orders, up to a dozen.
_SAMPLES = 4


class RoleJoin:
    """The values of one role, joined as its reading says."""

    def __init__(self, owner: Sides, role: Role, numbers: Numbers) -> None:
        assert role.reading is not None
        self.owner, self.role, self.numbers = owner, role, numbers
        self.reading = role.reading
        self.factor = owner.result.factor if has_factor(role) else 1.0
        self.sides = (self.reading.problem, self.reading.benchmark)
        self.tables = self._join()

    def write(self) -> None:
        variants = self._variants()
        chosen, own = self.conflicts()
        is_sketched = self._is_sketched()
        cells = {side: self._cells(side, chosen) for side in (0, 1) if self._is_changed(side)}
        is_unordered = self.owner.by_tensor and variants is None
        if is_unordered and self.role.key.startswith("input"):
            values = self.owner.values[0]
            self.owner.result.unordered |= {values.owner[row[0]] for row in self.role.rows}
        written = []
        for at, row in enumerate(self.role.rows):
            if self._is_unexplained(at, row, variants) or (is_unordered and self._is_whole_number):
                self.owner.set_aside(row, "values fit no layout")
                continue
            if at in own:
                self.owner.set_aside(row, "each rank's own choice")
                continue
            for side, table in cells.items():
                picked = chosen.get((side, at))
                self._write_record(side, row[side], table[at], variants, picked)
            if is_sketched:
                for side in (0, 1):
                    self._write_sketch(side, at, row[side], chosen.get((side, at)))
            written.append(row[0])
        if self._chooses_experts():
            self._note_exchanged(variants, is_sketched)
        self._note(written)

    def conflicts(self) -> tuple[dict[tuple[int, int], Choice], set[int]]:
        """Note replicas that differ; by side and instance the axis and the part that stands out.

        Of the other instances each rank has one of its own, and nothing is wrong with that.
        """
        replicas = Replicas(
            self.owner, self.role, self.numbers, self.reading, self.tables, self.factor
        )
        return replicas.conflicts(), replicas.own

    def _chooses_experts(self) -> bool:
        """Whether these are a router's choices, of experts that ranks of one run alone share."""
        call = self.role.name.rpartition("/")[2].split(".")
        index = self.role.rows[0][0]
        is_choice = len(call) > 1 and has(call[1], "chooses")
        dtype = self.owner.values[0].dtype(index) or ""
        return self.owner.moves_tokens and is_choice and is_integer_dtype(dtype)

    def _note_exchanged(self, variants: Variants | None, is_sketched: bool) -> None:
        """Note the share of tokens that ties gave to other experts although each kept its number.

        Tensors tell which choices differ, sketches how many at most.
        """
        choices = int(np.prod(self.sides[1].shape, dtype=int))
        if self.owner.by_tensor and variants is not None:
            rows = range(len(self.role.rows))
            counted = np.array([self._count_of_unlike(at, variants) for at in rows])
        elif is_sketched and self.numbers.sketches is not None:
            tables, axes = self.numbers.sketches, [side.axes for side in self.sides]
            ours, theirs = (join_sketches(t, a) for t, a in zip(tables, axes, strict=True))
            counted = np.square(ours - theirs).mean(axis=-1)
        else:
            self._note_unseen(choices)
            return
        share = exchanged_share(counted, choices, self.numbers.rounding)
        self.owner.result.moved_share = max(self.owner.result.moved_share, share)

    def _note_unseen(self, choices: int) -> None:
        """Note by router the share of choices that ties may have turned, and nothing tells."""
        parents = self.owner.runs[0].dump.parents
        for at, row in enumerate(self.role.rows):
            router = parents.get(self.owner.values[0].owner[row[0]])
            if router is not None:
                share = share_of_ties(choices, float(self.numbers.rounding[at]))
                self.owner.result.unseen_share[router] = share

    def _is_changed(self, side: int) -> bool:
        """Whether the wholes of a side are anything else than what one rank has."""
        factor = self.factor if side == 0 else 1.0
        is_alone = len(self.role.grids[side].shapes) == 1
        is_turned = side == 0 and self.reading.is_transposed
        return not is_alone or factor != 1.0 or self._extents(side) is not None or is_turned

    def _note(self, written: list[int]) -> None:
        """Say how far the reading of the problem's values can be trusted."""
        result = self.owner.result
        result.compared += len(written)
        result.readings.update(dict.fromkeys(written, self.reading))
        if any(grid.is_told for grid in self.role.grids):
            result.told.update(written)
        if self.sides[0].sums or self.sides[1].sums:
            result.bounded.update(written)
        is_known = any(grid.placements for grid in self.role.grids)
        few = len(self.role.rows) < 3 and not is_known
        if not self.role.fit.fits.any() or few:
            result.assumed.update(written)

    def _is_unexplained(self, at: int, row: tuple[int, int], variants: Variants | None) -> bool:
        if not self.owner.is_weak(row[0]) and not self._is_fused_loss():
            return False
        # A sum whose parts cancel may round further, but then nothing says that it is that sum.
        if self.role.fit.error[at] > same(self.numbers.rounding[at]):
            return True
        if variants is None or not self.owner.by_tensor:
            return False
        return bool(self._distance(at, variants) > same(self.numbers.rounding[at]))

    def _is_fused_loss(self) -> bool:
        """Whether one side alone has the gradient of a loss over classes that are cut.

        DTensor's loss_parallel gives there the gradient of the logits, where torch's own kernel
        has that of their logarithmic softmax.
        """
        call = self.role.name.rpartition("/")[2].split(".")
        if self.role.value_class != "call_gradient" or len(call) < 2 or not has(call[1], "loss"):
            return False
        cut = [any(a.kind == "S" and a.dim > 0 for a in side.axes) for side in self.sides]
        return cut[0] != cut[1]

    def _cells(
        self, side: int, chosen: Mapping[tuple[int, int], Choice]
    ) -> list[list[float | None]]:
        """Max, Min, Mean, Norm of every instance; None where they cannot be told."""
        table, candidate = self.tables[side].copy(), self.sides[side]
        factor = self.factor if side == 0 else 1.0
        for (of_side, at), (axis, part) in chosen.items():
            if of_side == side:
                table[:, at] = self._with_part(side, at, axis, part)
        if side == 0:
            # Of a sum only bounds are known: one that the benchmark breaks stands in for it.
            exceeded = exceeded_bounds(self.reading, self.numbers, self.factor)[0]
            table = np.where(np.isnan(table), exceeded * factor, table)
        table = table / factor
        known = self.numbers.recorded[side].all(axis=-1)
        if candidate.sums:
            known = known & ~np.isnan(table)
        if self._extents(side) is not None:
            known = np.zeros_like(known)  # the padding went into them
        cells: list[list[float | None]] = np.asarray(np.where(known, table, None)).T.tolist()
        return cells

    def _with_part(self, side: int, at: int, axis: int, part: int) -> Floats:
        """The statistics of an instance whose replicas differ, with one of them for all."""
        axes = self.sides[side].axes
        picked = parts_at(self.numbers.tables[side][:, at : at + 1], axes, axis, part)
        counts = parts_at(self.numbers.counts[side][None, None], axes, axis, part)
        others = (*axes[:axis], *axes[axis + 1 :])
        return np.asarray(join_statistics(picked, counts[0, 0], others)[:, 0])

    def _write_record(
        self,
        side: int,
        index: int,
        cells: list[float | None],
        variants: Variants | None,
        chosen: Choice | None,
    ) -> None:
        run = self.owner.runs[side]
        factor = self.factor if side == 0 else 1.0
        first = run.records[run.parts[index].records[0]]
        joined = None
        if variants is not None:
            joined = self._joined(side, index, variants[side], chosen, factor)
        largest, least, mean, norm = cells
        run.dump.values.records[index] = Record(
            type=first.type,
            dtype=first.dtype,
            shape=self._shape(side) if first.shape is not None else None,
            Max=largest,
            Min=least,
            Mean=mean,
            Norm=norm,
            requires_grad=first.requires_grad,
            data_name=joined,
        )

    def _shape(self, side: int) -> Shape:
        """The shape under which a side's value is compared."""
        shape = self._extents(side) or self.sides[side].shape
        return shape[::-1] if side == 0 and self.reading.is_transposed else shape

    def _extents(self, side: int) -> Shape | None:
        """The extents of a side's value without padding; None where it has none."""
        extents = self.reading.extents
        return None if extents == self.sides[side].shape else extents

    def _is_sketched(self) -> bool:
        """Whether sketches of the joined values are compared."""
        if self.reading.extents is not None or self.reading.is_transposed:
            return False
        if self.numbers.sketches is None:
            return False
        ours, theirs = (side.axes for side in self.sides)
        if have_sketches(ours, theirs):
            return True
        if not are_cut_alike(ours, theirs):
            return False
        # Two programs may order what they fuse in their own ways: most instances have to agree.
        errors = sketch_errors_of(self.reading, self.numbers, self.factor)
        return bool(np.median(errors / nearer(self.numbers.rounding)) < 1.0)

    def _write_sketch(self, side: int, at: int, index: int, chosen: Choice | None) -> None:
        assert self.numbers.sketches is not None
        table, axes = self.numbers.sketches[side][at : at + 1], self.sides[side].axes
        if chosen is not None:
            axis, part = chosen
            table, axes = sketches_at(table, axes, axis, part)
        factor = self.factor if side == 0 else 1.0
        record = self.owner.runs[side].dump.values.records[index]
        text = sketch_text(join_sketches(table, axes)[0] / factor)
        records = self.owner.runs[side].dump.values.records
        records[index] = msgspec.structs.replace(record, sketch=text)

    def _joined(
        self,
        side: int,
        index: int,
        variants: tuple[Variant, ...],
        chosen: Choice | None,
        factor: float,
    ) -> str | None:
        run = self.owner.runs[side]
        tensor = joined_tensor(run, index, self.sides[side], variants, chosen, factor)
        if tensor is None:
            return None
        tensor = self._as_compared(side, tensor)
        name = f"joined:{index}"
        run.dump.joined[name] = tensor
        return name

    def _as_compared(self, side: int, tensor: JoinedTensor) -> JoinedTensor:
        is_turned = side == 0 and self.reading.is_transposed
        return replace(tensor, extents=self._extents(side), is_transposed=is_turned)

    def _variants(self) -> Variants | None:
        """How cut parts lie behind each other: told by tensors, of no concern to statistics.

        None where the numbers agree and no order of the elements does: such tensors can only be
        compared by their statistics. Readings that fit the numbers as well are tried in turn.
        """
        if not self.owner.by_tensor:
            return self._plain()
        rows = np.flatnonzero(self._fit_some_reading()).tolist()
        rows = rows[:: max(1, len(rows) // _SAMPLES)][:_SAMPLES]
        best: tuple[tuple[int, bool], int, Variants] | None = None
        for place, (reading, fit) in enumerate(self.role.options):
            self._read_as(reading, fit)
            for variants in product(self._variant_options(0), self._variant_options(1)):
                fits = [self._fits(at, variants) for at in rows]
                # What runs first has met no fault yet: it breaks a tie.
                worth = (sum(fits), any(fits[:1]))
                if worth[0] and (best is None or worth > best[0]):
                    best = worth, place, variants
                if worth[0] == len(rows):
                    break
            if best is not None and best[0][0] == len(rows):
                break
        self._read_as(*self.role.options[best[1] if best is not None else 0])
        if best is not None:
            return best[2]
        is_cut = any(axis.kind == "S" for side in self.sides for axis in side.axes)
        return None if rows and is_cut and not self._are_labels() else self._plain()

    def _are_labels(self) -> bool:
        """Whether these are labels of a loss, which lie as the rows that they are held against.

        Shares of a batch lie behind each other: labels that fit no such order are other labels.
        """
        call = self.role.name.rpartition("/")[2].split(".")
        is_read = self.role.key.startswith("input.") and len(call) > 1
        cut = {axis.axis for side in self.sides for axis in side.axes if axis.kind == "S"}
        of_loss = is_read and has(call[1], "loss") and self._is_whole_number
        return of_loss and cut <= {"dp", "micro"}

    def _plain(self) -> Variants:
        ours, theirs = ((Variant(),) * len(side.axes) for side in self.sides)
        return ours, theirs

    def _fit_some_reading(self) -> NDArray[np.bool_]:
        """Which instances any of the readings fits."""
        return np.asarray(np.any([fit.fits for _, fit in self.role.options], axis=0))

    def _read_as(self, reading: Reading, fit: Fit) -> None:
        if reading is self.reading:
            return
        self.reading, self.role.reading, self.role.fit = reading, reading, fit
        self.sides = (reading.problem, reading.benchmark)
        self.tables = self._join()

    def _join(self) -> tuple[Floats, ...]:
        return tuple(
            join_statistics(table, count, side.axes)
            for table, count, side in zip(
                self.numbers.tables, self.numbers.counts, self.sides, strict=True
            )
        )

    def _variant_options(self, side: int) -> list[tuple[Variant, ...]]:
        order, rows = self.owner.runs[side].layout.cp_order, self.owner.rows[side]
        told = dict(self.role.grids[side].variants)
        shapes = self.role.grids[side].shapes
        listed = [
            ways_of(axis, order, rows, (shape[axis.dim] for shape in shapes))
            if axis.kind == "S" and axis.axis not in told
            else (told.get(axis.axis, Variant()),)
            for axis in self.sides[side].axes
        ]
        return list(dict.fromkeys(product(*listed)))

    def _fits(self, at: int, variants: Variants) -> bool:
        limit = float(nearer(self.role.fit.rounding[at]))
        return self._distance(at, variants) <= limit and self._are_copies(at)

    def _distance(self, at: int, variants: Variants) -> float:
        """How far apart the two sides of an instance are by their elements, relative to it."""
        return self._measured(at, variants, _relative_distance)

    def _count_of_unlike(self, at: int, variants: Variants) -> float:
        """How many elements of an instance differ."""
        return self._measured(at, variants, _count_of_unlike)

    def _measured(
        self, at: int, variants: Variants, measure: Callable[[Floats, Floats], float]
    ) -> float:
        """A measure over the elements of an instance.

        0 for an empty tensor, which has no file; infinity where parts make no such whole, or one
        that does not pair.
        """
        try:
            wholes = self._wholes(at, variants)
        except (TensorFileError, ValueError):
            return float("inf")
        if wholes is None:
            return 0.0
        ours, theirs = wholes
        if ours.size != theirs.size:
            return float("inf")
        return float(measure(ours.ravel(), theirs.ravel()))

    def _wholes(self, at: int, variants: Variants) -> tuple[Floats, Floats] | None:
        """An instance as it is compared, on both sides; None for an empty tensor.

        Raises TensorFileError or ValueError where parts cannot be read, or make no such whole.
        """
        row, factors = self.role.rows[at], (self.factor, 1.0)
        arrays = []
        for side in (0, 1):
            run, candidate = self.owner.runs[side], self.sides[side]
            tensor = joined_tensor(run, row[side], candidate, variants[side], None, factors[side])
            if tensor is None:
                return None
            whole = read_joined(self._as_compared(side, tensor))
            arrays.append(whole.astype(np.float64))
        return arrays[0], arrays[1]

    @property
    def _is_whole_number(self) -> bool:
        """Whether extremes alone are recorded, which tell nothing without an order."""
        return is_integer_dtype(self.owner.values[0].dtype(self.role.rows[0][0]) or "")

    def _are_copies(self, at: int) -> bool:
        """Whether what is read as copies of whole numbers is the same in all of its elements.

        Of whole numbers extremes alone are recorded, and those of any order are the same.
        """
        if not self._is_whole_number:
            return True
        return all(map(repeats_itself, self.owner.runs, self.role.rows[at], self.sides))


def _count_of_unlike(ours: Floats, theirs: Floats) -> float:
    return float(np.count_nonzero(ours != theirs))


def _relative_distance(ours: Floats, theirs: Floats) -> float:
    distance, size = float(np.linalg.norm(ours - theirs)), float(np.linalg.norm(theirs))
    return distance / size if size else float("inf") if distance else 0.0
