"""`msprobe multi_acc_check`: acc_check in several processes, given out over devices in turn."""

from __future__ import annotations

import argparse

from msprobe.cli import acc_check
from msprobe.cli.outcome import Exit

SUMMARY = "acc_check in several processes over one or more devices"
_MOST = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags: those of acc_check and the number of processes."""
    acc_check.add_arguments(parser)
    parser.add_argument(
        "-n",
        "--num_splits",
        type=_processes,
        default=8,
        metavar="N",
        help=f"processes, 1 to {_MOST} [8]",
    )


def run(options: argparse.Namespace) -> Exit:
    """Check in as many processes as asked for."""
    return acc_check.check(options, options.num_splits)


def _processes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; give 1 to {_MOST}")
    return int(text)
