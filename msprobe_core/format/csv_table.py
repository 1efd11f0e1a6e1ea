"""Rows as csv in which a spreadsheet runs nothing, and the same texts back when they are read.

Names of modules, arguments and keys of a configuration come from anywhere, and a csv says of no
cell that it is a text. Every csv file of this project is written here (a test holds it).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

_BEGINNINGS = "=+\\-@%＝＋－＠％"
# Where the separator of lists is a semicolon, as in half of Europe, a spreadsheet cuts the line at
# each `;`, finds no quote at the beginning of a field, and begins a cell at each of these.
_SEPARATORS = ";\t\r\n"
# A quote that stands there already gets one more, so that reading takes exactly one away.
_MAY_RUN = re.compile(rf"^('*)(?=[\t\r])|(^|[{_SEPARATORS}])('*[{_BEGINNINGS}][^{_SEPARATORS}]*)")
_SPECIAL = re.compile(rf"[{_BEGINNINGS}\t\r]")  # most cells hold none, which is found out sooner
_QUOTED = re.compile(rf"(^|[{_SEPARATORS}])'('*[{_BEGINNINGS}])|^'(?='*[\t\r])")
_NO_TEXT = (float, int, bool, type(None))


class _File(Protocol):
    def write(self, text: str, /) -> object: ...


class CsvTable:
    """Writes rows to a text file that is open for writing with newline=""."""

    def __init__(self, file: _File, *, lineterminator: str = "\n") -> None:
        self._writer = csv.writer(file, lineterminator=lineterminator)

    def row(self, cells: Iterable[object]) -> None:
        """Write one row."""
        self._writer.writerow(map(_cell, cells))

    def rows(self, rows: Iterable[Iterable[object]]) -> None:
        """Write rows as they come."""
        self._writer.writerows(map(_cell, row) for row in rows)


def as_text(cell: str) -> str:
    """A cell with a quote before whatever a spreadsheet may run; numbers stay as they are."""
    if _SPECIAL.search(cell) is None or _is_number(cell):
        return cell
    return _MAY_RUN.sub(_quoted, cell)


def as_written(cell: str) -> str:
    """The text that a cell of such a file was written from."""
    return _QUOTED.sub(r"\1\2", cell) if "'" in cell else cell


def csv_rows(lines: Iterable[str]) -> Iterator[list[str]]:
    """The rows of a file that CsvTable wrote; raises csv.Error."""
    return ([as_written(cell) for cell in row] for row in csv.reader(lines))


def csv_records(lines: Iterable[str]) -> tuple[Sequence[str], Iterator[dict[str, str]]]:
    """The header of such a file and its rows by column, "" where a row ends early; csv.Error."""
    rows = csv_rows(lines)
    header = next(rows, [])
    return header, (dict(zip(header, [*row, *[""] * len(header)])) for row in rows if row)


def _cell(cell: object) -> object:
    return cell if type(cell) in _NO_TEXT else as_text(str(cell))


def _quoted(match: re.Match[str]) -> str:
    quotes, before, part = match.groups()
    if part is None:
        return f"'{quotes}"
    return before + part if _is_number(part) else f"{before}'{part}"


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix("%"))
    except ValueError:
        return False
    return True
