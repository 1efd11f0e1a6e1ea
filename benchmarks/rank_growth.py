"""Measures what checking and joining the ranks of one step cost as there are more of them.

`python -m benchmarks.rank_growth [--entries 300] [--ranks 64 256 1024] [--tp 8]`
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.command import Measured, measure
from benchmarks.generate import Size, generate

GIGA = 1e9
OURS = (sys.executable, "-m", "msprobe")


def main() -> None:
    """Print a line a number of ranks; each is of four times the work of the one before."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rank_growth", description=__doc__)
    parser.add_argument("--entries", type=int, default=300, help="per rank and side")
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--tp", type=int, default=8, help="tensor-parallel ranks; the rest is dp")
    options = parser.parse_args()
    print(
        f"Python {platform.python_version()}, tp {options.tp}, {options.entries} entries a rank "
        "and side, statistics"
    )
    print("| ranks | check | a rank | memory | join and compare | a rank | memory |")
    print("|---|---|---|---|---|---|---|")
    for ranks in options.ranks:
        checked, joined = _measured(options.entries, ranks, options.tp)
        print(f"| {ranks:,} | {_cells(checked, ranks)} | {_cells(joined, ranks)} |", flush=True)


def _measured(entries: int, ranks: int, tp: int) -> tuple[Measured, Measured]:
    with tempfile.TemporaryDirectory(prefix="bench-ranks-") as folder:
        # In a process of its own: a command's peak memory counts what its parent held.
        with ProcessPoolExecutor(1) as alone:
            alone.submit(generate, Path(folder), Size(entries, ranks)).result()
        problem, benchmark = Path(folder) / "problem", Path(folder) / "benchmark"
        sizes = ("--rank_size", ranks, "--tp", tp, "--pp", 1)
        # Generated ranks are unlike each other: 4 says so, 5 that nothing could be compared.
        checked = measure((*OURS, "check", problem, *sizes), output=False, codes=(0, 4, 5))
        sides = ("-tp", problem, "-gp", benchmark, "--merge", "require")
        return checked, measure((*OURS, "graph_visualize", *sides, *sizes))


def _cells(measured: Measured, ranks: int) -> str:
    each = 1000 * measured.seconds / ranks
    return f"{measured.seconds:.1f} s | {each:.1f} ms | {measured.memory / GIGA:.2f} GB"


if __name__ == "__main__":
    main()
