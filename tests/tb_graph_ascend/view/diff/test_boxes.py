"""A graph shows what the model did: whole, each pass in its lane, and how each edge is known."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import builder
from builder import BuildOptions
from builder.results.open_results import open_results
from builder.results.reading import Results
from tb_graph_ascend.view.diff.boxes import MOST_BOXES, ModuleGraph, graph_of
from tb_graph_ascend.view.diff.index import DiffIndex, Wanted, diff_index
from tb_graph_ascend.view.diff.window import window_of, with_outputs
from tests.builder.dumps import Json, forward, tensor, write_dump
from tests.builder.flow.recorded_models import BUILT_WITH, Model, record


def graph(folder: Path, name: str, task: str = "statistics") -> ModuleGraph:
    return graph_from(folder, BUILT_WITH[name], task)


def graph_from(folder: Path, model: Model, task: str = "statistics") -> ModuleGraph:
    record(model, folder, task=task)
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
    assert known["tanh #1", "cat #0"] == known["cat #0", "up.0"] == "recorded"
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
    """Of a dump that does not say who made what a call without values reads."""
    (record(BUILT_WITH["chunks"], tmp_path) / "flow.json").unlink()
    made = builder.build(tmp_path, None, tmp_path / "out", BuildOptions(workers=1))
    results = open_results(made.path)
    index = diff_index(results, 0, 0)
    block = index.rows.key[[name.startswith("Module.0.") for name in index.rows.problem.names]]
    drawn = graph_of(results, index, int(block[0]), [])
    # Queries, keys and values are each unflattened and transposed: whose is whose nobody knows.
    assert drawn.unplaced == 6
    ends = {end for one in drawn.edges for end in (one.producer, one.consumer)}
    assert {box.place for box in drawn.boxes} <= ends


def test_what_the_run_is_fed_has_a_box_at_its_reader(skips: ModuleGraph) -> None:
    (fed,) = skips.inputs
    assert titles(skips)[fed.reader] == "down.0"
    assert (fed.value, fed.tensor.shape, fed.tensor.dtype) == ("input.0", [2, 2, 8], "float32")


class Repeats(nn.Module):
    """Three blocks alike, and attention, which uses its last layer's weights and never calls it."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(nn.Linear(4, 4) for _ in range(3)))
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(x)
        return torch.as_tensor(self.attention(x, x, x)[0])


@pytest.fixture(scope="module")
def repeats(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, DiffIndex]:
    folder = tmp_path_factory.mktemp("repeats")
    record(Model(Repeats, lambda: [torch.randn(2, 3, 4)]), folder)
    results = open_results(
        builder.build(folder, None, folder / "out", BuildOptions(workers=1)).path
    )
    return results, diff_index(results, 0, 0)


def test_repeats_show_what_the_last_of_them_puts_out(
    repeats: tuple[Results, DiffIndex],
) -> None:
    results, index = repeats
    names = index.rows.problem.names
    blocks = index.rows.key[[name.startswith("Module.blocks.Seq") for name in names]]
    (box,) = (b for b in graph_of(results, index, int(blocks[0]), []).boxes if b.row.fold == 3)
    last = next(at for at, name in enumerate(names) if name.startswith("Module.blocks.2.Linear.f"))
    own = results.first_outputs([int(index.rows.problem.id[last])])
    assert [box.output] == list(own.values())
    opened = window_of(index, Wanted(f"{index.rows.key[0]}.{blocks[0]}"), 0, 50, None)
    shown = with_outputs(opened, results, index).rows
    assert any(row.fold == 3 and row.problem and row.problem.output == box.output for row in shown)


def test_an_edge_says_which_of_several_repeats_it_leaves(tmp_path: Path) -> None:
    drawn = graph(tmp_path, "growing")
    (fold,) = (b.place for b in drawn.boxes if b.row.fold == 2 and b.lane == "forward")
    named = titles(drawn)
    left = {named[e.consumer]: e.leaves for e in drawn.edges if e.producer == fold}
    # By the program: one head reads the last block, which the box speaks of, the other the first.
    assert left["mean #0"] is None
    middle = left["mean #1"]
    assert middle is not None and middle.output is not None
    assert (middle.names, middle.count, middle.output.shape) == (["blocks.0"], 1, [2, 10, 8])
    assert all(e.leaves is None for e in drawn.edges if e.producer != fold and e.known == "next")


