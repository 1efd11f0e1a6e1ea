"""The targets of a run as they are found: each gets the next column for good."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from msprobe_core.format.series import TENSOR_KINDS, TrendTarget


class TargetBook:
    """Columns by kind and name. `lock` keeps others from finding new ones meanwhile."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.targets: list[TrendTarget] = []
        self.scalars: list[int] = []
        """Columns of single numbers, which have a sign."""
        self._columns: dict[tuple[str, str], int] = {}
        self._told = 0

    def column(
        self,
        kind: str,
        name: str,
        shape: Sequence[int] = (),
        dtype: object = "",
        place: int | None = None,
    ) -> int:
        """The column of a target; without a place it stands after those of its kind so far."""
        known = self._columns.get((kind, name))
        if known is not None:
            return known
        with self.lock:
            return self._added(kind, name, shape, dtype, place)

    def _added(
        self, kind: str, name: str, shape: Sequence[int], dtype: object, place: int | None
    ) -> int:
        known = self._columns.get((kind, name))  # the other thread may have been faster
        if known is not None:
            return known
        number = len(self.targets)
        at = number if place is None else place
        written = str(dtype).removeprefix("torch.")
        self.targets.append(TrendTarget(kind, name, tuple(shape), written, at))
        self._columns[kind, name] = number
        if kind not in TENSOR_KINDS:
            self.scalars.append(number)
        return number

    def known(self, kind: str, name: str) -> int | None:
        """The column of a target if there is one."""
        return self._columns.get((kind, name))

    def new(self) -> list[TrendTarget]:
        """Those that were found since the last call."""
        found = self.targets[self._told :]
        self._told = len(self.targets)
        return found
