"""The tables that a monitor writes: one csv a kind and stretch of steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from msprobe_core.format.csv_table import CsvTable

Row = Sequence[object]


class Tables:
    """Collects rows by kind and writes each stretch of `per_file` steps when it is over."""

    def __init__(self, folder: Path, per_file: int, digits: int | None) -> None:
        self._folder, self._per_file, self._digits = folder, max(1, per_file), digits
        self._headers: dict[str, Row] = {}
        self._rows: dict[str, list[Row]] = {}
        self._pattern = "{kind}_{first}-{last}.csv"
        self._first: int | None = None

    def name_files(self, pattern: str) -> None:
        """Name files otherwise, from kind, first and last step."""
        self._pattern = pattern

    def add(self, kind: str, header: Row, rows: Sequence[Row]) -> None:
        """Add rows of the open step."""
        self._headers.setdefault(kind, header)
        self._rows.setdefault(kind, []).extend(rows)

    def end_step(self, step: int) -> None:
        """Write what is complete. Raises OSError."""
        if self._first is None:
            self._first = step - step % self._per_file
        if step + 1 >= self._first + self._per_file:
            self.write()
            self._first = step + 1

    def write(self) -> None:
        """Write all rows so far as one stretch. Raises OSError."""
        if self._first is None:
            return
        last = self._first + self._per_file - 1
        for kind, rows in self._rows.items():
            if not rows:
                continue
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / self._pattern.format(kind=kind, first=self._first, last=last)
            goes_on = path.exists()  # a training that was started again, in the same folder
            with path.open("a", newline="", encoding="utf-8") as file:
                table = CsvTable(file)
                if not goes_on:
                    table.row(self._headers[kind])
                table.rows([[self._text(cell) for cell in row] for row in rows])
        self._rows = {kind: [] for kind in self._rows}

    def _text(self, cell: object) -> object:
        """Floats with significant digits, so that 3e-8 is no zero; NaN is written as `nan`."""
        if not isinstance(cell, float) or self._digits is None or not math.isfinite(cell):
            return cell
        return float(f"{cell:.{self._digits}g}")
