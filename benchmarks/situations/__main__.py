"""`python -m benchmarks.situations FILE`: all situations, each in a process; write FILE's table."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import benchmarks.situations.families  # noqa: F401 - lists them
from benchmarks.situations.outcomes import Result, append_result, is_good, read_results
from benchmarks.situations.own_process import run_in_a_process
from benchmarks.situations.situation import SITUATIONS, Situation
from benchmarks.situations.table import row, write_table


def main() -> int:
    """Run everything, or some by name; code 1 when a recording left a trace."""
    options = _arguments()
    os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    with tempfile.TemporaryDirectory() as folder:
        file = options.results or Path(folder) / "results"
        _run(_chosen(options, read_results(file)), file, options.workers)
        found = read_results(file)
    results = [(each, found[each.name]) for each in SITUATIONS.values() if each.name in found]
    if options.file is not None:
        write_table(options.file, results)
    return 0 if all(is_good(result) for _, result in results) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.situations", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="the page that holds the table")
    parser.add_argument("--only", nargs="*", help="names, or families")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--results",
        type=Path,
        help="keep results there; what has left no trace runs no second time",
    )
    return parser.parse_args()


def _chosen(options: argparse.Namespace, known: dict[str, Result]) -> list[Situation]:
    wanted = [
        each
        for each in SITUATIONS.values()
        if not options.only or each.name in options.only or each.family in options.only
    ]
    return [each for each in wanted if each.name not in known or not is_good(known[each.name])]


def _run(situations: list[Situation], file: Path, workers: int) -> None:
    def run(situation: Situation) -> None:
        result = run_in_a_process(situation)
        append_result(file, situation, result)
        _tell(situation, result)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(run, situations))


def _tell(situation: Situation, result: Result) -> None:
    print(row(situation, result), flush=True)
    for outcome in result if isinstance(result, list) else ():
        for kind in ("differs", "left", "broken", "wrong"):
            for line in getattr(outcome, kind)[:4]:
                print(f"    {outcome.level} {outcome.task} {kind}: {line}", flush=True)
        if outcome.without_numbers and not situation.without_numbers:
            share = f"{outcome.without_numbers} of {outcome.records}"
            print(f"    {outcome.level} {outcome.task} without numbers: {share}", flush=True)
            for line in outcome.examples:
                print(f"        {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
