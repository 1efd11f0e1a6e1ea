"""`python -m benchmarks.models FILE`: record all models at all levels; write FILE's table."""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from pathlib import Path

import torch

from benchmarks.models.architectures import architectures
from benchmarks.models.check import Outcome, check

LEVELS = {
    "L0": ("L0", "statistics"),
    "L1": ("L1", "statistics"),
    "mix": ("mix", "statistics"),
    "mix, tensor": ("mix", "tensor"),
}
_START, _END = "<!-- models -->", "<!-- end of models -->"


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
    _write(options.file, rows)
    return 0 if good else 1


def told(outcome: Outcome) -> str:
    """An outcome in a few words."""
    step = "same step" if outcome.same_step else "STEP DIFFERS"
    wrong = f", {len(outcome.wrong)} WRONG" if outcome.wrong else ""
    absent = f", {outcome.absent} null" if outcome.absent else ""
    values = f", {outcome.values:,} values" if outcome.values else ""
    return f"{step}{values}{wrong}{absent}{', errors' if outcome.errors else ''}"


def _write(page: Path, rows: list[str]) -> None:
    text = page.read_text(encoding="utf-8")
    before, found, rest = text.partition(_START)
    _, ended, after = rest.partition(_END)
    if not found or not ended:
        raise SystemExit(f"{page}: has no {_START} … {_END}; add them where the table belongs")
    titles = " | ".join(LEVELS)
    table = "\n".join(
        [
            f"Measured on {time.strftime('%Y-%m-%d')} with torch {torch.__version__} on "
            f"Python {platform.python_version()}.",
            "",
            f"| model | {titles} |",
            "|" + "---|" * (len(LEVELS) + 1),
            *rows,
        ]
    )
    page.write_text(f"{before}{_START}\n{table}\n{_END}{after}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
