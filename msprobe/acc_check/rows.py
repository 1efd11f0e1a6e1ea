"""The two tables of a check as users know them: one row a call, one row a value of a call.

Appended call by call, so that a run that broke is taken up where it stopped.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from builder.errors import InputError
from msprobe.acc_check.columns import MEASURE_COLUMNS
from msprobe_core.format.csv_table import CsvTable, csv_records

BLANK = " "
RESULT_HEADER = ("API name", "Forward Test Success", "Backward Test Success", "Message")
DETAILS_HEADER = (
    *("API Name", "Bench Dtype", "DEVICE Dtype", "Shape"),
    *MEASURE_COLUMNS,
    *("Status", "Message"),
)
_RESULT = "accuracy_checking_result_"
_DETAILS = "accuracy_checking_details_"
_RESULT_NAME = re.compile(rf"{_RESULT}(\d{{14}})\.csv")


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One output, changed input or gradient of a call."""

    name: str
    status: str
    message: str = ""
    reference_dtype: str = BLANK
    device_dtype: str = BLANK
    shape: str = BLANK
    measures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallRow:
    """The verdict of a call; `backward` is blank where no backward pass was run."""

    name: str
    forward: str
    backward: str = BLANK
    message: str = ""
    values: Sequence[ValueRow] = ()


def timestamp() -> str:
    """Fourteen digits of local time, as the names of the tables have them."""
    return datetime.now().strftime("%Y%m%d%H%M%S")  # noqa: DTZ005 - the user's own clock


@dataclass(frozen=True, slots=True)
class Tables:
    """The pair of files; `decimals` is how many digits follow the point of a measure."""

    result: Path
    details: Path
    decimals: int = 14

    @classmethod
    def create(cls, folder: Path, stamp: str, decimals: int) -> Tables:
        """New tables with their headers in a folder that is made if need be."""
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            result = folder / f"{_RESULT}{stamp}.csv"
            try:
                result.touch(exist_ok=False)
                break
            except FileExistsError:  # of a run that began in the same second
                stamp = f"{int(stamp) + 1:014d}"
        tables = cls(result, folder / f"{_DETAILS}{stamp}.csv", decimals)
        _write(tables.result, [RESULT_HEADER], new=True)
        _write(tables.details, [DETAILS_HEADER], new=True)
        return tables

    @classmethod
    def resume(cls, result: Path, decimals: int) -> Tables:
        """The tables of a run that broke; raises InputError if the file is none of ours."""
        match = _RESULT_NAME.fullmatch(result.name)
        if match is None or not result.is_file():
            raise InputError(
                f"{result}: no {_RESULT}<14 digits>.csv that exists",
                "give the result table of the run to take up, or leave -csv_path out",
            )
        details = result.with_name(f"{_DETAILS}{match[1]}.csv")
        if not details.is_file():
            _write(details, [DETAILS_HEADER], new=True)
        return cls(result, details, decimals)

    def finished(self) -> set[str]:
        """The calls that have a row already."""
        return {row["API name"] for row in read_table(self.result, RESULT_HEADER)}

    def append(self, call: CallRow) -> None:
        """Add a call; its details first, so that a call with a row has them all."""
        _write(self.details, [self._details(row) for row in call.values])
        _write(self.result, [(call.name, call.forward, call.backward, call.message)])

    def _details(self, row: ValueRow) -> tuple[str, ...]:
        measures = [self._number(row.measures.get(column)) for column in MEASURE_COLUMNS]
        about = (row.name, row.reference_dtype, row.device_dtype, row.shape)
        return (*about, *measures, row.status, row.message)

    def _number(self, value: float | None) -> str:
        if value is None:
            return BLANK
        return f"{value:.{self.decimals}f}" if math.isfinite(value) else str(value)


def read_table(path: Path, header: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a table; raises InputError naming what is missing."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            columns, found = csv_records(file)
            rows = list(found)
    except FileNotFoundError:
        raise InputError(f"{path}: missing", "give the path of a table of acc_check") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder", "give a table of acc_check in it") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path}: cannot be read as a csv table ({error})", "give a table of acc_check"
        ) from None
    missing = [column for column in header if column not in columns]
    if missing:
        raise InputError(f"{path}: has no column {missing[0]!r}", "give a table of acc_check")
    return rows


def _write(path: Path, rows: Iterable[Sequence[str]], *, new: bool = False) -> None:
    # The mark at the beginning makes spreadsheets read the Chinese headers.
    with path.open("w" if new else "a", encoding="utf-8-sig" if new else "utf-8", newline="") as f:
        CsvTable(f, lineterminator="\r\n").rows(rows)


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A whole table at once."""
    _write(path, [header, *rows], new=True)
