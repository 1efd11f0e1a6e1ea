"""Measures the tensor files of a dump pair by pair, over the cores it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from builder.measure.tensor_files import TensorFileError, open_tensor
from builder.measure.tensors import TensorMeasures, compare_tensors
from builder.parallel import CAN_FORK, beside

FilePair = tuple[str, str]
# What becomes of a pair: measures, None where nothing can be compared, or why it cannot be read.
Outcome = TensorMeasures | str | None
# Fewer pairs than this are measured before another process has started.
_FEW = 200


def measure_files(pairs: Mapping[int, FilePair], cores: int) -> dict[int, Outcome]:
    """Measure pairs of tensor files, given and returned by row; equal pairs are read once."""
    distinct = list(dict.fromkeys(pairs.values()))
    shares = cores if CAN_FORK and len(distinct) >= _FEW else 1
    # Every n-th pair each: neighbours in a dump are alike, so the shares weigh the same. Processes,
    # since threads would wait for each other between the short steps of a small tensor.
    parts = [distinct[share::shares] for share in range(shares)]
    with ExitStack() as running:
        waiting = [running.enter_context(beside(partial(_measure, p))) for p in parts[1:]]
        found = [_measure(parts[0]), *(result() for result in waiting)]
    outcomes = {pair: o for part, own in zip(parts, found) for pair, o in zip(part, own)}
    return {row: outcomes[pair] for row, pair in pairs.items()}


def _measure(pairs: Sequence[FilePair]) -> list[Outcome]:
    return [measure_pair(pair) for pair in pairs]


def measure_pair(pair: FilePair) -> Outcome:
    """Measure the tensors of two files, or tell which cannot be read and why."""
    path = pair[0]
    try:
        with open_tensor(path) as ours:
            path = pair[1]
            with open_tensor(path) as theirs:
                return compare_tensors(ours, theirs)
    except TensorFileError as error:
        return f"{path}: {error}"
