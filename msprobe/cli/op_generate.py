"""`msprobe op_generate`: a script that runs one recorded call alone, for whoever mends it."""

from __future__ import annotations

import argparse
from pathlib import Path

from msprobe.cli.outcome import Exit

SUMMARY = "write a stand-alone script of one recorded call that prints its error"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "-i",
        "-api_info",
        "--api_info_file",
        type=Path,
        required=True,
        metavar="JSON",
        help="a dump.json of level L1 or mix",
    )
    parser.add_argument(
        "-n",
        "--name",
        required=True,
        metavar="CALL",
        help="the call, such as Functional.linear.0",
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="FILE", help="the script to write"
    )
    parser.add_argument("--seed", type=int, default=1234, help="of drawn data [1234]")


def run(options: argparse.Namespace) -> Exit:
    """Write the script and say how to run it."""
    from builder.errors import InputError
    from msprobe.acc_check.inputs import Source
    from msprobe.acc_check.plan import find_call, read_plan
    from msprobe.acc_check.reproduction import write_script

    plan = read_plan(options.api_info_file)
    if plan.framework != "pytorch":
        raise InputError(
            f"{options.api_info_file}: scripts are written of calls of PyTorch only",
            "check the calls of this dump with acc_check; -save_error_data keeps their data",
        )
    call = find_call(plan, options.name)
    source = Source(plan.tensors, options.seed)
    for path in write_script(call, source, options.out, options.seed):
        print(f"file: {path}")
    print(f"run: python {options.out} [device]")
    return Exit.DONE
