"""Measures tensors where they lie without waiting, and reads all numbers back at once.

On the CPU four reductions over pieces that stay in the cache: amin and amax cost less than aminmax
(1.5 times) and a count of NaN costs 40 to 100 sums, so NaN are counted only when asked for; where
Triton is, the dumper's kernel, which counts for nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import torch

from msprobe_core.monitor.moments import (
    HIGH,
    INFS,
    LOW,
    NANS,
    SIZE,
    SQUARES,
    SUM,
    ZEROS,
    Places,
    Rows,
    add_up,
    empty_rows,
)
from msprobe_core.torch.measure.fused import FusedTable, is_fused, refuse

PIECE = 1 << 17
"""Elements of a piece: 512 KiB of float32, so that its later reductions find it in the cache."""

_aten = torch.ops.aten
_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
_REDUCED = (LOW, HIGH, SUM, SQUARES)
_COUNTED = (NANS, INFS, ZEROS)


class MomentTable:
    """The measurements of a step; a place is where a measurement is added to.

    `zeros` counts elements below `eps`, `nonfinite` counts NaN and infinities; both read each
    element once more where no kernel does so anyway. Gradients must be off.
    """

    def __init__(self, zeros: bool = False, nonfinite: bool = False, eps: float = 0.0) -> None:
        self._zeros, self._nonfinite, self._eps = zeros, nonfinite, eps
        self._counted = [NANS, INFS] * nonfinite + [ZEROS] * zeros
        self._waiting: dict[tuple[torch.device, torch.dtype], _Waiting] = {}
        self._fused: dict[torch.device, FusedTable] = {}
        self._fused_rows: list[tuple[int, _FusedRow]] = []
        self._direct: list[tuple[int, Rows]] = []

    def put(self, place: int, tensor: torch.Tensor) -> bool:
        """Measure a tensor into a place; False for what has no moments, such as integers."""
        values = _as_values(tensor)
        if values is None:
            return False
        if values.device.type != "cpu" and self._put_fused(place, values):
            return True
        wide = values.dtype is torch.float64
        waiting = self._waiting.setdefault(
            (values.device, torch.float64 if wide else torch.float32), _Waiting([], [], [])
        )
        flat = values.view(-1) if values.is_contiguous() else values.reshape(-1)
        pieces = flat.split(PIECE) if flat.numel() > PIECE and flat.device.type == "cpu" else [flat]
        for piece in pieces:
            self._put_piece(waiting, place, piece)
        return True

    def put_row(self, place: int, row: Rows) -> None:
        """Add a row that is known already."""
        self._direct.append((place, row))

    def forget(self, places: Collection[int]) -> None:
        """Take back what was measured into places: it is going to be measured anew."""
        for waiting in self._waiting.values():
            waiting.forget(places)
        self._waiting = {key: each for key, each in self._waiting.items() if each.places}
        self._fused_rows = [one for one in self._fused_rows if one[0] not in places]
        self._direct = [one for one in self._direct if one[0] not in places]

    def read(self, count: int) -> Rows:
        """The rows of the places 0 to count - 1; one transfer for each device."""
        parts = [waiting.rows(self._counted) for waiting in self._waiting.values()]
        for table in self._fused.values():
            table.read_back()
        if self._fused_rows:
            places = np.asarray([place for place, _ in self._fused_rows], dtype=np.intp)
            parts.append((places, np.stack([row.moments() for _, row in self._fused_rows])))
        if self._direct:
            places = np.asarray([place for place, _ in self._direct], dtype=np.intp)
            parts.append((places, np.concatenate([row for _, row in self._direct])))
        if not parts:
            return empty_rows(count)
        return add_up(
            np.concatenate([rows for _, rows in parts]),
            np.concatenate([places for places, _ in parts]),
            count,
        )

    def _put_piece(self, waiting: _Waiting, place: int, piece: torch.Tensor) -> None:
        if piece.dtype not in (torch.float32, torch.float64):
            piece = piece.float()
        add = waiting.scalars.append
        add(_aten.amin.default(piece))
        add(_aten.amax.default(piece))
        add(_aten.sum.default(piece))
        add(_aten.dot.default(piece, piece))
        if self._nonfinite:
            add(piece.isnan().sum().to(piece.dtype))
            add(piece.isinf().sum().to(piece.dtype))
        if self._zeros:
            small = piece == 0 if self._eps == 0 else piece.abs() < self._eps
            add(small.sum().to(piece.dtype))
        waiting.places.append(place)
        waiting.sizes.append(piece.numel())

    def _put_fused(self, place: int, values: torch.Tensor) -> bool:
        if self._zeros or not is_fused(values):
            return False
        table = self._fused.setdefault(values.device, FusedTable(values.device))
        row = _FusedRow(values.numel())
        try:
            table.measure_into(row, values, sketched=False)
        except Exception as error:  # no compiler, an unknown device: torch's reductions do it
            refuse(values.device, error)
            return False
        self._fused_rows.append((place, row))
        return True


class _Waiting:
    """Scalars of one device and format that were not read yet."""

    def __init__(self, scalars: list[torch.Tensor], places: list[int], sizes: list[int]) -> None:
        self.scalars, self.places, self.sizes = scalars, places, sizes

    def forget(self, places: Collection[int]) -> None:
        """Drop the scalars of places."""
        each = len(self.scalars) // len(self.places)
        kept = [at for at, place in enumerate(self.places) if place not in places]
        if len(kept) < len(self.places):
            self.scalars = [one for at in kept for one in self.scalars[at * each : (at + 1) * each]]
            self.places = [self.places[at] for at in kept]
            self.sizes = [self.sizes[at] for at in kept]

    def rows(self, counted: Sequence[int]) -> tuple[Places, Rows]:
        """Place and moments of each piece."""
        numbers = torch.stack(self.scalars).to("cpu", torch.float64)
        columns = [*_REDUCED, *counted]
        rows = np.zeros((len(self.places), len(_REDUCED) + len(_COUNTED) + 1))
        rows[:, columns] = np.asarray(numbers.tolist()).reshape(len(self.places), len(columns))
        rows[:, SIZE] = self.sizes
        if ZEROS not in counted:
            rows[:, ZEROS] = np.nan
        return np.asarray(self.places, dtype=np.intp), rows


class _FusedRow:
    """What the kernel wrote of one tensor."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._fields: list[float] = []

    def take(self, fields: list[float], bits: list[int]) -> None:
        """Take the kernel's fields: largest, least, sum, squares, NaN and infinities."""
        del bits
        self._fields = fields[:6]

    def moments(self) -> Rows:
        """As a row."""
        high, low, total, squares, nans, infs = self._fields
        if nans:  # the kernel orders what is left
            low = high = np.nan
        return np.asarray([low, high, total, squares, nans, infs, np.nan, self._size])


def _as_values(tensor: torch.Tensor) -> torch.Tensor | None:
    """The elements to measure: stored ones of a sparse tensor, both parts of complex ones.

    A row of a sparse gradient that was looked up twice is stored twice until it is coalesced.
    """
    values = tensor.detach()
    if values.is_sparse:
        values = values.coalesce().values()
    elif values.layout in _COMPRESSED:
        values = values.values()
    if values.is_complex():
        values = torch.view_as_real(values)
    usable = values.is_floating_point() and values.numel() and values.device.type != "meta"
    return values if usable and values.layout is torch.strided else None
