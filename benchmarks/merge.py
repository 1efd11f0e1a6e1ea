"""Measures comparing 8 ranks as one logical run beside comparing them rank by rank.

`python -m benchmarks.merge [--entries 20000] [--ranks 8] [--rounds 2]`
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
OURS = (sys.executable, "-m", "msprobe", "graph_visualize")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.merge", description=__doc__)
    parser.add_argument("--entries", type=int, default=20_000, help="per rank and side")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-merge-") as folder:
        # In a process of its own: a command's peak memory counts what its parent held.
        with ProcessPoolExecutor(1) as alone:
            alone.submit(generate, Path(folder), Size(options.entries, options.ranks)).result()
        sides = ("-tp", Path(folder) / "problem", "-gp", Path(folder) / "benchmark")
        sizes = ("--merge", "require", "--rank_size", options.ranks, "--pp", 1)
        ways: dict[str, tuple[object, ...]] = {
            "rank by rank": ("--merge", "off"),
            "rank by rank, one process": ("--merge", "off", "--workers", 1),
            f"merged, tp {options.ranks}": (*sizes, "--tp", options.ranks),
            f"merged, dp {options.ranks}": (*sizes, "--tp", 1),
        }
        made = {
            way: measure((*OURS, *sides, *flags), options.rounds) for way, flags in ways.items()
        }
    print(
        f"Python {platform.python_version()}, {options.ranks} ranks x {options.entries:,} entries "
        "a side, statistics"
    )
    print("| | seconds | of rank by rank | memory of the largest process |")
    print("|---|---|---|---|")
    base = made["rank by rank"].seconds
    for way, measured in made.items():
        print(f"| {way} | {_cells(measured, base)} |")


def _cells(measured: Measured, base: float) -> str:
    ratio = measured.seconds / base
    return f"{measured.seconds:.2f} s | {ratio:.2f} | {measured.memory / GIGA:.2f} GB"


if __name__ == "__main__":
    main()
