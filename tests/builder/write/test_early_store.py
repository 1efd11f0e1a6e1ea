"""What a database says of a value is what the dump said, in every mode and way of writing."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import builder
from builder import BuildOptions
from builder.processes.second_process import CAN_FORK
from builder.results.engine import open_engine
from builder.results.schema import value
from builder.write import early_store
from tests.builder.dumps import Json, forward, tensor, write_dump

CALL, OTHER = "Torch.mm.0.forward", "Torch.relu.0.forward"


def rows(path: Path, query: str = "SELECT * FROM value ORDER BY id") -> list[dict[str, Any]]:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    found = [dict(row) for row in connection.execute(query)]
    connection.close()
    return found


def built(folder: Path, problem: Json, benchmark: Json | None = None, **head: object) -> Path:
    sides = [problem] if benchmark is None else [problem, benchmark]
    paths = [
        write_dump(folder / str(i), data, dict.fromkeys(data), **head)
        for i, data in enumerate(sides)
    ]
    other = paths[1] if benchmark is not None else None
    return builder.build(paths[0], other, folder / "out").path


def test_a_value_has_all_that_the_dump_says(tmp_path: Path) -> None:
    integer = tensor(dtype="torch.int64", Mean=None, Norm=None, requires_grad=True, shape=[])
    data = {
        CALL: forward([integer], [tensor(2.0)], input_kwargs={"a.b": {"type": "int", "value": 3}})
    }
    first, argument, last = rows(built(tmp_path, data))
    assert (first["role"], first["path"], first["dtype"], first["shape"]) == (
        "input",
        "0",
        "int64",
        "",
    )
    assert (first["mean"], first["norm"], first["requires_grad"]) == (None, None, 1)
    assert (argument["path"], argument["type"], argument["scalar"]) == ("a.b", "int", "3")
    assert (argument["max"], argument["dtype"], argument["shape"]) == (None, None, None)
    assert (last["role"], last["max"], last["norm"], last["shape"]) == ("output", 1.5, 2.0, "2,2")


def test_nonfinite_statistics_survive(tmp_path: Path) -> None:
    odd = tensor(Max=math.inf, Min=-math.inf, Mean=math.nan, Norm="nan")
    (found,) = rows(built(tmp_path, {CALL: forward([], [odd])}))
    assert (found["max"], found["min"]) == (math.inf, -math.inf)
    assert (found["mean"], found["norm"]) == ("nan", "nan")


def test_partners_point_at_each_other_by_place(tmp_path: Path) -> None:
    ours = {CALL: forward([tensor(), tensor()], [tensor(4.0)]), OTHER: forward([], [tensor()])}
    theirs = {CALL: forward([tensor()], [tensor(2.0)]), OTHER: forward([], [tensor()])}
    found = rows(built(tmp_path, ours, theirs))
    by_id = {row["id"]: row for row in found}
    pairs = [(row, by_id[row["partner"]]) for row in found if row["partner"] is not None]
    assert [(p["role"], p["path"]) for p, _ in pairs] == [(b["role"], b["path"]) for _, b in pairs]
    assert [p["error"] for p, _ in pairs] == [0.0, 1.0, 0.0]
    surplus = [row["path"] for row in found if row["partner"] is None and row["role"] == "input"]
    assert "1" in surplus


def test_checksums_and_files_are_kept(tmp_path: Path) -> None:
    data = {CALL: forward([tensor(md5="0badcafe")], [tensor(data_name="x.pt", md5="1")])}
    found = rows(built(tmp_path, data))
    assert [(row["checksum"], row["file"]) for row in found] == [("0badcafe", None), ("1", "x.pt")]


def test_the_view_and_the_queries_agree(tmp_path: Path) -> None:
    data = {CALL: forward([tensor()], [tensor()]), OTHER: forward([tensor()], [])}
    path = built(tmp_path, data, data)
    engine = open_engine(path)
    for node in (row["id"] for row in rows(path, "SELECT id FROM node")):
        with engine.connect() as connection:
            query = select(value).where(value.c.node == node).order_by(value.c.id)
            queried = [dict(row) for row in connection.execute(query).mappings()]
        assert queried == rows(path, f"SELECT * FROM value WHERE node = {node} ORDER BY id")
    engine.dispose()


def test_the_values_of_a_node_are_found_by_their_place(tmp_path: Path) -> None:
    data = {CALL: forward([tensor()], [tensor()])}
    plan = rows(
        built(tmp_path, data), "EXPLAIN QUERY PLAN SELECT * FROM value WHERE node IN (1, 2)"
    )
    assert all("SCAN" not in step["detail"] for step in plan)


@pytest.mark.skipif(not CAN_FORK, reason="no second process without a fork")
def test_a_second_process_writes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = {CALL: forward([tensor()], [tensor(3.0)])}
    alone = rows(built(tmp_path / "a", data, data))
    monkeypatch.setattr(early_store, "_MANY", 0)
    sides = [write_dump(tmp_path / "b" / str(i), data, {CALL: None}) for i in range(2)]
    beside = builder.build(*sides, tmp_path / "out", BuildOptions(workers=2)).path
    assert rows(beside) == alone
