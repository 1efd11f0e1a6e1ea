"""The tables that a monitor writes: one csv a kind and stretch of steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from msprobe_core.format.csv_table import CsvTable

Row = Sequence[object]


class Tables:
    """Writes the rows of each step as it ends, so that none is lost however the training ends.

    A file holds a stretch of `per_file` steps and has its name from the first of them on.
    """

    def __init__(self, folder: Path, per_file: int, digits: int | None) -> None:
        self._folder, self._per_file, self._digits = folder, max(1, per_file), digits
        self._headers: dict[str, Row] = {}
        self._rows: dict[str, list[Row]] = {}
        self._pattern = "{kind}_{first}-{last}.csv"
        self._first: int | None = None
        self._files: dict[str, TextIO] = {}

    def name_files(self, pattern: str) -> None:
        """Name files otherwise, from kind, first and last step."""
        self._pattern = pattern

    def add(self, kind: str, header: Row, rows: Sequence[Row]) -> None:
        """Add rows of the open step."""
        self._headers.setdefault(kind, header)
        self._rows.setdefault(kind, []).extend(rows)

    def end_step(self, step: int) -> None:
        """Write the rows of a step; they are the operating system's then. Raises OSError."""
        if self._first is None:
            self._first = step - step % self._per_file
        self._append()
        if step + 1 >= self._first + self._per_file:
            self._close_files()
            self._first = step + 1

    def write(self) -> None:
        """Write what is left, and let go of the files. Raises OSError."""
        if self._first is not None:
            self._append()
        self._close_files()

    def _append(self) -> None:
        rows, self._rows = self._rows, {}
        for kind, added in rows.items():
            if added:
                file = self._files.get(kind) or self._opened(kind)
                CsvTable(file).rows([[self._text(cell) for cell in row] for row in added])
                file.flush()

    def _opened(self, kind: str) -> TextIO:
        assert self._first is not None
        self._folder.mkdir(parents=True, exist_ok=True)
        last = self._first + self._per_file - 1
        path = self._folder / self._pattern.format(kind=kind, first=self._first, last=last)
        goes_on = path.exists()  # a training that was started again, in the same folder
        file = path.open("a", newline="", encoding="utf-8")
        if not goes_on:
            CsvTable(file).row(self._headers[kind])
        self._files[kind] = file
        return file

    def _close_files(self) -> None:
        files, self._files = self._files, {}
        for file in files.values():
            file.close()

    def _text(self, cell: object) -> object:
        """Floats with significant digits, so that 3e-8 is no zero; NaN is written as `nan`."""
        if not isinstance(cell, float) or self._digits is None or not math.isfinite(cell):
            return cell
        return float(f"{cell:.{self._digits}g}")
