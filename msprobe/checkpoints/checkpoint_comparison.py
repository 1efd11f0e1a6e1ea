"""Two checkpoints compared: a row for each parameter of either, one in memory at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from sys import float_info
from typing import Literal

import torch

from builder.claim import Claim, Counted, Evidence, claim
from msprobe.checkpoints.bookkeeping import left_out_told
from msprobe.checkpoints.matching import Match, Matching, match, read_mapping
from msprobe.checkpoints.names import natural
from msprobe.checkpoints.opening import open_checkpoint
from msprobe.checkpoints.parameter import Checkpoint, Parameter
from msprobe.checkpoints.tensor_distance import Distance, distance

Status = Literal["equal", "rounding", "differs", "shape", "only first", "only second"]
_VOCABULARY = (
    "word_embeddings.weight",
    "output_layer.weight",
    "embed_tokens.weight",
    "lm_head.weight",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter; a side that has no such parameter is None, and so is what was not measured."""

    status: Status
    first: Parameter | None
    second: Parameter | None
    matched_by: str | None
    distance: Distance | None

    @property
    def name(self) -> str:
        """The name in the first checkpoint, or else in the second."""
        side = self.first or self.second
        assert side is not None
        return side.name


@dataclass(frozen=True, slots=True)
class CheckpointComparison:
    """All rows in natural order of their names, and sentences about what to keep in mind."""

    first: Checkpoint
    second: Checkpoint
    rows: list[Row]
    notes: list[str]

    @property
    def compared(self) -> list[Row]:
        """Rows with a distance."""
        return [row for row in self.rows if row.distance is not None]

    @property
    def different(self) -> list[Row]:
        """Rows that do not agree, those of one side included."""
        return [row for row in self.rows if row.status not in ("equal", "rounding")]

    @property
    def claim(self) -> Claim:
        """What may be said of the two models."""
        counts = Counter(row.status for row in self.rows)
        compared = (Counted("parameters", counts["equal"]), Counted("rounded", counts["rounding"]))
        measured = Counted("measured", counts["differs"])
        left_out = [*self.first.left_out, *self.second.left_out]
        evidence = Evidence(tuple(each for each in (*compared, measured) if each.count))
        if left_out:
            evidence = evidence.with_gaps(Counted("left_out", len(left_out), left_out[0]))
        apart = self.different
        if apart and self.compared:
            evidence = evidence.with_differences(Counted("parameters", len(apart), apart[0].name))
        return claim(evidence)

    @property
    def worst(self) -> float:
        """The largest relative L2 distance; infinite for what cannot be measured."""
        return max((_far(row) for row in self.rows), default=0.0)


def _far(row: Row) -> float:
    if row.status in ("equal", "rounding"):
        return 0.0
    relative = None if row.distance is None else row.distance.relative
    if relative is None:
        return inf
    # Seeds and counters: one unit of what is larger than 2^52 is no ratio that a float64 tells.
    sides = [side.dtype for side in (row.first, row.second) if side is not None]
    whole = not any(dtype.is_floating_point or dtype.is_complex for dtype in sides)
    return inf if whole and relative < float_info.epsilon else relative


def compare(first: Path, second: Path, mapping: Path | None) -> CheckpointComparison:
    """Open both, match their parameters and measure each pair."""
    left, right = open_checkpoint(first), open_checkpoint(second)
    notes: list[str] = []
    with _one_thread():
        matching = _match(left, right, read_mapping(mapping))
        rows = [_row(pair, notes) for pair in matching.pairs]
    rows += [Row("only first", each, None, None, None) for each in matching.only_first]
    rows += [Row("only second", None, each, None, None) for each in matching.only_second]
    rows.sort(key=lambda row: natural(row.name))
    notes += [f"{side.path}: {note}" for side in (left, right) for note in side.notes]
    for side in (left, right):
        told = left_out_told(side.left_out)
        notes += [f"{side.path}: {told}"] if told else []
    return CheckpointComparison(left, right, rows, notes)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Blocks are too short to be worth waiting for other threads, least on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _match(left: Checkpoint, right: Checkpoint, mapping: dict[str, str]) -> Matching:
    """Match under the names that more parameters share: each side's own, or those it knows too."""
    options = [(left.parameters, right.parameters)]
    options += [(named, right.parameters) for named in left.renamed.values()]
    options += [(left.parameters, named) for named in right.renamed.values()]
    ours, theirs = max(options, key=lambda option: _alike(*option))
    return match(_sorted(ours), _sorted(theirs), mapping)


def _alike(ours: dict[str, Parameter], theirs: dict[str, Parameter]) -> tuple[int, int]:
    """How many parameters share their name, those of one shape first."""
    shared = ours.keys() & theirs.keys()
    return sum(ours[name].shape == theirs[name].shape for name in shared), len(shared)


def _sorted(parameters: dict[str, Parameter]) -> dict[str, Parameter]:
    named = {name: _named(name, each) for name, each in parameters.items()}
    return {name: named[name] for name in sorted(named, key=natural)}


def _named(name: str, parameter: Parameter) -> Parameter:
    return replace(parameter, name=name)


def _row(pair: Match, notes: list[str]) -> Row:
    first, second = pair.first, pair.second
    rows = None
    if first.shape != second.shape:
        if not first.name.endswith(_VOCABULARY) or first.shape[1:] != second.shape[1:]:
            return Row("shape", first, second, pair.by, None)
        rows = min(first.shape[0], second.shape[0])
        notes.append(
            f"{first.name}: {first.shape[0]} and {second.shape[0]} rows; the vocabulary is padded, "
            f"the first {rows} were compared"
        )
    measured = distance(_head(first, rows), _head(second, rows))
    for side in (first, second):
        side.release()
    return Row(measured.agreement, first, second, pair.by, measured)


def _head(parameter: Parameter, rows: int | None) -> torch.Tensor:
    whole = parameter.read()
    return whole if rows is None else whole[:rows]
