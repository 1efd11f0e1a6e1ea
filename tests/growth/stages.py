"""Does in this process what `graph_visualize` and the server do, to be counted."""

from __future__ import annotations

import math
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from tests.growth.counting import PACKAGES, work

_STAGES = {
    "dump": "read",
    "ranks": "read",
    "match": "match",
    "compare": "compare",
    "flow": "flow",
    "judge": "diagnose",
    "diagnosis": "diagnose",
    "work": "order",
    "run": "order",
    "write": "store",
    "results": "answers",
    "series": "trends",
    "tables": "tables",
}
_OPCODES = 20  # of SQLite, which count as one step


def stage_of(place: str) -> str:
    """The stage that a counted function belongs to."""
    package, room = f"{place}..".split(".")[:2]
    if package == "builder":
        return _STAGES.get(room, room)
    return "answers" if package == "tb_graph_ascend" else package


def build(problem: Path, benchmark: Path, output: Path, **options: Any) -> Path:
    """Build a result of two dumps, with the pairs one after the other."""
    from builder.run.build import Request, put_together, store_unworked
    from builder.run.pair_work import StoredPairs
    from builder.work.options import BuildOptions

    request = Request(str(problem), str(benchmark), BuildOptions(**options))
    plan, instructions = request.plan(), request.instructions()
    several = len({pair.step for pair in plan.pairs}) > 1

    def gather(database: Any) -> list[Any]:
        pairs = StoredPairs(database.final, replace(instructions, several_steps=several))
        made = [pairs.attempt(each, 1) for each in plan.pairs]
        wrong = [outcome.error for outcome in made if outcome.error is not None]
        if wrong:
            raise RuntimeError(wrong[0])
        return store_unworked(database, plan) + made

    return put_together(request, plan, instructions.rules, output, gather).path


def asking(logs: Path) -> Callable[..., Any]:
    """Asks a server over these folders for a path, with a body by another method than GET."""
    from tb_graph_ascend.server import create_app

    client = create_app([logs]).test_client()

    def ask(url: str, method: str = "GET", body: object = None) -> Any:
        reply = client.open(f"/api/{url}", method=method, json=body)
        if reply.status_code != 200:
            raise RuntimeError(f"{url}: {reply.status_code} {reply.get_data(as_text=True)}")
        return reply.json

    return ask


def answer(logs: Path) -> None:
    """Ask the server for what a page shows of a result file, the first part of each list."""
    ask = asking(logs)
    base = f"databases/{ask('databases')['databases'][0]['id']}"
    pair = ask(base)["pairs"][0]
    place = f"{base}/pairs/{pair['step']}/{pair['rank']}"
    nodes = ask(f"{place}/nodes?limit=3")["nodes"]
    for part in ("answer", "findings", "ranks"):
        ask(f"{base}/{part}")
    for part in ("", "/profile", "/shares", "/nonfinite", "/rows", "/outline", "/divergent"):
        ask(f"{place}{part}")
    for words in (
        "show=divergent",
        "show=unmatched",
        "name=add&sort=score&descending=1",
        "min_score=0.5",
    ):
        ask(f"{place}/nodes?{words}")
    ask(f"{place}/search?q=add")
    for node in nodes:
        one = f"{base}/nodes/{node['id']}"
        for part in ("", "/path", "/across", "/trace", "/flow", "/children?limit=100"):
            ask(one + part)
        if node["parent"] is not None:
            ask(f"{place}/graph?module={node['parent']}")


# Searches that look at so many cells at most; lowered, so that the bound is reached at small sizes.
# Folders are scanned anew after seconds: never here, for a count must not depend on the clock.
_BOUNDS = {
    ("tb_graph_ascend.logdirs", "_FRESH_SECONDS"): math.inf,
    ("builder.run.executor", "CAN_FORK"): False,  # what another process does is not counted here
    ("builder.match.align", "_CELLS"): 400,
    ("builder.match.implementations.weight_pairs", "_WINDOW"): 2,
    ("builder.match.implementations.weight_pairs", "_PARTS"): 4,
    ("builder.flow.bounded", "_FAR"): 8,
    ("builder.flow.constant_ways", "_FAR"): 8,
    ("builder.flow.gradient_ways", "_FAR"): 8,
    ("builder.flow.passages", "_FAR"): 8,
    ("builder.flow.made_of", "_NEAR"): 4,
    ("builder.flow.made_of", "MOST_PIECES"): 8,
}


@contextmanager
def lowered_bounds() -> Iterator[None]:
    """Let searches that have a bound reach it already in small dumps."""
    known = {(name, bound): getattr(import_module(name), bound) for name, bound in _BOUNDS}
    for (name, bound), low in _BOUNDS.items():
        setattr(sys.modules[name], bound, low)
    try:
        yield
    finally:
        for (name, bound), before in known.items():
            setattr(sys.modules[name], bound, before)


class CountedConnection(sqlite3.Connection):
    """A connection whose statements count their steps for the function that asked."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        super().set_progress_handler(_count, _OPCODES)

    def set_progress_handler(self, *_: Any) -> None:
        """Limit no time: counting takes longer than what is counted."""


def _count() -> None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.split(".")[0] in PACKAGES:
            work[f"{name}:{frame.f_code.co_name} (SQL)"] += 1
            return
        frame = frame.f_back


@contextmanager
def counted_statements() -> Iterator[None]:
    """Count what SQLite does, too."""
    plain = sqlite3.connect

    def connect(*args: Any, **named: Any) -> sqlite3.Connection:
        return plain(*args, **{"factory": CountedConnection, **named})

    sqlite3.connect = sqlite3.dbapi2.connect = connect
    try:
        yield
    finally:
        sqlite3.connect = sqlite3.dbapi2.connect = plain
