"""The numbers of one step that still lie on devices: measured there, fetched together."""

from __future__ import annotations

import torch

from msprobe_core.torch.measure.deferred import PendingNumbers, defer_measure, read_back
from msprobe_core.torch.measure.fused import FusedNumbers, FusedTable, is_fused, refuse

Pending = FusedNumbers | PendingNumbers
"""Numbers whose `found` and `sketch` are set when they are read back."""


class DeviceNumbers:
    """Measures on devices without waiting for them."""

    def __init__(self) -> None:
        self._tables: dict[torch.device, FusedTable] = {}
        self._deferred: list[PendingNumbers] = []
        self.waiting = False
        """Whether some numbers have not been read back."""

    def measure(self, tensor: torch.Tensor, double: bool, sketched: bool) -> Pending:
        """Measure a strided tensor where it lies. Gradients must be off.

        `double` sums in float64 and writes all digits; `sketched` wants the sketch as well.
        """
        self.waiting = True
        if is_fused(tensor):
            device = tensor.device
            table = self._tables.get(device)
            if table is None:
                table = self._tables[device] = FusedTable(device)
            try:
                return table.measure(tensor, double, sketched)
            except Exception as error:  # no compiler, an unknown device: numbers come without it
                refuse(device, error)
        numbers = defer_measure(tensor, double, sketched)
        self._deferred.append(numbers)
        return numbers

    def read_back(self) -> None:
        """Fetch all numbers: one transfer for each device, or for each format without Triton."""
        for table in self._tables.values():
            table.read_back()
        read_back(self._deferred)
        self._deferred.clear()
        self.waiting = False


def is_deferred(tensor: torch.Tensor) -> bool:
    """Whether reading a number of the tensor would wait for a device."""
    return tensor.device.type != "cpu"
