"""`python -m benchmarks.models FILE`: record all models at all levels; write FILE's table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import torch

from benchmarks.models.architectures import architectures
from benchmarks.models.check import Outcome, check
from benchmarks.page_table import measured_with_torch, put_table

LEVELS = {
    "L0": ("L0", "statistics"),
    "L1": ("L1", "statistics"),
    "mix": ("mix", "statistics"),
    "mix, tensor": ("mix", "tensor"),
}


def main() -> int:
    """Check everything; code 1 when something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("file", type=Path, help="the page that holds the table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, good = [], True
    for architecture in architectures():
        cells = []
        for title, (level, task) in LEVELS.items():
            with tempfile.TemporaryDirectory() as folder:
                outcome = check(architecture, level, task, Path(folder))
            good &= outcome.is_good
            cells.append(told(outcome))
            for line in outcome.wrong[:5]:
                print(f"{architecture.name}, {title}: {line}", file=sys.stderr)
        rows.append(f"| {architecture.name} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    put_table(options.file, "models", f"{measured_with_torch()}.", ["model", *LEVELS], rows)
    return 0 if good else 1


def told(outcome: Outcome) -> str:
    """An outcome in a few words."""
    step = "same step" if outcome.same_step else "STEP DIFFERS"
    wrong = f", {len(outcome.wrong)} WRONG" if outcome.wrong else ""
    absent = f", {outcome.absent} null" if outcome.absent else ""
    values = f", {outcome.values:,} values" if outcome.values else ""
    return f"{step}{values}{wrong}{absent}{', errors' if outcome.errors else ''}"


if __name__ == "__main__":
    sys.exit(main())
