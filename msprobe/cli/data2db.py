"""`msprobe data2db`: the tables of a monitor as one `.trend.db` of mindstudio-probe."""

from __future__ import annotations

import argparse
from pathlib import Path

from msprobe.cli.outcome import Exit
from msprobe.errors import CommandError

SUMMARY = "turn the tables of a monitor into one .trend.db of mindstudio-probe"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags, by the names that scripts use."""
    parser.add_argument("--db", type=Path, required=True, metavar="DIR", help="where it is written")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="folders that the monitor wrote"
    )
    parser.add_argument("--format", choices=("auto", "dump", "monitor"), default="auto")
    parser.add_argument(
        "--mapping", type=Path, metavar="JSON", help="{name: name} to write instead"
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
    from msprobe.trends.trend_tables import convert_tables

    if options.format == "dump":
        raise CommandError(
            "data2db: dumps are not turned into a .trend.db",
            "compare them by msprobe graph_visualize, or follow the training by Trends",
        )
    path, rows = convert_tables(
        options.data, options.db, options.mapping, options.micro_step == "true"
    )
    print(f"wrote {path}: {rows} rows")
    return Exit.DONE
