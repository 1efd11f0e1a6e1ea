"""The alerts of a training that is on disk, as its watch would say them today."""

from __future__ import annotations

import numpy as np

from builder.series.run import TrendRun
from msprobe_core.format.alerts import Alert
from msprobe_core.format.series import STATISTICS
from msprobe_core.monitor.live_alerts import AlertWatch


def replayed(run: TrendRun) -> list[Alert]:
    """Give every step of a run's first rank to a new watch.

    So rules are held against trainings without training again, and no step is passed over because
    a small network is faster than what looks for alerts.
    """
    series = next(iter(run.ranks.values()))
    targets, keys = series.targets, [target.key for target in series.targets]
    values = np.stack([series.values(keys, statistic) for statistic in STATISTICS])
    missing = values[STATISTICS.index("size")] == -np.inf
    values[:, missing] = np.nan
    values[STATISTICS.index("size")][missing] = 0
    watch, found = AlertWatch(), []
    for place, step in enumerate(series.steps.tolist()):
        new = targets if place == 0 else []
        found += watch.step(step, new, np.ascontiguousarray(values[:, :, place]))
    return found
