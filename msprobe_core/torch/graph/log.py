"""What the recording operators have seen since the log was last read, in the order of execution.

On the CPU a row holds its numbers as text. On a device rows lie in a table that is allocated before
anything is captured: each record appends at a cursor that lies on the device too, so a replay of a
captured graph appends rows of its own, and nothing waits for the host until the log is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch

from msprobe_core.report import say
from msprobe_core.torch.measure.deferred import PendingNumbers, defer_measure
from msprobe_core.torch.measure.numbers import EMPTY, LIMITS, Measured, Number, measure_now
from msprobe_core.torch.measure.sketch import repeats_too_much, sketch_now
from msprobe_core.torch.measure.users_modes import users_modes_off
from msprobe_core.values.text import sketch_text

Kind = Literal["begin", "end", "value", "gradient"]
_DEEPER: dict[Kind, int] = {"begin": 1, "end": -1}
_STATISTICS, _PROJECTIONS = 6, 8
_WIDTH = 2 + _STATISTICS + _PROJECTIONS
"""Columns of a table: owner, number of the note, statistics and counts, projections."""
_ROWS = 65_536
"""Rows at first, 8 MiB: a step of some 8,000 modules. A step that needs more gets twice as many
in the capture that follows.
"""


@dataclass(frozen=True, slots=True)
class Note:
    """What is known of a row when it is launched; the same note serves each replay.

    `call` tells that the owner is a call of torch's API and no module. `place` is where the value
    stands in its entry, its parts divided by `/`. `stack` belongs to the beginning of a module.
    `shape` is None where it is not known before the graph runs. `late` is the number of its place
    in a graph of inductor's, -1 elsewhere.
    """

    kind: Kind
    call: bool = False
    place: str = ""
    first: bool = False
    requires_grad: bool = False
    stack: int = -1
    dtype: torch.dtype | None = None
    shape: tuple[int, ...] | None = ()
    late: int = -1


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it is read: who, what, and the text of its numbers; `fused` for a value that never
    was in memory, and has none.
    """

    owner: int
    note: Note
    numbers: Measured = EMPTY
    sketch: str = ""
    fused: bool = False


@dataclass(slots=True)
class Phases:
    """Which rows are kept: those of the forward pass, and gradients."""

    forward: bool = False
    gradients: bool = False

    def keep(self, kind: Kind) -> bool:
        """Whether rows of a kind are kept now."""
        return self.gradients if kind == "gradient" else self.forward


class DeviceTable:
    """The rows of one device. Table, cursor and flags never move: captured graphs hold them.

    Invariant: `cursor` counts all rows that were wanted; those from `rows` on went to the spare
    row behind the last, where rows of a phase that is not kept go as well.
    """

    def __init__(self, device: torch.device, rows: int = _ROWS) -> None:
        self.rows = rows
        self.device = device
        self._table = torch.zeros((rows + 1, _WIDTH), dtype=torch.float64, device=device)
        self._cursor = torch.zeros((), dtype=torch.int64, device=device)
        self._spare = torch.full((), rows, dtype=torch.int64, device=device)
        self._forward = torch.zeros((), dtype=torch.int64, device=device)
        self._gradients = torch.zeros((), dtype=torch.int64, device=device)
        self._notes: list[Note] = []
        self._numbers: dict[Note, int] = {}

    def switch(self, phases: Phases) -> None:
        """Keep rows of these phases from now on; captured graphs read the flags when they run."""
        self._forward.fill_(int(phases.forward))
        self._gradients.fill_(int(phases.gradients))

    def append(
        self, owner: torch.Tensor, note: Note, value: torch.Tensor | None, sketched: bool
    ) -> None:
        """Append a row, by operations of the device alone."""
        number = self._numbers.get(note)
        if number is None:
            number = self._numbers[note] = len(self._notes)
            self._notes.append(note)
        fields = torch.zeros(_WIDTH, dtype=torch.float64, device=self.device)
        fields[0].copy_(owner.reshape(()))
        fields[1].fill_(number)
        if value is not None:
            pending = defer_measure(value, sketched=sketched)
            for column, scalar in enumerate(pending.scalars, 2):
                if scalar is not None:
                    fields[column].copy_(scalar.reshape(()))
            if pending.projections is not None:
                fields[2 + _STATISTICS :].copy_(pending.projections)
        kept = self._gradients if note.kind == "gradient" else self._forward
        at = torch.where(kept > 0, torch.minimum(self._cursor, self._spare), self._spare)
        self._table.index_copy_(0, at.reshape(1), fields.reshape(1, -1))
        self._cursor.add_(kept)

    def take(self, sketched: bool) -> tuple[list[Row], int]:
        """The rows since the last time, and how many found no place. Waits for the device."""
        wanted = int(self._cursor)
        rows = self._table[: min(wanted, self.rows)].tolist()
        self._cursor.zero_()
        return [self._row(fields, sketched) for fields in rows], max(0, wanted - self.rows)

    def _row(self, fields: list[float], sketched: bool) -> Row:
        note = self._notes[int(fields[1])]
        if note.dtype is None or note.shape is None or 0 in note.shape:
            return Row(int(fields[0]), note)
        pending = PendingNumbers(note.dtype, [])
        statistics: list[Number] = list(fields[2 : 2 + _STATISTICS])
        if note.dtype not in LIMITS:  # integers have extremes alone
            statistics[2:] = [None] * (_STATISTICS - 2)
        pending.take(statistics)
        numel = torch.Size(note.shape).numel()
        text = sketch_text(fields[2 + _STATISTICS :]) if sketched and numel > 1 else ""
        return Row(int(fields[0]), note, pending.found, text)


