"""A worksheet of numbers and texts alone, for tables with millions of cells.

What xlsxwriter does for every cell in case of formats, formulas, links and A1 notation is left out:
that is a third of its time. Everything that is written stays its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xlsxwriter.worksheet import Worksheet

from builder.tables.cells import Cell

_EXACT = 1 << 53  # whole numbers from here on are rounded in a number cell
_LONGEST_TEXT = 32_767  # characters in a cell


class PlainSheet(Worksheet):  # type: ignore[misc]  # xlsxwriter has no types
    """A sheet that is filled row by row; attributes of cells never need escapes."""

    def fill(self, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
        """Write the header and all rows; texts are texts, whatever they begin with."""
        for column, title in enumerate(header):
            self._write_string(0, column, title)
        text, number = self._write_string, self._write_number
        for index, row in enumerate(rows, 1):
            for column, cell in enumerate(row):
                kind = type(cell)
                if kind is str:
                    if cell:
                        # The blank before an infinity is for csv.
                        text(index, column, cell.lstrip()[:_LONGEST_TEXT])  # type: ignore[union-attr]  # a text, by its kind
                elif kind is bool:
                    self._write_boolean(index, column, cell)
                elif kind is int and abs(cell) >= _EXACT:  # type: ignore[arg-type]  # a number, by its kind
                    text(index, column, str(cell))
                else:
                    number(index, column, cell)

    def _escape_attributes(self, attribute: object) -> object:
        return attribute

    @staticmethod
    def _escape_control_characters(data: object) -> object:
        if isinstance(data, str) and data.isprintable() and "_x" not in data:
            return data
        escaped: object = Worksheet._escape_control_characters(data)
        return escaped
