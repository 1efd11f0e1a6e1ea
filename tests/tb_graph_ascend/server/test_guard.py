"""Other sites and other host names change nothing, and nothing that a file holds is ever run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from builder.match.manual_file import mapping_path
from tests.tb_graph_ascend.conftest import Site

CHANGE = {"pairs": []}


def change(site: Site, **options: Any) -> Any:
    return site.client.put(f"/api/databases/{site.db}/mappings", **options)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1234"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "10.0.0.7"},
        {"Host": ""},
    ],
)
def test_change_from_elsewhere_is_refused(statistics: Site, headers: dict[str, str]) -> None:
    answer = change(statistics, json=CHANGE, headers=headers)
    assert answer.status_code == 403
    assert set(answer.json) == {"error", "hint"}
    assert not mapping_path(statistics.file).exists()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"},
        {"Host": "127.0.0.1:6006", "Origin": "http://127.0.0.1:6006"},
        {"Host": "[::1]:6006", "Origin": "http://[::1]:6006"},
        {"Host": "LocalHost"},
    ],
)
def test_change_from_our_own_page_is_taken(statistics: Site, headers: dict[str, str]) -> None:
    assert change(statistics, json=CHANGE, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_change_must_be_json(statistics: Site, content_type: str) -> None:
    """A form on another site can send these without asking the browser."""
    answer = change(statistics, data=b'{"pairs": []}', content_type=content_type)
    assert answer.status_code == 415


def test_reading_under_a_foreign_name_is_refused_where_we_are_the_host(statistics: Site) -> None:
    answer = statistics.client.get("/api/databases", headers={"Host": "evil.example"})
    assert answer.status_code == 403
    assert "--allow-host evil.example" in answer.json["hint"]  # type: ignore[index]


def test_allowed_names_and_addresses(site_of: Callable[..., Site]) -> None:
    site = site_of("statistics/problem", "statistics/bench", hosts=("gpu7.lab",), any_address=True)
    behind = {"Host": "localhost:6006", "Origin": "https://gpu7.lab"}
    assert change(site, json=CHANGE, headers=behind).status_code == 200
    for host, status in (("GPU7.lab:80", 200), ("10.0.0.7:6006", 200), ("gpu8.lab", 403)):
        assert site.client.get("/api/databases", headers={"Host": host}).status_code == status


def test_read_only_server_changes_nothing(site_of: Callable[..., Site]) -> None:
    site = site_of("statistics/problem", "statistics/bench", read_only=True)
    answer = change(site, json=CHANGE)
    assert answer.status_code == 403
    assert "read-only" in answer.json["error"]
    assert site.get("/mappings")["saved"] is False
    assert (site.get("")["writable"], site.get("")["read_only"]) == (False, True)
    assert site.client.get("/api/databases").json["read_only"] is True  # type: ignore[index]


@pytest.mark.parametrize("path", ["/api/databases", "/index.html", "/nothing", "/api/openapi.json"])
def test_every_answer_has_the_safety_headers(statistics: Site, path: str) -> None:
    headers = statistics.client.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_script_in_names_stays_text(statistics: Site) -> None:
    script = "<script>alert(1)</script>"
    connection = sqlite3.connect(statistics.file)
    connection.execute("UPDATE node SET name = ?, label = ? WHERE id = 2", (script, script))
    connection.commit()
    connection.close()
    answer = statistics.client.get(f"/api/databases/{statistics.db}/nodes/2")
    assert answer.mimetype == "application/json"
    assert answer.json["node"]["name"] == script  # type: ignore[index]
    url = f"/api/databases/{statistics.db}/export/nodes.csv?step=0&rank=0"
    exported = statistics.client.get(url)
    assert exported.mimetype == "text/csv"
    assert exported.headers["Content-Disposition"].startswith("attachment")


def test_formula_in_a_name_is_disarmed_in_csv(statistics: Site) -> None:
    connection = sqlite3.connect(statistics.file)
    connection.execute("UPDATE node SET name = '=HYPERLINK(1)' WHERE id = 2")
    connection.commit()
    connection.close()
    url = f"/api/databases/{statistics.db}/export/nodes.csv"
    text = statistics.client.get(url, query_string={"step": 0, "rank": 0, "q": "HYPERLINK"}).text
    assert ",'=HYPERLINK(1)," in text


def test_hostile_file_is_listed_with_its_error_and_refused(statistics: Site) -> None:
    (statistics.folder / "broken.vis.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    (statistics.folder / "other.vis.db").write_bytes(b"")
    fresh = statistics.client.application
    from tb_graph_ascend.server import create_app

    client = create_app([statistics.folder]).test_client()
    assert fresh is not None
    listed = client.get("/api/databases").json["databases"]  # type: ignore[index]
    errors = {entry["path"]: entry["error"] for entry in listed}
    assert errors.pop("runs/today/result.vis.db") is None
    assert len(errors) == 2
    for entry in listed:
        if entry["error"] is not None:
            answer = client.get(f"/api/databases/{entry['id']}")
            assert answer.status_code == 422
            assert "\n" not in answer.json["error"]  # type: ignore[index]
