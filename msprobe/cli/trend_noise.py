"""`msprobe trend noise`: how far rounding carries in a training, learnt from a short twin of it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from msprobe.cli.outcome import Exit
from msprobe.errors import CommandError

STEPS = 256
"""Four windows of what a comparison calls a target's past: one to fill, three to learn from."""
_OUTPUT = Path("noise.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "--steps", type=int, default=STEPS, metavar="N", help=f"steps of `noise`'s twin [{STEPS}]"
    )
    parser.add_argument(
        "--run",
        dest="script",
        nargs=argparse.REMAINDER,
        default=[],
        metavar="SCRIPT",
        help="for `noise`: the training, with its arguments; stands last",
    )


def learn(options: argparse.Namespace, folders: list[Path]) -> Exit:
    """Write what twins teach: those that are there already, or one that is made of the script."""
    if len(folders) < 2 and not options.script:
        raise CommandError(
            "trend noise: no twin", "msprobe trend noise [DIR] --run SCRIPT.py …, or DIR TWIN …"
        )
    if len(folders) > 1 and options.script:
        raise CommandError("trend noise: twins and a script", "give the one or the other")
    if options.steps < 1:
        raise CommandError(f"trend noise: --steps {options.steps}", "give 1 or more")
    output = options.output or _OUTPUT
    with tempfile.TemporaryDirectory(prefix="msprobe-twin-") as place:
        runs = folders if len(folders) > 1 else _made(options, folders, Path(place))
        steps = _learn(runs, output)
    print(
        f"wrote {output}: learnt from {steps} steps; msprobe trend … --compare … --noise {output}"
    )
    return Exit.DONE


def _learn(runs: list[Path], output: Path) -> int:
    from builder.series.noise import together
    from builder.series.parting import learn_noise
    from builder.series.run import TrendRun

    training = TrendRun(runs[0])
    noise = together([learn_noise(TrendRun(twin), training) for twin in runs[1:]])
    output.write_text(noise.written(), encoding="utf-8")
    return noise.steps


def _made(options: argparse.Namespace, folders: list[Path], place: Path) -> list[Path]:
    """The training and its twin; without the former it is run as well, as short."""
    known = folders or [_run(options, place / "training", rounds=False)]
    return [*known, _run(options, place / "twin", rounds=True)]


def _run(options: argparse.Namespace, folder: Path, *, rounds: bool) -> Path:
    """Run the script until its trends have enough steps; the folder in which they are."""
    from builder.series.run import find_runs
    from msprobe.pytorch.trend_twin import Twin

    command = list(options.script)
    if command[0].endswith(".py"):
        command.insert(0, sys.executable)
    asked = Twin(folder, options.steps, rounds).environment
    ended = subprocess.run(command, env={**os.environ, **asked}, check=False)
    found = find_runs(folder) if folder.is_dir() else []
    if len(found) != 1:
        raise CommandError(
            f"{' '.join(command)}: ended with code {ended.returncode} and left {len(found)} trends",
            "the script has to make one Trends(…); run it alone to see what it says",
        )
    return found[0]
