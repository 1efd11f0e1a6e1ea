"""The tables of a monitor in other forms: a `.trend.db`, and TensorBoard's events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from msprobe.errors import CheckError
from msprobe.trends.monitor_csv import Table, find_tables, read_table
from msprobe.trends.trend_db import STATISTICS, Row, write_trend_db

_MICRO = frozenset({"actv", "actv_grad"})


def convert_tables(
    data: Path, folder: Path, mapping: Path | None, micro_steps: bool
) -> tuple[Path, int]:
    """Write `monitor_data.trend.db` of all tables below a folder; its path and number of rows.

    With `micro_steps` the axis counts micro-batches: steps of kinds without any stand at the first
    of theirs. Raises CheckError.
    """
    tables = find_tables(data)
    names = _mapping(mapping)
    each = 1 + max(
        (row.micro_step for table in tables if table.kind in _MICRO for row in read_table(table)),
        default=0,
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "monitor_data.trend.db"
    return path, write_trend_db(path, _rows(tables, names, each if micro_steps else 1))


def csv2tensorboard_by_step(
    monitor_path: str,
    time_start: str | None = None,
    time_end: str | None = None,
    process_num: int = 1,
    data_type_list: Sequence[str] | None = None,
    output_dirpath: str | None = None,
) -> None:
    """Turn tables into event files `rank<r>/<kind>/`, tags `vp<v>:<name>[:micro<k>]/<op>`.

    `time_start` and `time_end` bound the folders by the time in their names. Raises CheckError.
    """
    del process_num  # one process writes as fast as the disk takes it
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    output = Path(output_dirpath or Path(monitor_path) / "csv2tensorboard")
    writers: dict[Path, EventFileWriter] = {}
    for table in find_tables(Path(monitor_path)):
        if data_type_list and table.kind not in data_type_list:
            continue
        if not (time_start or "") <= table.time <= (time_end or "~"):
            continue
        place = output / f"rank{table.rank}" / table.kind
        if place not in writers:
            writers[place] = EventFileWriter(str(place))
        for row in read_table(table):
            micro = f":micro{row.micro_step}" if table.kind in _MICRO else ""
            values = [
                Summary.Value(
                    tag=f"vp{row.vpp_stage}:{row.target}{micro}/{name}", simple_value=value
                )
                for name, value in row.values.items()
                if value is not None
            ]
            writers[place].add_event(Event(step=row.step, summary=Summary(value=values)))
    for writer in writers.values():
        writer.close()


def _rows(tables: Sequence[Table], names: dict[str, str], each: int) -> Iterator[Row]:
    for table in tables:
        for row in read_table(table):
            if all(row.values[name] is None for name in STATISTICS):
                continue
            step = row.step * each + (row.micro_step if each > 1 else 0)
            yield replace(row, step=step, micro_step=0, target=names.get(row.target, row.target))


def _mapping(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckError(f"{path}: {error}", 'give a JSON object {"name": "name"}') from error
    if not isinstance(found, dict):
        raise CheckError(f"{path}: no JSON object", 'give {"name": "name"}')
    return {str(one): str(other) for one, other in found.items()}
