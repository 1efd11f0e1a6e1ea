"""A graph shows what the model did: whole, each pass in its lane, and how each edge is known."""

from __future__ import annotations

from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from builder.results.open_results import open_results
from tb_graph_ascend.view.diff.boxes import ModuleGraph, graph_of
from tb_graph_ascend.view.diff.index import diff_index
from tests.builder.flow.recorded_models import BUILT_WITH, record


def graph(folder: Path, name: str, task: str = "statistics") -> ModuleGraph:
    record(BUILT_WITH[name], folder, task=task)
    made = builder.build(folder, None, folder / "out", BuildOptions(workers=1))
    results = open_results(made.path)
    index = diff_index(results, 0, 0)
    return graph_of(results, index, int(index.rows.key[0]), [])


def titles(drawn: ModuleGraph) -> dict[int, str]:
    named = {}
    for box in drawn.boxes:
        assert box.row.problem is not None
        call = "" if box.row.problem.call is None else f" #{box.row.problem.call}"
        named[box.place] = f"{box.row.problem.title}{call}"
    return named


@pytest.fixture(scope="module")
def skips(tmp_path_factory: pytest.TempPathFactory) -> ModuleGraph:
    return graph(tmp_path_factory.mktemp("skips"), "skips")


def test_a_skip_is_drawn_to_the_call_that_joins_it(skips: ModuleGraph) -> None:
    named = titles(skips)
    known = {(named[one.producer], named[one.consumer]): one.known for one in skips.edges}
    assert known["tanh #1", "cat #0"] == known["cat #0", "up.0"] == "numbers"
    assert known["down.0", "tanh #0"] == "recorded"


def test_each_pass_is_one_piece_in_a_lane_of_its_own(skips: ModuleGraph) -> None:
    lanes = {box.place: box.lane for box in skips.boxes}
    assert list(dict.fromkeys(lanes.values())) == ["forward", "backward"]
    for lane in ("forward", "backward"):
        places = [place for place in lanes if lanes[place] == lane]
        fed = {one.consumer for one in skips.edges if lanes[one.producer] == lane}
        assert [place for place in places if place not in fed] == places[:1]


def test_a_call_without_values_has_the_shape_that_its_reader_saw(skips: ModuleGraph) -> None:
    joined = next(box for box in skips.boxes if box.unrecorded and box.lane == "forward")
    assert joined.output is not None
    assert joined.output.shape == [2, 16, 4]


def test_a_dump_of_structure_is_joined_by_the_order_of_execution(tmp_path: Path) -> None:
    drawn = graph(tmp_path, "skips", task="structure")
    assert {one.known for one in drawn.edges} == {"next"}
    assert len(drawn.edges) == len(drawn.boxes) - len({box.lane for box in drawn.boxes})
    assert not any(box.unrecorded for box in drawn.boxes)


def test_views_that_stand_nowhere_are_counted_and_not_drawn(tmp_path: Path) -> None:
    record(BUILT_WITH["chunks"], tmp_path)
    made = builder.build(tmp_path, None, tmp_path / "out", BuildOptions(workers=1))
    results = open_results(made.path)
    index = diff_index(results, 0, 0)
    block = index.rows.key[[name.startswith("Module.0.") for name in index.rows.problem.names]]
    drawn = graph_of(results, index, int(block[0]), [])
    # Queries, keys and values are each unflattened and transposed: whose is whose nobody knows.
    assert drawn.unplaced == 6
    ends = {end for one in drawn.edges for end in (one.producer, one.consumer)}
    assert {box.place for box in drawn.boxes} <= ends
