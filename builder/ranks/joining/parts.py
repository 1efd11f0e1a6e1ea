"""The values of a logical run as parts on a grid of ranks, grouped by what they have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builder.dump.joined_tensors import Variant
from builder.dump.sketch_numbers import sketches_of
from builder.dump.statistic_cells import Cell, numbers_of
from builder.dump.values import Record
from builder.errors import InputError
from builder.ranks.assembly.alignment import parse
from builder.ranks.assembly.logical_run import LogicalRun, Parts
from builder.ranks.joining.layouts import AXIS_NAMES, Shape, ValueClass
from builder.ranks.joining.told import LayoutFile, LayoutRule, ToldAxis, names_of
from builder.ranks.layout.names import role_of
from msprobe_core.format import COMMUNICATION, MODULE_PREFIXES, PROJECTIONS, SKETCH_VERSION

Floats = NDArray[np.float64]
Placements = tuple[tuple[str, str], ...]
REDUCING = frozenset("all_reduce reduce reduce_scatter reduce_scatter_tensor".split()) | {
    "_reduce_scatter_base",
    "reduce_scatter_single",
}


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """What decides which layouts a value may have: sizes of its axes and shapes of its parts.

    `placements` are known by axis, recorded or told; `variants` are the told orders of cut parts.
    Of one run there is one object for each such thing.
    """

    sizes: tuple[int, ...]
    shapes: tuple[Shape, ...]
    placements: Placements = ()
    variants: tuple[tuple[str, Variant], ...] = ()
    is_told: bool = False


class RunValues:
    """All values of a logical run with their numbers; `owner` tells a value's entry.

    `told` are layouts by name, `used` the files and lines of those that are about some value.
    """

    def __init__(self, run: LogicalRun, told: LayoutFile | None = None) -> None:
        self.run, self._told = run, told
        self.used: set[tuple[str, int]] = set()
        self.keys = run.dump.values.keys
        self._shapes: dict[str, frozenset[Shape | None]] = {}
        self._grids: dict[tuple[object, ...], Grid] = {}
        self._roles: dict[str, str] = {}
        self.owner: list[str] = [""] * len(self.keys)
        for name, (start, stop) in run.dump.ranges.items():
            self.owner[start:stop] = [name] * (stop - start)

    def numbers(self, chosen: NDArray[np.int64]) -> tuple[Floats, NDArray[np.bool_]]:
        """Max, Min, Mean, Norm [4, …] of some records, NaN where not recorded, and what is."""
        records = self.run.records
        listed = [records[number] for number in chosen.ravel().tolist()]
        # One pass over the records: fetching them from memory costs more than the copying.
        cells: list[Cell] = [c for r in listed for c in (r.Max, r.Min, r.Mean, r.Norm)]
        flat = numbers_of(cells)
        recorded = np.ones(len(flat), dtype=bool)
        for index in np.flatnonzero(np.isnan(flat)).tolist():
            recorded[index] = cells[index] is not None
        shape = (4, *chosen.shape)
        return flat.reshape(-1, 4).T.reshape(shape), recorded.reshape(-1, 4).T.reshape(shape)

    @cached_property
    def has_sketches(self) -> bool:
        """Whether any rank has sketches that are known."""
        known = self.run.dump.sketch_version == SKETCH_VERSION
        return known and any(record.sketch is not None for record in self.run.records)

    def sketches(self, chosen: NDArray[np.int64]) -> Floats:
        """The sketches of some records [..., 8], NaN where there is none."""
        found = sketches_of([self.run.records[number] for number in chosen.ravel().tolist()])
        if found is None:
            return np.full((*chosen.shape, PROJECTIONS), np.nan)
        return found.reshape(*chosen.shape, PROJECTIONS)

    def role(self, owner: str) -> str:
        """What all instances of an entry share over layers, experts and micro-batches."""
        known = self._roles.get(owner)
        if known is None:
            parent = self.run.updates.get(owner) or self.run.dump.parents.get(owner)
            around = role_of(parent) if parent is not None else ""
            name = role_of(f"{owner}.")
            known = name if owner.partition(".")[0] in MODULE_PREFIXES else f"{around}/{name}"
            # One text for each role: the next look at it is at the object alone.
            known = self._roles[owner] = intern(known)
        return known

    def records(self, index: int) -> list[Record]:
        """The records of a value's parts."""
        return [self.run.records[number] for number in self.run.parts[index].records]

    def dtype(self, index: int) -> str | None:
        """The format that a value's first part is recorded in."""
        return self.run.records[self.run.parts[index].records[0]].dtype

    def class_of(self, index: int) -> ValueClass:
        """What kind of value it is, which says what layouts are usual."""
        key, owner = self.keys[index], self.owner[index]
        if key.startswith("parameters.") or owner.startswith("Optimizer."):
            return "parameter"
        if self.run.dump.parents.get(owner) == "optimizer":
            return "parameter"
        if key.startswith("parameters_grad."):
            return "gradient"
        entry = parse(owner)
        if entry is None or entry.direction == "forward":
            return "gradient" if self.scales_gradient(index) else "forward"
        shape = self.run.records[self.run.parts[index].records[0]].shape
        if entry.kind != "api":
            # A bias that layers return for others to add has its gradient among theirs.
            return "gradient" if shape in self._biases else "backward"
        # Among the gradients of calls are those of their module's parameters.
        parent = self.run.dump.parents.get(owner)
        is_gradient = parent is not None and shape in self.parameter_shapes(parent)
        return "gradient" if is_gradient else "call_gradient"

    def scales_gradient(self, index: int) -> bool:
        """Whether a value is of a call that scales a parameter's gradient in place."""
        return self.owner[index] in self._scaling

    @cached_property
    def _scaling(self) -> frozenset[str]:
        """In-place calls outside of all modules on parameters' gradients, as loss scaling makes.

        They run before or after gradients are reduced: what they read and write is a gradient.
        """
        gradients = {
            fingerprint(record)
            for index, key in enumerate(self.keys)
            if key.startswith("parameters_grad.")
            for record in self.records(index)
        } - {()}
        return frozenset(
            owner
            for owner, (start, stop) in self.run.dump.ranges.items()
            if start < stop and self._is_loose_in_place(owner)
            if any(fingerprint(record) in gradients for record in self.records(start))
        )

    def _is_loose_in_place(self, owner: str) -> bool:
        entry = parse(owner)
        if entry is None or entry.kind != "api" or not entry.type_name.endswith("_"):
            return False
        return self.run.dump.parents.get(owner) is None and not entry.type_name.endswith("__")

    @cached_property
    def _biases(self) -> frozenset[Shape]:
        """The shapes of all parameters of one dimension."""
        shapes = (
            self.run.records[parts.records[0]].shape
            for key, parts in zip(self.keys, self.run.parts, strict=True)
            if key.startswith("parameters.")
        )
        return frozenset(shape for shape in shapes if shape is not None and len(shape) == 1)

    def parameter_shapes(self, module: str) -> frozenset[Shape | None]:
        """The shapes of the parameters of the module that a backward entry belongs to."""
        entry = parse(module)
        if entry is None or entry.kind != "module":
            return frozenset()
        forward = entry.twin("forward")
        known = self._shapes.get(forward)
        if known is None:
            start, stop = self.run.dump.ranges.get(forward, (0, 0))
            chosen = (i for i in range(start, stop) if self.keys[i].startswith("parameters."))
            known = frozenset(self.run.records[self.run.parts[i].records[0]].shape for i in chosen)
            self._shapes[forward] = known
        return known

    def grid(self, index: int) -> Grid | None:
        """The grid of a value's parts; None where parts are missing."""
        parts, records = self.run.parts[index], self.run.records
        first = records[parts.records[0]]
        if len(parts.records) == 1:
            return self._grid(_ALONE, (first.shape or (),))
        sizes = parts.places.sizes
        if sizes is None:
            return None
        shapes = tuple([records[number].shape or () for number in parts.records])
        recorded = _placements(first) if first.mesh else ()
        placements = recorded or self._of_parameter(index)
        rule = self.rule(index)
        if placements or rule is None or not rule.axes:
            return self._grid(sizes, shapes, placements, _strides(first) if recorded else ())
        axes = self._told_axes(index, rule, shapes[0])
        told = tuple((axis.axis, _text(axis)) for axis in axes)
        variants = tuple((axis.axis, axis.variant) for axis in axes if axis.kind == "S")
        return self._grid(sizes, shapes, told, variants, is_told=True)

    def _grid(
        self,
        sizes: tuple[int, ...],
        shapes: tuple[Shape, ...],
        placements: Placements = (),
        variants: tuple[tuple[str, Variant], ...] = (),
        *,
        is_told: bool = False,
    ) -> Grid:
        """One object for all values of which the same is known, which is compared as such."""
        facts = (sizes, shapes, placements, variants, is_told)
        known = self._grids.get(facts)
        if known is None:
            known = Grid(sizes, shapes, placements, variants, is_told)
            self._grids[facts] = known
        return known

    def _of_parameter(self, index: int) -> tuple[tuple[str, str], ...]:
        """Where the parameters themselves say how tp cuts them, as Megatron's do."""
        key, owner = self.keys[index], self.owner[index]
        is_parameter = key.startswith("parameters") or owner.startswith("Optimizer.")
        name = next(names_of(owner, key)) if self.run.cut and is_parameter else ""
        dim = self.run.cut.get(name)
        if dim is not None:
            return (("tp", f"S({dim})"),)
        # Before it is reduced, the gradient of what is repeated is a part of a sum.
        is_whole = name in self.run.cut and not key.startswith("parameters_grad.")
        return (("tp", "R"),) if is_whole else ()

    def rule(self, index: int) -> LayoutRule | None:
        """What the user tells of a value's layout."""
        if self._told is None:
            return None
        rule = self._told.of(self.owner[index], self.keys[index])
        if rule is not None:
            self.used.add((self._told.path, rule.line))
        return rule

    def _told_axes(self, index: int, rule: LayoutRule, shape: Shape) -> Sequence[ToldAxis]:
        assert self._told is not None
        if rule.dims is not None and rule.dims != len(shape):
            raise InputError(
                f"{self._told.path}:{rule.line}: names {rule.dims} dimensions, and "
                f"{self.owner[index]} {self.keys[index]} has {len(shape)}",
                "name each dimension once, or narrow the pattern",
            )
        if self.keys[index].startswith("parameters_grad."):
            # Before it is reduced, the gradient of what is repeated is a part of a sum.
            return [axis for axis in rule.axes if axis.kind == "S"]
        return rule.axes

    @cached_property
    def reduced(self) -> frozenset[tuple[Any, ...]]:
        """Fingerprints of what any rank gave to a reducing collective."""
        fingerprints = set()
        for name, (start, stop) in self.run.dump.ranges.items():
            entry = parse(name) if name.partition(".")[0] in COMMUNICATION else None
            if entry is None or entry.type_name not in REDUCING:
                continue
            for index in range(start, stop):
                if self.keys[index].startswith("input"):
                    fingerprints |= {fingerprint(record) for record in self.records(index)}
        return frozenset(fingerprints)

    def feeds_reduction(self, index: int) -> bool:
        """Whether a collective that sums reads the value."""
        record = self.run.records[self.run.parts[index].records[0]]
        # Few have the norm of one that was reduced; looking for it alone is the quicker half.
        if () not in self.reduced and record.Norm not in self._reduced_norms:
            return False
        return fingerprint(record) in self.reduced

    @cached_property
    def _reduced_norms(self) -> frozenset[Cell]:
        return frozenset(numbers[-1] for numbers in self.reduced if numbers)


