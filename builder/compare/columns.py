"""All values of one side as arrays, so that most questions are asked of all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.compare.statistics import Floats, Statistics, element_count, statistics_of
from builder.dump.forms import Forms
from builder.dump.sketch_numbers import sketches_of
from builder.dump.values import Values
from msprobe_core.format import PROJECTIONS


@dataclass(slots=True)
class Columns:
    """All values of one side as arrays: the numbers of forms, statistics, sketches.

    `sketches` is values × projections, NaN where a value has none; None where none has any.
    """

    forms: NDArray[np.int64]
    statistics: Statistics
    sketches: Floats | None = None

    def take_sketches(self, indices: NDArray[np.int64]) -> Floats:
        """The sketches at some indices; a negative one stands for no value, which has none."""
        known = self.sketches
        if known is None:
            return np.full((len(indices), PROJECTIONS), np.nan)
        taken = known[indices]
        taken[indices < 0] = np.nan
        return taken


def columns_of(values: Values, forms: Forms) -> Columns:
    """Gather one side's values; their forms join those that are known."""
    numbers = forms.numbers_of(values)
    sizes = np.array([element_count(form.shape) for form in forms.listed()], dtype=np.float64)
    statistics = statistics_of(values.records, sizes[numbers])
    return Columns(numbers, statistics, sketches_of(values.records))
