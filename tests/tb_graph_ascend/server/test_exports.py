"""Exported tables hold what the lists show, whole, in both forms."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from typing import Any

import openpyxl
import pytest
from werkzeug.test import TestResponse

from tests.tb_graph_ascend.conftest import Site


def table(site: Site, path: str, **arguments: Any) -> list[dict[str, str]]:
    answer = site.client.get(f"/api/databases/{site.db}{path}", query_string=arguments)
    assert (answer.status_code, answer.mimetype) == (200, "text/csv")
    assert answer.headers["Content-Disposition"].startswith("attachment")
    return list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"))))


def sixteen(cell: object) -> object:
    """A number to the digits that a workbook holds."""
    return float(f"{cell:.16G}") if isinstance(cell, float) else cell


def test_nodes_are_those_of_the_table_in_all_forms(statistics: Site) -> None:
    wanted = {"q": "score>0.2", "sort": "score", "descending": "1", "step": "0", "rank": "0"}
    listed = statistics.get("/nodes", limit=2000, scope="all", **wanted)["rows"]
    assert len(listed) > 4
    rows = table(statistics, "/export/nodes.csv", scope="all", **wanted)
    assert [row["name"] for row in rows] == [row["node"]["name"] for row in listed]
    assert [float(row["score"]) for row in rows] == [row["node"]["score"] for row in listed]
    assert {row["step"] for row in rows} == {"0", "1"}
    as_json = statistics.get("/export/nodes.json", scope="all", **wanted)
    assert [row["score"] for row in as_json] == [row["node"]["score"] for row in listed]
    url = f"/api/databases/{statistics.db}/export/nodes.xlsx"
    answer = statistics.client.get(url, query_string={**wanted, "scope": "all"})
    sheet = openpyxl.load_workbook(io.BytesIO(answer.data)).active
    assert sheet is not None
    head, *cells = sheet.iter_rows(values_only=True)
    assert cells == [
        tuple(sixteen(row[name]) if row[name] != "" else None for name in head) for row in as_json
    ]


def test_call_of_one_run_alone_has_the_score_of_its_row(statistics: Site) -> None:
    """In the table, its count and every file; and everywhere as in its own step and rank."""
    node = statistics.named("Tensor.__mul__.0.forward")["id"]
    score = statistics.get(f"/nodes/{node}")["handed_on"]["score"]
    assert score > 0.2
    for scope in ("pair", "all"):
        wanted = {"step": 0, "rank": 0, "scope": scope}
        above, below = (
            statistics.get("/nodes", q=f"__mul__ unmatched score{bound}", **wanted)
            for bound in (f">={score}", f"<{score}")
        )
        assert above["rows"][0]["node"]["score"] == score
        assert node not in [row["node"]["id"] for row in below["rows"]]
        assert above["total"] == len(above["rows"])
        for form in ("csv", "json"):
            path, query = f"/export/nodes.{form}", f"__mul__ unmatched score>={score}"
            get = statistics.get if form == "json" else lambda *a, **k: table(statistics, *a, **k)
            rows = get(path, q=query, **wanted)
            told = [float(row["score"]) for row in rows]
            assert told == [row["node"]["score"] for row in above["rows"]]


def test_findings_have_their_reasons_in_words(statistics: Site) -> None:
    row = table(statistics, "/export/findings.csv")[0]
    assert row["node"] == "Tensor.__mul__.0.forward"
    assert "only the problem run calls" in row["reasons"]
    assert table(statistics, "/export/findings.csv", step=7) == []


def test_values_hold_both_sides_and_all_measures(statistics: Site) -> None:
    node = statistics.named("Module.layers.1.mlp.fc2.Linear.forward.0")["id"]
    details = statistics.get(f"/nodes/{node}")["values"]
    rows = table(statistics, f"/nodes/{node}/export/values.csv")
    assert [row["path"] for row in rows] == [pair["path"] for pair in details]
    assert float(rows[0]["problem norm"]) == details[0]["problem"]["norm"]
    assert float(rows[0]["NormRelativeErr"]) == details[0]["measures"]["NormRelativeErr"]


def test_node_across_steps(statistics: Site) -> None:
    node = statistics.named("Module.layers.1.mlp.fc2.Linear.forward.0")["id"]
    rows = table(statistics, f"/nodes/{node}/export/across.csv")
    assert [(row["step"], row["rank"]) for row in rows] == [("0", "0"), ("1", "0")]
    assert float(rows[0]["score"]) == statistics.get(f"/nodes/{node}")["node"]["score"]


def test_report_is_one_page_with_the_findings(statistics: Site) -> None:
    answer = statistics.client.get(f"/api/databases/{statistics.db}/export/report.html")
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert "report.html" in answer.headers["Content-Disposition"]
    assert "Tensor.__mul__.0.forward" in answer.text
    assert not [mark for mark in ("<script", " src=", " href=") if mark in answer.text.lower()]


def test_pairs_and_mappings(statistics: Site) -> None:
    assert [row["step"] for row in table(statistics, "/export/pairs.csv")] == ["0", "1"]
    assert table(statistics, "/export/mappings.csv") == []


@pytest.mark.parametrize("broken", ['[{"code": "introduced"}]', "[1]", "{"])
def test_reasons_of_a_file_made_by_hand_are_told_all_the_same(
    statistics: Site, broken: str
) -> None:
    connection = sqlite3.connect(statistics.file)
    connection.execute("UPDATE finding SET reasons = ?", (broken,))
    connection.commit()
    connection.close()
    row = table(statistics, "/export/findings.csv")[0]
    assert row["reasons"]
    json.loads(statistics.client.get(f"/api/databases/{statistics.db}/export/findings.json").text)


def test_infinities_are_numbers_and_formulas_are_text(statistics: Site) -> None:
    node = statistics.named("Module.layers.1.mlp.fc2.Linear.forward.0")["id"]
    first = statistics.get(f"/nodes/{node}")["values"][0]["problem"]["id"]
    connection = sqlite3.connect(statistics.file)
    connection.execute("UPDATE record SET min = -9e999 WHERE id = ?", (first,))
    connection.execute("UPDATE form SET dtype = '-2+3' WHERE dtype IS NOT NULL")
    connection.commit()
    connection.close()
    rows = table(statistics, f"/nodes/{node}/export/values.csv")
    assert "-inf" in [row["problem min"] for row in rows]
    assert {row["problem dtype"] for row in rows} == {"'-2+3"}


def test_a_slide_is_of_the_cause_that_is_asked_for(statistics: Site) -> None:
    (cause,) = statistics.get("/answer")["causes"]
    url = f"/api/databases/{statistics.db}/export/slide.svg"
    node = cause["finding"]["node"]["id"]
    asked = {"cause": node, "reason": "read above", "also": "perhaps pow #1"}
    drawn = statistics.client.get(url, query_string=asked)
    assert drawn.status_code == 200
    assert "read above" in drawn.text
    assert "perhaps pow #1" in drawn.text
    refused = statistics.client.get(url, query_string={"cause": node + 1})
    assert refused.status_code == 404


@pytest.mark.parametrize("form", ["csv", "json", "xlsx"])
@pytest.mark.parametrize("most", [1, 7])
def test_a_file_of_some_rows_says_how_many_more_there_are(
    statistics: Site, monkeypatch: pytest.MonkeyPatch, form: str, most: int
) -> None:
    whole = len(statistics.get("/export/nodes.json", step="0", rank="0"))
    monkeypatch.setattr("tb_graph_ascend.server.exports._MOST_ROWS", most)
    answer = _nodes_file(statistics, form)
    said = f"NOT WHOLE: {whole - most} more rows"
    assert answer.headers["X-Rows-Missing"].startswith(said)
    *rows, last = _rows_of(answer.data, form)
    assert len(rows) == most
    assert said in str(last)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_file_says_which_steps_and_ranks_there_was_no_time_for(
    statistics: Site, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr("tb_graph_ascend.server.exports.FILE_SECONDS", -1.0)
    answer = _nodes_file(statistics, form, scope="all")
    assert "more steps and ranks" in answer.headers["X-Rows-Missing"]
    assert "more steps and ranks" in str(_rows_of(answer.data, form)[-1])


@pytest.mark.parametrize("form", ["csv", "json", "xlsx"])
def test_a_file_with_all_rows_lacks_none(statistics: Site, form: str) -> None:
    answer = _nodes_file(statistics, form)
    assert "X-Rows-Missing" not in answer.headers
    assert "NOT WHOLE" not in str(_rows_of(answer.data, form))


def _nodes_file(site: Site, form: str, **arguments: str) -> TestResponse:
    url = f"/api/databases/{site.db}/export/nodes.{form}"
    answer = site.client.get(url, query_string={"step": "0", "rank": "0", **arguments})
    assert answer.status_code == 200
    return answer


def _rows_of(content: bytes, form: str) -> list[Any]:
    if form == "json":
        return list(json.loads(content))
    if form == "csv":
        return list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))[1:]
    sheet = openpyxl.load_workbook(io.BytesIO(content)).active
    assert sheet is not None
    return list(sheet.iter_rows(min_row=2, values_only=True))