class GraphLog:
    """The log that the operators write to. `lost` counts rows that no table had a place for."""

    def __init__(self, sketched: bool = True, all_digits: bool = False) -> None:
        self.phases = Phases()
        self.errors: list[tuple[str, Exception]] = []
        self.lost = 0
        self._sketched, self._all_digits = sketched, all_digits
        self._rows: list[Row] = []
        self._tables: dict[torch.device, DeviceTable] = {}
        self._open_modules = 0

    @property
    def is_inside(self) -> bool:
        """Whether a recorded module runs on this host now, and a row of it may be kept: what is
        captured is recorded always, as flags are read when it is replayed.
        """
        return self._open_modules > 0 and (self.phases.forward or bool(self._tables))

    def prepare(self, device: torch.device, rows: int = _ROWS) -> None:
        """Allocate a device's table before anything is captured there, and ask the device once what
        it can do: asking waits for it, which a capture forbids.
        """
        if device in self._tables:
            return
        table = self._tables[device] = DeviceTable(device, rows)
        owner = torch.zeros((), dtype=torch.int64, device=device)
        for dtype in _ASKED:
            sample = torch.zeros(2, dtype=dtype, device=device)
            note = Note("value", dtype=dtype, shape=(2,))
            table.append(owner, note, sample, self._sketched)
        table.take(self._sketched)

    def switch(self, forward: bool, gradients: bool) -> None:
        """Keep rows of the forward pass, of gradients, of both or of none."""
        self.phases = Phases(forward, gradients)
        for table in self._tables.values():
            table.switch(self.phases)

    def append(self, owner: torch.Tensor, note: Note, value: torch.Tensor | None) -> None:
        """Append a row; never raises, as what fails here must not reach the user's step."""
        if note.late < 0:
            self._open_modules += _DEEPER.get(note.kind, 0)
        self.append_each(owner, (note,), value)

    def append_each(
        self, owner: torch.Tensor, notes: Sequence[Note], value: torch.Tensor | None
    ) -> None:
        """Append a row for each note of one kind about one value; never raises."""
        try:
            with torch.no_grad():
                self._append(owner, notes, value)
        except Exception as error:  # nothing of this may reach the user's step
            self.errors += [(note.place or note.kind, error) for note in notes]

    def take(self) -> list[Row]:
        """All rows since the last time, those of the CPU first."""
        rows, self._rows = self._rows, []
        for device, table in list(self._tables.items()):
            there, lost = table.take(self._sketched)
            rows += there
            self.lost += lost
            if lost:
                say(
                    f"{device}: {lost} values found no place in the log of {table.rows} rows; what "
                    "is captured from now on gets twice as many"
                )
                grown = DeviceTable(device, 2 * table.rows)
                grown.switch(self.phases)
                self._tables[device] = grown
        return rows

    def clear(self) -> None:
        """Forget all rows."""
        self.take()
        self._open_modules = 0  # one that has raised an exception never ended
        self.lost = 0
        self.errors.clear()

    def _append(
        self, owner: torch.Tensor, notes: Sequence[Note], value: torch.Tensor | None
    ) -> None:
        where = owner.device if value is None else value.device
        table = self._tables.get(where)
        if table is not None:
            for note in notes:
                table.append(owner, note, value, self._is_sketched(value))
        elif where.type != "cpu":
            raise RuntimeError(f"{where} has no log: it was not among the model's devices at start")
        elif self.phases.keep(notes[0].kind):
            with users_modes_off():
                row = self._measured(owner, notes[0], value)
            self._rows += [row, *(replace(row, note=note) for note in notes[1:])]

    def _is_sketched(self, value: torch.Tensor | None) -> bool:
        return self._sketched and value is not None and not repeats_too_much(value)

    def _measured(self, owner: torch.Tensor, note: Note, value: torch.Tensor | None) -> Row:
        number = int(owner)
        if value is None:
            return Row(number, note)
        numbers = measure_now(value, self._all_digits)
        if value.numel() < 2 or not self._is_sketched(value):
            return Row(number, note, numbers)
        projections = sketch_now(value, numbers.extreme, self._all_digits)
        return Row(number, note, numbers, sketch_text(projections))


_ASKED = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
)
