"""`msprobe api_precision_compare`: is one device worse than another, by two tables of acc_check?"""

from __future__ import annotations

import argparse
from pathlib import Path

from msprobe.cli.outcome import Exit
from msprobe.cli.table_flags import add_out_path, add_verdict

SUMMARY = "rate the details table of one device against that of another"
STANDARDS = ("benchmark", "absolute", "ulp", "thousandth", "binary")
_SHOWN = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    for short, long, what in (
        ("-npu", "--npu_csv_path", "accuracy_checking_details_<time>.csv of the device to rate"),
        ("-gpu", "--gpu_csv_path", "the same of the device that it is rated against"),
    ):
        parser.add_argument(short, long, type=Path, required=True, metavar="CSV", help=what)
    add_out_path(parser)
    add_verdict(parser, STANDARDS, "benchmark", "what floating values are rated by")


def run(options: argparse.Namespace) -> Exit:
    """Compare, write both tables and say what they hold."""
    from msprobe.acc_check.precision_compare import compare_tables
    from msprobe.acc_check.rows import timestamp

    comparison = compare_tables(
        options.npu_csv_path,
        options.gpu_csv_path,
        options.out_path,
        timestamp(),
        options.standard,
    )
    for what, counts in (("calls", comparison.calls), ("values", comparison.counts)):
        print(f"{what}: {', '.join(f'{n} {status}' for status, n in counts.items() if n)}")
    _say("stands in one table only", comparison.alone)
    _say("stands in a table twice; the first counts", comparison.repeated)
    print(f"result: {comparison.result}")
    print(f"details: {comparison.details}")
    if not comparison.counts["pass"] and not comparison.counts["error"]:
        return Exit.NOTHING_COMPARABLE
    failed = options.fail_on_error and comparison.calls["error"]
    return Exit.DIVERGED if failed else Exit.DONE


def _say(what: str, names: tuple[str, ...]) -> None:
    for name in names[:_SHOWN]:
        print(f"note: {name} {what}")
    if len(names) > _SHOWN:
        print(f"note: … and {len(names) - _SHOWN} more")
