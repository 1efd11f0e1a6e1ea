"""Measures every reading route of the server on a comparison of 100,000 nodes a side.

`python -m benchmarks.server [--database FILE] [--entries 100000] [--requests 40]` prints a table.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient

import builder
from benchmarks.generate import Size, generate
from tb_graph_ascend.server import create_app

MOST_MILLISECONDS = 25.0
MOST_BYTES = 300_000


@dataclass(frozen=True, slots=True)
class Measured:
    """The first request of a route, the 95th percentile of the others, and the largest answer."""

    route: str
    first: float
    median: float
    p95: float
    bytes: int


def main() -> None:
    """Command line of the measurement."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.server", description=__doc__)
    parser.add_argument("--database", type=Path, help="a *.vis.db; without it one is made")
    parser.add_argument("--entries", type=int, default=100_000, help="per side")
    parser.add_argument("--requests", type=int, default=40, help="per route")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logs"
        path.mkdir()
        if options.database is not None:
            shutil.copy(options.database, path)
        else:
            _make(Path(folder), path, options.entries)
        _print(measure(path, options.requests))


def measure(logs: Path, requests: int) -> list[Measured]:
    """Ask every route with different arguments each time; the client is in the same process."""
    client = create_app([logs]).test_client()
    db = _json(client, "/api/databases")["databases"][0]["id"]
    base = f"/api/databases/{db}"
    pair = _json(client, base)["pairs"][0]
    place = f"{base}/pairs/{pair['step']}/{pair['rank']}"
    ids = _some_nodes(client, place, requests)
    words = ["linear", "forward.1", "layers.7.", "x", "mlp", "softmax", "matmul.42", "e", "qzx"]
    routes: dict[str, Callable[[int], str]] = {
        "databases": lambda _: "/api/databases",
        "database": lambda _: base,
        "pair": lambda _: place,
        "children": lambda i: f"{base}/nodes/{ids[i]['parent']}/children?limit=500",
        "details": lambda i: f"{base}/nodes/{ids[i]['id']}",
        "path": lambda i: f"{base}/nodes/{ids[i]['id']}/path",
        "across": lambda i: f"{base}/nodes/{ids[i]['id']}/across",
        "findings": lambda _: f"{base}/findings",
        "search, text": lambda i: f"{place}/search?q={words[i % len(words)]}",
        "search, expression": lambda i: f"{place}/search?regex=1&q=layers%5C.{i}%5C..*forward",
        "list of divergent": lambda i: f"{place}/nodes?show=divergent&offset={i}",
        "list of unmatched": lambda i: f"{place}/nodes?show=unmatched&offset={i}",
        "list of overflow": lambda i: f"{place}/nodes?show=overflow&offset={i}",
        "list by name": lambda i: f"{place}/nodes?name=mlp&sort=score&descending=1&offset={i}",
        "list by score": lambda i: f"{place}/nodes?min_score=0.5&offset={i}",
        "answer": lambda _: f"{base}/answer",
        "ranks": lambda _: f"{base}/ranks",
        "profile": lambda _: f"{place}/profile",
        "rows": lambda i: f"{place}/rows?offset={50 * i}",
        "outline": lambda i: f"{place}/outline?offset={50 * i}",
        "graph": lambda i: f"{place}/graph?module={ids[i]['parent']}",
        "shares": lambda _: f"{place}/shares",
        "divergent of no cause": lambda i: f"{place}/divergent?offset={i}",
        "way": lambda i: f"{base}/nodes/{ids[i]['id']}/trace",
        "flow": lambda i: f"{base}/nodes/{ids[i]['id']}/flow",
        "first non-finite": lambda _: f"{place}/nonfinite",
    }
    return [_measure(client, name, route, requests) for name, route in routes.items()]


def _measure(
    client: FlaskClient, name: str, route: Callable[[int], str], requests: int
) -> Measured:
    times, sizes = [], []
    for index in range(requests):
        began = time.perf_counter()
        answer = client.get(route(index), headers={"Accept-Encoding": "gzip"})
        times.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == 200, answer.get_data()
        sizes.append(len(answer.get_data()))
    later = times[1:]
    p95 = statistics.quantiles(later, n=20)[-1]
    return Measured(name, times[0], statistics.median(later), p95, max(sizes))


def _some_nodes(client: FlaskClient, place: str, count: int) -> list[Any]:
    chosen = random.Random(7)
    total = _json(client, f"{place}/nodes?limit=1")["total"]
    listed = [
        _json(client, f"{place}/nodes?limit=1&offset={chosen.randrange(total // 2)}")["nodes"][0]
        for _ in range(count)
    ]
    return [node for node in listed if node["parent"] is not None] * 2


def _json(client: FlaskClient, url: str) -> Any:  # noqa: ANN401 - whatever the route answers
    answer = client.get(url)
    assert answer.status_code == 200, answer.get_data()
    return answer.json


def _make(work: Path, logs: Path, entries: int) -> None:
    generate(work / "dumps", Size(entries))
    sides = (work / "dumps" / "problem", work / "dumps" / "benchmark")
    builder.build(*sides, logs, builder.BuildOptions(overflow_check=True))


def _print(measured: list[Measured]) -> None:
    print(f"{'route':22}{'first ms':>10}{'median ms':>11}{'p95 ms':>9}{'KB gzip':>9}")
    for m in measured:
        over = " *" if m.p95 > MOST_MILLISECONDS or m.bytes > MOST_BYTES else ""
        print(f"{m.route:22}{m.first:10.1f}{m.median:11.1f}{m.p95:9.1f}{m.bytes / 1000:9.1f}{over}")
    print(f"* above {MOST_MILLISECONDS:.0f} ms or {MOST_BYTES // 1000} KB")


if __name__ == "__main__":
    main()
