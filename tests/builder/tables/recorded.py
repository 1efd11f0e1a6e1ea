"""Reads tables, and sets ours beside those that mindstudio-probe wrote from the same dumps."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from builder.tables.comparing import TableOptions, compare_into_tables

csv.field_size_limit(1 << 30)
# Sums in float64 differ by the last digit between processors, which add in another order.
_LAST_DIGITS = 1e-14
Row = dict[str, str]
FINE = "pass"


def read_table(path: Path) -> tuple[list[str], list[Row]]:
    """The header and the rows of a csv table."""
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        return list(reader.fieldnames or ()), list(reader)


def recorded_table(folder: Path) -> tuple[list[str], list[Row]]:
    """The one table in a folder of samples."""
    (path,) = folder.glob("*.csv")
    return read_table(path)


def our_table(
    problem: Path, benchmark: Path, output: Path, options: TableOptions | None = None
) -> tuple[list[str], list[Row]]:
    """The table of one pair, compared now."""
    result = compare_into_tables(problem, benchmark, output, options)
    assert [outcome.error for outcome in result.failed] == []
    (file,) = result.files
    return read_table(file)


def differing_cells(ours: list[Row], recorded: list[Row]) -> dict[str, set[str]]:
    """By the name of each recorded row, the columns in which our row of that name differs."""
    known = {row["NPU Name"]: row for row in ours}
    found = {}
    for row in recorded:
        own = known[row["NPU Name"]]
        columns = {column for column in row if not _is_same(own[column], row[column])}
        if columns:
            found[row["NPU Name"]] = columns
    return found


def _is_same(ours: str, recorded: str) -> bool:
    if ours == recorded:
        return True
    try:
        return math.isclose(float(ours), float(recorded), rel_tol=_LAST_DIGITS, abs_tol=0.0)
    except ValueError:
        return False
