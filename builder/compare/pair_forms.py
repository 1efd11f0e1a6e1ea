"""Groups value pairs by the forms of their sides, for whatever depends on those alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from builder.compare.columns import Columns
from builder.compare.statistics import Floats
from builder.dump.forms import Forms
from builder.dump.values import Record
from builder.match.value_pairing import SURPLUS, ValuePairs


class PairForms:
    """The distinct pairs of forms among the value pairs: few, and each is looked at once.

    `examples` holds the records of one pair of each kind, `of_row` the kind of each row.
    """

    def __init__(
        self,
        columns: tuple[Columns, Columns],
        pairs: ValuePairs,
        records: tuple[list[Record], list[Record]],
    ) -> None:
        ours, theirs = (
            np.append(side.forms, SURPLUS)[indices]
            for side, indices in zip(columns, (pairs.problem, pairs.benchmark), strict=True)
        )
        # The sides of a pair have the same key, so either tells what the value is.
        self._form = np.where(ours == SURPLUS, theirs, ours)
        code = (ours + 1) * (max(theirs.max(initial=0), 0) + 2) + theirs + 1
        _, examples, self.of_row = np.unique(code, return_index=True, return_inverse=True)
        self.examples = [(records[0][row], records[1][row]) for row in examples.tolist()]

    def are_outputs(self, forms: Forms) -> NDArray[np.bool_]:
        """Which rows are what a call put out."""
        outputs = [form.is_output for form in forms.listed()]
        return np.array(outputs, dtype=bool)[self._form]

    def spread(self, told: Callable[[Record, Record], float]) -> Floats:
        """What a function says of each row, asked once per kind."""
        return np.array([told(*pair) for pair in self.examples], dtype=np.float64)[self.of_row]
