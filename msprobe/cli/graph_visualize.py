"""`msprobe graph_visualize`: compare two dumps, or draw one, into a result database.

The short and long flags are those that users of msprobe have in their scripts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.dump_flags import (
    add_naming,
    add_sides,
    add_tensor_log,
    add_workers,
    naming,
)
from msprobe.cli.merge_flags import add_merge_flags, merge_options
from msprobe.cli.outcome import Exit

if TYPE_CHECKING:
    from builder import BuildOptions, BuildResult
    from builder.pipeline.outcome import StoredFinding

SUMMARY = "compare two dumps (or draw one) into a file that TensorBoard shows"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    _add_places(parser)
    _add_pairing(parser)
    _add_measuring(parser)
    add_merge_flags(parser)
    _add_former(parser)


def _add_places(parser: argparse.ArgumentParser) -> None:
    what = "a rank, a step or the whole dump; without -gp it is drawn alone"
    add_sides(parser, what, required=True)
    parser.add_argument(
        "-o",
        "--output_path",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for the result, made if need be",
    )


def _add_pairing(parser: argparse.ArgumentParser) -> None:
    add_naming(parser)
    parser.add_argument(
        "--manual_mapping",
        type=Path,
        metavar="JSON",
        help="pairs made by hand, a <name>.mapping.json of the interface; they win over all others",
    )
    parser.add_argument(
        "--rank-map",
        type=number_map,
        default={},
        metavar="0:4,1:5",
        help="pair ranks of the problem with other ranks of the benchmark",
    )
    parser.add_argument(
        "--step-map",
        type=number_map,
        default={},
        metavar="0:10",
        help="pair steps of the problem with other steps of the benchmark",
    )


def _add_former(parser: argparse.ArgumentParser) -> None:
    # Flags of mindstudio-probe's command of this name; progress and notes are always shown here.
    add_tensor_log(parser, argparse.SUPPRESS)
    parser.add_argument(
        *("-progress_log", "--is_print_progress_log"), action="store_true", help=argparse.SUPPRESS
    )


def _add_measuring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-oc",
        "--overflow_check",
        action="store_true",
        help="mark where NaN, infinity or a leap of the norm appears",
    )
    parser.add_argument(
        "--acc_check",
        type=Path,
        metavar="CSV",
        help="colour one graph by the verdicts of a result table of acc_check",
    )
    parser.add_argument(
        "--threshold", type=float, metavar="SCORE", help="score from which a value diverges [0.25]"
    )
    parser.add_argument(
        "--tolerance-factor",
        type=float,
        metavar="K",
        help="K in the tolerance K * C^depth * epsilon [4]",
    )
    parser.add_argument(
        "--tolerance-growth",
        type=float,
        metavar="C",
        help="C in the tolerance K * C^depth * epsilon [1.03]",
    )
    add_workers(parser)


def run(options: argparse.Namespace) -> Exit:
    """Build, and say where the file is, what it covers and where the difference begins."""
    # Each process has a core to itself: the threads of numpy's BLAS would take it from the others.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from builder import build
    from builder.processes.interrupts import stopped_by_sigterm
    from msprobe.cli.progress import Progress

    progress = Progress(sys.stderr)
    try:
        with stopped_by_sigterm():
            result = build(
                options.target_path,
                options.golden_path,
                options.output_path,
                _build_options(options),
                progress,
            )
    finally:
        progress.close()
    _print_summary(result, comparison=options.golden_path is not None)
    return _exit_code(result)


def number_map(text: str) -> dict[int, int]:
    """Parse `0:4,1:5`."""
    try:
        pairs = [part.split(":") for part in text.split(",")]
        mapping = {int(ours): int(theirs) for ours, theirs in pairs}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list like 0:4,1:5") from None
    if len(mapping) < len(pairs):
        raise argparse.ArgumentTypeError(f"{text!r} maps a number twice")
    return mapping


def _build_options(options: argparse.Namespace) -> BuildOptions:
    from builder import BuildOptions, Tolerance

    constants = {"factor": options.tolerance_factor, "growth": options.tolerance_growth}
    given = {"threshold": options.threshold, "workers": options.workers}
    return BuildOptions(
        overflow_check=options.overflow_check,
        manual_mapping=options.manual_mapping,
        acc_check=options.acc_check,
        rank_map=options.rank_map,
        step_map=options.step_map,
        merging=merge_options(options),
        tolerance=Tolerance(**{k: v for k, v in constants.items() if v is not None}),
        **naming(options),
        **{k: v for k, v in given.items() if v is not None},
    )


def _print_summary(result: BuildResult, *, comparison: bool) -> None:
    from builder.reasons import sentence

    outcomes = result.outcomes
    print(f"pairs: {len(outcomes)} in mode {result.mode}, {len(result.failed)} failed")
    if comparison:
        print(
            f"nodes: {sum(o.matched for o in outcomes)} matched, "
            f"{sum(o.unmatched_problem for o in outcomes)} only in the problem run, "
            f"{sum(o.unmatched_benchmark for o in outcomes)} only in the benchmark run"
        )
    for reason in result.summary:
        print(f"note: {sentence(reason)}")
    if comparison:
        print(f"begins: {beginning(result.findings, result.compared_values)}")
    print(f"file: {result.path}")


def beginning(findings: Sequence[StoredFinding], compared_values: int) -> str:
    """The first finding in one line, or why there is none."""
    from builder.reasons import sentence

    if findings:
        first = findings[0]
        why = "; ".join(sentence(reason) for reason in first.reasons)
        return f"{first.name} (step {first.step}, rank {first.rank}): {why}"
    return "no difference found" if compared_values else "unknown: no values were compared"


def _exit_code(result: BuildResult) -> Exit:
    if any(reason["code"] == "nothing_comparable" for reason in result.summary):
        return Exit.NOTHING_COMPARABLE
    return Exit.FAILED_PAIRS if result.failed else Exit.DONE
