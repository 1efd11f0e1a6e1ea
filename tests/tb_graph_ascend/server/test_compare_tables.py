"""The table of `msprobe compare` as a download."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from openpyxl import load_workbook

from builder.tables.comparing import compare_into_tables
from tests.tb_graph_ascend.conftest import Site


def test_table_is_that_of_the_command(statistics: Site, samples: Path, tmp_path: Path) -> None:
    path = f"/api/databases/{statistics.db}/pairs/0/0/export/compare"
    answer = statistics.client.get(f"{path}.csv")
    assert (answer.status_code, answer.mimetype) == (200, "text/csv")
    assert "compare_result_step0_rank0.csv" in answer.headers["Content-Disposition"]
    sides = [samples / "statistics" / side / "step0" for side in ("problem", "bench")]
    (file,) = compare_into_tables(*sides, tmp_path).files
    assert answer.text == file.read_text()
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert {row["Result"] for row in rows} == {"pass", "warning", "error"}
    sheet = statistics.client.get(f"{path}.xlsx")
    assert sheet.mimetype.endswith("spreadsheetml.sheet")
    assert load_workbook(io.BytesIO(sheet.data))["Sheet1"].max_row == len(rows) + 1


def test_missing_pair_is_said(statistics: Site) -> None:
    answer = statistics.client.get(f"/api/databases/{statistics.db}/pairs/9/0/export/compare.csv")
    assert answer.status_code == 404
