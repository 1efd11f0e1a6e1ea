"""Decides the layout of each role: the values that differ by layer, expert or micro-batch only.

All instances of a role share one layout, the one that most of them fit; an instance that fits only
another reading keeps the role's layout and differs, which is how a fault in one layer shows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np
from numpy.typing import NDArray

from builder.ranks.joining.joined_sketches import (
    have_sketches,
    join_sketches,
    magnitude,
    sketch_disagreement,
    sketch_error,
)
from builder.ranks.joining.joined_statistics import (
    MEAN,
    NORM,
    bounds,
    difference,
    disagreement,
    join_statistics,
    norms_of_parts,
    outside,
)
from builder.ranks.joining.layouts import AXIS_NAMES, Candidate, Shape, ValueClass, candidates
from builder.ranks.joining.parts import Floats, Grid, RunValues, indices
from builder.ranks.joining.tolerances import (
    Roundings,
    amplified,
    nearer,
    same,
    unlike_copies,
)

# Readings that tensors are tried in: along tp and dp a value is whole, cut in one of two usual
# dimensions, or a sum; what fits the numbers besides is rarer than one of these.
_OPTIONS = 4
# Whose extents may be padded, and by how much. Megatron pads to a multiple of 128 × tp: that is at
# most half of a vocabulary of two such multiples, and smaller ones are toys.
_VOCABULARY = re.compile(r"embed|wte|head\b|output_layer|vocab|logits", re.IGNORECASE)
_MOST_PADDED = 1.5
_VOTERS = "Module."
# How many roles vote, and by how many readings each: a transformer has some 15 classes of modules
# of two values each, and the usual readings come first. More votes cost time, and the majority
# stands.
_VOTES, _READINGS = 60, 12
# Indices of values that belong together [n, 2]: the problem's, the benchmark's.
Pairs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reading:
    """How both sides of a role are read; `extents` are those of both without their padding.

    `is_transposed` where the problem run stores a matrix the other way round.
    """

    problem: Candidate
    benchmark: Candidate
    extents: Shape | None = None
    is_transposed: bool = False

    @property
    def cost(self) -> float:
        """How unusual it is."""
        return self.problem.cost + self.benchmark.cost


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a reading explains instances [n]: relative errors, and those that rounding makes."""

    error: Floats
    rounding: Floats

    @property
    def fits(self) -> NDArray[np.bool_]:
        """Where the reading is nearer to right than to wrong."""
        return np.asarray(self.error < nearer(self.rounding))

    @property
    def is_same(self) -> NDArray[np.bool_]:
        """Where both sides have the same thing."""
        return np.asarray(self.error <= same(self.rounding))


@dataclass(slots=True)
class Role:
    """Value pairs that share a layout; `reading` is None where no layout explains the shapes.

    `fit` says how far each instance is from being explained by it; without a single one that fits
    the reading is *assumed*. `options` are the readings that fit most instances, with their fit.
    """

    name: str
    key: str
    value_class: ValueClass
    grids: tuple[Grid, Grid]
    rows: list[tuple[int, int]]
    reading: Reading | None = None
    fit: Fit = field(default_factory=lambda: Fit(np.zeros(0), np.zeros(0)))
    options: list[tuple[Reading, Fit]] = field(default_factory=list)

    @property
    def is_trivial(self) -> bool:
        """Whether both sides have the value whole."""
        return all(len(grid.shapes) == 1 for grid in self.grids)


def roles_of(
    problem: RunValues, benchmark: RunValues, pairs: Pairs
) -> tuple[list[Role], list[tuple[int, int]]]:
    """Group pairs of value indices by role; those with missing parts are listed apart."""
    roles: dict[tuple[object, ...], Role] = {}
    lost: list[tuple[int, int]] = []
    for left, right in pairs.tolist():
        ours, theirs = problem.grid(left), benchmark.grid(right)
        if ours is None or theirs is None:
            lost.append((left, right))
            continue
        name, key = problem.role(problem.owner[left]), problem.keys[left]
        # Calls of one name may read gradients before they are reduced, and after.
        place = (name, key, problem.scales_gradient(left), ours, theirs)
        role = roles.get(place)
        if role is None:
            role = roles[place] = Role(name, key, problem.class_of(left), (ours, theirs), [])
        role.rows.append((left, right))
    return list(roles.values()), lost


