"""Dumps of several ranks for builds in units, and the rows of a result file."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.builder.dumps import forward, tensor, write_dump

LINEAR = "Module.a.Linear.forward.0"
GELU = "Functional.gelu.0.forward"
REDUCE = "Distributed.all_reduce.0.forward"
HALF = {"Max": 1.5, "Min": -1.0, "Mean": 0.25}
Rows = dict[str, list[tuple[Any, ...]]]


def ranks(root: Path, *, steps: int = 2, count: int = 3, fault: bool = False) -> Path:
    """Ranks that compute, reduce and, with a fault, differ on one of them."""
    for step in range(steps):
        for rank in range(count):
            norm = 3.0 if fault and rank == 1 else 2.0
            scaled = tensor(2.0 + step + 0.1 * rank)
            group = {"type": "torch.ProcessGroup", "group_ranks": list(range(count))}
            data = {
                LINEAR: forward([scaled], [tensor(2.0)]),
                GELU: forward([tensor(2.0)], [tensor(norm)]),
                REDUCE: forward([tensor(norm), group], [tensor(float("nan"))]),
            }
            stack = {GELU: ["File model.py, line 3, in forward"]}
            places = {LINEAR: None, GELU: None, REDUCE: None}
            write_dump(root / f"step{step}" / f"rank{rank}", data, places, stack)
    return root


def layout(root: Path, size: int, fault: bool = False) -> Path:
    """A linear layer whose weight `size` tensor-parallel ranks cut, its result on all of them."""
    for step in range(2):
        for rank in range(size):
            off = 1.5 if fault and rank == 1 else 1.0
            shape = [8 // size, 4]
            weight = tensor(4.0 / size**0.5, shape=shape, **HALF)
            data = {
                LINEAR: forward([tensor(2.0)], [tensor(2.0 * off)], parameters={"weight": weight})
            }
            axes = {"tp": {"rank": rank, "size": size, "ranks": list(range(size))}}
            place = {"version": 1, "world_size": size, "rank": rank, "axes": axes}
            folder = root / f"step{step}" / f"rank{rank}"
            write_dump(folder, data, {LINEAR: None}, parallel=place)
    return root


def rows_of(path: Path) -> Rows:
    """All rows of a result file in their order, but for when and with how many workers."""
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = sorted(name for (name,) in found)
        rows = {
            t: connection.execute(f'SELECT * FROM "{t}" ORDER BY rowid').fetchall() for t in tables
        }
    connection.close()
    meta = dict(rows.pop("meta"))
    del meta["created"]
    options = json.loads(meta.pop("options"))
    del options["workers"]
    rows["meta"] = [*sorted(meta.items()), ("options", options)]
    return rows
