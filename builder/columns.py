"""All values of one side as arrays, so that most questions are asked of all of them at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.dump.forms import Forms
from builder.dump.values import Values
from builder.measure.statistics import Statistics, element_count, statistics_of


@dataclass(slots=True)
class Columns:
    """All values of one side as arrays: the numbers of their forms and their statistics."""

    forms: NDArray[np.int64]
    statistics: Statistics


def columns_of(values: Values, forms: Forms) -> Columns:
    """Gather one side's values; their forms join those that are known."""
    numbers = forms.numbers_of(values)
    sizes = np.array([element_count(form.shape) for form in forms.listed()], dtype=np.float64)
    return Columns(numbers, statistics_of(values.records, sizes[numbers]))
