"""Measures `msprobe compare` on 20,000 calls, and with --peer mindstudio-probe in the same run.

`python -m benchmarks.compare [--peer /tmp/peer] [--entries 20000] [--rounds 2]`
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.command import Measured, measure
from benchmarks.generate import Size, generate

GIGA = 1e9
OURS = (sys.executable, "-m", "msprobe")


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-compare-") as folder:
        generate(Path(folder), Size(entries=options.entries))
        sides = [Path(folder) / side / "step0" for side in ("problem", "benchmark")]
        print(f"Python {platform.python_version()}, 2 x {options.entries:,} entries, statistics")
        print("| table | ours | memory | peer | memory | peer / ours | ours / peer, memory |")
        print("|---|---|---|---|---|---|---|")
        for form, flags in (("csv", ()), ("xlsx", ("--xlsx",))):
            given = ("compare", "-tp", sides[0], "-gp", sides[1], *flags)
            print(_row(form, given, options.peer, options.rounds), flush=True)


def _row(form: str, given: Sequence[object], peer: Path | None, rounds: int) -> str:
    ours, theirs = [], []
    # In alternation: what else the machine does weighs on both.
    for _ in range(rounds):
        ours.append(measure((*OURS, *given)))
        if peer is not None:
            theirs.append(measure((peer / "bin" / "msprobe", *given)))
    cells = [form, *_cells(ours)]
    if theirs:
        speed = _fastest(theirs) / _fastest(ours)
        memory = max(m.memory for m in ours) / max(m.memory for m in theirs)
        cells += [*_cells(theirs), f"{speed:.1f}", f"{memory:.2f}"]
    return f"| {' | '.join(cells)} |"


def _cells(runs: Sequence[Measured]) -> list[str]:
    return [f"{_fastest(runs):.2f} s", f"{max(m.memory for m in runs) / GIGA:.2f} GB"]


def _fastest(runs: Sequence[Measured]) -> float:
    return min(run.seconds for run in runs)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", type=Path, help="an environment with mindstudio-probe")
    parser.add_argument("--entries", type=int, default=20_000, help="entries a side")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each, in alternation")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
