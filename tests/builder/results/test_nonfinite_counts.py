"""How many elements are NaN or infinite goes from the dump into the file and out again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import builder
from builder.results.database import ResultDatabase
from builder.results.named_nodes import node_named
from builder.results.records import Value
from tests.builder.dumps import forward, tensor, write_dump

CALL = "Torch.exp.0.forward"


def _recorded(side: Path, **counts: int) -> Path:
    data = {CALL: forward([tensor(1)], [tensor(2, **counts)])}
    write_dump(side / "step0" / "rank0", data, {CALL: None})
    return side


def _outputs(file: Path) -> list[tuple[int | None, int | None]]:
    database = ResultDatabase(file)
    node = node_named(file, CALL)
    (pair,) = [one for one in database.details(node).values if one.role == "output"]
    database.close()
    sides: list[Value | None] = [pair.problem, pair.benchmark]
    return [(side.nan_count, side.inf_count) for side in sides if side is not None]


def test_counts_of_both_runs_are_told(tmp_path: Path) -> None:
    ours = _recorded(tmp_path / "problem", nan_count=3, inf_count=649)
    theirs = _recorded(tmp_path / "benchmark", inf_count=7)
    made = builder.build(ours, theirs, tmp_path / "o")
    assert _outputs(made.path) == [(3, 649), (None, 7)]


def test_a_file_of_an_earlier_release_tells_none(tmp_path: Path) -> None:
    sides = (_recorded(tmp_path / side, inf_count=5) for side in ("problem", "benchmark"))
    made = builder.build(*sides, tmp_path / "o")
    with closing(sqlite3.connect(made.path)) as connection:
        connection.execute("UPDATE record SET inf_count = NULL, nan_count = NULL")
        connection.commit()
    assert _outputs(made.path) == [(None, None), (None, None)]
