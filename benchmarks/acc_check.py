"""Measures the pre-check of the recorded sample, and with --peer mindstudio-probe's beside it.

`python -m benchmarks.acc_check [--peer /tmp/peer]`
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

SAMPLE = ROOT / "tests" / "samples" / "tools-26.2.0" / "acc_check" / "input" / "dump.json"
SHIM = Path(__file__).with_name("peer_acc_check.py")
OURS = (sys.executable, "-m", "msprobe", "acc_check")
ROUNDS = 3
FIRST = "Functional.linear.0"


def main() -> None:
    """Print one row a program: the whole command, and calls per second without its start."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.acc_check", description=__doc__)
    parser.add_argument("--peer", type=Path, help="virtual environment of mindstudio-probe")
    options = parser.parse_args()
    programs: dict[str, Sequence[str]] = {"ours": OURS}
    if options.peer is not None and (options.peer / "bin" / "python").is_file():
        programs["mindstudio-probe"] = (str(options.peer / "bin" / "python"), str(SHIM))
    with tempfile.TemporaryDirectory() as folder:
        _table(programs, Path(folder))


def _table(programs: dict[str, Sequence[str]], folder: Path) -> None:
    content = json.loads(SAMPLE.read_text())
    all_calls = {name.rpartition(".")[0] for name in content["data"]}
    whole, one = folder / "whole.json", folder / "one.json"
    whole.write_text(json.dumps(content))
    content["data"] = {n: e for n, e in content["data"].items() if n.startswith(FIRST)}
    one.write_text(json.dumps(content))
    print(
        "| program | all 29 calls | one call | calls/s | processor time | calls per second of it |"
    )
    print("|---|---|---|---|---|---|")
    times: dict[str, list[tuple[Cost, Cost]]] = {name: [] for name in programs}
    for _ in range(ROUNDS):  # in alternation: both see the same machine
        for name, command in programs.items():
            times[name].append((_cost(command, whole, folder), _cost(command, one, folder)))
    for name, found in times.items():
        full, start = ([pair[side] for pair in found] for side in (0, 1))
        wall, first = (min(cost.wall for cost in costs) for costs in (full, start))
        work, work_first = (min(cost.processor for cost in costs) for costs in (full, start))
        calls = len(all_calls) - 1  # without those that every command begins with
        by_clock, by_work = _rate(calls, wall, first), _rate(calls, work, work_first)
        print(
            f"| {name} | {wall:.2f} s | {first:.2f} s | {by_clock} | {work:.2f} s | {by_work} |",
            flush=True,
        )


def _rate(calls: int, whole: float, start: float) -> str:
    """Calls per second beyond the start; a dash where a busy machine hides what they cost."""
    return f"{calls / (whole - start):.2f}" if whole > start else "–"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on the clock and of all processors; a busy machine spoils the first alone."""

    wall: float
    processor: float


def _cost(command: Sequence[str], dump: Path, folder: Path) -> Cost:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [*command, "-api_info", str(dump), "-o", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - started
    if done.returncode:
        sys.exit(f"{' '.join(command)}: code {done.returncode}\n{done.stdout}{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, used)


if __name__ == "__main__":
    main()
