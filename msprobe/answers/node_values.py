"""The values of a node in both runs, with what was measured between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec

from builder.results.equal_numbers import key_of
from builder.results.records import Measure, Value, ValuePair
from msprobe.answers.arguments import OfNode
from msprobe.answers.asked_node import asked_node
from msprobe.answers.result_folder import ResultFolder

_MOST_MEASURES = 12  # of a value: all that a build makes, and some that extensions add


class SideValue(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value in one run; what was not recorded is left out."""

    type: str
    dtype: str | None = None
    shape: list[int] | None = None
    min: Measure = None
    max: Measure = None
    mean: Measure = None
    norm: Measure = None
    scalar: str | None = None
    checksum: str | None = None


class ComparedValue(msgspec.Struct, frozen=True):
    """A value of both runs, or of one, with the error that its score is made of.

    `differs` is what differs besides numbers, `let_pass` what explains an error above the
    tolerance.
    """

    value: str
    score: float | None
    error: Measure
    error_of: str | None
    let_pass: str | None
    differs: list[str]
    measures: dict[str, Measure]
    problem: SideValue | None
    benchmark: SideValue | None


class NodeValues(msgspec.Struct, frozen=True):
    """The values of a node on both sides: inputs, parameters, gradients, outputs; worst first."""

    result: str
    node: str
    node_id: int
    values: list[ComparedValue]


def node_values(folder: ResultFolder, asked: OfNode) -> NodeValues:
    """The statistics of a node's values in both runs."""
    file, results, node = asked_node(folder, asked)
    values = [_compared(pair) for pair in results.details(node.id).values]
    return NodeValues(file.shown, node.name, node.id, values)


def _compared(pair: ValuePair) -> ComparedValue:
    return ComparedValue(
        value=key_of(pair.role, pair.path),
        score=pair.score,
        error=pair.error,
        error_of=pair.error_of,
        let_pass=pair.let_pass,
        differs=pair.differs,
        measures=dict(islice(pair.measures.items(), _MOST_MEASURES)),
        problem=_side(pair.problem),
        benchmark=_side(pair.benchmark),
    )


def _side(value: Value | None) -> SideValue | None:
    if value is None:
        return None
    kept: Sequence[str] = SideValue.__struct_fields__
    return SideValue(**{name: getattr(value, name) for name in kept})