_ALONE = (1,) * len(AXIS_NAMES)
_MESH_AXES = {"tp": "tp", "cp": "cp", "dp": "dp", "fsdp": "dp", "dp_shard": "dp"}


def fingerprint(record: Record) -> tuple[Any, ...]:
    """What tells a tensor from others by its numbers; () for what has none."""
    if record.Norm is None or record.Max == record.Min:
        return ()
    return (record.Max, record.Min, record.Mean, record.Norm)


def indices(parts: Sequence[Parts]) -> NDArray[np.int64]:
    """Record numbers [values, parts]."""
    return np.array([own.records for own in parts], dtype=np.int64)


# DTensor's cut of what another axis had cut into so many pieces before, in words of several torchs.
_STRIDED = re.compile(r"_S(?:tridedShard)?\((?:dim=)?(\d+), (?:sf=|split_factor=)?(\d+)\)")


def _placements(record: Record) -> tuple[tuple[str, str], ...]:
    names = [_MESH_AXES.get(name, "") for name in record.mesh or ()]
    placed = (_STRIDED.sub(r"S(\1)", placement) for placement in record.placements or ())
    return tuple((n, p) for n, p in zip(names, placed) if n)


def _strides(record: Record) -> tuple[tuple[str, Variant], ...]:
    """The axes that cut each of the pieces that another axis made: FSDP over tensor parallelism."""
    names = [_MESH_AXES.get(name, "") for name in record.mesh or ()]
    found = ((n, _STRIDED.fullmatch(p)) for n, p in zip(names, record.placements or ()) if n)
    return tuple((n, Variant(pieces=(1,) * int(match[2]))) for n, match in found if match)


def _text(axis: ToldAxis) -> str:
    return f"S({axis.dim})" if axis.kind == "S" else axis.kind
