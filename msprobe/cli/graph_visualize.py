"""`msprobe graph_visualize`: compare two dumps, or draw one, into a result database.

The short and long flags are those that users of msprobe have in their scripts.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.build_summary import exit_code, print_summary
from msprobe.cli.dump_flags import (
    add_naming,
    add_sides,
    add_tensor_log,
    add_workers,
    location,
    naming,
)
from msprobe.cli.merge_flags import add_merge_flags, merge_options
from msprobe.cli.outcome import Exit
from msprobe.errors import CommandError

if TYPE_CHECKING:
    from builder import BuildOptions, BuildResult
    from msprobe.cli.progress import Progress

SUMMARY = "compare two dumps (or draw one) into a file that TensorBoard shows"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    _add_places(parser)
    _add_pairing(parser)
    _add_measuring(parser)
    _add_running(parser)
    add_merge_flags(parser)
    _add_former(parser)


def _add_places(parser: argparse.ArgumentParser) -> None:
    what = "a rank, a step or the whole dump; without -gp it is drawn alone"
    add_sides(parser, what, place=location, required=True)
    parser.add_argument(
        "-o",
        "--output_path",
        type=location,
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
        "--same",
        choices=("program", "versions", "model", "tokens"),
        help="what both runs have in common: `program`: they run the same code; `versions`: most "
        "of it (either is compared call by call); `model`: two programs of one model, compared at "
        "modules with the same weights; `tokens`: a trainer and its rollout, compared token by "
        "token [chosen by how many calls and token ids they share]",
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


def _add_running(parser: argparse.ArgumentParser) -> None:
    add_workers(parser)
    parser.add_argument(
        "--plan",
        action="store_true",
        help="write plan.json into the output folder and compare nothing: msprobe unit and msprobe "
        "join do that, on any number of hosts",
    )
    parser.add_argument(
        "--executor",
        metavar="NAME",
        help="what runs the pairs: local or ray, or what another package brings [local]",
    )


def run(options: argparse.Namespace) -> Exit:
    """Build, and say where the file is, what it covers and where the difference begins."""
    single_threaded()
    if options.dry_run:
        return _say_what_would_be_merged(options)
    if options.plan:
        return _plan(options)
    from builder.processes.interrupts import stopped_by_sigterm
    from msprobe.cli.progress import Progress

    progress = Progress(sys.stderr)
    try:
        with stopped_by_sigterm():
            result = _build(options, progress)
    finally:
        progress.close()
    print_summary(result, comparison=options.golden_path is not None)
    return exit_code(result)


def single_threaded() -> None:
    """Give each process a core: the threads of numpy's BLAS would take it from the others."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _build(options: argparse.Namespace, progress: Progress) -> BuildResult:
    from builder import build
    from builder.storage.folder import is_address

    dumps = (options.target_path, options.golden_path)
    given = [text for text in (*dumps, options.output_path) if text is not None]
    if options.executor is None and not any(map(is_address, given)):
        return build(*dumps, options.output_path, _build_options(options), progress)
    from builder.run.build import Request
    from builder.run.executors import executor_named
    from builder.run.units.running import build_over

    executor = executor_named(options.executor or "local", options.workers)
    request = Request(*dumps, _build_options(options))
    return build_over(request, options.output_path, executor, progress)


def _plan(options: argparse.Namespace) -> Exit:
    if options.executor is not None:
        raise CommandError("--plan runs nothing", "give --executor to msprobe unit")
    from builder.run.units.plan_file import PLAN_FILE
    from builder.run.units.running import plan_build

    output = options.output_path
    plan = plan_build(options.target_path, options.golden_path, output, _build_options(options))
    reads = sum(unit.pair.json_bytes or 0 for unit in plan.results)
    print(
        f"units: {len(plan.units)} that read {reads / 1e6:.1f} MB of JSON; "
        f"{len(plan.plan.missing)} missing, {len(plan.plan.broken)} broken"
    )
    print(f"plan: {output.rstrip('/')}/{PLAN_FILE}")
    return Exit.DONE


def _say_what_would_be_merged(options: argparse.Namespace) -> Exit:
    from builder.run.dry_run import describe_merging

    if options.golden_path is None:
        raise CommandError("--dry-run: one dump is merged with nothing", "add -gp")
    for line in describe_merging(options.target_path, options.golden_path, _build_options(options)):
        print(line)
    return Exit.DONE


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
    given = {"threshold": options.threshold, "workers": options.workers, "same": options.same}
    return BuildOptions(
        manual_mapping=options.manual_mapping,
        acc_check=options.acc_check,
        rank_map=options.rank_map,
        step_map=options.step_map,
        merging=merge_options(options),
        tolerance=Tolerance(**{k: v for k, v in constants.items() if v is not None}),
        **naming(options),
        **{k: v for k, v in given.items() if v is not None},
    )
