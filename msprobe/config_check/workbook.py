"""Sheets as an xlsx file, by the writer of all tables of this project."""

from __future__ import annotations

import math
from pathlib import Path

from builder.tables.cells import Cell
from builder.tables.sheets import write_xlsx
from msprobe.config_check.sheet import Sheet


def write_workbook(stem: Path, sheets: list[Sheet]) -> Path:
    """Write `<stem>.xlsx`, rows to the disk as they come; returns the file.

    Raises OutputError when the folder cannot be written.
    """
    contents = {
        sheet.name: (sheet.header, ([_cell(value) for value in row] for row in sheet.rows))
        for sheet in sheets
    }
    return write_xlsx(stem, contents)


def _cell(value: object) -> Cell:
    """None is an empty cell; what a spreadsheet has no number for is its text."""
    if value is None:
        return ""
    if isinstance(value, bool) or (isinstance(value, int | float) and math.isfinite(value)):
        return value
    return str(value)
