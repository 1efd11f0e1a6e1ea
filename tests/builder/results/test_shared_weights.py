"""The weights that two programs share: stored, listed, paired by hand in a mapping file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import builder
from builder.errors import DatabaseError, MappingError
from builder.results.database import ResultDatabase
from builder.results.shared_weights import SharedWeight, matching_weights, shared_weights
from builder.work.options import BuildOptions
from tests.builder.dumps import forward, tensor, write_dump

NORMS = {"one": 5.0, "two": 6.0, "three": 7.0}


def program(folder: Path, name: str, **changed: float) -> Path:
    """Modules that hold a weight each, under names of this program."""
    entries = {
        f"Module.{name}.{at}.Linear.forward.0": forward(
            [tensor(1.0 + number)],
            [tensor((2.0 + number) * changed.get(at, norm) / norm)],
            parameters={"weight": tensor(changed.get(at, norm))},
        )
        for number, (at, norm) in enumerate(NORMS.items())
    }
    return write_dump(folder / "step0" / "rank", entries, dict.fromkeys(entries), {}).parents[1]


def result(tmp_path: Path, mapping: object = None, **changed: float) -> Path:
    options = BuildOptions()
    if mapping is not None:
        file = tmp_path / "given.mapping.json"
        file.write_text(json.dumps(mapping))
        options = BuildOptions(manual_mapping=file)
    ours, theirs = program(tmp_path / "a", "a", **changed), program(tmp_path / "b", "b")
    return builder.build(ours, theirs, tmp_path / "o", options).path


def weights(path: Path) -> list[SharedWeight]:
    return shared_weights(ResultDatabase(path), 0, 0)


def test_they_are_listed_in_the_order_of_the_problem_with_the_node_that_holds_them(
    tmp_path: Path,
) -> None:
    path = result(tmp_path)
    found = weights(path)
    assert [(w.problem, w.benchmark, w.relation, w.by_hand) for w in found] == [
        ([f"a.{name}.weight"], [f"b.{name}.weight"], "same", False) for name in NORMS
    ]
    nodes = ResultDatabase(path).nodes_by_id([w.node for w in found])
    assert [node.name for node in nodes] == [f"Module.a.{n}.Linear.forward.0" for n in NORMS]
    assert matching_weights(found, "B.TWO", None) == found[1:2]
    assert matching_weights(found, "", "differs") == []


def test_other_numbers_need_a_hand(tmp_path: Path) -> None:
    told = {"problem": ["a.one.weight"], "benchmark": ["b.one.weight"]}
    path = result(tmp_path, {"version": 1, "weights": [told]}, one=9.0, two=10.0, three=11.0)
    found = weights(path)
    assert (found[0].relation, found[0].by_hand) == ("differs", True)
    assert builder.diagnose(path).findings[0].kind == "parameter_differs"


def test_weights_that_no_run_has_are_an_error(tmp_path: Path) -> None:
    told = {"problem": ["a.one.weight"], "benchmark": ["b.none"]}
    with pytest.raises(MappingError, match=r"a\.one\.weight ↔ b\.none"):
        result(tmp_path, {"version": 1, "weights": [told]})


def test_modules_paired_by_hand_count_beside_weights(tmp_path: Path) -> None:
    pair = {
        "problem": "Module.a.one.Linear.forward.0",
        "benchmark": "Module.b.two.Linear.forward.0",
    }
    told = {"problem": ["a.three.weight"], "benchmark": ["b.three.weight"]}
    path = result(tmp_path, {"version": 1, "pairs": [pair], "weights": [told]})
    database = ResultDatabase(path)
    (node,) = (
        n for n in database.nodes_by_id([w.node for w in weights(path)]) if ".one." in n.name
    )
    assert node.match is not None
    assert database.nodes_by_id([node.match])[0].name == pair["benchmark"]


def test_files_of_earlier_releases_have_none(tmp_path: Path) -> None:
    path = result(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE weight")
        connection.commit()
    assert weights(path) == []


@pytest.mark.parametrize("cell", ["no list", "[1]", "null"])
def test_rows_of_another_form_are_said(cell: str, tmp_path: Path) -> None:
    path = result(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE weight SET problem = ?", (cell,))
        connection.commit()
    with pytest.raises(DatabaseError, match="table weight"):
        weights(path)
