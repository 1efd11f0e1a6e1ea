"""One alert a cause, of those that the ranks of a training have written one by one.

What replicas say together, what comes back in the same place, and what comes at equal distances has
one cause each. Nothing is taken away: the first alert says when the others were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

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
_LATE = 1
"""Step by which an alert may be named later than its cause."""


def one_a_cause(alerts: Sequence[Alert]) -> list[Alert]:
    """The alerts with those of one cause put together, by step."""
    found: list[Alert] = []
    for alert in sorted(alerts, key=lambda each: (each.step, each.rank)):
        place = next((i for i, known in enumerate(found) if _is_same(known, alert)), None)
        if place is None:
            found.append(alert)
        else:
            found[place] = _joined(found[place], alert)
    return _recurring(found)


def _is_same(known: Alert, alert: Alert) -> bool:
    if known.kind != alert.kind or known.target[0] != alert.target[0]:
        return False
    if alert.rank not in _ranks(known) and alert.step - known.step <= _TOGETHER:
        return True
    last = known.again[-1] if known.again else known.step
    return alert.step - last <= _AGAIN and _is_related(known.target[1], alert.target[1])


def _joined(known: Alert, alert: Alert) -> Alert:
    ranks = sorted({*_ranks(known), *_ranks(alert)})
    again = known.again
    if alert.step - known.step > _TOGETHER and alert.step not in again:
        again = [*again, alert.step]
    shown = ranks if len(ranks) > 1 or known.ranks else []
    return replace(known, ranks=shown, again=again, count=max(known.count, alert.count))


def _ranks(alert: Alert) -> list[int]:
    return alert.ranks or [alert.rank]


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
            found = [a for a in found if a is lead or a not in members]
            found[found.index(lead)] = replace(lead, again=again, every=period)
            break
    return found


def _rhythms(steps: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First steps and distances at which enough of the others lie."""
    for place, first in enumerate(steps):
        for second in steps[place + 1 :]:
            period = second - first
            if period <= _TOGETHER:
                continue
            times = [step for step in steps if _fits(step, first, period)]
            due = (steps[-1] - first) // period + 1
            if len(times) >= max(_LEAST, _SHARE * due, _OF_ALL * len(steps)):
                yield first, period


def _fits(step: int, first: int, period: int) -> bool:
    off = (step - first) % period
    return step >= first and min(off, period - off) <= _LATE


def _is_related(name: str, other: str) -> bool:
    """Whether one is the other, or inside of it, or beside it in the same module."""
    one, two = (each.rpartition(".")[0] or each for each in (name, other))
    return one == two or name.startswith(f"{other}.") or other.startswith(f"{name}.")
