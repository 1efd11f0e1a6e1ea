"""Which parameter of one program is which of the other's, or which part of it: found by value.

What a sound port computes with are the weights of the original, in another shape or order, several
in one, or one in several. Names and places only tell between weights that are equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Literal

from builder.dump.values import Record
from builder.errors import MappingError
from builder.match.implementations.parameters import Numbers, Parameter, joined_numbers
from builder.match.manual_file import MappedWeights

Relation = Literal["same", "reshaped", "joined", "split", "scaled", "differs"]
# Of those of like norm so many on either side are looked at: rounding leaves a weight's own partner
# among the nearest, and equal weights are found before.
_WINDOW = 8
# Projections and experts that are stacked in one weight, at most.
_PARTS = 256
# Of so many weights of a layer any may be one weight of the other program's, 1,013 choices; a block
# of a decoder has seven, of an encoder and decoder eleven with its norms.
_OF_A_LAYER = 10


@dataclass(frozen=True, slots=True)
class WeightPair:
    """Weights that are one tensor, or together one; `differs` where the numbers are others'.

    `by_hand` where a person says so; then one may be `scaled`, a multiple of the other.
    """

    problem: tuple[Parameter, ...]
    benchmark: tuple[Parameter, ...]
    relation: Relation
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """The parameters of a run, and the records of its dump that they stand in."""

    parameters: Sequence[Parameter]
    records: Sequence[Record]


def pair_weights(
    problem: Side, benchmark: Side, told: Sequence[MappedWeights] = ()
) -> list[WeightPair]:
    """Those that a person paired, and of the others the pairs that the numbers show.

    First of whole weights, then of several that make up one. Weights that are one number throughout
    are in none, but those of a person. Raises MappingError where weights paired by hand are not of
    one size.
    """
    pairs = list(_by_hand(problem, benchmark, told))
    left, right = (_telling(rest_of(side, pairs, n)) for n, side in enumerate((problem, benchmark)))
    whole = list(_whole(left.parameters, right.parameters))
    return [*pairs, *whole, *joined_pairs(rest_of(left, whole, 0), rest_of(right, whole, 1))]


def joined_pairs(problem: Side, benchmark: Side) -> list[WeightPair]:
    """Weights of either side that several of the other make up."""
    pairs = [WeightPair((fused,), parts, "joined") for fused, parts in _joined(problem, benchmark)]
    left, right = rest_of(problem, pairs, 0), rest_of(benchmark, pairs, 1)
    return [*pairs, *(WeightPair(p, (fused,), "split") for fused, p in _joined(right, left))]


def _telling(side: Side) -> Side:
    """Weights whose numbers tell which they are."""
    return Side([each for each in side.parameters if not each.is_constant], side.records)


def rest_of(side: Side, pairs: Sequence[WeightPair], number: int) -> Side:
    """The problem's (0) or the benchmark's (1) weights that are in no pair."""
    taken = {id(each) for pair in pairs for each in (pair.problem, pair.benchmark)[number]}
    return Side([each for each in side.parameters if id(each) not in taken], side.records)


# --- paired by hand -------------------------------------------------------------------------------


def _by_hand(ours: Side, theirs: Side, told: Sequence[MappedWeights]) -> Iterator[WeightPair]:
    """What a person says, of weights that both runs have."""
    known = [{each.path: each for each in side.parameters} for side in (ours, theirs)]
    for each in told:
        if set(each.problem) <= known[0].keys() and set(each.benchmark) <= known[1].keys():
            problem = tuple(known[0][path] for path in each.problem)
            benchmark = tuple(known[1][path] for path in each.benchmark)
            sides = Side(problem, ours.records), Side(benchmark, theirs.records)
            yield WeightPair(problem, benchmark, _told_relation(*sides, each), by_hand=True)


def _told_relation(ours: Side, theirs: Side, told: MappedWeights) -> Relation:
    sizes = [sum(each.numbers.size for each in side.parameters) for side in (ours, theirs)]
    if sizes[0] != sizes[1]:
        raise MappingError(
            f"weights {told}: {sizes[0]} elements beside {sizes[1]}",
            "pair weights that have as many elements together",
        )
    left, right = (joined_numbers(side.parameters, side.records) for side in (ours, theirs))
    if left is None or right is None or not left.agree(right.times(told.factor)):
        return "differs"
    if told.factor != 1.0:
        return "scaled"
    if len(ours.parameters) > 1:
        return "split"
    if len(theirs.parameters) > 1:
        return "joined"
    return whole_pair(ours.parameters[0], theirs.parameters[0]).relation


# --- whole weights --------------------------------------------------------------------------------


def _whole(ours: Sequence[Parameter], theirs: Sequence[Parameter]) -> Iterator[WeightPair]:
    """Equal weights, such as those of layers that were copied, pair in the order of their calls."""
    exact: dict[Numbers, deque[Parameter]] = defaultdict(deque)
    for parameter in theirs:
        exact[parameter.numbers].append(parameter)
    rest: list[Parameter] = []
    for parameter in ours:
        waiting = exact.get(parameter.numbers)
        if waiting:
            yield whole_pair(parameter, waiting.popleft())
        else:
            rest.append(parameter)
    yield from _near(rest, [each for waiting in exact.values() for each in waiting])


def _near(ours: Sequence[Parameter], theirs: Sequence[Parameter]) -> Iterator[WeightPair]:
    buckets: dict[int, list[tuple[float, int, Parameter]]] = defaultdict(list)
    for order, parameter in enumerate(theirs):
        buckets[parameter.numbers.size].append((parameter.numbers.norm, order, parameter))
    for bucket in buckets.values():
        bucket.sort(key=lambda each: each[:2])
    for parameter in ours:
        bucket = buckets.get(parameter.numbers.size, [])
        found = _nearest(parameter.numbers, bucket)
        if found is not None:
            yield whole_pair(parameter, bucket.pop(found)[2])


def _nearest(numbers: Numbers, bucket: list[tuple[float, int, Parameter]]) -> int | None:
    """The nearest of those that agree, looked for around the norm; of equal ones the first."""
    middle = bisect_left(bucket, (numbers.norm, -1))
    window = range(max(0, middle - _WINDOW), min(len(bucket), middle + _WINDOW))
    agreeing = [at for at in window if numbers.agree(bucket[at][2].numbers)]
    return min(
        agreeing,
        key=lambda at: (numbers.apart(bucket[at][2].numbers), bucket[at][1]),
        default=None,
    )


def whole_pair(ours: Parameter, theirs: Parameter) -> WeightPair:
    """Two weights that are one tensor, in one shape or two."""
    relation: Relation = "same" if ours.shape == theirs.shape else "reshaped"
    return WeightPair((ours,), (theirs,), relation)


# --- several in one -------------------------------------------------------------------------------


def _joined(fused: Side, parts: Side) -> Iterator[tuple[Parameter, tuple[Parameter, ...]]]:
    """A weight with those of one family in the other run that make it up."""
    taken: set[int] = set()
    buckets: dict[int, list[_Group]] = {}
    groups = _groups(parts.parameters, {each.numbers.size for each in fused.parameters})
    for size, listed in groups.items():
        known = ((joined_numbers(several, parts.records), several) for several in listed)
        bucket = [_Group(numbers, several) for numbers, several in known if numbers is not None]
        buckets[size] = sorted(bucket, key=lambda each: each.numbers.norm)
    # The nearest first: in two formats, experts of another layer agree as well.
    candidates = sorted(
        (
            (weight.numbers.apart(group.numbers), order, weight, group.parameters)
            for order, weight in enumerate(fused.parameters)
            for group in _around(weight.numbers, buckets.get(weight.numbers.size, []))
        ),
        key=lambda each: each[:2],
    )
    for _, _, weight, several in candidates:
        if taken.isdisjoint(map(id, (weight, *several))):
            taken.update(map(id, (weight, *several)))
            yield weight, several


def _around(numbers: Numbers, bucket: Sequence[_Group]) -> Iterator[_Group]:
    """Those of like norm that agree."""
    middle = bisect_left(bucket, numbers.norm, key=lambda each: each.numbers.norm)
    for group in bucket[max(0, middle - _WINDOW) : middle + _WINDOW]:
        if numbers.agree(group.numbers):
            yield group


@dataclass(frozen=True, slots=True)
class _Group:
    """Weights that may make up one, and the numbers that it would have."""

    numbers: Numbers
    parameters: tuple[Parameter, ...]


def _groups(
    parameters: Sequence[Parameter], sizes: Set[int]
) -> dict[int, list[tuple[Parameter, ...]]]:
    """What may make up one weight of one of some sizes, by its size.

    Projections of one module (`q_proj`, `k_proj` and `v_proj` of `attn`) that follow one another,
    one weight of all modules of a list (`experts.0.up`, `experts.1.up`), or two of each of these;
    and any of one layer's, where a block computes attention and MLP from one projection.
    """
    groups: dict[int, list[tuple[Parameter, ...]]] = defaultdict(list)
    beside, listed = _families(parameters)
    lists = [list(each.values()) for each in listed.values()]
    families = (*beside.values(), *(family for each in lists for family in each))
    pairs = ((*one, *other) for each in lists for one, other in combinations(each, 2))
    for several in chain(_runs(families, sizes), pairs, _of_layers(parameters)):
        total = sum(each.numbers.size for each in several)
        if total in sizes:
            groups[total].append(several)
    return groups


def _runs(families: Iterable[_Family], sizes: Set[int]) -> Iterator[tuple[Parameter, ...]]:
    """Two or more of a family that follow one another and are of one of some sizes together."""
    largest = max(sizes, default=0)
    for family in families:
        for start in range(len(family)):
            total = family[start].numbers.size
            for stop in range(start + 2, min(len(family), start + _PARTS) + 1):
                total += family[stop - 1].numbers.size
                if total > largest:
                    break
                if total in sizes:
                    yield tuple(family[start:stop])


def _of_layers(parameters: Sequence[Parameter]) -> Iterator[tuple[Parameter, ...]]:
    """Any weights of one name in several modules of a numbered layer that has few of them."""
    layers: dict[tuple[tuple[str, str], str], list[Parameter]] = defaultdict(list)
    for parameter in parameters:
        if (place := _numbered(parameter.module)) is not None:
            layers[place[0], parameter.name].append(parameter)
    for layer in layers.values():
        for many in range(2, len(layer) + 1 if len(layer) <= _OF_A_LAYER else 0):
            yield from (
                several
                for several in combinations(layer, many)
                if len({each.module.rpartition(".")[0] for each in several}) > 1
            )


_Family = list[Parameter]


def _families(
    parameters: Sequence[Parameter],
) -> tuple[dict[str, _Family], dict[str, dict[str, _Family]]]:
    """Weights of one name beside one another; and by list, those of one place in its modules."""
    beside: dict[str, _Family] = defaultdict(list)
    listed: dict[str, dict[str, _Family]] = defaultdict(lambda: defaultdict(list))
    for parameter in parameters:
        above = parameter.module.rpartition(".")[0]
        beside[f"{above}:{parameter.name}"].append(parameter)
        if (place := _numbered(parameter.path)) is not None:
            (before, _), behind = place
            listed[before][behind].append(parameter)
    return beside, listed


def _numbered(path: str) -> tuple[tuple[str, str], str] | None:
    """The list and the number in it that a path stands in innermost, and what is behind them."""
    segments = path.split(".")
    at = next((n for n in reversed(range(len(segments))) if segments[n].isdigit()), None)
    if at is None:
        return None
    return (".".join(segments[:at]), segments[at]), ".".join(segments[at + 1 :])
