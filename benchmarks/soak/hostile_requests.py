"""Result files and requests that mean harm: nothing outside is read, nothing of ours fails."""

from __future__ import annotations

import random
import re
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import builder
from benchmarks.soak.hostile_files import damage
from benchmarks.soak.outcome import Outcome, tensor_record, write_dump
from tb_graph_ascend.server import create_app

_SECRET = "what-nobody-may-read"
_ODD = (
    "", "0", "-1", "1e9", "99999999999999999999", "NaN", "true", "null",
    "' OR 1=1 --", "%00", "\x00",
    "a" * 5000, "../" * 12 + "etc/passwd", "..%2f..%2fsecret.vis.db", "/etc/passwd",
    "file:///etc/passwd",
    "(a+)+$", "[", "é\u202e", "<script>alert(1)</script>", "{}", "[]",
)  # fmt: skip
_BODIES = (
    None, [], "x", 3, {}, {"pairs": None}, {"pairs": [{}]}, {"problem": 3, "benchmark": []},
    {"problem": "../../../etc", "benchmark": "/etc", "options": {"workers": -1}},
    {"pairs": [{"problem": "a" * 100_000, "benchmark": "b"}] * 50},
)  # fmt: skip
_HEADERS: tuple[dict[str, str], ...] = (
    {}, {}, {}, {"Origin": "http://evil.example"}, {"Host": "evil.example"},
    {"Host": "127.0.0.1.evil.example"},
    {"Sec-Fetch-Site": "cross-site"}, {"Content-Type": "text/plain"}, {"X-Manual-Pairs": "!!"},
    {"X-Manual-Pairs": "0" * 32}, {"If-None-Match": '"x"'}, {"Accept-Encoding": "gzip;q=nan"},
    {"Range": "bytes=-1"},
)  # fmt: skip


def databases(work: Path, trials: int) -> Outcome:
    """`.vis.db` files: damaged, not SQLite, another schema, views, script in names."""
    outcome, chance = Outcome("result files (.vis.db)"), random.Random(11)
    sound = result(work).read_bytes()
    folder = work / "hostile"
    folder.mkdir()
    special = [
        b"",
        b"SQLite format 3\x00",
        b"\x00" * 10_000,
        b"no database at all",
        *_schemas(work),
    ]
    for number in range(trials + len(special)):
        content = special[number] if number < len(special) else damage(sound, chance)
        (folder / "x.vis.db").write_bytes(content)
        client = create_app([folder]).test_client()
        for path in _reading_paths(client):
            answer = client.get(path)
            label = f"{number}: {path} gives {answer.status_code}: {answer.text[:100]}"
            outcome.check(answer.status_code < 500 and _is_inert(answer), label)
    outcome.seen = f"{trials + len(special)} files, every reading route of each"
    return outcome


def requests(work: Path, trials: int) -> Outcome:
    """Every route with odd values in every parameter, odd bodies, foreign Origin and Host."""
    outcome, chance = Outcome("requests to every route"), random.Random(12)
    logs = work / "logs"
    file = result(work, logs)
    (work / "secret.vis.db").write_text(_SECRET)
    (work / "secret.json").write_text(_SECRET)
    client = create_app([logs]).test_client()
    operations = list(_operations(client))
    db = client.get("/api/databases").json["databases"][0]["id"]
    for number in range(trials):
        path, method, operation = operations[number % len(operations)]
        url = _filled(path, db, chance)
        query = {
            each["name"]: chance.choice([*_ODD, "../secret.vis.db"])
            for each in operation["parameters"]
            if each["in"] == "query" and chance.random() < 0.5
        }
        body = {"json": chance.choice(_BODIES)} if method in ("POST", "PUT", "DELETE") else {}
        if "events" in path:
            continue
        answer = client.open(
            url, method=method, query_string=query, headers=chance.choice(_HEADERS), **body
        )
        text = answer.get_data(as_text=True)
        said = f"{method} {url} {query}: {answer.status_code}: {text[:120]}"
        outcome.check(answer.status_code < 500 and _SECRET not in text, said)
        outcome.check("Traceback" not in text and "root:x:" not in text, said)
    huge = client.put(
        f"/api/databases/{quote(db)}/mappings",
        data=b'{"pairs": "' + b"x" * 40_000_000 + b'"}',
        content_type="application/json",
    )
    outcome.check(huge.status_code in (400, 413), f"a body of 40 MB gives {huge.status_code}")
    outcome.check(client.get("/api/databases").status_code == 200, "the server after all that")
    outcome.check(file.is_file(), "the result file was removed")
    outcome.seen = f"{len(operations)} operations"
    return outcome


def result(work: Path, logs: Path | None = None) -> Path:
    """A comparison whose names hold script."""
    name = "Module.<img src=x onerror=alert(1)>\"'.A.forward.0"
    entry = {"input_args": [tensor_record()], "input_kwargs": {}, "output": [tensor_record(3.0)]}
    for side, norm in (("p", 1.0), ("b", 2.0)):
        entry["output"] = [tensor_record(norm)]
        write_dump(work / side, {name: dict(entry)}, {name: None})
    return builder.build(work / "p", work / "b", logs or work / "sound").path


def _schemas(work: Path) -> list[bytes]:
    made = []
    for number, script in enumerate(
        (
            "CREATE TABLE x (a); INSERT INTO x VALUES (1)",
            "CREATE TABLE node (id INTEGER PRIMARY KEY)",
            "CREATE VIEW meta AS SELECT 1 AS key, 2 AS value",
            "CREATE TABLE tb_nodes (i); CREATE TABLE tb_config (x); CREATE TABLE tb_stack (y)",
        )
    ):
        file = work / f"schema{number}.db"
        with sqlite3.connect(file) as connection:
            connection.executescript(script)
        connection.close()
        made.append(file.read_bytes())
    return made


def _reading_paths(client: FlaskClient) -> list[str]:
    listed = client.get("/api/databases").json["databases"]
    paths = ["/api/databases"]
    for entry in listed:
        base = f"/api/databases/{quote(entry['id'])}"
        pair = f"{base}/pairs/0/0"
        paths += [base, f"{base}/findings", f"{base}/mappings", pair, f"{pair}/nodes"]
        paths += [f"{pair}/search?q=a", *(f"{base}/nodes/{n}{t}" for n in (1, 2) for t in _BELOW)]
    return paths


_BELOW = ("", "/children", "/path", "/across")


def _is_inert(answer: TestResponse) -> bool:
    """JSON that a browser takes for nothing else."""
    kind = answer.headers.get("Content-Type", "")
    return "application/json" in kind and answer.headers.get("X-Content-Type-Options") == "nosniff"


def _operations(client: FlaskClient) -> list[tuple[str, str, dict[str, Any]]]:
    document = client.get("/api/openapi.json").json
    return [
        (path, method.upper(), operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]


def _filled(path: str, db: str, chance: random.Random) -> str:
    def fill(match: re.Match[str]) -> str:
        if match[1] == "db" and chance.random() < 0.7:
            return quote(db)
        if chance.random() < 0.4:
            return str(chance.choice([0, 1, 2, 3]))
        return quote(chance.choice(_ODD[1:]), safe="%")

    return re.sub(r"\{(\w+)\}", fill, path)