def readings(role: Role, may_sum: tuple[bool, bool]) -> list[Reading]:
    """The readings of a role that give both sides the same shape, usual ones first."""
    listed = [
        candidates(grid.shapes, grid.sizes, role.value_class, may, grid.placements)
        for grid, may in zip(role.grids, may_sum, strict=True)
    ]
    by_shape: dict[Shape, list[Candidate]] = {}
    for candidate in listed[1]:
        by_shape.setdefault(candidate.shape, []).append(candidate)
    same_shape = [
        Reading(ours, theirs) for ours in listed[0] for theirs in by_shape.get(ours.shape, ())
    ]
    return sorted(same_shape, key=lambda reading: reading.cost)


def padded_readings(role: Role, may_sum: tuple[bool, bool]) -> list[Reading]:
    """The readings that leave one extent of vocabulary weights or logits unlike: padding.

    Vocabularies are padded so that they can be cut; the smaller extent is the logical one, unless
    both are cut.
    """
    if not _VOCABULARY.search(role.name):
        return []
    ours, theirs = (
        candidates(grid.shapes, grid.sizes, role.value_class, may, grid.placements)
        for grid, may in zip(role.grids, may_sum, strict=True)
    )
    at = AXIS_NAMES.index("tp")
    ranks = (role.grids[0].sizes[at], role.grids[1].sizes[at])
    found = [
        Reading(one, other, _unpadded((one.shape, other.shape), ranks))
        for one in ours
        for other in theirs
        if _is_padded(one.shape, other.shape)
    ]
    return sorted(found, key=lambda reading: reading.cost)


def _is_padded(ours: Shape, theirs: Shape) -> bool:
    if len(ours) != len(theirs):
        return False
    unlike = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    return len(unlike) == 1 and max(unlike[0]) <= _MOST_PADDED * min(unlike[0])


def _unpadded(shapes: tuple[Shape, Shape], ranks: tuple[int, int]) -> Shape:
    """The extents of which all rows are those of tokens on both sides, of so many tp ranks each.

    Where n and m ranks cut a vocabulary V, each side has padded it to the next multiple of k·n and
    k·m for one k (Megatron's `make_vocab_size_divisible_by`): V is more than either extent less
    such a multiple. The largest k that divides the parts of both leaves the fewest certain rows.
    """
    extents = list(map(min, zip(*shapes, strict=True)))
    for dim, pair in enumerate(zip(*shapes, strict=True)):
        parts = [divmod(extent, count) for extent, count in zip(pair, ranks, strict=True)]
        if pair[0] == pair[1] or min(ranks) < 2 or any(rest for _, rest in parts):
            continue
        step = gcd(*(extent for extent, _ in parts))
        certain = max(extent - step * count for extent, count in zip(pair, ranks, strict=True)) + 1
        extents[dim] = max(1, min(extents[dim], certain))
    return tuple(extents)


@dataclass(slots=True)
class Numbers:
    """The statistics of a role's parts: tables [4, instances, parts] and element counts [parts].

    `rounding` [instances] is that of a value in both runs; `sketches` [instances, parts, 8] are of
    both sides, None where they are not to be compared.
    """

    tables: tuple[Floats, Floats]
    counts: tuple[Floats, Floats]
    recorded: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    rounding: Floats
    sketches: tuple[Floats, Floats] | None = None


