"""Measures the tensor files of a dump pair by pair, over the cores it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path

from builder.compare.tensors import TensorMeasures, compare_tensors
from builder.dump.joined_tensors import JoinedTensor, open_joined
from builder.dump.tensor_data import TensorData
from builder.dump.tensor_files import TensorFileError, open_tensor
from builder.processes.second_process import CAN_FORK, beside

Place = str | JoinedTensor
FilePair = tuple[Place, Place]
# What becomes of a pair: measures, None where nothing can be compared, or why it cannot be read.
Outcome = TensorMeasures | str | None
# Fewer pairs than this are measured before another process has started.
_FEW = 200


def measure_files(pairs: Mapping[int, FilePair], cores: int) -> dict[int, Outcome]:
    """Measure pairs of tensor files, given and returned by row; equal pairs are read once."""
    files = {row: (_one_file(ours), _one_file(theirs)) for row, (ours, theirs) in pairs.items()}
    read = {files[row]: pair for row, pair in pairs.items()}
    distinct = list(read.values())
    shares = cores if CAN_FORK and len(distinct) >= _FEW else 1
    # Every n-th pair each: neighbours in a dump are alike, so the shares weigh the same. Processes,
    # since threads would wait for each other between the short steps of a small tensor.
    parts = [distinct[share::shares] for share in range(shares)]
    with ExitStack() as running:
        waiting = [running.enter_context(beside(partial(_measure, p))) for p in parts[1:]]
        measured = [_measure(parts[0]), *(result() for result in waiting)]
    outcomes = {pair: o for part, own in zip(parts, measured) for pair, o in zip(part, own)}
    return {row: outcomes[read[file]] for row, file in files.items()}


def _one_file(place: Place) -> Place | tuple[int, int]:
    """The same for all names of one file: a tensor that several values are has several."""
    if isinstance(place, JoinedTensor):
        return place
    try:
        told = Path(place).stat()
    except OSError:  # said when it is read
        return place
    return place if told.st_nlink == 1 else (told.st_dev, told.st_ino)


def _measure(pairs: Sequence[FilePair]) -> list[Outcome]:
    return [measure_pair(pair) for pair in pairs]


def measure_pair(pair: FilePair) -> Outcome:
    """Measure the tensors of two files, or tell which cannot be read and why."""
    place = pair[0]
    try:
        with _opened(place) as ours:
            place = pair[1]
            with _opened(place) as theirs:
                if ours.size != theirs.size:
                    return _misfit(pair, (ours.size, theirs.size))
                return compare_tensors(ours, theirs)
    except TensorFileError as error:
        return f"{_file_of(place)}: {error}"
    except MemoryError:
        return f"{_file_of(place)}: takes more memory than there is"


def _misfit(pair: FilePair, sizes: tuple[int, int]) -> str:
    """That two files of records of one shape hold unlike many numbers: one is another tensor's."""
    ours, theirs = map(_file_of, pair)
    return f"{ours}: holds {sizes[0]} numbers, and {theirs} {sizes[1]}, for records of one shape"


def _file_of(place: Place) -> str:
    return place.files[0] if isinstance(place, JoinedTensor) else place


def _opened(place: Place) -> AbstractContextManager[TensorData]:
    if isinstance(place, JoinedTensor):
        return nullcontext(open_joined(place))
    return open_tensor(place)
