"""`msprobe overflow_check`: where NaN, infinity or saturation begins, from one run alone."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.compare import OUTPUT
from msprobe.cli.dump_flags import add_workers
from msprobe.cli.outcome import Exit, exit_of

if TYPE_CHECKING:
    from builder.tables.overflow_report import FoundCause, OverflowResult

SUMMARY = "name the call, weight or input with which NaN or infinity begins, over all ranks"
ALIASES = ("nan_analyze",)  # its name before 2025-11
_MEANING = {
    "weight": "the weight {value} holds {state} already",
    "input": "the run is fed {state} in {value}",
    "operation": "makes {state} in {value} from finite inputs",
    "mask": "makes {state} in {value} of infinities that are there on purpose, such as a mask's",
    "gradient": "the gradient {value} becomes {state} here",
    "collective": "puts out {state} in {value} although no rank gave it any",
    "saturation": "{value} reaches the largest number of its dtype",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "-i",
        "--input_path",
        type=Path,
        required=True,
        metavar="DIR",
        help="a dump: a rank, a step or all of it",
    )
    parser.add_argument(
        "-o",
        "--output_path",
        type=Path,
        default=OUTPUT,
        metavar="DIR",
        help="folder for anomaly_analyze_<time>.json [./output]",
    )
    add_workers(parser)


def run(options: argparse.Namespace) -> Exit:
    """Look, and say what was found."""
    from builder.tables.overflow_report import check_overflow

    result = check_overflow(options.input_path, options.output_path, options.workers)
    print("\n".join(_report(result)))
    return exit_of(result.claim)


def _report(result: OverflowResult) -> list[str]:
    from builder.claim import told

    lines = [f"failed: step {r.step} rank {r.rank}: {r.error}" for r in result.failed]
    if not result.causes:
        return [*lines, told(result.claim, "overflow")]
    for cause in result.causes:
        lines.append(f"begins: {_cause(cause)}")
        lines += [f"   inside {cause.inside}"] if cause.inside else []
        lines += [f"   {said}{line}" for said, line in zip(("", "called from "), cause.lines)]
    return [*lines, f"file: {result.file}"]


def _cause(cause: FoundCause) -> str:
    meaning = _MEANING[cause.kind].format(value=cause.value, state=cause.state)
    return f"{cause.name} (step {cause.step}, rank {cause.rank}): {meaning}"
