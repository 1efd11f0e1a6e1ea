"""Measures the tensor files of a dump pair by pair, over the cores it is given."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from builder.measure.tensor_files import TensorFileError, open_tensor
from builder.measure.tensors import TensorMeasures, compare_tensors

FilePair = tuple[Path, Path]
# What becomes of a pair: measures, None where nothing can be compared, or why it cannot be read.
Outcome = TensorMeasures | str | None


def measure_files(pairs: Mapping[int, FilePair], cores: int) -> dict[int, Outcome]:
    """Measure pairs of tensor files, given and returned by row; equal pairs are read once."""
    distinct = list(dict.fromkeys(pairs.values()))
    if cores == 1 or len(distinct) < 2:
        found = [measure_pair(pair) for pair in distinct]
    else:
        # Numpy lets go of the interpreter while it computes, so threads share the cores.
        with ThreadPoolExecutor(cores) as executor:
            found = list(executor.map(measure_pair, distinct))
    outcomes = dict(zip(distinct, found))
    return {row: outcomes[pair] for row, pair in pairs.items()}


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
