"""How the gradient that an optimizer reads follows from those of the backward pass, by parameter.

A sketch is linear in the elements, and so is what Σx gives of them: g = c · Σ h holds for sketches
where it holds for tensors. The h of ranks along some axes that fit, and the factor c, say over what
a gradient was reduced and by what it was scaled, whatever calls have done it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from builder.dump.sketch_numbers import sketches_of
from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.ranks.assembly.logical_run import Part
from builder.ranks.joining.layouts import AXIS_NAMES
from builder.ranks.joining.parts import Floats, RunValues
from builder.ranks.joining.told import OPTIMIZER, names_of
from builder.ranks.joining.tolerances import epsilon_of
from builder.ranks.layout.names import is_expert

# Along these a gradient may be reduced; micro-batches of one rank are added up anyway.
_AXES = tuple(axis for axis in AXIS_NAMES if axis != "micro")
_DATA = ("cp", "dp")  # along which ranks work on data of their own
_PEERS = 3  # the fewest parameters that make a usual factor
# What is left of sketches of single precision: their projections are sums of many elements.
_SKETCH_ROUNDING = 5e-5
# Gradients of half precision are rounded where they are added up, averaged and clipped.
_ROUNDED_STEPS = 4


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a parameter's gradient is at the optimizer: `factor` times the sum over some axes.

    `error` is how far rounding may have moved the factor, relative to it. `alike` is the number of
    data-parallel ranks whose backward passes gave one and the same, but for rounding: whether their
    sum or one of them was taken, nothing tells, so that the factor may be so many times smaller.
    `owners` are the ranks that update it where others, which have gradients too, do not.
    """

    parameter: str
    node: str
    axes: tuple[str, ...]
    factor: float
    error: float
    alike: int = 1
    owners: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Unusual:
    """A gradient that is `times` what the same reduction gives of most parameters, `peers`."""

    found: Reduction
    usual: float
    times: float
    peers: int


def reductions(values: RunValues) -> dict[str, Reduction]:
    """By parameter how its gradient was reduced; those that no reduction explains are left out."""
    taken = _taken(values)
    found = {}
    for name, given in _given(values, taken).items():
        index = taken[name]
        reduction = _reduction(values, name, index, given)
        if reduction is not None:
            found[name] = reduction
    return found


def unusual_factors(
    found: Mapping[str, Reduction], layout_sizes: Mapping[str, int]
) -> Iterator[Unusual]:
    """The gradients whose factor misses the usual one by the size of a group of ranks.

    Other ratios have other reasons: rules of their own that a program has for a layer.
    """
    sizes = {size for size in layout_sizes.values() if size > 1}
    likely = {prod(some) for n in (1, 2, 3) for some in combinations(sorted(sizes), n)} | sizes
    likely |= {size * size for size in sizes}
    for experts in (False, True):
        own = [r for name, r in found.items() if is_expert(name) == experts]
        for one, usual, peers in _apart_from_most(own):
            times = one.factor / usual
            off = one.error + _SKETCH_ROUNDING
            if one.alike > 1 and abs(times / one.alike - 1) <= off:
                continue
            if any(abs(times / t - 1) <= off for n in likely for t in (n, 1 / n)):
                yield Unusual(one, usual, times, peers)


