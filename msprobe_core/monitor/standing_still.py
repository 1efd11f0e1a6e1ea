"""Steps that move nothing: a learning rate of 0, updates that no weight takes, skipped steps.

Such a training leaves no past: its loss stays where it is, and no series leaps.
"""

from __future__ import annotations

from collections.abc import Sequence

from msprobe_core.format.series import TrendTarget
from msprobe_core.monitor.own_past import Floats, Mask

STILL = 16
"""Steps. A loss scale begins at 2^16 and is halved by each skipped step: after 16 of them in a row
it is 1, so that no scale was to blame. No warm-up or pause of a schedule is as long by itself."""
_CAUSES = ("skipped", "lr", "ratio")


class StandingStill:
    """Counts steps in a row that move nothing; steps of which nothing tells are passed over."""

    def __init__(self) -> None:
        self._columns: dict[str, list[int]] = {cause: [] for cause in _CAUSES}
        self._steps = 0

    def grow(self, targets: Sequence[TrendTarget]) -> None:
        """Look at all targets so far."""
        kinds = [target.kind for target in targets]
        self._columns = {
            cause: [column for column, kind in enumerate(kinds) if kind == cause]
            for cause in _CAUSES
        }

    def look(self, values: Floats, there: Mask) -> int | None:
        """The column that says why nothing has moved, once after so many steps, else None.

        `values` are 0 where an update is below what its weight can take.
        """
        measured = {cause: self._measured(cause, there) for cause in _CAUSES}
        still = {
            cause: cause == "skipped" or not values[measured[cause]].any()
            for cause in _CAUSES
            if measured[cause]
        }
        if not still:
            return None
        why = next((cause for cause, is_still in still.items() if is_still), None)
        self._steps = self._steps + 1 if why is not None else 0
        return measured[why][0] if why is not None and self._steps == STILL else None

    def _measured(self, cause: str, there: Mask) -> list[int]:
        return [column for column in self._columns[cause] if column < len(there) and there[column]]
