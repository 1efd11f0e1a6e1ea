"""Numbers the forms of values: their place in an entry, type, dtype, shape, argument.

Thousands of values share a form, so what depends on the form alone is worked out once for each.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from builder.dump.values import Record, Values
from msprobe_core.format import is_integer_dtype

OUTPUT_ROLES = ("output", "parameters_grad")


class Form(NamedTuple):
    """All of a value but its numbers; `scalar` is the JSON text of a non-tensor argument."""

    key: str
    type: str
    dtype: str | None
    shape: tuple[int, ...] | None
    requires_grad: bool | None
    scalar: str | None

    @property
    def is_tensor(self) -> bool:
        """Whether values of this form are tensors, not arguments."""
        return self.dtype is not None

    @property
    def is_integer(self) -> bool:
        """Whether they are integers or booleans: token ids, labels, masks."""
        return is_integer_dtype(self.dtype or "")

    @property
    def is_parameter(self) -> bool:
        """Whether a module's entry lists them as its parameters."""
        return self.key.startswith("parameters.")

    @property
    def is_output(self) -> bool:
        """Whether a call put them out."""
        return self.key.startswith(OUTPUT_ROLES)


_Cells = tuple[str, str, str | None, tuple[int, ...] | None, bool | None, str | None]


class Forms:
    """The forms seen so far, numbered from 0; both sides of a comparison share one."""

    def __init__(self) -> None:
        self._numbers: defaultdict[_Cells, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__

    def __len__(self) -> int:
        return len(self._numbers)

    def listed(self) -> list[Form]:
        """All forms in the order of their numbers."""
        return [Form(*cells) for cells in self._numbers]

    def numbers_of(self, values: Values) -> NDArray[np.int64]:
        """The number of each value's form."""
        numbers = self._numbers
        # Spelled out without a call per value: this runs for every value of a dump.
        form_numbers = [
            numbers[
                key,
                record.type,
                record.dtype,
                record.shape,
                record.requires_grad,
                None if record.dtype is not None else _scalar(record),
            ]
            for key, record in zip(values.keys, values.records)
        ]
        return np.array(form_numbers, dtype=np.int64)


def _scalar(record: Record) -> str | None:
    if record.group_ranks is not None:
        return msgspec.json.encode({"group_ranks": record.group_ranks}).decode()
    return msgspec.json.encode(record.value).decode() if record.value is not None else None