def numbers_of(
    role: Role, sides: tuple[RunValues, RunValues], roundings: Roundings, *, sketched: bool
) -> Numbers:
    """Gather what a role's parts recorded, if `sketched` with the sketches that both sides have."""
    tables, recorded, counts, sketches = [], [], [], []
    for side, values in enumerate(sides):
        chosen = indices([values.run.parts[row[side]] for row in role.rows])
        table, known = values.numbers(chosen)
        tables.append(table)
        recorded.append(known)
        shapes = role.grids[side].shapes
        counts.append(np.array([np.prod(shape, dtype=float) for shape in shapes]))
        if sketched and values.has_sketches:
            sketches.append(values.sketches(chosen))
    return Numbers(
        (tables[0], tables[1]),
        (counts[0], counts[1]),
        (recorded[0], recorded[1]),
        _roundings_of(role, sides, roundings),
        (sketches[0], sketches[1]) if len(sketches) == 2 else None,
    )


def _roundings_of(role: Role, sides: tuple[RunValues, RunValues], roundings: Roundings) -> Floats:
    dtypes = [values.dtype(row) for values, row in zip(sides, role.rows[0], strict=True)]
    owners = (sides[0].owner[row[0]] for row in role.rows)
    return np.array([roundings.of(owner, dtypes) for owner in owners])


def decide(
    role: Role, numbers: Numbers, listed: Sequence[Reading], factor: float, is_reduced: bool
) -> None:
    """Give a role the reading that most of its instances fit; the usual one where none fits."""
    rated: list[tuple[tuple[int, int, float, float], Reading, Fit]] = []
    for reading in listed:
        fit = fit_of(reading, numbers, factor if has_factor(role) else 1.0)
        doubtful = role.value_class in ("backward", "call_gradient") and not is_reduced
        over_tp = any(axis.axis == "tp" and axis.kind == "P" for axis in reading.problem.axes)
        if doubtful and over_tp and not _tells_sums(reading, numbers):
            fit.error[~_has_mean(numbers)] = np.inf
        fits = int(fit.fits.sum())
        # Parts of a parameter may look alike, but its replicas are copies.
        exact = int(fit.is_same.sum()) if role.value_class == "parameter" else 0
        worth = (-exact, -fits, reading.cost, float(np.median(fit.error)))
        rated.append((worth, reading, fit))
    rated.sort(key=lambda option: option[0])
    role.options = [(r, e) for worth, r, e in rated[:_OPTIONS] if worth[1]]
    role.options = role.options or [rated[0][1:]]
    role.reading, role.fit = role.options[0]


def fit_of(reading: Reading, numbers: Numbers, factor: float) -> Fit:
    """How far instances are from a reading, and how far rounding alone would leave them."""
    rounding = numbers.rounding
    sides = (reading.problem, reading.benchmark)
    for table, side, scale in zip(numbers.tables, sides, (factor, 1.0), strict=True):
        if side.sums:
            parts, whole = norms_of_parts(table), norms_of_parts(numbers.tables[1])
            rounding = amplified(rounding, parts / scale, whole)
    return Fit(errors_of(reading, numbers, factor), np.minimum(rounding, 1.0))


def _tells_sums(reading: Reading, numbers: Numbers) -> bool:
    """Whether sketches tell of a sum whether it is the benchmark's value."""
    axes = (reading.problem.axes, reading.benchmark.axes)
    return numbers.sketches is not None and have_sketches(*axes)


def errors_of(reading: Reading, numbers: Numbers, factor: float) -> Floats:
    """How far instances are from a reading: repeated parts agree in it and the wholes are equal."""
    ours, theirs = (
        join_statistics(table, count, side.axes)
        for table, count, side in zip(
            numbers.tables, numbers.counts, (reading.problem, reading.benchmark), strict=True
        )
    )
    magnitude = norms_of_parts(numbers.tables[1])
    size = float(np.prod(reading.benchmark.shape))
    error = difference(scaled(ours, factor), theirs, size, magnitude)
    # What is nowhere recorded says nothing, unless it is a mean that a sum would need.
    nothing = np.inf if reading.problem.sums or reading.benchmark.sums else 0.0
    worst = np.nan_to_num(error, nan=nothing, posinf=np.inf)
    worst = np.maximum(worst, exceeded_bounds(reading, numbers, factor)[1])
    for table, side in zip(numbers.tables, (reading.problem, reading.benchmark), strict=True):
        for at, axis in enumerate(side.axes):
            if axis.kind == "R":
                worst = np.maximum(worst, unlike_copies(disagreement(table, side.axes, at)))
    if not reading.is_transposed and have_sketches(reading.problem.axes, reading.benchmark.axes):
        worst = np.maximum(worst, sketch_errors_of(reading, numbers, factor))
    return np.asarray(worst)


