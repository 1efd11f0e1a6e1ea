"""`msprobe join`: join what the units of a plan made into one file that TensorBoard shows."""

from __future__ import annotations

import argparse

from msprobe.cli.build_summary import exit_code, print_summary
from msprobe.cli.dump_flags import location
from msprobe.cli.outcome import Exit

SUMMARY = "join the parts that units of a plan made into one result file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "plan", type=location, metavar="PLAN", help="plan.json, or the folder that it lies in"
    )
    parser.add_argument(
        "-o",
        "--output_path",
        type=location,
        metavar="DIR",
        help="folder for the result [beside the plan]",
    )
    parser.add_argument(
        "--allow-missing",
        action="store_true",
        help="join what there is; units without a part are failed pairs of the result",
    )
    parser.add_argument(
        "--split",
        action="store_true",
        help="leave each unit's rows in a file of its own, in a folder beside a small result file",
    )


def run(options: argparse.Namespace) -> Exit:
    """Join, and say what a build in one process says; its exit codes too."""
    from builder.run.units.plan_file import read_plan
    from builder.run.units.running import join_build, plan_folder

    folder = plan_folder(options.plan)
    result = join_build(
        folder.text, options.output_path, allow_missing=options.allow_missing, split=options.split
    )
    print_summary(result, comparison=read_plan(folder).request.is_comparison)
    return exit_code(result)
