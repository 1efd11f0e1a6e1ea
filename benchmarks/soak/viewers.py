"""Fifty people look at a large comparison at the same time."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import statistics
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import builder
from benchmarks.generate import Size, generate
from benchmarks.soak.outcome import Outcome, serve

_THINKING_SECONDS = (0.5, 1.5)
_MOST_MILLISECONDS = 100.0


def view(work: Path, viewers: int, seconds: float, entries: int) -> Outcome:
    """Each viewer opens the page, then walks, searches and reads values with pauses to look."""
    generate(work / "dump", Size(entries))
    builder.build(work / "dump" / "problem", work / "dump" / "benchmark", work / "logs")
    server, port = serve(work / "logs")
    crowd = [_Viewer(port, seed) for seed in range(viewers)]
    try:
        crowd[0].open_page()  # the first visit reads the file from the disk
        memory = _watch(crowd, server.pid, seconds)
        busy = _processor_seconds(server.pid)
    finally:
        server.kill()
        server.communicate()
    times = [each for viewer in crowd for each in viewer.milliseconds]
    p95 = statistics.quantiles(times, n=20)[-1]
    outcome = Outcome(f"{viewers} viewers of {2 * entries:,} entries for {seconds:.0f} s")
    outcome.tried = len(times)
    outcome.lost = [failure for viewer in crowd for failure in viewer.failures]
    if p95 > _MOST_MILLISECONDS:
        outcome.lost.append(f"p95 is {p95:.0f} ms, above {_MOST_MILLISECONDS:.0f} ms")
    # The machine's other work slows answers down; what the server itself needs it does not change.
    outcome.seen = (
        f"{1000 * busy / len(times):.1f} ms of processor time a request, "
        f"median {statistics.median(times):.0f} ms, p95 {p95:.0f} ms, p99 "
        f"{statistics.quantiles(times, n=100)[-1]:.0f} ms; memory {memory[0]:.0f} MB after a "
        f"quarter of the time, {memory[1]:.0f} MB at the end; {os.getloadavg()[0]:.1f} processes "
        "were running at the end"
    )
    return outcome


def _watch(crowd: list[_Viewer], pid: int, seconds: float) -> tuple[float, float]:
    end = time.monotonic() + seconds
    threads = [threading.Thread(target=viewer.look, args=(end,)) for viewer in crowd]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 4)
    early = _megabytes(pid)
    for thread in threads:
        thread.join()
    return early, _megabytes(pid)


def _megabytes(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    return int(found[1]) / 1000 if found else 0.0


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Viewer:
    def __init__(self, port: int, seed: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._random = random.Random(seed)
        self.milliseconds: list[float] = []
        self.failures: list[str] = []

    def open_page(self) -> tuple[str, str, list[int]]:
        """What the page asks at its start; the database, its first pair and the root's children."""
        db = self._get("/api/databases")["databases"][0]["id"]
        base = f"/api/databases/{quote(db)}"
        self._get(base)
        self._get(f"{base}/findings")
        pair = f"{base}/pairs/0/0"
        root = self._get(pair)["problem"]["root"]["id"]
        return base, pair, [root]

    def look(self, end: float) -> None:
        """Go on until the time is over."""
        time.sleep(self._random.uniform(0, _THINKING_SECONDS[1]))
        try:
            base, pair, known = self.open_page()
            while time.monotonic() < end:
                self._act(base, pair, known)
                time.sleep(self._random.uniform(*_THINKING_SECONDS))
        except Exception as error:  # whatever it is, it is what a viewer met
            self.failures.append(f"{type(error).__name__}: {error}")

    def _act(self, base: str, pair: str, known: list[int]) -> None:
        node = self._random.choice(known)
        match self._random.randrange(4):
            case 0:
                children = self._get(f"{base}/nodes/{node}/children?limit=100")["children"]
                known.extend(child["id"] for child in children)
            case 1:
                self._get(f"{base}/nodes/{node}")
            case 2:
                self._get(f"{base}/nodes/{node}/path")
            case _:
                word = self._random.choice(["gelu", "layers.3", "Linear", "norm", "backward"])
                self._get(f"{pair}/search?q={word}&limit=50")

    def _get(self, path: str) -> dict[str, Any]:
        began = time.perf_counter()
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        body = answer.read()
        self.milliseconds.append(1000 * (time.perf_counter() - began))
        if answer.status != 200:
            raise ValueError(f"{answer.status} for {path}: {body[:200]!r}")
        content: dict[str, Any] = json.loads(body)
        return content
