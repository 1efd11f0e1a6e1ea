"""The tables of a monitor as a `.trend.db` or TensorBoard's events; dumps as a `.trend.db`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from msprobe.errors import CheckError
from msprobe.trends.dump_rows import STATISTICS as OF_DUMPS
from msprobe.trends.dump_rows import dump_rows
from msprobe.trends.monitor_csv import Table, choose_tables, read_table
from msprobe.trends.trend_db import STATISTICS, Row, write_trend_db
from msprobe_core.format.bounded import parse_json

_MICRO = frozenset({"actv", "actv_grad"})


def convert_tables(
    tables: Sequence[Table], folder: Path, names: Mapping[str, str], micro_steps: bool
) -> tuple[Path, int]:
    """Write `monitor_data.trend.db` of some tables; its path and number of rows.

    `names` are parts of names and what stands for them instead, one after the other. With
    `micro_steps` the axis counts micro-batches: steps of kinds without any stand at the first of
    theirs. Raises CheckError.
    """
    each = 1 + max(
        (row.micro_step for table in tables if table.kind in _MICRO for row in read_table(table)),
        default=0,
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "monitor_data.trend.db"
    return path, write_trend_db(path, _rows(tables, names, each if micro_steps else 1))


def convert_dump(
    data: Path, folder: Path, names: Mapping[str, str], micro_batches: bool
) -> tuple[Path, int]:
    """Write `dump_data.trend.db` of a dump; its path and number of rows. Raises DumpError."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "dump_data.trend.db"
    rows = (
        replace(row, target=renamed(row.target, names)) for row in dump_rows(data, micro_batches)
    )
    return path, write_trend_db(path, rows, OF_DUMPS)


def csv2tensorboard_by_step(
    monitor_path: str,
    time_start: str | None = None,
    time_end: str | None = None,
    process_num: int = 1,
    data_type_list: Sequence[str] | None = None,
    output_dirpath: str | None = None,
) -> None:
    """Turn tables into event files `rank<r>/<kind>/`, tags `vp<v>:<name>[:micro<k>]/<op>`.

    `time_start` and `time_end` bound the folders by the time in their names. Without a folder to
    write to, one named by the time is made beside the tables. Raises CheckError.
    """
    del process_num  # one process writes as fast as the disk takes it
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    source = Path(monitor_path).expanduser()
    now = datetime.now().astimezone().strftime("%b%d_%H-%M-%S")
    output = Path(output_dirpath or source / f"{now}-csv2tensorboard_by_step").expanduser()
    writers: dict[Path, EventFileWriter] = {}
    for table in choose_tables(source, data_type_list, time_start, time_end):
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


def _rows(tables: Sequence[Table], names: Mapping[str, str], each: int) -> Iterator[Row]:
    for table in tables:
        for row in read_table(table):
            if all(row.values[name] is None for name in STATISTICS):
                continue
            step = row.step * each + (row.micro_step if each > 1 else 0)
            yield replace(row, step=step, micro_step=0, target=renamed(row.target, names))


def renamed(name: str, names: Mapping[str, str]) -> str:
    """A name with its parts replaced, one after the other."""
    for old, new in names.items():
        name = name.replace(old, new)
    return name


def read_mapping(path: Path | None) -> dict[str, str]:
    """The parts of names that a file replaces; none without a file. Raises CheckError."""
    if path is None:
        return {}
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckError(f"{path}: {error}", 'give a JSON object {"part": "part"}') from error
    if not isinstance(found, dict):
        raise CheckError(f"{path}: no JSON object", 'give {"part": "part"}')
    return {str(one): str(other) for one, other in found.items()}
