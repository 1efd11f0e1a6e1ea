"""Writes trends as other tools read them: a table, TensorBoard's events, or a `.trend.db`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from builder.series.run import TrendRun
from msprobe.errors import CheckError
from msprobe.trends.trend_db import Row, write_trend_db
from msprobe_core.format.csv_table import CsvTable
from msprobe_core.format.series import STATISTICS
from msprobe_core.format.whole_file import written_whole

Record = tuple[int, int, str, str, list[float]]
"""Step, rank, kind, name, the statistics."""

_BATCH = 100_000
COLUMNS = ("step", "rank", "kind", "name", *STATISTICS)
_DATABASE_KINDS = {"grad": "grad_reduced", "param": "param_updated"}
"""What the files of mindstudio-probe call them; all others have the same name."""


def export(run: TrendRun, form: str, output: Path) -> Path:
    """Write a run in a form of the command line; the file or folder that was written.

    Raises CheckError when a package is missing.
    """
    writers: dict[str, Callable[[TrendRun, Path], Path]] = {
        "csv": _write_csv,
        "parquet": _write_parquet,
        "tensorboard": _write_events,
        "trend.db": _write_database,
    }
    return writers[form](run, output)


def records(run: TrendRun) -> Iterator[Record]:
    """What was measured, target by target, rank by rank, in the order of the steps."""
    for target in run.targets:
        for rank in run.ranks_of(target.key):
            series = run.ranks[rank]
            values = np.stack([series.values([target.key], name)[0] for name in STATISTICS], 1)
            there = values[:, 0] != -np.inf
            for step, row in zip(series.steps[there], values[there], strict=True):
                yield int(step), rank, target.kind, target.name, row.tolist()


def _write_csv(run: TrendRun, output: Path) -> Path:
    path = _file(output, "trends.csv")
    with (
        written_whole(path) as beside,
        beside.open("w", newline="", encoding="utf-8") as file,
    ):
        table = CsvTable(file, lineterminator="\r\n")
        table.row(COLUMNS)
        # nine significant digits tell any two float32 apart
        for *place, values in records(run):
            table.row([*place, *(f"{value:.9g}" for value in values)])
    return path


def _write_parquet(run: TrendRun, output: Path) -> Path:
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise CheckError(f"parquet: {error}", "pip install pyarrow, or use --to csv") from error
    path = _file(output, "trends.parquet")
    kinds = [*[arrow.int64()] * 2, *[arrow.string()] * 2, *[arrow.float32()] * len(STATISTICS)]
    schema = arrow.schema(list(zip(COLUMNS, kinds, strict=True)))
    with parquet.ParquetWriter(path, schema) as writer:
        for rows in _batches(records(run)):
            columns = zip(*((*place, *values) for *place, values in rows), strict=True)
            writer.write_table(arrow.table(dict(zip(COLUMNS, columns, strict=True)), schema))
    return path


def _batches(rows: Iterator[Record]) -> Iterator[list[Record]]:
    """So many at once that a long training needs no more memory than a short one."""
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _write_events(run: TrendRun, output: Path) -> Path:
    """One folder a rank; the tag is kind/name/statistic, for scalars the name alone."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writers: dict[int, EventFileWriter] = {}
    shown = [STATISTICS.index(name) for name in ("norm", "mean", "min", "max")]
    for step, rank, kind, name, values in records(run):
        if rank not in writers:
            writers[rank] = EventFileWriter(str(output / f"rank{rank}"))
        scalar = values[STATISTICS.index("size")] == 1 and kind not in ("param", "grad")
        tags = (
            [(name if kind == name else f"{kind}/{name}", values[1])]
            if scalar
            else [(f"{kind}/{name}/{STATISTICS[i]}", values[i]) for i in shown]
        )
        parts = [Summary.Value(tag=tag, simple_value=value) for tag, value in tags]
        writers[rank].add_event(Event(step=step, summary=Summary(value=parts)))
    for writer in writers.values():
        writer.close()
    return output


def _write_database(run: TrendRun, output: Path) -> Path:
    path = _file(output, "monitor_data.trend.db")
    names = ("norm", "min", "max", "mean", "nans", "zeros")
    rows = (
        Row(
            rank,
            step,
            0,
            0,
            f"{name}.output" if kind == "actv" else name,
            _DATABASE_KINDS.get(kind, kind),
            {each: values[STATISTICS.index(each)] for each in names},
        )
        for step, rank, kind, name, values in records(run)
    )
    write_trend_db(path, rows)
    return path


def _file(output: Path, name: str) -> Path:
    """The file that is meant by a file's or a folder's name."""
    path = output if output.suffix else output / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
