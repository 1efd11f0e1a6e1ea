"""What grouped matrix products leave unwritten: rows behind the last group hold what lay in memory.

Experts of a rank multiply the tokens that they have; those of other ranks' experts stand behind
them, and no kernel writes their rows, forward or backward. A mask covers them afterwards.
"""

from __future__ import annotations

from math import isfinite

from builder.dump.statistic_cells import number_of
from builder.dump.values import Ranges, Record, Values

_CALLS = ("Torch._grouped_mm.", "Torch._scaled_grouped_mm.")
# What puts out its input with something added to it: a bias, which memory stays behind.
_ADDING = ("Tensor.add_.", "Tensor.__iadd__.", "Tensor.add.", "Tensor.__add__.")
_MASKS = ("Tensor.masked_fill.", "Tensor.masked_fill_.", "Torch.masked_fill.")


def mark_unwritten(values: Values, ranges: Ranges) -> None:
    """Take the numbers of such values, and of what reads them as they are, out of a dump, in place.

    `offs` are where groups end, of the rows of a 2-d first operand or, where that has groups
    itself, of the columns of a 2-d second one: https://docs.pytorch.org/docs/stable/generated/
    torch.nn.functional.grouped_mm.html. The operand that they cut has its gradient written by the
    same rule.
    """
    products = [name for name in ranges if name.startswith(_CALLS) and name.endswith(".forward")]
    unwritten: set[str] = set()
    for name in products:
        cut = _cut_operand(values, ranges[name])
        if cut is not None:
            backward = f"{name.removesuffix('forward')}backward"
            unwritten |= {f"{name}.output.0", f"{backward}.output.{cut}"}
    if unwritten:
        _mark(values, ranges, unwritten)


def _cut_operand(values: Values, place: tuple[int, int]) -> int | None:
    """The operand whose groups end before it does; None where they fill it, or none is told of."""
    records = dict(zip(values.keys[slice(*place)], values.records[slice(*place)], strict=True))
    left, right = (records.get(f"input.{index}") for index in (0, 1))
    ends = records.get("input.offs") or records.get("input.2")
    if ends is None or ends.Max is None or left is None or right is None:
        return None
    groups = (len(left.shape or ()), len(right.shape or ()))
    last = float(ends.Max)
    if groups == (2, 3) and left.shape and last < left.shape[0]:
        return 0
    if groups == (3, 2) and right.shape and last < right.shape[1]:
        return 1
    return None


def _mark(values: Values, ranges: Ranges, unwritten: set[str]) -> None:
    """Blank outputs that are unwritten, what is read of them, and what such memory gets into."""
    records = values.records
    for name, (start, stop) in ranges.items():
        names = [f"{name}.{key}" for key in values.keys[start:stop]]
        reads = [i for i in range(start, stop) if records[i].source in unwritten]
        reads += _covered(name, values, (start, stop))
        if reads:
            adds = name.startswith(_ADDING)
            made = zip(names, records[start:stop], strict=True)
            unwritten |= {n for n, r in made if ".output." in n and (adds or _is_nonfinite(r))}
        for index in {*reads, *(start + i for i, n in enumerate(names) if n in unwritten)}:
            records[index] = _without_numbers(records[index])


def _covered(name: str, values: Values, place: tuple[int, int]) -> list[int]:
    """What a mask reads that is not finite where it puts out finite numbers: it covered all that.

    A gradient may come here on ways that leave no record, such as that of a tensor's parts.
    """
    if not name.startswith(_MASKS):
        return []
    by_key = dict(zip(values.keys[slice(*place)], range(*place), strict=True))
    read, made = by_key.get("input.0"), by_key.get("output.0")
    if read is None or made is None or _is_nonfinite(values.records[made]):
        return []
    return [read] if _is_nonfinite(values.records[read]) else []


def _is_nonfinite(record: Record) -> bool:
    """Whether statistics are not finite, as zero times what happened to lie in memory may be."""
    cells = (record.Max, record.Min, record.Mean, record.Norm)
    return any(cell is not None and not isfinite(number_of(cell)) for cell in cells)


def _without_numbers(record: Record) -> Record:
    return Record(
        type=record.type,
        dtype=record.dtype,
        shape=record.shape,
        requires_grad=record.requires_grad,
        unwritten=True,
        source=record.source,
        through=record.through,
        placements=record.placements,
        mesh=record.mesh,
    )
