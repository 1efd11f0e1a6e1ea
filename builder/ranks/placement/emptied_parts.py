"""Parts of a sum that some ranks multiply by zero before it is formed: what they had is lost.

Where all ranks but one multiply by zero, the sum hands on what that one has, and that is sound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.operators.table import plain_name
from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.parts import RunValues, fingerprint
from builder.ranks.placement.copies import are_copies
from builder.ranks.placement.mixtures import groups_along

_SCALES = frozenset(("mul", "__mul__", "__rmul__", "__imul__", "mul_"))


@dataclass(frozen=True, slots=True)
class EmptiedPart:
    """A product of which some ranks make zeros; the sum of all follows."""

    call: str
    axis: str
    ranks: tuple[int, ...]


def emptied_parts(values: RunValues, axis: str) -> Iterator[EmptiedPart]:
    """The products by a plain number that is zero on some ranks, whose results are added up."""
    for owner, (start, stop) in values.run.dump.ranges.items():
        entry = parse(owner)
        if entry is None or entry.kind != "api" or plain_name(entry.type_name) not in _SCALES:
            continue
        at = {values.keys[index]: index for index in range(start, stop)}
        if not {"input.0", "input.1", "output.0"} <= at.keys():
            continue
        number = groups_along(values, at["input.1"], axis)
        read = groups_along(values, at["input.0"], axis)
        ranks = [
            rank for place, group in number.items() for rank in _emptied(group, read.get(place, {}))
        ]
        if ranks and values.feeds_reduction(at["output.0"]):
            yield EmptiedPart(owner, axis, tuple(sorted(ranks)))


def _emptied(numbers: dict[int, Record], read: dict[int, Record]) -> list[int]:
    """The ranks that multiply something of their own by zero, where others do not."""
    told = {rank: record.value for rank, record in numbers.items()}
    empty = [rank for rank, number in told.items() if number == 0 and number is not None]
    if not 0 < len(empty) < len(told) - 1 or told.keys() != read.keys():
        return []
    is_own = not are_copies(list(read.values())) and all(map(fingerprint, read.values()))
    return [rank for rank in empty if number_of(read[rank].Norm) > 0] if is_own else []
