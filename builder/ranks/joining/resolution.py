"""What is known while the values of two logical runs are joined, and what comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from builder.dump.values import Record
from builder.ranks.assembly.logical_run import LogicalRun
from builder.ranks.joining.layouts import Shape
from builder.ranks.joining.own_values import OwnValues
from builder.ranks.joining.parts import RunValues
from builder.ranks.joining.roles import Reading
from builder.ranks.joining.told import LayoutFile


@dataclass(frozen=True, slots=True)
class Conflict:
    """A value whose replicas along an axis differ; `ranks` are the guilty ones, all if in doubt.

    With `order` it is positions that do not lie in that order along the axis. `adds_up` tells that
    the sum over the axis is what the benchmark has.
    """

    entry: str
    key: str
    axis: str
    ranks: tuple[int, ...]
    error: float
    is_parameter: bool
    order: str | None = None
    adds_up: bool = False


@dataclass(slots=True)
class Resolution:
    """What became of the values: by the index of the problem's value its reading and trust.

    `moved_share` is the largest share of a layer's tokens that rounding gave to other experts.
    `unseen_share` is the share that it may have given by entry, where no record shows the choices:
    the backward entries of routers and of experts. `unordered` are the entries that read tensors
    whose parts no known order brings together. `set_aside` counts by reason what is not
    compared, of which `without_numbers` are values that were left without any.
    """

    factor: float = 1.0
    readings: dict[int, Reading] = field(default_factory=dict)
    assumed: set[int] = field(default_factory=set)
    bounded: set[int] = field(default_factory=set)
    told: set[int] = field(default_factory=set)
    set_aside: Counter[str] = field(default_factory=Counter)
    without_numbers: set[int] = field(default_factory=set)
    conflicts: list[Conflict] = field(default_factory=list)
    compared: int = 0
    moved_share: float = 0.0
    unseen_share: dict[str, float] = field(default_factory=dict)
    unordered: set[str] = field(default_factory=set)


class Sides:
    """Both runs with their values; `weak` names entries that count only where a reading fits."""

    def __init__(
        self,
        problem: LogicalRun,
        benchmark: LogicalRun,
        weak: frozenset[str],
        layouts: Sequence[LayoutFile] = (),
    ) -> None:
        self.runs = (problem, benchmark)
        told = (layouts[0], layouts[-1]) if layouts else (None, None)
        self.values = (RunValues(problem, told[0]), RunValues(benchmark, told[1]))
        self.weak = weak
        self.result = Resolution()
        self.are_told = bool(layouts)
        # Experts on several ranks of one run alone: their tokens come in another order.
        self.moves_tokens = problem.layout.shares_experts != benchmark.layout.shares_experts
        self.by_tensor = problem.dump.task == benchmark.dump.task == "tensor"

    @cached_property
    def rows(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Extents that a flattened dimension may begin with, per side."""
        problem, benchmark = self.runs
        return _leading_extents(problem), _leading_extents(benchmark)

    def is_weak(self, index: int) -> bool:
        """Whether one of the problem's values stands in an entry that the layout rewrites."""
        return self.values[0].owner[index] in self.weak

    def is_own(self, side: int, index: int) -> bool:
        """Whether each rank has a value of its own by nature, as of experts that it alone has."""
        return self._own_values[side].is_own(index)

    @cached_property
    def _own_values(self) -> tuple[OwnValues, OwnValues]:
        return OwnValues(self.values[0]), OwnValues(self.values[1])

    def set_aside(self, pair: tuple[int, int], reason: str) -> None:
        """Leave a pair of values without numbers, so that it is not compared."""
        for run, index in zip(self.runs, pair, strict=True):
            run.dump.values.records[index] = _without_numbers(run.dump.values.records[index])
        same_shape = self.runs[1].dump.values.records[pair[1]].shape
        self.runs[0].dump.values.records[pair[0]].shape = same_shape
        self.result.set_aside[reason] += 1
        self.result.without_numbers.add(pair[0])

    def leave_unlike(self, pair: tuple[int, int], shapes: tuple[Shape, Shape]) -> None:
        """Let a pair of values differ in the shapes of their wholes, which nothing joins."""
        for run, index, shape in zip(self.runs, pair, shapes, strict=True):
            record = run.dump.values.records[index]
            run.dump.values.records[index] = msgspec.structs.replace(record, shape=shape)
        self.result.compared += 1


def _leading_extents(run: LogicalRun) -> tuple[int, ...]:
    """The batch sizes of most values on a rank: what a flattened dimension may begin with."""
    counts = Counter(r.shape[0] for r in run.records if r.shape is not None and len(r.shape) > 2)
    return tuple(extent for extent, _ in counts.most_common(2))


def _without_numbers(record: Record) -> Record:
    return Record(
        type=record.type, dtype=record.dtype, shape=record.shape, requires_grad=record.requires_grad
    )
