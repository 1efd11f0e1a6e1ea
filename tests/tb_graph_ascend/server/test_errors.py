"""The error contract: every route fails with {"error", "hint"} in one line, never a traceback."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError

from tb_graph_ascend.server import Settings
from tb_graph_ascend.server.app import create_app, resources
from tb_graph_ascend.server.resource import Route
from tb_graph_ascend.server.workplace import make_workplace
from tests.tb_graph_ascend.conftest import Site

ROUTES = [route for part in resources(make_workplace([], Settings())) for route in part.routes]
READS = [route for route in ROUTES if route.method == "GET"]
CHANGES = [route for route in ROUTES if route.method != "GET"]


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def address(route: Route, db: str) -> str:
    path = "/api" + route.path.replace("<db>", db).replace("<job>", "none")
    path = re.sub(r"<any\((\w+)[^>]*>", r"\1", path)
    return re.sub(r"<int[^>]*>", "987654", path)


@pytest.mark.parametrize("route", [r for r in ROUTES if "<" in r.path], ids=name_of)
def test_unknown_thing_is_one_line_and_404(route: Route, statistics: Site) -> None:
    for db in ("bm90aGluZw", "..", "%00", statistics.db):
        answer = statistics.client.open(address(route, db), method=route.method, json={})
        if db == statistics.db and answer.status_code in (200, 400):
            continue
        assert answer.status_code in (400, 404), (db, answer.text)
        failure = answer.json
        assert failure is not None
        assert set(failure) == {"error", "hint"}
        assert failure["error"]
        assert "\n" not in failure["error"]


@pytest.mark.parametrize("route", READS, ids=name_of)
def test_unknown_argument_is_refused_by_name(route: Route, statistics: Site) -> None:
    answer = statistics.client.get(address(route, statistics.db), query_string={"limitt": "3"})
    assert answer.status_code == 400
    assert "limitt" in answer.json["error"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("path", "arguments", "named"),
    [
        ("/nodes/1/children", {"limit": "0"}, "limit"),
        ("/nodes/1/children", {"limit": "many"}, "limit"),
        ("/nodes/1/children", {"offset": "-1"}, "offset"),
        ("/pairs/0/0/nodes", {"show": "nothing"}, "show"),
        ("/pairs/0/0/nodes", {"min_score": "nan"}, "min_score"),
        ("/pairs/0/0/nodes", {"sort": "id; DROP TABLE node"}, "sort"),
        ("/pairs/0/0/search", {"q": "(", "regex": "1"}, "q"),
        ("/pairs/0/0/search", {"q": "x" * 1001}, "q"),
        ("/findings", {"step": "first"}, "step"),
    ],
)
def test_bad_argument_is_named(
    path: str, arguments: dict[str, str], named: str, statistics: Site
) -> None:
    url = f"/api/databases/{statistics.db}{path}"
    answer = statistics.client.get(url, query_string=arguments)
    assert answer.status_code == 400
    assert answer.json["error"].startswith(named)  # type: ignore[index]
    assert answer.json["hint"]  # type: ignore[index]


@pytest.mark.parametrize("digits", [25, 1_000, 5_000])
def test_no_number_is_too_long_for_an_answer(digits: int, statistics: Site) -> None:
    """In a query, in a list of numbers, in a token, in the path."""
    described = statistics.client.get("/api/openapi.json").json
    assert described is not None
    asked = 0
    for path, methods in described["paths"].items():
        url = path.replace("{db}", statistics.db).replace("{step}", "0").replace("{rank}", "0")
        names = [one["name"] for one in methods.get("get", {}).get("parameters", [])]
        for name in names:
            if f"{{{name}}}" in path:
                continue
            for value in ("9" * digits, "1." + "9" * digits, "-" + "9" * digits):
                one = re.sub(r"\{\w+\}", "1", url)
                answer = statistics.client.get(one, query_string={name: value})
                assert answer.status_code < 500, (one, name, answer.text[:200])
                asked += 1
        answer = statistics.client.get(re.sub(r"\{\w+\}", "9" * digits, path))
        assert answer.status_code < 500, path
    assert asked > 100


@pytest.mark.parametrize("route", CHANGES, ids=name_of)
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"surprise": 1}', b'{"problem": "x"}'])
def test_bad_body_is_refused(route: Route, body: bytes, statistics: Site) -> None:
    answer = statistics.client.open(
        address(route, statistics.db),
        method=route.method,
        data=body,
        content_type="application/json",
    )
    assert answer.status_code in (400, 404)
    assert set(answer.json) == {"error", "hint"}  # type: ignore[arg-type]


def test_wrong_method_and_unknown_address_are_json(statistics: Site) -> None:
    answer = statistics.client.post("/api/databases", json={})
    assert answer.status_code == 405
    assert answer.headers["Allow"]
    assert set(answer.json) == {"error", "hint"}  # type: ignore[arg-type]
    assert statistics.client.get("/api/nothing").json["error"]  # type: ignore[index]


def test_our_own_fault_is_one_line_too(
    statistics: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret\nof the inside")

    monkeypatch.setattr("builder.results.database.ResultDatabase.summary", broken)
    answer = statistics.client.get(f"/api/databases/{statistics.db}")
    assert answer.status_code == 500
    assert answer.json["error"] == (  # type: ignore[index]
        "internal error: ZeroDivisionError: secret of the inside"
    )
    assert "Traceback" not in answer.text
    assert "ZeroDivisionError" in caplog.text


_OVER, _BROKEN = sqlite3.OperationalError("interrupted"), sqlite3.DatabaseError("malformed")


@pytest.mark.parametrize(
    ("error", "said", "hint"),
    [
        (_OVER, "longer than", "one pair of names at a time"),
        (OperationalError("SELECT 1", {}, _OVER), "longer than", "-lm"),
        (_BROKEN, "malformed", "build the database again"),
        (OperationalError("SELECT 1", {}, _BROKEN), "malformed", "build the database again"),
    ],
)
def test_time_that_is_over_is_not_taken_for_a_broken_file(
    error: Exception, said: str, hint: str, renamed: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr("builder.results.database.ResultDatabase.side_nodes", fails)
    answer = renamed.client.post(f"/api/databases/{renamed.db}/pairs/0/0/proposals", json={})
    assert answer.status_code == 422
    assert said in answer.json["error"]  # type: ignore[index]
    assert hint in answer.json["hint"]  # type: ignore[index]


def test_refused_query_says_why_in_a_code_too(statistics: Site) -> None:
    url = f"/api/databases/{statistics.db}/nodes?step=0&rank=0&q=score>high"
    failure = statistics.client.get(url).json
    assert failure["error"] == "q: 'score>high' compares with no number"  # type: ignore[index]
    assert failure["reason"] == {"code": "no_number", "term": "score>high"}  # type: ignore[index]


def test_body_above_the_limit_is_refused(statistics: Site) -> None:
    pairs = [{"problem": "x" * 4000, "benchmark": "y"}] * 1500
    url = f"/api/databases/{statistics.db}/mappings"
    answer = statistics.client.put(url, json={"pairs": pairs})
    assert answer.status_code == 413
    assert set(answer.json) == {"error", "hint"}  # type: ignore[arg-type]


def test_no_log_folder_means_an_empty_list() -> None:
    app: Flask = create_app([])
    answer = app.test_client().get("/api/databases").json
    assert answer == {"databases": [], "searched": [], "read_only": False}


def test_failed_pair_shows_its_error(site_of: Callable[..., Site]) -> None:
    site = site_of("nan/problem", "statistics/bench")
    (missing,) = [p for p in site.get("")["pairs"] if p["status"] == "missing"]
    answer = site.get(f"/pairs/{missing['step']}/{missing['rank']}")
    assert answer["problem"] is answer["benchmark"] is None
    assert "benchmark side only" in answer["error"]
