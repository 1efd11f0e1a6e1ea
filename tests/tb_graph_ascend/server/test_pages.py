"""The interface's files: hashed names are kept for a year, others asked for, and none escapes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tb_graph_ascend.server import Settings, create_app


@pytest.fixture
def static(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><title>x</title>", encoding="utf-8")
    (folder / "index.js").write_text("export function render() {}", encoding="utf-8")
    (folder / "app.0123456789ab.js").write_text("let x = 1;\n" * 500, encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    return folder


@pytest.fixture
def client(static: Path) -> FlaskClient:
    return create_app([], Settings(static=static)).test_client()


def test_root_leads_to_the_page_and_keeps_the_view(client: FlaskClient) -> None:
    answer = client.get("/?db=x&node=1")
    assert (answer.status_code, answer.headers["Location"]) == (302, "index.html?db=x&node=1")


@pytest.mark.parametrize("name", ["index.html", "index.js"])
def test_stable_names_are_asked_for_anew(client: FlaskClient, name: str) -> None:
    answer = client.get(f"/{name}")
    assert answer.headers["Cache-Control"] == "no-cache"
    again = client.get(f"/{name}", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304


def test_hashed_names_are_kept_for_a_year_and_sent_small(client: FlaskClient) -> None:
    answer = client.get("/app.0123456789ab.js", headers={"Accept-Encoding": "gzip"})
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.mimetype == "text/javascript"
    assert gzip.decompress(answer.data).startswith(b"let x")
    assert len(answer.data) < 200
    plain = client.get("/app.0123456789ab.js", headers={"Accept-Encoding": "identity"})
    assert plain.data == gzip.decompress(answer.data)


def test_rebuilt_file_is_sent_anew(client: FlaskClient, static: Path) -> None:
    before = client.get("/index.js")
    (static / "index.js").write_text("export const render = 2;", encoding="utf-8")
    after = client.get("/index.js", headers={"If-None-Match": before.headers["ETag"]})
    assert after.text == "export const render = 2;"


@pytest.mark.parametrize(
    "path",
    ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/%2fetc/passwd", "/nothing"],
)
def test_nothing_outside_the_bundle_is_sent(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (404, 308)
    assert "secret" not in answer.text or answer.json["error"]  # type: ignore[index]


def test_missing_bundle_says_how_to_build_it(tmp_path: Path) -> None:
    client = create_app([], Settings(static=tmp_path)).test_client()
    page = client.get("/index.html")
    assert page.status_code == 200
    assert "make build" in page.text
    module = client.get("/index.js")
    assert module.mimetype == "text/javascript"
    assert "export function render" in module.text
    assert client.get("/app.js").status_code == 404
