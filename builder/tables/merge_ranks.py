"""Puts the tables of all ranks side by side: a sheet per measure, a column per rank."""

from __future__ import annotations

import csv
import re
import zipfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from builder.errors import InputError
from builder.tables.cells import NO_PARTNER, UNSUPPORTED, Cell
from builder.tables.sheets import write_xlsx
from builder.tables.table_columns import (
    CHECKSUMS,
    GRADIENT,
    SCORES,
    STATISTICS_MEASURES,
    TENSOR_MEASURES,
)
from msprobe_core.format.bounded import check_zip, parse_yaml
from msprobe_core.format.csv_table import csv_rows

_NAME, _OTHER_NAME = "NPU Name", "Bench Name"
_MEASURES = (*STATISTICS_MEASURES, *TENSOR_MEASURES, *CHECKSUMS)
_TABLE = re.compile(r"compare_result_rank(\d+)(?:-rank\d+)?_\d{14}(?:_part_\d+)?\.(?:csv|xlsx)")
# A cell without a measure shows what it would have been measured on.
_UNMEASURED = (NO_PARTNER, UNSUPPORTED, "Nan")
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class MergeChoice:
    """Which calls, by how their names begin, and which columns; all where none is named."""

    calls: tuple[str, ...]
    columns: tuple[str, ...] = ()


def read_merge_choice(path: Path) -> MergeChoice:
    """Read the YAML of `-config`; raises InputError for what cannot be used."""
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "give a YAML file to -config") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no text ({error})", "give a YAML file") from error
    except ValueError as error:
        raise InputError(f"{path}: no valid YAML ({error})", "correct it") from error
    calls = content.get("api") if isinstance(content, dict) else None
    columns = (content.get("compare_index") or []) if isinstance(content, dict) else []
    if not _are_texts(calls) or not calls:
        raise InputError(f"{path}: no `api`", "give a list of how names of calls begin")
    known = (*_MEASURES, GRADIENT)
    wrong = (
        [column for column in columns if column not in known] if _are_texts(columns) else [columns]
    )
    if wrong:
        raise InputError(
            f"{path}: compare_index {str(wrong[0])[:100]!r} is no measure",
            f"choose from {', '.join(known)}",
        )
    return MergeChoice(tuple(calls), tuple(columns))


@dataclass(frozen=True, slots=True)
class MergedTables:
    """`multi_ranks_compare_merge_<time>.xlsx`, and the tables that end before another rank's do.

    `short` has their ranks with their rows and those of the longer one: they may have been cut.
    """

    path: Path
    short: tuple[tuple[int, int, int], ...]


def merge_ranks(tables: Path, output: Path, choice: MergeChoice) -> MergedTables:
    """Merge the tables of a folder.

    Raises InputError when the folder holds fewer than two ranks, none of the chosen calls, or a
    table that was cut in a row.
    """
    files = _by_rank(tables)
    merged = _Merged(choice)
    for rank in sorted(files):
        for file in sorted(files[rank], key=lambda path: _in_order(path.name)):
            merged.add(rank, file)
    if not merged.names:
        raise InputError(
            f"{tables}: no value's name begins with {', '.join(choice.calls)}", "change `api`"
        )
    stem = output / f"multi_ranks_compare_merge_{datetime.now():%Y%m%d%H%M%S}"  # noqa: DTZ005 - the user's own clock
    header = [_NAME, *(f"rank{rank}" for rank in sorted(files))]
    sheets = {c: (header, merged.rows(c, sorted(files))) for c in merged.columns}
    return MergedTables(write_xlsx(stem, sheets), tuple(merged.short()))


class _Merged:
    """Cells by column, rank and name, as far as they were chosen."""

    def __init__(self, choice: MergeChoice) -> None:
        self._choice = choice
        self._calls = _Beginnings(choice.calls)
        self.columns: list[str] = []
        self.names: dict[str, None] = {}
        self._cells: dict[tuple[str, int, str], Cell] = {}
        self._listed: dict[int, list[str]] = {}

    def add(self, rank: int, file: Path) -> None:
        """Take what was chosen from one table."""
        rows = _read(file)
        header = [str(cell) for cell in next(rows, [])]
        if _NAME not in header:
            raise InputError(f"{file}: no table of msprobe compare", "move it away")
        columns = self._columns_of(header, file)
        listed = self._listed.setdefault(rank, [])
        for number, row in enumerate(rows, 2):
            if not row:
                continue  # a blank line
            if len(row) != len(header):
                raise InputError(
                    f"{file}: line {number} has {len(row)} of {len(header)} cells: it was cut",
                    "copy it again, or compare again",
                )
            cells = dict(zip(header, row))
            name = str(cells[_NAME])
            if name == NO_PARTNER:
                name = str(cells[_OTHER_NAME])
            listed.append(name)
            if name in self._calls:
                self.names[name] = None
                for column in columns:
                    self._cells[column, rank, name] = _shown(column, cells)

    def short(self) -> Iterator[tuple[int, int, int]]:
        """The ranks whose values are the first of another rank's, which has more behind them."""
        longest = _longest_that_go_on({tuple(names) for names in self._listed.values()})
        for rank, names in self._listed.items():
            most = longest[tuple(names)]
            if most > len(names):
                yield rank, len(names), most

    def _columns_of(self, header: Sequence[str], file: Path) -> list[str]:
        known = [column for column in header if column in (*_MEASURES, GRADIENT)]
        wanted = self._choice.columns or tuple(known)
        lost = [column for column in wanted if column not in known]
        if lost:
            raise InputError(
                f"{file}: has no column {lost[0]!r}", f"choose from {', '.join(known)}"
            )
        self.columns += [column for column in wanted if column not in self.columns]
        return list(wanted)

    def rows(self, column: str, ranks: Sequence[int]) -> Iterator[list[Cell]]:
        """The rows of one sheet, calls in the order of their numbers."""
        for name in sorted(self.names, key=_in_order):
            yield [name, *(self._cells.get((column, rank, name), NO_PARTNER) for rank in ranks)]


