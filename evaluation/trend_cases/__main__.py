"""All cases: `python -m evaluation.trend_cases [--held] [--only NAME]`; a line each.

The exit code is 1 below the goal.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import torch

from builder.series.run import TrendRun
from evaluation.trend_cases.faults import FAULTS, HELD, PLACES, Fault
from evaluation.trend_cases.models import TRAININGS
from evaluation.trend_cases.running import run
from msprobe_core.format.alerts import Alert


def judged(fault: Fault, place: str, alerts: list[Alert]) -> bool:
    """Whether there is one alert, in time, and about the right thing."""
    if len(alerts) != 1:
        return False
    alert = alerts[0]
    late = alert.step - fault.step
    target = " ".join(alert.target)
    return 0 <= late <= fault.late and target.startswith(
        tuple(wanted.format(place) for wanted in fault.targets)
    )


def reached(silent: list[bool], right: list[bool]) -> bool:
    """All sound ones silent, and eleven of twelve faults told."""
    return all(silent) and 12 * sum(right) >= 11 * len(right)


def main() -> int:
    torch.set_num_threads(1)
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    silent: list[bool] = []
    right: list[bool] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, training in TRAININGS.items():
            if only and only not in (name, "sound"):
                continue
            place = Path(folder) / f"sound-{name}"
            run(training, place)
            alerts = TrendRun(place).alerts()
            silent.append(not alerts)
            series = len(TrendRun(place).targets)
            print(f"sound {name}: {training.steps} steps, {series} series, {len(alerts)} alerts")
            for alert in alerts:
                print("   ", replace(alert, others=[]), flush=True)
        faults = FAULTS + (HELD if "--held" in sys.argv else ())
        cases = [(fault, model) for fault in faults for model in PLACES if model not in fault.ends]
        for fault, model in cases:
            if only and only not in (fault.name, "faults"):
                continue
            place = Path(folder) / f"{fault.name}-{model}"
            run(TRAININGS[model], place, fault, PLACES[model])
            alerts = TrendRun(place).alerts()
            good = judged(fault, PLACES[model], alerts)
            right.append(good)
            print(f"{'ok ' if good else 'BAD'} {fault.name} in {model}: {len(alerts)}", flush=True)
            for alert in alerts if not good else []:
                print("   ", replace(alert, others=[]), flush=True)
    print(f"{sum(right)} of {len(right)} right")
    return 0 if reached(silent, right) else 1


if __name__ == "__main__":
    sys.exit(main())
