"""Puts the values of a node and of its partner side by side, with measures and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, get_args

from sqlalchemy import Row

from builder.compare.attributes import differing_attributes
from builder.compare.forgiveness import LetPassBy
from builder.compare.tensors import TensorMeasures
from builder.dump.values import Record
from builder.results.manual.measured_pair import MeasuredValue
from builder.results.records import ROLES, Measure, Value, ValuePair
from builder.results.value_measures import ValueMeasures, measure_of, measure_values
from msprobe_core.format.bounded import parse_json

_TENSOR_NAMES = {
    "cosine": "Cosine",
    "euc_dist": "EucDist",
    "max_abs_err": "MaxAbsErr",
    "max_rel_err": "MaxRelativeErr",
    "one_thousandth": "One Thousandth Err Ratio",
    "five_thousandths": "Five Thousandths Err Ratio",
}
NodeRows: TypeAlias = tuple[Sequence[Row[Any]], Sequence[Row[Any]], Sequence[MeasuredValue] | None]
"""The value rows of a node and of its partner, and what was measured of them by hand."""


@dataclass(slots=True)
class _Matched:
    """Two rows that belong together, with what the builder measured on them."""

    problem: Row[Any] | None
    benchmark: Row[Any] | None
    error: float | None = None
    score: float | None = None
    tensor: dict[str, Measure] | None = None
    let_pass: str | None = None


@dataclass(frozen=True, slots=True)
class _Compared:
    """What compares the two sides of a value."""

    measures: ValueMeasures = field(default_factory=ValueMeasures)
    differs: Sequence[str] = ()


_NONE = _Compared()


def pair_all(nodes: Sequence[NodeRows]) -> list[list[ValuePair]]:
    """Pair the two lists of value rows of each of many nodes, worst first inside each role.

    What was measured by hand replaces what the rows say of their pairs.
    """
    matched = [
        _as_stored(problem, benchmark)
        if measured is None
        else _by_hand(problem, benchmark, measured)
        for problem, benchmark, measured in nodes
    ]
    compared = iter(_compared([one for each in matched for one in each]))
    return [_told(each, [next(compared) for _ in each]) for each in matched]


def _told(matched: Sequence[_Matched], compared: Sequence[_Compared]) -> list[ValuePair]:
    worst = max((m.score for m in matched if m.score), default=None)
    pairs = [_value_pair(*both, worst) for both in zip(matched, compared, strict=True)]
    return sorted(pairs, key=lambda p: (ROLES.index(p.role), -(p.score or 0.0)))


def record_of(row: Row[Any]) -> Record:
    """A value row as the record that the dump had."""
    scalar = _scalar(row.scalar)
    group = scalar.get("group_ranks") if isinstance(scalar, dict) else None
    return Record(
        type=row.type,
        dtype=row.dtype,
        shape=tuple(shape_of(row.shape) or ()) if row.shape is not None else None,
        Max=row.max,
        Min=row.min,
        Mean=row.mean,
        Norm=row.norm,
        requires_grad=None if row.requires_grad is None else bool(row.requires_grad),
        data_name=row.file,
        md5=row.checksum,
        sketch=row.sketch.hex() if isinstance(row.sketch, bytes) else row.sketch,
        unwritten=bool(row.unwritten) or None,
        value=None if group is not None else scalar,
        group_ranks=group,
    )


def shape_of(text: str | None) -> list[int] | None:
    """The shape in a database cell; "" is 0-d."""
    if text is None:
        return None
    return [int(size) for size in str(text).split(",") if size.strip().isdigit()]


def _as_stored(problem: Sequence[Row[Any]], benchmark: Sequence[Row[Any]]) -> list[_Matched]:
    waiting = {row.id: row for row in benchmark}
    matched = []
    for row in problem:
        partner = waiting.pop(row.partner, None) if row.partner is not None else None
        tensor = None
        if row.cosine is not None:
            tensor = {name: measure_of(row._mapping[key]) for key, name in _TENSOR_NAMES.items()}
        matched.append(_Matched(row, partner, row.error, row.score, tensor, row.let_pass))
    return matched + [_Matched(None, row) for row in waiting.values()]


def _by_hand(
    problem: Sequence[Row[Any]],
    benchmark: Sequence[Row[Any]],
    measured: Sequence[MeasuredValue],
) -> list[_Matched]:
    ours, theirs = {row.id: row for row in problem}, {row.id: row for row in benchmark}
    matched = []
    for pair in measured:
        p = ours.pop(pair.problem, None) if pair.problem is not None else None
        b = theirs.pop(pair.benchmark, None) if pair.benchmark is not None else None
        tensor = _tensor_measures(pair.tensor) if pair.tensor is not None else None
        matched.append(_Matched(p, b, pair.error, pair.score, tensor, pair.let_pass))
    left = [_Matched(row, None) for row in ours.values()]
    return matched + left + [_Matched(None, row) for row in theirs.values()]


def _tensor_measures(measures: TensorMeasures) -> dict[str, Measure]:
    return {name: measure_of(getattr(measures, key)) for key, name in _TENSOR_NAMES.items()}


def _compared(matched: Sequence[_Matched]) -> list[_Compared]:
    """What compares each pair; nothing where a side is missing."""
    known = [
        (place, record_of(m.problem), record_of(m.benchmark))
        for place, m in enumerate(matched)
        if m.problem is not None and m.benchmark is not None
    ]
    measures = measure_values([ours for *_, ours, _ in known], [theirs for *_, theirs in known])
    compared = [_NONE] * len(matched)
    for (place, ours, theirs), found in zip(known, measures, strict=True):
        compared[place] = _Compared(found, _differs(ours, theirs))
    return compared


def _value_pair(matched: _Matched, compared: _Compared, worst: float | None) -> ValuePair:
    p, b = matched.problem, matched.benchmark
    shown = p if p is not None else b
    assert shown is not None
    found = compared.measures
    return ValuePair(
        role=shown.role,
        path=shown.path,
        problem=_value(p) if p is not None else None,
        benchmark=_value(b) if b is not None else None,
        score=matched.score,
        error=measure_of(matched.error),
        worst=worst is not None and matched.score == worst,
        measures=matched.tensor if matched.tensor is not None else dict(found.named),
        differs=list(compared.differs),
        error_of="elements" if matched.tensor is not None else found.error_of(matched.error),
        let_pass=_let_pass(matched.let_pass),
    )


def _let_pass(stored: str | None) -> LetPassBy | None:
    """What lets an error pass; nothing where a foreign file says something else."""
    return next((by for by in get_args(LetPassBy) if by == stored), None)


def _differs(ours: Record, theirs: Record) -> list[str]:
    differing = differing_attributes(ours, theirs)
    if ours.md5 is not None and theirs.md5 is not None and ours.md5 != theirs.md5:
        differing.append("checksum")
    return differing


def _value(row: Row[Any]) -> Value:
    return Value(
        id=row.id,
        type=row.type,
        dtype=row.dtype,
        shape=shape_of(row.shape),
        max=measure_of(row.max),
        min=measure_of(row.min),
        mean=measure_of(row.mean),
        norm=measure_of(row.norm),
        requires_grad=None if row.requires_grad is None else bool(row.requires_grad),
        checksum=row.checksum,
        file=row.file,
        scalar=row.scalar,
        nan_count=row.nan_count,
        inf_count=row.inf_count,
    )


def _scalar(text: str | None) -> object:
    try:
        return parse_json(text) if text is not None else None
    except ValueError:
        return text