class _Beginnings:
    """Whether a name begins with one of many texts.

    Invariant: no text is the beginning of another, so that of the sorted ones only the last that
    is not behind a name can be its beginning.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts: list[str] = []
        for text in sorted(texts):
            if not self._texts or not text.startswith(self._texts[-1]):
                self._texts.append(text)

    def __contains__(self, name: str) -> bool:
        at = bisect_right(self._texts, name)
        return at > 0 and name.startswith(self._texts[at - 1])


def _longest_that_go_on(lists: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """By list, how many the longest has that begins with all of it.

    Sorted, what begins with a list follows it at once, so that each is looked at once and taken
    over by the list that it goes on from.
    """
    longest: dict[tuple[str, ...], int] = {}
    behind: list[tuple[str, ...]] = []
    for names in sorted(lists, reverse=True):
        longest[names] = len(names)
        while behind and behind[-1][: len(names)] == names:
            longest[names] = max(longest[names], longest[behind.pop()])
        behind.append(names)
    return longest


def _by_rank(folder: Path) -> dict[int, list[Path]]:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder", "give the -o of msprobe compare")
    files: dict[int, list[Path]] = {}
    for path in folder.iterdir():
        match = _TABLE.fullmatch(path.name)
        if match:
            files.setdefault(int(match[1]), []).append(path)
    for rank, tables in files.items():
        times = {re.findall(r"_(\d{14})", path.name)[0] + path.suffix for path in tables}
        if len(times) > 1:
            raise InputError(
                f"{folder}: {len(times)} tables of rank {rank}", "keep those of one run"
            )
    if len(files) < 2:
        raise InputError(
            f"{folder}: tables of {len(files)} ranks (compare_result_rank<N>_<time>.csv or .xlsx)",
            "give the -o of msprobe compare over two ranks or more",
        )
    return files


def _read(file: Path) -> Iterator[Sequence[Cell]]:
    try:
        if file.suffix == ".csv":
            csv.field_size_limit(1 << 30)  # a stack is longer than the usual limit
            with file.open(encoding="utf-8", newline="") as lines:
                yield from csv_rows(lines)
            return
        from openpyxl import load_workbook

        with zipfile.ZipFile(file) as packed:
            check_zip(packed)
        with closing(load_workbook(file, read_only=True)) as book:
            tables = (sheet for sheet in book.worksheets if not sheet.title.startswith(SCORES))
            for number, sheet in enumerate(tables):
                rows = sheet.iter_rows(min_row=1 if number == 0 else 2, values_only=True)
                yield from ([NO_PARTNER if cell is None else cell for cell in row] for row in rows)
    except (
        OSError,
        KeyError,
        ValueError,
        UnicodeDecodeError,
        csv.Error,
        zipfile.BadZipFile,
    ) as error:
        raise InputError(f"{file}: cannot be read ({error})", "compare again") from error


def _shown(column: str, cells: dict[str, Cell]) -> Cell:
    cell = cells[column]
    if column in (*CHECKSUMS, GRADIENT):
        return cell
    if cell in _UNMEASURED:
        return f"NPU:{cells.get('NPU max', NO_PARTNER)}  Bench:{cells.get('Bench max', NO_PARTNER)}"
    try:
        # As text, a spreadsheet could not draw it.
        return float(cell) if column.endswith(" diff") or column in TENSOR_MEASURES[:3] else cell
    except ValueError:
        return cell


def _in_order(name: str) -> list[tuple[int, int, str]]:
    """Numbers in a name count as numbers, so that call 10 comes after call 2."""
    parts = _DIGITS.split(name)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def _are_texts(content: object) -> bool:
    return isinstance(content, list) and all(isinstance(item, str) for item in content)
