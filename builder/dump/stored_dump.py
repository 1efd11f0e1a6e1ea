"""A dump that was read, as columns in one file: a tenth of its JSON, and none of its parsing."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from builder.dump.reader import Dump, Inputs, MicroBatches, Modes, OptimizerSteps, Parallel
from builder.dump.values import Ranges, Record, Values
from builder.errors import DumpError

_FIELDS = Record.__struct_fields__
_TUPLES = ("shape", "placements", "mesh")
# In these every cell may be of its own kind, and 0.0 is not -0.0.
_LOOSE = ("value", "Max", "Min", "Mean", "Norm")


class _Column(msgspec.Struct, array_like=True, omit_defaults=True):
    """Cells as float64 and which of them are known, as places in a table, or one by one."""

    floats: bytes | None = None
    known: bytes | None = None
    table: list[Any] | None = None
    at: bytes | None = None
    cells: list[Any] | None = None


class _Stored(msgspec.Struct):
    task: str
    level: str
    framework: str
    keys: _Column
    columns: dict[str, _Column]
    absent: dict[str, list[tuple[int, str]]]
    ranges: Ranges
    parents: dict[str, str | None]
    micro_steps: dict[str, int]
    stacks: dict[str, int]
    frames: list[str]
    sketch_version: int | None
    parallel: Parallel | None
    optimizer: OptimizerSteps
    inputs: Inputs
    micro_batch: MicroBatches
    modes: Modes


def store_dump(dump: Dump, file: Path) -> None:
    """Write a dump that was read; raises DumpError for numbers that no such file holds."""
    records = dump.values.records
    columns = {name: _column(name, list(map(attrgetter(name), records))) for name in _FIELDS}
    stored = _Stored(
        task=dump.task,
        level=dump.level,
        framework=dump.framework,
        keys=_column("keys", dump.values.keys),
        columns=columns,
        absent=dump.values.absent,
        ranges=dump.ranges,
        parents=dump.parents,
        micro_steps=dump.micro_steps,
        stacks=dump.stacks,
        frames=dump.frames,
        sketch_version=dump.sketch_version,
        parallel=dump.parallel,
        optimizer=dump.optimizer,
        inputs=dump.inputs,
        micro_batch=dump.micro_batch,
        modes=dump.modes,
    )
    try:
        content = msgspec.msgpack.encode(stored)
    except (OverflowError, msgspec.EncodeError) as error:
        raise DumpError(f"{dump.path}: cannot be kept as columns ({error})", "") from error
    file.write_bytes(zlib.compress(content, 1))


def load_dump(file: Path, path: Path) -> Dump:
    """The dump that was read from `path` and stored; raises DumpError for a file without one."""
    try:
        stored = msgspec.msgpack.decode(zlib.decompress(file.read_bytes()), type=_Stored)
        records = [Record(*row) for row in zip(*map(_of_field(stored), _FIELDS), strict=True)]
    except (OSError, zlib.error, msgspec.MsgspecError, ValueError, TypeError, LookupError) as error:
        raise DumpError(f"{file}: no dump in columns ({error})", _AGAIN) from error
    share = {name: name for name in stored.parents}
    return Dump(
        path=path,
        task=stored.task,
        level=stored.level,
        framework=stored.framework,
        values=Values(_cells(stored.keys), records, stored.absent),
        ranges={share.get(name, name): place for name, place in stored.ranges.items()},
        parents={n: p if p is None else share.get(p, p) for n, p in stored.parents.items()},
        micro_steps=stored.micro_steps,
        stacks={share.get(name, name): place for name, place in stored.stacks.items()},
        frames=stored.frames,
        sketch_version=stored.sketch_version,
        parallel=stored.parallel,
        optimizer=stored.optimizer,
        inputs=stored.inputs,
        micro_batch=stored.micro_batch,
        modes=stored.modes,
    )


_AGAIN = "remove it and its marker, and run the unit again"


def _column(name: str, cells: Sequence[Any]) -> _Column:
    if name in _LOOSE:
        if all(type(cell) is float or cell is None for cell in cells):
            known = np.array([cell is not None for cell in cells], dtype=bool)
            return _Column(np.array(cells, dtype="<f8").tobytes(), known.tobytes())
        return _Column(cells=list(cells))
    places: dict[object, int] = {}
    kept = (tuple(cell) if type(cell) is list else cell for cell in cells)  # groups of ranks
    at = [places.setdefault(cell, len(places)) for cell in kept]
    return _Column(table=list(places), at=np.array(at, dtype="<i4").tobytes())


def _of_field(stored: _Stored) -> Callable[[str], list[Any]]:
    def cells(name: str) -> list[Any]:
        column = stored.columns[name]
        if name in _TUPLES and column.table is not None:
            column.table = [None if cell is None else tuple(cell) for cell in column.table]
        return _cells(column)

    return cells


def _cells(column: _Column) -> list[Any]:
    if column.cells is not None:
        return column.cells
    if column.floats is not None and column.known is not None:
        floats = np.frombuffer(column.floats, dtype="<f8").tolist()
        known = np.frombuffer(column.known, dtype=bool).tolist()
        return [cell if is_known else None for cell, is_known in zip(floats, known, strict=True)]
    if column.table is None or column.at is None:
        raise ValueError("a column without cells")
    return [column.table[place] for place in np.frombuffer(column.at, dtype="<i4").tolist()]