def exceeded_bounds(reading: Reading, numbers: Numbers, factor: float) -> tuple[Floats, Floats]:
    """The bounds [4, instances] that no sum of the problem's parts can leave, and by how much.

    NaN and 0 where the benchmark lies within them, or is a sum itself.
    """
    table = numbers.tables[0]
    if not reading.problem.sums or reading.benchmark.sums:
        return np.full((4, table.shape[1]), np.nan), np.zeros(table.shape[1])
    least, most = bounds(scaled(table, factor), reading.problem.axes)
    theirs = join_statistics(numbers.tables[1], numbers.counts[1], reading.benchmark.axes)
    return outside(least, most, theirs, same(numbers.rounding))


def sketch_errors_of(reading: Reading, numbers: Numbers, factor: float) -> Floats:
    """How far instances are from a reading by their sketches; 0 where they tell nothing."""
    count = numbers.tables[0].shape[1]
    if numbers.sketches is None:
        return np.zeros(count)
    axes = (reading.problem.axes, reading.benchmark.axes)
    ours, theirs = (join_sketches(t, a) for t, a in zip(numbers.sketches, axes, strict=True))
    sizes = [magnitude(table) for table in numbers.sketches]
    parts = np.fmax(sizes[0] / factor, sizes[1])
    error = sketch_error(ours / factor, theirs, parts, numbers.rounding)
    worst = np.nan_to_num(error, nan=0.0, posinf=np.inf)
    for table, side in zip(numbers.sketches, axes, strict=True):
        for at, axis in enumerate(side):
            if axis.kind == "R":
                worst = np.maximum(worst, sketch_disagreement(table, side, at))
    return np.asarray(worst)


def scaled(table: Floats, factor: float) -> Floats:
    """Statistics of a value divided by a positive number."""
    return table if factor == 1.0 else table / factor


def _has_mean(numbers: Numbers) -> NDArray[np.bool_]:
    """Whether means say anything: those of many gradients vanish, and any sum would fit."""
    table, count = numbers.tables[1], numbers.counts[1]
    with np.errstate(all="ignore"):
        share = np.abs(table[MEAN]) * np.sqrt(count) / table[NORM]
    return np.asarray((share > nearer(numbers.rounding)[:, None]).all(axis=-1))


def has_factor(role: Role) -> bool:
    """Whether the side's gradient factor applies to a role's values."""
    return role.value_class in ("backward", "gradient", "call_gradient")


def has_vote(owner: str) -> bool:
    """Whether an entry's values may tell the factor of the gradients."""
    return owner.startswith(_VOTERS) and ".backward." in owner


def gradient_factor(
    roles: Sequence[Role],
    sides: tuple[RunValues, RunValues],
    options: Sequence[float],
    roundings: Roundings,
) -> float:
    """The number that all gradients of the problem side carry more than the benchmark's.

    DDP and FSDP average, so a rank's own loss weighs as much as the whole's; it is the option that
    most gradients of modules agree with, 1 in doubt.
    """
    chosen = [r for r in roles if r.value_class == "backward" and r.name.startswith(_VOTERS)]
    votes = dict.fromkeys(options, 0)
    for role in chosen[:_VOTES]:
        numbers = numbers_of(role, sides, roundings, sketched=False)
        listed = readings(role, (True, True))[:_READINGS]
        for option in options:
            counts = (int(fit_of(reading, numbers, option).fits.sum()) for reading in listed)
            votes[option] += max(counts, default=0)
    return max(options, key=lambda option: (votes[option], option == 1.0))
