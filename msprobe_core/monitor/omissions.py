"""Numbers that are left out because a tensor cannot be measured: said once a reason, then counted.

One odd tensor is one missing number: the step goes on without it.
"""

from __future__ import annotations

from msprobe_core.report import say


class Omissions:
    """What was left out so far, by reason."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def note(self, step: int, what: str, reason: str) -> None:
        """Note that a number is missing; the first of a reason is said with its name."""
        known = self._counts.get(reason, 0)
        self._counts[reason] = known + 1
        if not known:
            say(f"monitoring, step {step}: {what} is left out: {reason}; all others are written")

    def say_all(self) -> None:
        """Say how many there were, of the reasons that came again."""
        for reason, count in self._counts.items():
            if count > 1:
                say(f"monitoring: {count} numbers were left out: {reason}")
        self._counts.clear()
