"""Which ranks hold what of a joined value, from the dumps through the file to whoever asks."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import builder
from builder import BuildOptions, UnknownNodeError
from builder.results.reading import Results
from builder.results.shards import JoinedValue, node_shards
from tests.builder.run.units.runs import LINEAR, layout, ranks


def compared(folder: Path, *, fault: bool) -> Results:
    sides = layout(folder / "problem", 2, fault=fault), layout(folder / "benchmark", 1)
    return builder.open(builder.build(*sides, folder / "out", BuildOptions(workers=1)).path)


def joined(results: Results) -> dict[tuple[str, str], JoinedValue]:
    """The joined values of the linear layer by side and key."""
    problem = results.pair(0, 0).problem
    assert problem is not None
    (layer,) = results.children(problem.root.id, 0, 9).children
    assert layer.name == LINEAR
    return {(v.side, f"{v.role}.{v.path}"): v for v in node_shards(results, layer.id).values}


def test_a_cut_weight_that_agrees_has_its_layout_alone(tmp_path: Path) -> None:
    weight = joined(compared(tmp_path, fault=False))["problem", "parameters.weight"]
    assert [(a.axis, a.size, a.kind, a.dim) for a in weight.layout] == [("tp", 2, "S", 0)]
    assert weight.shards == []


def test_a_value_that_differs_has_the_numbers_of_every_rank(tmp_path: Path) -> None:
    output = joined(compared(tmp_path, fault=True))["problem", "output.0"]
    assert [(a.axis, a.kind) for a in output.layout] == [("tp", "R")]
    assert [(s.rank, s.place, s.norm) for s in output.shards] == [
        (0, {"tp": 0}, 2.0),
        (1, {"tp": 1}, 3.0),
    ]
    assert [s.rank for s in output.shards if s.guilty] == [1]
    assert {s.entry for s in output.shards} == {LINEAR}
    assert output.shards[1].dump_dir == str(tmp_path / "problem" / "step0" / "rank1")
    assert output.shards[0].shape == [2, 2]


def test_what_was_not_merged_has_no_shards(tmp_path: Path) -> None:
    sides = ranks(tmp_path / "p", fault=True), ranks(tmp_path / "b")
    results = builder.open(builder.build(*sides, tmp_path / "out", BuildOptions(workers=1)).path)
    root = results.pair(0, 1).problem
    assert root is not None
    assert node_shards(results, root.root.id).values == []
    with pytest.raises(UnknownNodeError):
        node_shards(results, 10**9)


def test_an_older_file_has_none(tmp_path: Path) -> None:
    path = compared(tmp_path, fault=True).file
    with sqlite3.connect(path) as connection:
        connection.executescript("DROP TABLE shard; DROP TABLE layout")
    connection.close()
    assert joined(builder.open(path)) == {}


def test_a_place_that_is_no_place_is_left_out(tmp_path: Path) -> None:
    path = compared(tmp_path, fault=True).file
    with sqlite3.connect(path) as connection:
        connection.execute('UPDATE shard SET place = \'{"tp": "x\'')
    connection.close()
    output = joined(builder.open(path))["problem", "output.0"]
    assert [s.place for s in output.shards] == [{}, {}]
