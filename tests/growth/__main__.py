"""Says which functions do more than five times the work on four times as much.

`python -m tests.growth [TRIAL …]`; ends with 1 where there is one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tests.growth.counting import count_imports, work

if TYPE_CHECKING:
    from tests.growth.trials import Trial

MOST = 5.0
_TIMES = 4
# Work of a few steps an entry is none that is felt, and a search that looks at the nearest hundred
# grows until a dump has so many.
_FEW_STEPS = 10


def main() -> int:
    """Command line of the guard."""
    parser = argparse.ArgumentParser(prog="python -m tests.growth", description=__doc__)
    parser.add_argument("trials", nargs="*", help="names of trials; all without")
    wanted = parser.parse_args().trials
    count_imports()
    from tests.growth.stages import counted_statements, lowered_bounds
    from tests.growth.trials import TRIALS

    chosen = [each for each in TRIALS if not wanted or each.name in wanted]
    found = 0
    with tempfile.TemporaryDirectory() as folder, counted_statements(), lowered_bounds():
        for trial in chosen:
            few, many = (_counted(trial, Path(folder), trial.small * n) for n in (1, _TIMES))
            lines = list(too_much(few, many, _TIMES * trial.small))
            found += len(lines)
            times = many.total() / few.total()
            print(f"{trial.name:22}{few.total():12,}{many.total():12,}{times:6.1f}", flush=True)
            print("".join(f"  error: {line}\n" for line in lines), end="", flush=True)
    print(f"{len(chosen)} trials, {found} errors")
    return int(found > 0 or not chosen)


def _counted(trial: Trial, folder: Path, count: int) -> Counter[str]:
    work.clear()
    place = folder / f"{trial.name}-{count}"
    place.mkdir()
    trial.run(place, count)
    return Counter(work)


def too_much(few: Counter[str], many: Counter[str], entries: int) -> Iterator[str]:
    """The functions, the worst first, that did too much on four times as much as the first time."""
    from tests.growth.stages import stage_of

    for place, steps in many.most_common():
        if steps > MOST * few[place] and steps > _FEW_STEPS * entries:
            times = steps / max(1, few[place])
            yield f"{stage_of(place)}: {place}: {few[place]:,} → {steps:,} steps, {times:.1f} times"


if __name__ == "__main__":
    sys.exit(main())
