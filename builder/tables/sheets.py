"""Writes rows as csv or xlsx files, under another name until they are complete.

A table with more rows than a file or a sheet takes is cut into parts.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from builder.errors import OutputError
from builder.tables.cells import Cell
from builder.tables.refused_once import RefusedOnce
from msprobe_core.format.csv_table import CsvTable
from msprobe_core.format.whole_file import put_in_place

if TYPE_CHECKING:
    from builder.tables.plain_sheet import PlainSheet

Rows = Iterable[Sequence[Cell]]
CSV_ROWS = 1_000_000
SHEET_ROWS = 1_048_500
_PARTIAL = ".partial"


def check_folder(folder: Path) -> None:
    """Refuse a place for tables that is a file, before anything is compared; OutputError."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is a file", "choose another -o")


def write_csv(stem: Path, header: Sequence[str], rows: Rows) -> list[Path]:
    """Write `<stem>.csv`, or `<stem>_part_1.csv` and so on; returns the files.

    Raises OutputError when the folder cannot be written.
    """
    parts: list[Path] = []
    with _writing(stem, parts):
        for part in _parts(rows, CSV_ROWS):
            parts.append(_beside(Path(f"{stem}_part_{len(parts) + 1}.csv")))
            with parts[-1].open("w", encoding="utf-8", newline="") as file:
                table = CsvTable(file)
                table.row(header)
                table.rows(part)
        tails = [f"_part_{number}" for number, _ in enumerate(parts, 1)]
        finals = [Path(f"{stem}{tail if len(parts) > 1 else ''}.csv") for tail in tails]
        for path, final in zip(parts, finals, strict=True):
            put_in_place(path, final)
    return finals


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A whole table as text, with the mark that tells spreadsheets that it is UTF-8."""
    text = io.StringIO()
    text.write("\ufeff")
    table = CsvTable(text, lineterminator="\r\n")
    table.row(header)
    table.rows(rows)
    return text.getvalue()


def write_xlsx(stem: Path, sheets: Mapping[str, tuple[Sequence[str], Rows]]) -> Path:
    """Write `<stem>.xlsx` with sheets by name, each a header and its rows; returns the file.

    The first sheet goes on, when it is full, as `part_0`, `part_1` and so on, others under their
    names with a number. Raises OutputError when the folder cannot be written.
    """
    final = Path(f"{stem}.xlsx")
    partial = _beside(final)
    with _writing(stem, [partial]):
        _fill(partial, sheets)
        put_in_place(partial, final)
    return final


def _fill(path: Path, sheets: Mapping[str, tuple[Sequence[str], Rows]]) -> None:
    from xlsxwriter import Workbook
    from xlsxwriter.exceptions import FileCreateError

    from builder.tables.plain_sheet import PlainSheet

    with (
        # Where rows wait: what is full or cannot be written is then the place that is named.
        TemporaryDirectory(prefix=".rows.", suffix=_PARTIAL, dir=path.parent) as waiting,
        path.open("wb") as file,
    ):
        # Rows go to the disk as they come; a name is no link and a text no formula.
        book = Workbook(RefusedOnce(file), {"constant_memory": True, "tmpdir": waiting})
        try:
            for number, (name, (header, rows)) in enumerate(sheets.items()):
                stem_of_parts = name if number else "part"
                written: list[PlainSheet] = []
                for part in _parts(rows, SHEET_ROWS):
                    title = name if not written else f"{stem_of_parts}_{len(written)}"
                    written.append(book.add_worksheet(title, PlainSheet))
                    written[-1].fill(header, part)
                if len(written) > 1:
                    written[0].name = f"{stem_of_parts}_0"
            book.close()
        except FileCreateError as error:
            raise OSError(*error.args[0].args) from error


def _beside(final: Path) -> Path:
    # Two commands of the same second name their tables alike.
    return final.with_name(f".{final.name}.{secrets.token_hex(6)}{_PARTIAL}")


def _parts(rows: Rows, most: int) -> Iterator[Rows]:
    """The rows in portions; one that is empty where there are none."""
    waiting = iter(rows)
    first = list(islice(waiting, 1))
    yield chain(first, islice(waiting, most - 1)) if first else ()
    while first:
        first = list(islice(waiting, 1))
        if first:
            yield chain(first, islice(waiting, most - 1))


@contextmanager
def _writing(stem: Path, partials: list[Path]) -> Iterator[None]:
    """Nothing half-written stays, and what the file system says is told in one line."""
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise OutputError(
            f"{stem.parent}: cannot be written ({error.strerror or error})", "choose another -o"
        ) from error
    finally:
        for partial in partials:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
