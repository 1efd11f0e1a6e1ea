"""The values of a node of msprobe's own files: everything in them is text, the measures too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from builder.reasons import MsprobeMessage
from builder.results.msprobe.graph import listed
from builder.results.records import ROLES, Measure, Role, Value, ValuePair
from msprobe_core.format import canonical_dtype
from msprobe_core.format.bounded import parse_json

# msprobe's names and ours; the others are the same.
_RENAMED = {"L2norm diff": "Norm diff"}
_MEASURES = (
    *("Max diff", "Min diff", "Mean diff", "L2norm diff"),
    *("MaxRelativeErr", "MinRelativeErr", "MeanRelativeErr", "NormRelativeErr"),
    *("Cosine", "EucDist", "MaxAbsErr"),
    *("One Thousandth Err Ratio", "Five Thousandths Err Ratio"),
)
_ABSENT = ("N/A", "None", "", "null", "unsupported")
Cell = Mapping[str, Any]


def pair_values(
    problem: Mapping[str, Cell], benchmark: Mapping[str, Cell], names: tuple[str, str]
) -> list[ValuePair]:
    """Values of both sides by role and path, the measures from the problem's.

    `names` are the entry names that the keys begin with.
    """
    ours, theirs = (_placed(cells, name) for cells, name in zip((problem, benchmark), names))
    places = list(dict.fromkeys([*ours, *theirs]))
    errors = {place: _error(ours.get(place, {})) for place in places}
    worst = max((e for e in errors.values() if e), default=None)
    pairs = [
        ValuePair(
            role=place[0],
            path=place[1],
            problem=_value(index, ours[place]) if place in ours else None,
            benchmark=_value(-1 - index, theirs[place]) if place in theirs else None,
            score=None,
            error=_sent(errors[place]),
            worst=worst is not None and errors[place] == worst,
            measures=_measures(ours.get(place, {})),
            differs=_differs(ours.get(place), theirs.get(place)),
        )
        for index, place in enumerate(places)
    ]
    return sorted(pairs, key=lambda p: (ROLES.index(p.role), -_rank(p.error)))


def value_ids(
    problem: Mapping[str, Cell], benchmark: Mapping[str, Cell], names: tuple[str, str]
) -> tuple[dict[str, int], dict[str, int]]:
    """The ids that `pair_values` gives the values of both sides, by their full names."""
    places = [
        [_place(key, name) for key in cells]
        for cells, name in zip((problem, benchmark), names, strict=True)
    ]
    index = {place: at for at, place in enumerate(dict.fromkeys([*places[0], *places[1]]))}
    ours = {key: index[place] for key, place in zip(problem, places[0], strict=True)}
    theirs = {key: -1 - index[place] for key, place in zip(benchmark, places[1], strict=True)}
    return ours, theirs


def path_of(key: str, name: str) -> str:
    """The place of a value among those of its role."""
    return _place(key, name)[1]


def messages(problem: Mapping[str, Cell]) -> list[MsprobeMessage]:
    """What msprobe said of the values of a node."""
    return [
        MsprobeMessage(key, str(text))
        for key, cell in problem.items()
        for text in listed(cell.get("Err_message"))
    ]


def cells_of(text: str | None) -> dict[str, Cell]:
    """The JSON object in a data column; empty where there is none."""
    try:
        decoded = parse_json(text) if text else {}
    except (ValueError, TypeError):
        return {}
    if not isinstance(decoded, dict):
        return {}
    return {str(key): cell for key, cell in decoded.items() if isinstance(cell, dict)}


def measure(text: object) -> Measure:
    """A number as msprobe writes it: "70.000002%", "Nan", "N/A"."""
    if text is None or str(text) in _ABSENT:
        return None
    plain = str(text).strip()
    try:
        number = float(plain[:-1]) / 100 if plain.endswith("%") else float(plain)
    except ValueError:
        return None
    return _sent(number)


def _sent(number: float | None) -> Measure:
    if number is None or math.isfinite(number):
        return number
    if math.isnan(number):
        return "nan"
    return "inf" if number > 0 else "-inf"


def _placed(cells: Mapping[str, Cell], name: str) -> dict[tuple[Role, str], Cell]:
    return {_place(key, name): cell for key, cell in cells.items()}


def _place(key: str, name: str) -> tuple[Role, str]:
    rest = key.removeprefix(name).lstrip(".")
    if ".parameters_grad" in name:
        return "parameters_grad", rest
    role, _, path = rest.partition(".")
    for known in ROLES:
        if role == known:
            return known, path
    return "input", rest


def _value(id_: int, cell: Cell) -> Value:
    dtype, shape = _text(cell.get("dtype")), _text(cell.get("shape"))
    scalar = cell.get("value") if dtype is None else None
    return Value(
        id=id_,
        type=str(cell.get("type", "")),
        dtype=canonical_dtype(dtype) if dtype is not None else None,
        shape=_shape(shape),
        max=measure(cell.get("Max")),
        min=measure(cell.get("Min")),
        mean=measure(cell.get("Mean")),
        norm=measure(cell.get("Norm")),
        requires_grad={"True": True, "False": False}.get(str(cell.get("requires_grad"))),
        checksum=_text(cell.get("md5")),
        file=None,
        scalar=str(scalar) if scalar is not None else None,
    )


def _measures(cell: Cell) -> dict[str, Measure]:
    return {_RENAMED.get(key, key): measure(cell[key]) for key in _MEASURES if key in cell}


def _error(cell: Cell) -> float | None:
    """The relative error of the norm, or of the largest element where tensors were compared."""
    for key in ("NormRelativeErr", "MaxRelativeErr"):
        error = measure(cell.get(key))
        if error is not None:
            return abs(float(error)) if error != "nan" else math.inf
    return None


def _rank(error: Measure) -> float:
    return float(error) if error is not None else -1.0


def _differs(ours: Cell | None, theirs: Cell | None) -> list[str]:
    if ours is None or theirs is None:
        return []
    keys = {"dtype": "dtype", "shape": "shape", "requires_grad": "requires_grad", "md5": "checksum"}
    return [name for key, name in keys.items() if _text(ours.get(key)) != _text(theirs.get(key))]


def _text(cell: object) -> str | None:
    return None if cell is None or str(cell) in _ABSENT else str(cell)


def _shape(text: str | None) -> list[int] | None:
    if text is None:
        return None
    sizes = [part.strip() for part in text.strip("[]()").split(",")]
    return [int(size) for size in sizes if size.isdigit()]
