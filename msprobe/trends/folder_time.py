"""The time in the name of a monitor's folder, which says no year: `Dec03_21-34-40`."""

from __future__ import annotations

import re

EXAMPLE = "Dec03_21-34-40"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAMED = re.compile(r"(?P<month>[A-Z][a-z]{2})(?P<day>\d\d)_(?P<time>\d\d-\d\d-\d\d)")
_ISO = re.compile(r"\d{4}-(?P<month>\d\d)-(?P<day>\d\d)T(?P<time>\d\d-\d\d-\d\d)")


def in_year(time: str) -> str | None:
    """The place of a time in its year, as text that sorts; None for what is no time of a folder."""
    if named := _NAMED.fullmatch(time):
        if named["month"] not in _MONTHS:
            return None
        return f"{_MONTHS.index(named['month']) + 1:02d}-{named['day']}T{named['time']}"
    if iso := _ISO.fullmatch(time):
        return f"{iso['month']}-{iso['day']}T{iso['time']}"
    return None


def is_between(time: str, first: str | None, last: str | None) -> bool:
    """Whether a time lies between two, both included; None bounds nothing.

    Times without a year that run backwards go over New Year. What is no time lies nowhere.
    """
    if all(each is None or _ISO.fullmatch(each) for each in (time, first, last)):
        return (first or "") <= time <= (last or "~")
    at, low, high = (None if each is None else in_year(each) for each in (time, first, last))
    if at is None or (first is not None and low is None) or (last is not None and high is None):
        return False
    if low is not None and high is not None and low > high:
        return at >= low or at <= high
    return (low or "") <= at <= (high or "~")
