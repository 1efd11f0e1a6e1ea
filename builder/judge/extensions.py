"""Measures and rules from a user's own package, found by the entry point group `msprobe.measures`.

An entry point names an `Extension`; its measures join those of every value pair, its rules speak
beside the documented ones. Neither changes a score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from builder.compare.comparison import Comparison
from builder.dump.joined_tensors import JoinedTensor, read_joined
from builder.dump.reader import Dump
from builder.dump.statistic_cells import Cell, known_or_none
from builder.dump.tensor_files import open_tensor
from builder.dump.values import Record
from builder.errors import InputError
from builder.judge.verdict import Judgement
from builder.reasons import Extension as ExtensionSays
from builder.reasons import MeasureTaken
from msprobe_core.format import canonical_dtype

GROUP = "msprobe.measures"


@dataclass(frozen=True, slots=True)
class ValueFacts:
    """One side of a value pair; statistics are None where the dump has none.

    `file` is None too where the value is joined from several ranks: `tensor` joins it.
    """

    dtype: str
    shape: tuple[int, ...]
    max: float | None
    min: float | None
    mean: float | None
    norm: float | None
    file: Path | None
    joined: JoinedTensor | None = None

    def tensor(self) -> NDArray[Any] | None:
        """The dumped numbers as a flat array, None unless the task is tensor."""
        if self.joined is not None:
            return read_joined(self.joined).reshape(-1)
        if self.file is None:
            return None
        with open_tensor(self.file) as data:
            return np.array(data.block(0, data.size))


@dataclass(frozen=True, slots=True)
class PairFacts:
    """A value pair of a node as the comparison sees it; `error` is the relative error e."""

    key: str
    is_output: bool
    problem: ValueFacts
    benchmark: ValueFacts
    error: float | None
    score: float | None


Measure = Callable[[ValueFacts, ValueFacts], float | None]
Rule = Callable[[str, Sequence[PairFacts]], "tuple[Literal['warning', 'error'], str] | None"]


@dataclass(frozen=True, slots=True)
class Extension:
    """What a package adds: measures by the name of their column, and rules over a node's pairs.

    A rule gets the node's name and its tensor pairs and returns a verdict with its reason.
    """

    measures: Mapping[str, Measure] = field(default_factory=dict)
    rules: Sequence[Rule] = ()


def load_extensions() -> tuple[Extension, ...]:
    """The installed extensions; raises InputError naming the package that cannot be used."""
    loaded = []
    for point in entry_points(group=GROUP):
        try:
            extension = point.load()
        except Exception as error:  # whatever the foreign module raises while it is imported
            raise InputError(
                f"{point.value}: entry point {point.name!r} of {GROUP} cannot be loaded "
                f"({type(error).__name__}: {error})",
                "repair or uninstall its package",
            ) from error
        if not isinstance(extension, Extension):
            raise InputError(
                f"{point.value}: entry point {point.name!r} of {GROUP} is a "
                f"{type(extension).__name__}",
                "make it a builder.judge.extensions.Extension",
            )
        loaded.append(extension)
    return tuple(loaded)


def apply_extensions(
    comparison: Comparison, judgements: Mapping[int, Judgement], extensions: Sequence[Extension]
) -> None:
    """Add what extensions measure and say to the judgements of the nodes."""
    by_node: dict[int, list[PairFacts]] = {}
    for row, node in enumerate(comparison.pairs.node.tolist()):
        facts = _pair_facts(comparison, row)
        if facts is not None:
            by_node.setdefault(node, []).append(facts)
    for node, pairs in by_node.items():
        name = comparison.matching.problem.in_order[node].name
        for extension in extensions:
            _measure(judgements[node], pairs, extension)
            for rule in extension.rules:
                spoken = rule(name, pairs)
                if spoken is not None:
                    judgements[node].add(spoken[0], ExtensionSays(spoken[1]))


def _measure(judgement: Judgement, pairs: Sequence[PairFacts], extension: Extension) -> None:
    for pair in pairs:
        for name, measure in extension.measures.items():
            number = measure(pair.problem, pair.benchmark)
            if number is not None:
                shown = float(number) if isfinite(number) else str(float(number))
                judgement.reasons.append(MeasureTaken(pair.key, name, shown))


def _pair_facts(comparison: Comparison, row: int) -> PairFacts | None:
    p, b = comparison.records[0][row], comparison.records[1][row]
    if comparison.is_surplus(row) or p.dtype is None or b.dtype is None:
        return None
    matching = comparison.matching
    tensor = comparison.mode == "tensor"
    return PairFacts(
        key=comparison.keys[row],
        is_output=bool(comparison.is_output[row]),
        problem=_facts(p, matching.problem.dump if tensor else None),
        benchmark=_facts(b, matching.benchmark.dump if tensor else None),
        error=known_or_none(comparison.scores.error[row]),
        score=known_or_none(comparison.scores.stated[row]),
    )


def _facts(record: Record, dump: Dump | None) -> ValueFacts:
    name = record.data_name
    place = None if dump is None or name is None else dump.tensor_finder()(name)
    return ValueFacts(
        dtype=canonical_dtype(record.dtype or ""),
        shape=record.shape or (),
        max=_statistic(record.Max),
        min=_statistic(record.Min),
        mean=_statistic(record.Mean),
        norm=_statistic(record.Norm),
        file=Path(place) if isinstance(place, str) else None,
        joined=place if isinstance(place, JoinedTensor) else None,
    )


def _statistic(cell: Cell) -> float | None:
    return float(cell) if cell is not None else None
