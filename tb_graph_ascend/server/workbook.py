"""A table as a workbook (.xlsx) with one sheet, as bytes; no text in it is run as a formula."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from math import isfinite

from builder.tables.cells import Cell

WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
# A sheet has no more rows; what lies beyond would make the file unreadable as a whole.
MOST_ROWS = 1_048_575


def workbook(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """The file's content; `name` is that of the sheet. At most MOST_ROWS rows are written."""
    # Loaded when it is asked for: the server is there before anybody wants a workbook.
    from xlsxwriter import Workbook

    from builder.tables.plain_sheet import PlainSheet

    file = io.BytesIO()
    with Workbook(file, {"in_memory": True, "constant_memory": False}) as book:
        sheet = book.add_worksheet(name, PlainSheet)
        sheet.freeze_panes(1, 0)  # the heads stay in view
        limited = (row for _, row in zip(range(MOST_ROWS), rows))
        sheet.fill(columns, ([_cell(content) for content in row] for row in limited))
    return file.getvalue()


def _cell(content: object) -> Cell:
    if content is None:
        return ""
    if isinstance(content, bool | int):
        return content
    if isinstance(content, float) and isfinite(content):
        return content
    return str(content)
