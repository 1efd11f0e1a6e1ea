"""False alarms of sound trainings: `python -m evaluation.trend_cases.healthy [--held] [--seed N]`.

Twelve kinds of training, 1,700 steps each; a line each, and the alarms of 1,000 steps. The exit
code is 1 above the goal.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from builder.series.run import TrendRun
from evaluation.trend_cases.healthy_programs import Follow, programs
from evaluation.trend_cases.replaying import replayed
from msprobe.pytorch.trends import Trends

STEPS, GOAL = 1700, 0.2
"""Steps of each kind, 20,400 in all; alarms of 1,000 of them."""


def following(folder: Path) -> Follow:
    """Trends of all modules into a folder, without a watch: `replayed` is one."""

    def follow(model: nn.Module, *optimizers: torch.optim.Optimizer) -> Trends:
        first, *more = optimizers
        trends = Trends(folder, model, first, activations="all", alerts=False)
        for optimizer in more:
            trends.add(optimizer)
        return trends

    return follow


def main() -> int:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--held", action="store_true", help="those held back, too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--only")
    parser.add_argument("--keep", type=Path, help="leave trainings here, or take those that are")
    options = parser.parse_args()
    alarms = steps = 0
    with tempfile.TemporaryDirectory() as made:
        for held in (False, True) if options.held else (False,):
            for name, program in programs(held):
                if options.only not in (None, name):
                    continue
                folder = (options.keep or Path(made)) / f"{name}-{options.seed}"
                if not folder.is_dir():
                    torch.manual_seed(options.seed)
                    program(following(folder), options.steps)
                run = TrendRun(folder)
                found = replayed(run)
                alarms, steps = alarms + len(found), steps + len(run.steps)
                print(f"{name}: {len(run.steps)} steps, {len(run.targets)} series, {len(found)}")
                for alert in found:
                    print("   ", replace(alert, others=[]), flush=True)
    rate = 1000 * alarms / max(1, steps)
    print(f"{alarms} false alarms in {steps} steps: {rate:.2f} in 1,000 (goal {GOAL})")
    return 0 if rate <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
