"""`msprobe merge_result`: one measure over all ranks side by side, from the tables of compare."""

from __future__ import annotations

import argparse
from pathlib import Path

from msprobe.cli.outcome import Exit

SUMMARY = "put chosen calls of all ranks' tables side by side, a sheet per measure"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "-i",
        "--input_dir",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder with compare_result_rank<N>_<time>.csv or .xlsx",
    )
    parser.add_argument(
        "-o", "--output_dir", type=Path, required=True, metavar="DIR", help="folder for the result"
    )
    parser.add_argument(
        "-config",
        "--config-path",
        "--config_path",
        dest="config",
        type=Path,
        required=True,
        metavar="YAML",
        help="`api`: prefixes of calls; `compare_index`: columns [all measures]",
    )


def run(options: argparse.Namespace) -> Exit:
    """Merge and say where the result lies."""
    from builder.tables.merge_ranks import merge_ranks, read_merge_choice

    choice = read_merge_choice(options.config)
    merged = merge_ranks(options.input_dir, options.output_dir, choice)
    for rank, rows, most in merged.short:
        print(
            f"note: the table of rank {rank} ends after {rows} of {most} rows that another rank "
            "has: was it cut?"
        )
    print(f"file: {merged.path}")
    return Exit.FAILED_PAIRS if merged.short else Exit.DONE
