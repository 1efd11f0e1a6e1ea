"""`python -m benchmarks.soak FILE hostile|faults|load`: try it; write its table into FILE."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from benchmarks.page_table import put_table
from benchmarks.soak import faults, hostile_files, hostile_requests, kills, viewers
from benchmarks.soak.outcome import Outcome

_Trial = Callable[[Path], "Outcome | list[Outcome]"]


def trials(part: str, quick: bool) -> list[_Trial]:
    """The trials of one part; the quick ones are the same with smaller numbers."""
    few = 10 if quick else 400
    if part == "load":
        crowd = (5, 5.0, 2_000) if quick else (50, 120.0, 50_000)
        return [lambda work: viewers.view(work, *crowd)]
    if part == "faults":
        return [
            lambda work: faults.full_disk(work, 3_000 if quick else 20_000),
            faults.failing_rank,
            lambda work: faults.clock_jump(work, 3),
            faults.unreliable_logdir,
            lambda work: kills.kill_builder(work, 3 if quick else 20, 1_000 if quick else 10_000),
            lambda work: kills.kill_dumper(work, 2 if quick else 20),
        ]
    return [
        lambda work: hostile_files.dump_files(work, few),
        lambda work: hostile_files.structures(work, few),
        lambda work: hostile_files.mappings(work, few),
        lambda work: hostile_files.tensors(work, few),
        lambda work: hostile_requests.databases(work, few // 4),
        lambda work: hostile_requests.requests(work, 100 if quick else 4000),
    ]


def main() -> int:
    """Try everything; code 1 when something was lost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("file", type=Path, help="the page that holds the table")
    parser.add_argument("part", choices=("hostile", "faults", "load"))
    parser.add_argument("--quick", action="store_true", help="small numbers, to try the trials")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    for trial in trials(options.part, options.quick):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            made = trial(Path(folder))
            several = made if isinstance(made, list) else [made]
            for outcome in several:
                print(f"{outcome.name}: {outcome.tried} tried, {len(outcome.lost)} lost, ", end="")
                print(f"{outcome.seen} ({time.monotonic() - began:.0f} s)", flush=True)
                print("".join(f"  lost: {line}\n" for line in outcome.lost[:5]), end="", flush=True)
            outcomes += several
    _write(options.file, options.part, outcomes)
    return 1 if any(outcome.lost for outcome in outcomes) else 0


def _write(file: Path, part: str, outcomes: list[Outcome]) -> None:
    rows = [f"| {o.name} | {o.tried:,} | {len(o.lost)} | {o.seen} |" for o in outcomes]
    when = datetime.now().astimezone().date().isoformat()
    head = f"Measured on {when} with Python {platform.python_version()} on {_cores()} cores."
    put_table(file, part, head, ("tried", "trials", "lost", "seen"), rows)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


if __name__ == "__main__":
    sys.exit(main())
