"""Statistics of inputs and weights, of each forward call and rank, compared name by name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msprobe.config_check.element_order import ORDER, is_same_order
from msprobe.config_check.sheet import Sheet

STATISTICS = ("max", "min", "mean", "norm")
Item = Literal["dataset", "weights"]
Recorded = Mapping[tuple[int, int], Mapping[str, Any]]  # (step, rank) → name → statistics
# A sum in float32 over many elements is this far from one in another order; max and min are not.
_ROUNDING = {"max": 1e-9, "min": 1e-9, "mean": 1e-6, "norm": 1e-6}
REORDERED = "same elements in another order"
_NAME_COLUMN = {"dataset": "tag", "weights": "weight_name"}


def compare_statistics(item: Item, bench: Recorded, other: Recorded) -> Sheet:
    """A row for each tensor; `equal` is True, False, or says in words what is not.

    That is which side alone has the tensor, or that its elements stand in another order, which
    none of the four statistics shows.

    A difference is relative to the benchmark's magnitude, and empty where that is zero. A tensor
    missing on one side is an error, a whole call or rank a warning: the runs may differ in length.
    """
    measures = (f"{name}_relative_diff" for name in STATISTICS)
    header = ("step", "rank", _NAME_COLUMN[item], "equal", *measures)
    rows: list[tuple[object, ...]] = []
    levels: list[str] = []
    for place in sorted(bench.keys() | other.keys()):
        ours, theirs = bench.get(place), other.get(place)
        own = list(_place_rows(place, ours or {}, theirs or {}))
        rows += own
        if ours is None or theirs is None:
            levels.append("warning")
        elif any(row[3] is not True for row in own):
            levels.append("error")
    return Sheet(item, header, rows, Sheet.worst(levels))


def named_statistics(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names of the statistics in nested mappings and lists."""
    if isinstance(content, Mapping) and not set(STATISTICS) <= content.keys():
        for key, inner in content.items():
            yield from named_statistics(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(content, list):
        for index, inner in enumerate(content):
            yield from named_statistics(inner, f"{name}.{index}" if name else str(index))
    elif content is not None:
        yield name, content


def _place_rows(
    place: tuple[int, int], bench: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[tuple[object, ...]]:
    for name in sorted(bench.keys() | other.keys()):
        if name not in other:
            yield *place, name, "only bench have", None, None, None, None
        elif name not in bench:
            yield *place, name, "only cmp have", None, None, None, None
        else:
            yield *place, name, *_difference(bench[name], other[name])


def _difference(bench: Any, other: Any) -> tuple[object, ...]:
    if not isinstance(bench, Mapping) or not isinstance(other, Mapping):
        return bench == other, None, None, None, None
    scale = max(
        (abs(_number(side.get(n))) for side in (bench, other) for n in ("max", "min")), default=0
    )
    equal: bool | str = all(
        _equal(name, bench.get(name), other.get(name), scale) for name in STATISTICS
    )
    if equal and not _is_in_order(bench, other):
        equal = REORDERED
    return equal, *(_relative(bench.get(name), other.get(name)) for name in STATISTICS)


def _equal(name: str, bench: Any, other: Any, scale: float) -> bool:
    if not _is_number(bench) or not _is_number(other):
        return bool(bench == other)
    if math.isnan(bench) and math.isnan(other):
        return True
    # A mean near zero is a sum that cancels: its rounding is that of the values it came from.
    floor = scale * _ROUNDING[name] if name == "mean" and math.isfinite(scale) else 0.0
    return math.isclose(bench, other, rel_tol=_ROUNDING[name], abs_tol=floor)


def _is_in_order(bench: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    # Packs of mindstudio-probe do not hold it.
    ours, theirs = bench.get(ORDER), other.get(ORDER)
    if not _is_number(ours) or not _is_number(theirs):
        return True
    return is_same_order(_number(ours), _number(theirs), _number(bench.get("norm")))


def _relative(bench: Any, other: Any) -> float | None:
    if not _is_number(bench) or not _is_number(other):
        return None
    if bench == other:
        return 0.0
    difference = abs(other - bench) / abs(bench) if bench else math.inf
    return difference if math.isfinite(difference) else None


def _number(value: Any) -> float:
    return float(value) if _is_number(value) else 0.0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
