"""No csv file here holds a cell that a spreadsheet runs, and texts come back as written."""

from __future__ import annotations

import ast
import csv
import io
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msprobe_core.format.csv_table import CsvTable, as_text, as_written, csv_records, csv_rows

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("msprobe_core", "builder", "tb_graph_ascend", "msprobe")
HOME = "msprobe_core/format/csv_table.py"
# What makes a table by other means than CsvTable and PlainSheet, by the end of its name.
_RAW = {"writer", "DictWriter", "to_csv", "to_excel", "savetxt", "write_formula", "writerow"}


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ('=HYPERLINK("http://x",1)', '\'=HYPERLINK("http://x",1)'),
        ("@SUM(1)", "'@SUM(1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("\t=1+1", "'\t'=1+1"),
        ("\rx", "'\rx"),
        ("-x", "'-x"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("'=1", "''=1"),
        # Held back: where a semicolon ends a cell, the next begins behind it.
        ("a;=1+1", "a;'=1+1"),
        ("def f():\n@SUM(1)", "def f():\n'@SUM(1)"),
        ("1;-2;3", "1;-2;3"),
        *((number, number) for number in ("-1", "+1.5", "-inf", "-1e-05", "-3.2%", "-nan")),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_what_a_spreadsheet_may_run_is_quoted(cell: str, written: str) -> None:
    assert as_text(cell) == written
    assert as_written(written) == cell


@given(st.lists(st.text(alphabet="=+-@%'\";,\t\r\na1 \uff1d", max_size=8), min_size=1))
def test_texts_come_back_as_they_were(cells: list[str]) -> None:
    assert [as_written(as_text(cell)) for cell in cells] == cells
    # Up to Python 3.12 the csv module leaves a lone carriage return without quotes.
    cells = [cell.replace("\r", "\n") for cell in cells]
    file = io.StringIO(newline="")
    CsvTable(file).row(cells)
    written = file.getvalue()
    assert list(csv_rows(io.StringIO(written, newline=""))) == [cells]
    for cell in next(csv.reader(io.StringIO(written, newline="")), []):
        parts = re.split(r"[;\n\t\r]", cell)
        assert not any(part.startswith(("=", "@", "\uff1d")) for part in parts)


def test_numbers_stay_numbers_and_other_objects_are_texts() -> None:
    file = io.StringIO()
    CsvTable(file).rows([(-1, -1.5, -math.inf, None, True, Path("=x"))])
    assert file.getvalue() == "-1,-1.5,-inf,,True,'=x\n"


def test_records_have_all_columns() -> None:
    header, rows = csv_records(io.StringIO("a,b\n'=1\n\n1,2,3\n"))
    assert (header, list(rows)) == (["a", "b"], [{"a": "=1", "b": ""}, {"a": "1", "b": "2"}])
    assert csv_records(io.StringIO(""))[0] == []


def raw_tables(source: str) -> list[str]:
    """The calls in a source that write tables past the one place."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    named = (ast.unparse(func) for func in calls if isinstance(func, ast.Name | ast.Attribute))
    return [name for name in named if name.rpartition(".")[2] in _RAW]


def sources() -> dict[str, str]:
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}


def test_every_csv_file_is_written_in_one_place() -> None:
    named = re.compile("|".join(_RAW))
    suspects = {name: text for name, text in sources().items() if named.search(text)}
    raw = {name: found for name, text in suspects.items() if (found := raw_tables(text))}
    assert "csv.writer" in raw.pop(HOME)
    assert raw == {}


def test_a_new_raw_table_is_seen() -> None:
    assert raw_tables("import csv\ncsv.writer(f).rows(r)") == ["csv.writer"]
    assert raw_tables("frame.to_csv(p)\ncsv.DictWriter(f, c)") == ["frame.to_csv", "csv.DictWriter"]


def test_every_workbook_is_made_of_sheets_without_formulas() -> None:
    makers = {name: text for name, text in sources().items() if "add_worksheet(" in text}
    assert makers
    for name, text in makers.items():
        assert len(re.findall(r"add_worksheet\([^)]*, PlainSheet\)", text)) == text.count(
            "add_worksheet("
        ), name
