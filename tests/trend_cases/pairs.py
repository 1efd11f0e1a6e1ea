"""Where two trainings part, beyond noise: `python -m tests.trend_cases.pairs`; a line a pair.

One of each pair begins with weights that are off by 1e-6 (or 1e-4) of themselves: what another
kernel's rounding does, and it grows. Twelve have a fault as well.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

from builder.series.parting import Divergence, compare_runs
from builder.series.run import TrendRun
from tests.trend_cases.faults import PLACES, SMALL, Fault
from tests.trend_cases.models import TRAININGS
from tests.trend_cases.running import run

STEPS = 230


def parts_rightly(found: Divergence, fault: Fault, place: str) -> bool:
    """Whether the runs part where the fault strikes, at what it strikes."""
    target = " ".join(found.target or ())
    wanted = tuple(each.format(place) for each in fault.targets)
    return found.step == fault.step and target.startswith(wanted)


def main() -> None:
    torch.set_num_threads(1)
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        for model, place in PLACES.items():
            training, sound = TRAININGS[model], Path(folder) / model
            run(training, sound, steps=STEPS)
            for noise in (1e-6, 1e-4):
                other = Path(folder) / f"{model}-{noise}"
                run(training, other, steps=STEPS, noise=noise)
                found = compare_runs(TrendRun(other), TrendRun(sound))
                right += found.verdict == "noise"
                print(f"sound {model}, noise {noise}: {found}", flush=True)
            for fault in SMALL:
                other = Path(folder) / f"{model}-{fault.name}"
                run(training, other, fault, place, noise=1e-6)
                found = compare_runs(TrendRun(other), TrendRun(sound))
                good = parts_rightly(found, fault, place)
                right += good
                said = (found.verdict, found.step, found.target, found.band, found.delta)
                print(f"{'ok ' if good else 'BAD'} {fault.name} in {model}: {said}", flush=True)
    print(f"{right} of {len(PLACES) * (2 + len(SMALL))} right")


if __name__ == "__main__":
    main()
