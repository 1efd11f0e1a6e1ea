"""What stands in a cell: numbers, texts for what is no number, differences and measures.

A cell is typed, since a spreadsheet tells 1.0 from "1.0"; csv shows both alike.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from math import inf, isfinite, isinf, isnan, nan
from typing import TypeAlias

from builder.compare.tensors import TensorMeasures
from builder.dump.values import Record
from msprobe_core.format import is_integer_dtype

Cell: TypeAlias = str | float | int | bool
NO_PARTNER = "N/A"
UNSUPPORTED = "unsupported"
_NOTHING = "None"
_NAN = "Nan"
_RANKS = (".src", ".dst")  # of a collective: written otherwise than other numbers
_BUILTIN = ("int", "float", "bool", "str")
_TOKENS = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}


def statistics_cells(record: Record) -> tuple[Cell, Cell, Cell, Cell]:
    """Max, Min, Mean and Norm of a value; of an argument four times what it is."""
    if record.dtype is None:
        cell = _argument(record)
        return cell, cell, cell, cell
    # Of an integer tensor without dimensions mindstudio-probe writes the number itself four times.
    shown = _integer if is_integer_dtype(record.dtype) else _number
    return shown(record.Max), shown(record.Min), shown(record.Mean), shown(record.Norm)


def dtype_cell(record: Record, key: str = "") -> str:
    """The dtype of a tensor, the type of an argument; `key` is where that stands in its call."""
    if record.dtype is not None:
        return record.dtype
    if record.type == "int" and key.endswith(_RANKS):
        return record.type
    if record.type in _BUILTIN:
        return f"<class '{record.type}'>"
    # Types that are recorded by their text, such as complex numbers and dtypes.
    return "<class 'str'>" if _is_text(record) else record.type


def shape_cell(record: Record) -> str:
    """The shape of a tensor; of an argument `[]`, where its own length is no shape."""
    if record.dtype is not None:
        return str(list(record.shape or ()))
    if isinstance(record.value, list):
        if record.type == "slice":
            return f"({len(record.value)},)"
        return str(record.value)
    return "[]"


def gradient_cell(record: Record) -> str:
    """Whether a tensor requires a gradient; nothing for an argument."""
    return str(record.requires_grad) if record.requires_grad is not None else NO_PARTNER


def difference_cells(problem: Sequence[Cell], benchmark: Sequence[Cell]) -> list[str]:
    """The four differences and the four relative errors of two values' statistics."""
    pairs = [_difference(p, b) for p, b in zip(problem, benchmark, strict=True)]
    return [difference for difference, _ in pairs] + [relative for _, relative in pairs]


def tensor_cells(measures: TensorMeasures, size: int, *, one_is_zero: bool) -> tuple[Cell, ...]:
    """The six measures of two tensors; `one_is_zero` where one side alone holds only zeros."""
    if isinf(measures.euc_dist):
        return (NO_PARTNER,) * 6
    absolute, relative = _rounded(measures.max_abs_err), _rounded(measures.max_rel_err)
    if size == 1:
        return (UNSUPPORTED, UNSUPPORTED, absolute, relative, UNSUPPORTED, UNSUPPORTED)
    cosine: Cell = _NAN if one_is_zero else _cosine(measures.cosine)
    return (
        cosine,
        measures.euc_dist,
        absolute,
        relative,
        _rounded(measures.one_thousandth),
        _rounded(measures.five_thousandths),
    )


def checksum_cell(record: Record) -> str:
    """The checksum of a tensor; of an argument that of its text."""
    if record.md5 is not None or record.dtype is not None:
        return str(record.md5) if record.md5 is not None else NO_PARTNER
    cell = _argument(record)
    return NO_PARTNER if cell == _NOTHING else f"{zlib.crc32(str(cell).encode()):08x}"


def holds_zeros(record: Record) -> bool:
    """Whether the statistics of a tensor say that it holds nothing but zeros."""
    return all(cell is not None and cell in (0, "0") for cell in (record.Max, record.Min))


def _number(cell: float | bool | str | None) -> Cell:
    if cell is None:
        return _NOTHING
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, str):
        cell = _TOKENS.get(cell, cell)
        if isinstance(cell, str):
            return _NAN if cell.lower() == "nan" else cell
    return _NAN if isnan(cell) else _finite(cell)


def _finite(number: float) -> Cell:
    # In csv an infinite number has a blank before it; a text that says so has none.
    return number if not isinf(number) else f" {number}"


def _integer(cell: float | bool | str | None) -> Cell:
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return _number(cell)


def _argument(record: Record) -> Cell:
    if record.group_ranks is not None:
        return str(record.group_ranks)
    value = record.value
    if isinstance(value, float) and isnan(value):
        return _NAN
    if isinstance(value, str):
        return _number(value) if record.type == "float" else value
    if isinstance(value, bool | int | float):
        return _finite(value)
    return _NOTHING


def _is_text(record: Record) -> bool:
    return isinstance(record.value, str) and record.type != "ellipsis"


def _difference(problem: Cell, benchmark: Cell) -> tuple[str, str]:
    kind = type(problem)
    if kind is type(benchmark):
        if problem == benchmark:
            return "0", "0"
        if kind is float and benchmark:
            difference = problem - benchmark  # type: ignore[operator]  # numbers, by their kind
            return str(difference), f"{abs(difference / benchmark) * 100}%"  # type: ignore[operator]  # numbers, by their kind
    elif str(problem) == str(benchmark):
        return "0", "0"
    ours, theirs = _float(problem), _float(benchmark)
    if ours is None or theirs is None:
        return "Diff", "Diff"
    difference = ours - theirs
    if isnan(difference):
        return _NAN, _NAN
    if isinf(difference):
        return str(difference), str(difference)
    if theirs == 0:
        return str(difference), "inf"
    return str(difference), f"{abs(difference / theirs) * 100}%"


def _float(cell: Cell) -> float | None:
    if isinstance(cell, bool):
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _cosine(cosine: float) -> Cell:
    return round(cosine, 6) if cosine > 0.9999 else _rounded(cosine)


def _rounded(number: float) -> Cell:
    return round(number, 12) if isfinite(number) else _finite(number)