class Every(nn.Module):
    """Reads all that it is given."""

    def forward(self, *given: torch.Tensor) -> torch.Tensor:
        out = given[0]
        for one in given[1:]:
            out = out * one
        return out


class Readers(nn.Module):
    """Six blocks alike; what reads two of them, and what reads all at once."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(6))
        self.two, self.every = nn.Bilinear(4, 4, 4), Every()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for block in self.blocks:
            x = block(x)
            kept.append(x)
        return torch.as_tensor(self.two(kept[1], kept[3]) + self.every(*kept))


def test_an_edge_that_leaves_several_repeats_names_them(tmp_path: Path) -> None:
    drawn = graph_from(tmp_path, Model(Readers, lambda: [torch.randn(2, 4)]))
    (fold,) = (b.place for b in drawn.boxes if b.row.fold == 6 and b.lane == "forward")
    named = titles(drawn)
    left = {named[e.consumer]: e.leaves for e in drawn.edges if e.producer == fold}
    two, every = left["two"], left["every"]
    assert two is not None and every is not None
    assert (two.names, two.count) == (["blocks.1", "blocks.3"], 2)
    assert (every.names, every.count) == (["blocks.0", "blocks.1", "blocks.2"], 6)


def test_gradients_of_a_module_that_is_not_called_stand_in_the_one_around(
    repeats: tuple[Results, DiffIndex],
) -> None:
    results, index = repeats
    drawn = graph_of(results, index, int(index.rows.key[0]), [])
    assert drawn.gradients == 0
    assert not any("out_proj" in title for title in titles(drawn).values())


def test_gradients_that_no_backward_call_holds_are_counted(tmp_path: Path) -> None:
    names = [f"Module.{layer}.Linear.forward.0" for layer in "ab"]
    handed_on = tensor(2, source=f"{names[0]}.output.0")
    made: dict[str, Json] = {names[0]: forward([tensor(1)], [tensor(2)])}
    made[names[1]] = forward([handed_on], [tensor(4)])
    made["Module.a.Linear.parameters_grad.0"] = {"weight": [tensor(3)]}
    write_dump(tmp_path / "step0" / "rank0", made, dict.fromkeys(names))
    results = open_results(builder.build(tmp_path, None, tmp_path / "out").path)
    index = diff_index(results, 0, 0)
    assert graph_of(results, index, int(index.rows.key[0]), []).gradients == 1


class Long(nn.Module):
    """Four times as many calls as are drawn, none like the one before, and the optimizer behind."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for n in range(MOST_BOXES):
            x = (x * 1.01 + 0.1).tanh().abs() + n
        return x


def test_of_many_boxes_those_around_the_node_that_was_asked_for_are_shown(tmp_path: Path) -> None:
    record(Model(Long, lambda: [torch.randn(2, 3, requires_grad=True)]), tmp_path)
    made = builder.build(tmp_path, None, tmp_path / "out", BuildOptions(workers=1))
    results = open_results(made.path)
    index = diff_index(results, 0, 0)
    keys = {
        name: int(key)
        for name, key in zip(index.rows.problem.names, index.rows.problem.id, strict=True)
    }
    whole = graph_of(results, index, int(index.rows.key[0]), [])
    total = len(whole.boxes) + whole.left_out
    for name in ("Tensor.tanh.3.forward", "Tensor.tanh.90.forward", "Tensor.tanh.149.forward"):
        drawn = graph_of(results, index, keys[name], [])
        titled = titles(drawn)
        assert f"tanh #{name.split('.')[2]}" in titled.values()
        assert len(drawn.boxes) == MOST_BOXES
        assert len(drawn.boxes) + drawn.left_out == total
        assert list(titled) == sorted(titled)
    # Far behind all of the forward pass: each box there runs backward.
    late = next(name for name in reversed(keys) if "tanh" in name and ".backward" in name)
    assert {box.lane for box in graph_of(results, index, keys[late], []).boxes} == {"backward"}
