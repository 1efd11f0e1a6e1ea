"""One alert a cause, of those that the ranks of a training have written one by one.

What replicas say together, what comes back in the same place, and what comes at equal distances has
one cause each. Nothing is taken away: the first alert says when the others were.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from msprobe_core.format.alerts import Alert

_TOGETHER = 8
"""Steps within which ranks tell of one thing: the quiet ones that end an alert."""
_AGAIN = 128
"""Steps: twice the window of a series, which is made anew behind an alert. Meanwhile its noise is
not known, and what is led by the same module is an after-effect."""
_LEAST, _SHARE, _OF_ALL = 3, 0.75, 0.6
"""So many at equal distances, of those due (a spike that a training hardly notices is missing) and
of all of a kind. Of 3, 4, 5, 6 alerts at random steps of 1,000 so many lie so in 1.5, 3.4, 7.2 and
0.3 of 100 cases, and in a tenth of these in 10,000 steps; the first then lists all of them."""
_CANDIDATES = 16
"""Places among which the first of a rhythm and the one behind it are looked for. They are 0.6 of
all at least: that none of 16 is one has a chance of 0.4^16, once in two million."""
_LATE = 1
"""Step by which an alert may be named later than its cause."""


def one_a_cause(alerts: Sequence[Alert]) -> list[Alert]:
    """The alerts with those of one cause put together, by step."""
    found: list[_Cause] = []
    lasting: dict[tuple[str, str], list[_Cause]] = defaultdict(list)
    for alert in sorted(alerts, key=lambda each: (each.step, each.rank)):
        of_kind = alert.kind, alert.target[0]
        lasting[of_kind] = [one for one in lasting[of_kind] if alert.step - one.last <= _AGAIN]
        same = next((one for one in lasting[of_kind] if one.is_of(alert)), None)
        if same is None:
            same = _Cause(alert)
            found.append(same)
            lasting[of_kind].append(same)
        else:
            same.add(alert)
    return _recurring([cause.told() for cause in found])


class _Cause:
    """An alert, and what was added to it; `last` is the step that it was told of last."""

    def __init__(self, lead: Alert) -> None:
        self._lead, self._again = lead, [*lead.again]
        self._ranks, self._count = set(lead.ranks or [lead.rank]), lead.count
        self._is_shared = bool(lead.ranks)
        self.last = max([lead.step, *lead.again])

    def is_of(self, alert: Alert) -> bool:
        """Whether an alert of its kind that comes later is one of it."""
        if alert.rank not in self._ranks and alert.step - self._lead.step <= _TOGETHER:
            return True
        return _is_related(self._lead.target[1], alert.target[1])

    def add(self, alert: Alert) -> None:
        """Take one more."""
        if alert.step - self._lead.step > _TOGETHER and alert.step > self.last:
            self._again.append(alert.step)
        self.last = max(self.last, alert.step) if self._again else self.last
        self._ranks.update(alert.ranks or [alert.rank])
        self._count = max(self._count, alert.count)

    def told(self) -> Alert:
        """All of it as one alert."""
        is_shared = self._is_shared or len(self._ranks) > 1
        ranks = sorted(self._ranks) if is_shared else []
        return replace(self._lead, ranks=ranks, again=self._again, count=self._count)


def _recurring(alerts: list[Alert]) -> list[Alert]:
    """Those of a kind at equal distances as their first one."""
    found = list(alerts)
    for kind in dict.fromkeys(alert.kind for alert in alerts):
        of_kind = [alert for alert in found if alert.kind == kind]
        steps = sorted({step for alert in of_kind for step in (alert.step, *alert.again)})
        for first, period in _rhythms(steps):
            members = [a for a in of_kind if _fits(a.step, first, period)]
            lead = next((a for a in members if a.step == first), None)
            if lead is None:
                continue
            again = [step for step in steps if step != first and _fits(step, first, period)]
            taken = {id(alert) for alert in members}
            found = [a for a in found if a is lead or id(a) not in taken]
            found[found.index(lead)] = replace(lead, again=again, every=period)
            break
    return found


def _rhythms(steps: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First steps and distances at which enough of the others lie."""
    listed = np.array(steps)
    for place, first in enumerate(steps[:_CANDIDATES]):
        for second in steps[place + 1 : place + 1 + _CANDIDATES]:
            period = second - first
            if period <= _TOGETHER:
                continue
            off = (listed - first) % period
            times = int(((np.minimum(off, period - off) <= _LATE) & (listed >= first)).sum())
            due = (steps[-1] - first) // period + 1
            if times >= max(_LEAST, _SHARE * due, _OF_ALL * len(steps)):
                yield first, period


def _fits(step: int, first: int, period: int) -> bool:
    off = (step - first) % period
    return step >= first and min(off, period - off) <= _LATE


def _is_related(name: str, other: str) -> bool:
    """Whether one is the other, or inside of it, or beside it in the same module."""
    one, two = (each.rpartition(".")[0] or each for each in (name, other))
    return one == two or name.startswith(f"{other}.") or other.startswith(f"{name}.")
