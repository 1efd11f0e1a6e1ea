"""Draws changes and lists the all-clears: `python -m evaluation.all_clears`."""

from __future__ import annotations

import argparse
import sys
import time

from evaluation.all_clears.trials import TRIALS, Tally


def main() -> int:
    """Draw as many changes over all trials; end with 1 where any is called nothing."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.all_clears", description=__doc__)
    parser.add_argument("--changes", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    begin, tally = time.monotonic(), Tally()
    for trial in TRIALS:
        tally.add(trial, trial.share(options.changes), options.seed)
    print("\n".join([*tally.lines(), *tally.wrong]))
    took = time.monotonic() - begin
    print(f"{tally.changes} changes, {len(tally.wrong)} wrong all-clears, {took:.0f} s")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
