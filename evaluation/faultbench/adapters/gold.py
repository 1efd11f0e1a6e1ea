"""The accepted answers themselves: the self-test of the metrics at the top of the scale."""

from __future__ import annotations

from faultbench import fault
from faultbench.adapters.plain import record
from faultbench.answer import Pair
from faultbench.row import Row

__all__ = ["answer", "record"]


def answer(pair: Pair) -> list[Row]:
    """The marked line of the first answer that has one; nothing for a sound change."""
    if pair.script != "wrong.py":
        return []
    first = next(given for given in fault.load(pair.fault).answers if given.lines)
    file, line = min(first.lines)
    return [Row(first.module, first.call or None, file, line, certain=True)]
