"""`msprobe data2db`: the tables of a monitor, or dumps, as one `.trend.db` of mindstudio-probe."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from msprobe.cli.outcome import Exit
from msprobe.errors import CommandError

SUMMARY = "turn dumps or the tables of a monitor into one .trend.db of mindstudio-probe"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags, by the names that scripts use."""
    parser.add_argument("--db", type=Path, required=True, metavar="DIR", help="where it is written")
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="DIR",
        help="a dump, or folders that the monitor wrote",
    )
    parser.add_argument("--format", choices=("auto", "dump", "monitor"), default="auto")
    parser.add_argument(
        "--mapping", type=Path, metavar="JSON", help="{part: part} of names to replace"
    )
    parser.add_argument(
        "--micro_step",
        choices=("true", "false"),
        default="true",
        help="count micro-batches as steps where there are some [true]",
    )
    parser.add_argument("--process_num", type=int, default=1, help="taken and not needed")


def run(options: argparse.Namespace) -> Exit:
    """Write the file; its path is printed."""
    from builder.dump.sources import looks_like_dump
    from msprobe.trends.trend_tables import read_mapping

    if not options.data.is_dir():
        raise CommandError(
            f"--data {options.data}: no such folder", "give the folder that was written"
        )
    names = read_mapping(options.mapping)
    found = options.format
    if found == "auto":
        found = "dump" if looks_like_dump(options.data) else "monitor"
    convert = _convert_dump if found == "dump" else _convert_tables
    path, rows = convert(options, names)
    print(f"wrote {path}: {rows} rows")
    return Exit.DONE


def _convert_dump(options: argparse.Namespace, names: Mapping[str, str]) -> tuple[Path, int]:
    from msprobe.trends.trend_tables import convert_dump

    return convert_dump(options.data, options.db, names, options.micro_step == "true")


def _convert_tables(options: argparse.Namespace, names: Mapping[str, str]) -> tuple[Path, int]:
    from msprobe.trends.monitor_csv import choose_tables
    from msprobe.trends.trend_tables import convert_tables

    tables = choose_tables(options.data)
    return convert_tables(tables, options.db, names, options.micro_step == "true")
