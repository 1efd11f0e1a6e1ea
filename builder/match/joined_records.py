"""Max, Min, Mean and Norm of a tensor from those of the parts that it consists of."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt

from builder.dump.values import Record

_NAMES = ("Max", "Min", "Mean", "Norm")


def joined_statistics(parts: Sequence[Record]) -> dict[str, float | None]:
    """Max max, min min, Σnm/Σn and √ΣN²; None for what a part does not say in numbers."""
    counts = [prod(part.shape or ()) for part in parts]
    columns = {name: [_number(getattr(part, name)) for part in parts] for name in _NAMES}
    known = {
        name: [cell for cell in cells if cell is not None]
        for name, cells in columns.items()
        if None not in cells
    }
    total = sum(counts)
    cells: dict[str, float | None] = dict.fromkeys(_NAMES)
    if "Max" in known:
        cells["Max"] = max(known["Max"], key=_nan_first)
    if "Min" in known:
        cells["Min"] = -max((-cell for cell in known["Min"]), key=_nan_first)
    if "Mean" in known and total:
        weighted = zip(known["Mean"], counts, strict=True)
        cells["Mean"] = sum(mean * count for mean, count in weighted) / total
    if "Norm" in known:
        cells["Norm"] = sqrt(sum(norm * norm for norm in known["Norm"]))
    return cells


def _nan_first(number: float) -> tuple[bool, float]:
    return number != number, number  # noqa: PLR0124 - NaN alone differs from itself


def _number(cell: float | bool | str | None) -> float | None:
    return float(cell) if cell is not None else None
