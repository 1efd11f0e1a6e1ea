"""Where two trainings part, beyond noise: `python -m evaluation.trend_cases.pairs`; a line a pair.

One of each pair begins with weights that are off by 1e-6 (or 1e-4) of themselves: what another
kernel's rounding does, and it grows. Twelve have a fault as well; the thresholds of comparing were
set on these. The lines of `held` hold the same runs against the one with the larger noise.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch

from builder.series.parting import Divergence, compare_runs
from builder.series.run import TrendRun
from evaluation.trend_cases.__main__ import reached
from evaluation.trend_cases.faults import PLACES, SMALL, Fault
from evaluation.trend_cases.models import TRAININGS
from evaluation.trend_cases.running import run

STEPS = 230
NOISES = (1e-6, 1e-4)


def parts_rightly(found: Divergence, fault: Fault, place: str) -> bool:
    """Whether the runs part where the fault strikes, at what it strikes."""
    target = " ".join(found.target or ())
    wanted = tuple(each.format(place) for each in fault.targets)
    return found.step == fault.step and target.startswith(wanted)


def told(run: Path, other: Path, fault: Fault | None, place: str, title: str) -> bool:
    """Compare two runs and print a line; whether it is what is due."""
    found = compare_runs(TrendRun(run), TrendRun(other))
    good = found.verdict == "noise" if fault is None else parts_rightly(found, fault, place)
    said = (found.verdict, found.step, found.target, found.band, found.delta)
    due = "" if fault is None else f" (due {fault.step})"
    print(f"{'ok ' if good else 'BAD'} {title}{due}: {said}", flush=True)
    return good


def main() -> int:
    torch.set_num_threads(1)
    right: dict[str, list[bool]] = {"sound": [], "faults": [], "held sound": [], "held faults": []}
    with tempfile.TemporaryDirectory() as folder:
        for model, place in PLACES.items():
            training, sound = TRAININGS[model], Path(folder) / model
            run(training, sound, steps=STEPS)
            noisy = {noise: Path(folder) / f"{model}-{noise}" for noise in NOISES}
            for noise, other in noisy.items():
                run(training, other, steps=STEPS, noise=noise)
                title = f"sound {model}, noise {noise}"
                right["sound"].append(told(other, sound, None, place, title))
            least, most = noisy.values()
            right["held sound"].append(told(least, most, None, place, f"held: sound {model}"))
            for fault in SMALL:
                other = Path(folder) / f"{model}-{fault.name}"
                run(training, other, fault, place, noise=NOISES[0])
                title = f"{fault.name} in {model}"
                right["faults"].append(told(other, sound, fault, place, title))
                right["held faults"].append(told(other, most, fault, place, f"held: {title}"))
    for name, judged in right.items():
        print(f"{name}: {sum(judged)} of {len(judged)}")
    return 0 if reached(right["sound"], right["faults"]) else 1


if __name__ == "__main__":
    sys.exit(main())
