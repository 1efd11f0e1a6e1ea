"""`msprobe unit`: run units of a plan, of one shard or by name; what is done is left alone."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msprobe.cli.dump_flags import add_workers, location
from msprobe.cli.graph_visualize import single_threaded
from msprobe.cli.outcome import Exit
from msprobe.cli.progress import Progress
from msprobe.errors import CommandError

if TYPE_CHECKING:
    from builder.run.units.plan_file import BuildPlan, Unit

SUMMARY = "run units of a plan that graph_visualize --plan made"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "plan", type=location, metavar="PLAN", help="plan.json, or the folder that it lies in"
    )
    parser.add_argument(
        "--shard",
        type=shard,
        default=(0, 1),
        metavar="I/N",
        help="the I-th of N shares that take about equally long, I from 0 on [all units]",
    )
    parser.add_argument(
        "--unit", action="append", default=[], metavar="ID", help="this unit of the plan; repeat it"
    )
    parser.add_argument(
        "--kind",
        choices=("map", "reduce"),
        help="of merged ranks: map reads each rank, reduce joins and compares; shares are of these "
        "alone, and reduce runs no map [all, each behind what it needs]",
    )
    add_workers(parser)
    parser.add_argument(
        "--executor",
        default="local",
        metavar="NAME",
        help="what runs them: local or ray, or what another package brings [local]",
    )


def run(options: argparse.Namespace) -> Exit:
    """Run what is not done, and say how many units failed."""
    single_threaded()
    from builder.processes.interrupts import stopped_by_sigterm
    from builder.run.executors import executor_named
    from builder.run.units.plan_file import read_plan
    from builder.run.units.running import plan_folder, run_units

    folder = plan_folder(options.plan)
    plan = read_plan(folder)
    units = _chosen(plan, options)
    progress = Progress(sys.stderr)
    executor = executor_named(options.executor, options.workers)
    try:
        with stopped_by_sigterm():
            outcomes = run_units(
                folder.text, units, executor, progress, make_up=options.kind is None
            )
    finally:
        progress.close()
    failed = sum(outcome.error is not None for outcome in outcomes)
    done = max(0, len(units) - len(outcomes))
    print(
        f"units: {len(units)} of {len(plan.units)}, {done} done before, {len(outcomes)} run, "
        f"{failed} failed"
    )
    return Exit.FAILED_PAIRS if failed else Exit.DONE


def shard(text: str) -> tuple[int, int]:
    """Parse `3/8`."""
    own, _, all_of_them = text.partition("/")
    if not (own.isdecimal() and all_of_them.isdecimal() and int(own) < int(all_of_them)):
        raise argparse.ArgumentTypeError(f"{text!r} is no shard like 0/8; the last one is 7/8")
    return int(own), int(all_of_them)


def _chosen(plan: BuildPlan, options: argparse.Namespace) -> list[Unit]:
    from builder.run.units.plan_file import share_of

    if not options.unit:
        return share_of(_of_kind(plan, options.kind), *options.shard)
    known = {unit.id: unit for unit in plan.units}
    for name in options.unit:
        if name not in known:
            listed = ", ".join(list(known)[:4])
            raise CommandError(f"--unit {name}: the plan has no such unit", f"it has {listed}, …")
    return [known[name] for name in dict.fromkeys(options.unit)]


def _of_kind(plan: BuildPlan, kind: str | None) -> Sequence[Unit]:
    """All units; `reduce` stands for all that are no map, since a plan may have pairs too."""
    if kind is None:
        return plan.units
    return plan.results if kind == "reduce" else [u for u in plan.units if u.kind == "map"]
