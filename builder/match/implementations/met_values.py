"""Which values of one program are equal to values of another, wherever either makes them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Set
from math import prod

from builder.dump.sketch_numbers import projected_norms, sketches_of
from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.match.implementations.parameters import Numbers, numbers_of
from builder.match.tree import Tree
from msprobe_core.format import is_half_format, is_integer_dtype

# Rounding of float32 leaves 2e-5 of a value of a sound port at most (nine ports of 2 to 4 layers);
# four numbers of two unlike values of one size are all that near by chance once in a million.
_NEAR = 1e-4
# In half formats statistics are near by chance, and elements have to tell. Rounding leaves 8 % of a
# value of a sound port at most; other values are √2 apart.
_NEAR_HALF = 0.1
# Elements that change places leave a sketch √2 apart on average, by eight projections 0.5 at least.
_MOVED = 0.5
_WINDOW = 8  # of like norm on either side; equal ones count once
_Whole = tuple[int, float, float, str]


class MetValues:
    """Which values of a run are equal to one of the other's, wherever that is made.

    `indices` are these values; constants are shared by anything and are none of them.
    """

    def __init__(self, problem: Tree, benchmark: Tree) -> None:
        self._records = problem.dump.values.records, benchmark.dump.values.records
        self._sketches = tuple(map(sketches_of, self._records))
        self._buckets: dict[int, list[tuple[float, int, Numbers]]] = defaultdict(list)
        whole: set[_Whole] = set()
        distinct: dict[Numbers, int] = {}
        for index in _values_of(benchmark):
            if (numbers := _telling(self._records[1][index])) is not None:
                distinct.setdefault(numbers, index)
            elif (key := _whole(self._records[1][index])) is not None:
                whole.add(key)
        for numbers, index in distinct.items():
            self._buckets[numbers.size].append((numbers.norm, index, numbers))
        for bucket in self._buckets.values():
            bucket.sort(key=lambda each: each[:2])
        self.indices = frozenset(i for i in _values_of(problem) if self._is_met(i, whole))

    def put_out(self, problem: Tree) -> int:
        """How many distinct values that calls and modules of the problem put out are met."""
        keys = problem.dump.values.keys
        made = (index for index in self.indices if keys[index].startswith("output"))
        return len({_telling(self._records[0][index]) for index in made} - {None})

    def _is_met(self, index: int, whole: Set[_Whole]) -> bool:
        numbers = _telling(self._records[0][index])
        if numbers is None:
            return _whole(self._records[0][index]) in whole
        bucket = self._buckets.get(numbers.size, [])
        middle = bisect_left(bucket, (numbers.norm, -1))
        near = bucket[max(0, middle - _WINDOW) : middle + _WINDOW]
        return any(self._are_equal(index, numbers, other, theirs) for _, other, theirs in near)

    def _are_equal(self, index: int, ours: Numbers, other: int, theirs: Numbers) -> bool:
        pair = self._records[0][index], self._records[1][other]
        is_half = any(is_half_format(record.dtype or "") for record in pair)
        left, right = self._sketches
        if left is None or right is None:
            return not is_half and ours.are_within(_NEAR, theirs)
        apart = float(projected_norms((left[index] - right[other])[None])[0])
        share = apart / (max(ours.norm, theirs.norm) or 1.0)
        if is_half:
            return share <= _NEAR_HALF
        # The same elements in the same order, or in another: those are not a little apart.
        return not _NEAR < share < _MOVED and ours.are_within(_NEAR, theirs)


def _values_of(tree: Tree) -> Iterator[int]:
    """What a run's forward calls and modules read and put out, but parameters."""
    keys = tree.dump.values.keys
    for node in tree.in_order:
        if node.direction == "forward":
            for index in range(*node.values):
                if keys[index].startswith(("input", "output")):
                    yield index


def _telling(record: Record) -> Numbers | None:
    numbers = numbers_of(record)
    return None if numbers is None or numbers.largest == numbers.smallest else numbers


def _whole(record: Record) -> _Whole | None:
    """What tells whole numbers from others: all that is known of them."""
    if record.sketch is None or not is_integer_dtype(record.dtype or ""):
        return None
    extremes = number_of(record.Max), number_of(record.Min)
    return (prod(record.shape or ()), *extremes, record.sketch)
