"""`msprobe ckpt_compare`: compare two saved models, whatever layout each was saved in.

`msprobe config_check -c DIR1 DIR2` is the same command under mindstudio-probe's name.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from msprobe.cli.outcome import Exit

SUMMARY = "compare two saved models: Megatron, safetensors, state_dict, distributed checkpoint"
DEFAULT_OUTPUT = Path("ckpt_similarity.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("first", type=Path, metavar="FIRST", help="checkpoint folder or file")
    parser.add_argument("second", type=Path, metavar="SECOND", help="the one to compare it with")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=DEFAULT_OUTPUT,
        metavar="FILE",
        help=f"JSON file to write, a table (.csv) beside it [{DEFAULT_OUTPUT}]",
    )
    add_checkpoint_options(parser)


def add_checkpoint_options(parser: argparse.ArgumentParser) -> None:
    """Declare the flags that `config_check` has for checkpoints too."""
    parser.add_argument(
        *("--mapping", "--name_map"),
        type=Path,
        metavar="YAML",
        help="lines `first name: second name` where names differ; # stands for any number",
    )
    parser.add_argument(
        "--fail-above",
        type=float,
        metavar="DISTANCE",
        help="exit with code 4 when a relative L2 distance is above this, or one side lacks it",
    )


def run(options: argparse.Namespace) -> Exit:
    """Compare, write both files and say what differs most."""
    return compare(options.first, options.second, options.output, options)


def compare(first: Path, second: Path, output: Path, options: argparse.Namespace) -> Exit:
    """Compare, write both files and say what differs most; code 5 without a common parameter."""
    from msprobe.checkpoints import compare_checkpoints
    from msprobe.checkpoints.result_files import check_output, table_of

    check_output(output)
    result = compare_checkpoints(first, second, options.mapping)
    from msprobe.checkpoints import report  # after it was said whether torch is there

    report.write(result, output)
    print("\n".join([*report.text(result), f"file: {output}", f"table: {table_of(output)}"]))
    if not result.compared:
        return Exit.NOTHING_COMPARABLE
    if options.fail_above is not None and result.worst > options.fail_above:
        return Exit.DIVERGED
    return Exit.DONE