def _apart_from_most(own: Sequence[Reduction]) -> Iterator[tuple[Reduction, float, int]]:
    """The reductions whose factor is not that of most others, with it and their number.

    Of most that are alike the one in the middle of all is one, in the order of factors.
    """
    if not own:
        return
    one = sorted(own, key=lambda each: each.factor)[len(own) // 2]
    best = [r for r in own if abs(r.factor / one.factor - 1) <= r.error + one.error]
    if len(best) < _PEERS or 2 * len(best) <= len(own):
        return
    usual = float(np.median([r.factor for r in best]))
    names = {r.parameter for r in best}
    yield from ((r, usual, len(best)) for r in own if r.parameter not in names)


def owners_reading_own(found: Mapping[str, Reduction]) -> Iterator[tuple[Reduction, str, int]]:
    """The gradients that the one owner of a parameter reads alone, where most owners read sums.

    With the axis over which those sums are, and how many they are.
    """
    owned = [r for name, r in found.items() if r.owners and not is_expert(name)]
    summed = [r for r in owned if "dp" in r.axes]
    if len(summed) < _PEERS or 2 * len(summed) <= len(owned):
        return
    yield from ((r, "dp", len(summed)) for r in owned if "dp" not in r.axes and r.alike == 1)


def divided_twice(
    found: Mapping[str, Reduction], values: RunValues
) -> tuple[Reduction, int] | None:
    """The first of all gradients where most are a sum over ranks by the square of their number.

    A step of as many micro-batches divides by that number as well: nothing is said of it.
    """
    listed = [r for name, r in found.items() if not is_expert(name) and r.alike == 1]
    sizes, micro_batches = values.run.layout.sizes, _micro_batches(values)
    over = [prod(sizes.get(a, 1) for a in r.axes if a in _DATA) for r in listed]
    twice = [
        (r, size)
        for r, size in zip(listed, over, strict=True)
        if size not in (1, micro_batches) and abs(r.factor * size * size - 1) <= r.error
    ]
    return twice[0] if len(twice) >= _PEERS and 2 * len(twice) > len(listed) else None


def _micro_batches(values: RunValues) -> int:
    """How many micro-batches a rank runs in the step."""
    place = AXIS_NAMES.index("micro")
    all_places = {id(parts.places): parts.places for parts in values.run.parts}
    return max((len({at[place] for at in p.at}) for p in all_places.values()), default=1)


# --- what there is to compare -------------------------------------------------------------------


def _taken(values: RunValues) -> dict[str, int]:
    """By parameter the gradient that the one step of its optimizer reads."""
    found: dict[str, int] = {}
    several = set()
    for index, key in enumerate(values.keys):
        owner = values.owner[index]
        if key == "input.gradient" and owner.startswith(OPTIMIZER):
            name = next(names_of(owner, key))
            if name in found:
                several.add(name)
            found[name] = index
    return {name: index for name, index in found.items() if name not in several}


def _given(values: RunValues, wanted: Mapping[str, int]) -> dict[str, list[Part]]:
    """By parameter the gradients that hooks saw, of all calls and micro-batches."""
    found: dict[str, list[Part]] = {}
    for index, key in enumerate(values.keys):
        if key.startswith("parameters_grad."):
            name = next(names_of(values.owner[index], key))
            if name in wanted:
                found.setdefault(name, []).extend(values.run.parts[index])
    return found


def _reduction(values: RunValues, name: str, index: int, given: Sequence[Part]) -> Reduction | None:
    records = values.run.records
    taken = list(values.run.parts[index])
    # Optimizers that share parameters out hold those of one owner as flat as the others.
    counts = {prod(records[part.record].shape or (1,)) for part in (*taken, *given)}
    found, own = _grid(taken, records, sums=False), _grid(given, records, sums=True)
    if len(counts) > 1 or found is None or own is None or not _is_within(found[1], own[1]):
        return None
    (whole, places), (parts, all_places) = found, own
    owners = tuple(sorted(part.rank for part in taken)) if places != all_places else ()
    formats = [records[part.record].dtype for part in (*taken, *given)]
    error = _ROUNDED_STEPS * epsilon_of(formats) / 2 + _SKETCH_ROUNDING
    sizes = dict(zip(_AXES, parts.shape[-2::-1], strict=True))
    long = [axis for axis in _AXES if sizes[axis] > 1]
    for count in range(len(long) + 1):
        for axes in combinations(long, count):
            factor = _factor(whole, _kept(parts, places, all_places, axes), axes, error)
            if factor is not None:
                others = [axis for axis in _DATA if sizes[axis] > 1 and axis not in axes]
                alike = prod(sizes[axis] for axis in others if _are_alike(parts, axis, 2 * error))
                node = values.owner[index]
                return Reduction(name, node, axes, factor, error, alike, owners)
    return None


# The places that a value's parts have along each axis, the innermost first.
_Lists = list[list[int]]


def _is_within(places: _Lists, all_places: _Lists) -> bool:
    """Whether a value lies where another does; along dp, at one place of it, too.

    Ranks that share optimizers out, as ZeRO does, have one owner of each parameter among dp.
    """
    dp = _AXES.index("dp")
    return all(
        own == known or (axis == dp and len(own) == 1 and set(own) <= set(known))
        for axis, (own, known) in enumerate(zip(places, all_places, strict=True))
    )


def _kept(parts: Floats, places: _Lists, all_places: _Lists, axes: Sequence[str]) -> Floats:
    """The gradients of an owner alone, along axes over which nothing is added up."""
    for axis, (own, known) in enumerate(zip(places, all_places, strict=True)):
        if own != known and _AXES[axis] not in axes:
            parts = np.take(parts, [known.index(own[0])], axis=len(_AXES) - 1 - axis)
    return parts


def _grid(
    parts: Sequence[Part], records: Sequence[Record], *, sums: bool
) -> tuple[Floats, _Lists] | None:
    """The linear numbers of parts on the grid of their ranks [pp, dp, cp, tp, numbers].

    Those of one place are added up, or may not be several. None where a place has none.
    """
    numbers = _linear([records[part.record] for part in parts])
    if numbers is None:
        return None
    kept = [place for place, axis in enumerate(AXIS_NAMES) if axis in _AXES]
    at = np.array([[part.at[place] for place in kept] for part in parts])
    lists = [sorted(set(column)) for column in at.T.tolist()]
    shape = tuple(len(listed) for listed in lists)
    grid, seen = np.zeros((*shape, numbers.shape[1])), np.zeros(shape, dtype=int)
    for row, own in zip(at.tolist(), numbers, strict=True):
        place = tuple(listed.index(c) for listed, c in zip(lists, row, strict=True))
        grid[place] += own
        seen[place] += 1
    if (seen == 0).any() or (not sums and (seen > 1).any()):
        return None
    order = tuple(reversed(range(len(kept))))
    return np.asarray(grid.transpose(*order, len(kept))), lists


def _linear(records: list[Record]) -> Floats | None:
    """Sketch and Σx of tensors, numbers of one scale: ‖x‖; None where one is missing."""
    sketches = sketches_of(records)
    if sketches is None:
        return None
    counts = [prod(record.shape or (1,)) for record in records]
    totals = [number_of(record.Mean) * n for record, n in zip(records, counts, strict=True)]
    numbers = np.column_stack((sketches, totals))
    return numbers if np.isfinite(numbers).all() else None


def _are_alike(parts: Floats, axis: str, apart: float) -> bool:
    """Whether the backward passes of all ranks along an axis gave one gradient, or so nearly.

    Where each by itself explains what was read up to some error, any two of them are apart by twice
    that at most: then their mean does as well.
    """
    over = len(_AXES) - 1 - _AXES.index(axis)
    first = np.take(parts, [0], axis=over)
    size = np.sqrt(np.square(first).sum(axis=-1))
    return bool((np.sqrt(np.square(parts - first).sum(axis=-1)) <= apart * size).all())


def _factor(whole: Floats, parts: Floats, axes: Sequence[str], error: float) -> float | None:
    """The one factor by which all ranks read their sum over some axes; None where they do not."""
    over = tuple(len(_AXES) - 1 - _AXES.index(axis) for axis in axes)
    added = parts.sum(axis=over, keepdims=True) + np.zeros_like(parts) if over else parts
    whole = whole + np.zeros_like(parts)  # one owner reads what all would
    magnitude = np.sqrt(np.square(parts).sum(axis=(*over, -1), keepdims=True))
    rows, sums = whole.reshape(-1, whole.shape[-1]), added.reshape(-1, whole.shape[-1])
    scales = (magnitude + np.zeros_like(parts)).reshape(sums.shape)[:, 0]
    squares = np.square(sums).sum(axis=1)
    if not (squares > 0).all() or not np.square(rows).sum(axis=1).all():
        return None
    factors = (rows * sums).sum(axis=1) / squares
    left = np.sqrt(np.square(rows - factors[:, None] * sums).sum(axis=1))
    middle = float(np.median(factors))
    # Sums that cancel keep the rounding of their terms.
    is_explained = left <= error * np.abs(factors) * np.maximum(scales, np.sqrt(squares))
    is_one = np.abs(factors - middle) <= error * abs(middle) * scales / np.sqrt(squares)
    if middle <= 0.0 or not bool((is_explained & is_one).all()):
        return None
    return middle
