"""Where measurements of a step go: places for parameters, then one for each further target."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from msprobe_core.format.series import TrendTarget
from msprobe_core.monitor.moments import (
    SIZE,
    SUM,
    Rows,
    empty_rows,
    scalar_row,
    statistics,
    values_as_norms,
)
from msprobe_core.monitor.targets import TargetBook
from msprobe_core.torch.monitor.odd_tensors import CarefulTable
from msprobe_core.torch.monitor.settings import Settings
from msprobe_core.torch.monitor.shards import local_part
from msprobe_core.torch.monitor.tensor_moments import MomentTable


class Lane:
    """The targets of one store and the open step's measurements of them.

    Places that were reserved are the caller's own: they come back from `read` as they are, in the
    order in which they were reserved, and `table` takes them under columns of the same book.
    """

    def __init__(self, settings: Settings, left_out: Callable[[str, str], None]) -> None:
        self._settings, self._left_out = settings, left_out
        self.book = TargetBook()
        self._columns: list[int] = []
        self._reserved: list[int] = []
        self._own: list[int] = []
        self._places: dict[tuple[str, str], int] = {}
        self._scalars: set[int] = set()
        self.moments = self._fresh()

    def reserve(self, count: int) -> int:
        """The first of so many places in a row that only the caller puts something into."""
        first = len(self._reserved) + len(self._own)
        self._reserved += range(first, first + count)
        return first

    def put(self, kind: str, name: str, tensor: torch.Tensor, *, scalar: bool = False) -> None:
        """Measure what this rank holds of a tensor, unless it cannot be measured.

        Several measurements of a target add up, those of a scalar average.
        """
        try:
            tensor = local_part(tensor)
        except Exception as error:  # told with the tensor that is left out
            self._left_out(f"{kind} of {name}", f"{type(error).__name__}: {error}")
            return
        place = self._places.get((kind, name))
        if place is None:
            shape = () if scalar or tensor.is_nested else tensor.shape
            place = self._place(kind, name, shape, tensor.dtype)
        if scalar:
            self._scalars.add(place)
        self.moments.put(place, tensor)

    def put_value(self, kind: str, name: str, value: float) -> None:
        """Note a number that is known here."""
        place = self._places.get((kind, name))
        if place is None:
            place = self._place(kind, name, (), "float64")
        self._scalars.add(place)
        self.moments.put_row(place, scalar_row(value))

    def read(self) -> tuple[Rows, Rows]:
        """The reserved rows and those of the targets; a new step is open then."""
        moments, self.moments = self.moments, self._fresh()
        rows = moments.read(len(self._reserved) + len(self._own))
        for place in self._scalars:
            if rows[place, SIZE] > 1:
                rows[place] = scalar_row(rows[place, SUM] / rows[place, SIZE])[0]
        return rows[self._reserved], rows[self._own]

    def table(
        self, own: Rows, others: Sequence[tuple[int, Rows]] = ()
    ) -> tuple[list[TrendTarget], NDArray[np.float32]]:
        """The new targets and [statistic][column] of a step; `others` are rows by column."""
        with self.book.lock:  # the next step finds its targets while this one is made whole
            new, count = self.book.new(), len(self.book.targets)
            scalars = np.asarray(self.book.scalars, dtype=np.intp)
        rows = empty_rows(count)
        rows[self._columns[: len(own)]] = own
        for column, row in others:
            rows[column] = row
        found = statistics(rows)
        values_as_norms(found, scalars)
        return new, found

    def _place(self, kind: str, name: str, shape: Sequence[int], dtype: object) -> int:
        place = self._places[kind, name] = len(self._reserved) + len(self._own)
        self._own.append(place)
        self._columns.append(self.book.column(kind, name, shape, dtype))
        return place

    def _fresh(self) -> MomentTable:
        chosen = self._settings
        return CarefulTable(chosen.zeros, chosen.nonfinite, chosen.eps, self._leave_out)

    def _leave_out(self, place: int, tensor: torch.Tensor | None, reason: str) -> None:
        names = {at: f"{kind} of {name}" for (kind, name), at in self._places.items()}
        what = "a parameter" if tensor is None else f"a parameter of shape {_shape(tensor)}"
        self._left_out(names.get(place, what), reason)


def _shape(tensor: torch.Tensor) -> str:
    return "unknown" if tensor.is_nested else str(tuple(tensor.shape))
