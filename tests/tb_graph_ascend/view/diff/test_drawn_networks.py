"""Graphs of twelve kinds of networks have the edges of their source, none wrong, none missing."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch.utils._pytree import tree_leaves

import builder
from builder import BuildOptions
from builder.results.open_results import open_results
from msprobe_core import PrecisionDebugger
from tb_graph_ascend.view.diff.boxes import GraphBox, ModuleGraph, graph_of
from tb_graph_ascend.view.diff.index import diff_index
from tests.builder.flow.recorded_models import HELD_BACK, record
from tests.rank_processes import run_ranks
from tests.tb_graph_ascend.view.diff.drawn_networks import NETWORKS, STAGES, Network, Stage

Edges = set[tuple[str, str]]
FED = "x"


@pytest.mark.parametrize("name", NETWORKS)
def test_the_graph_has_the_edges_of_the_source(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name]
    drawn = drawn_of(recorded(network, tmp_path / "run"), None, tmp_path)
    assert edges_of(drawn) == by_hand(network.edges)


def test_the_graph_of_a_port_has_the_edges_of_both(tmp_path: Path) -> None:
    port, source = NETWORKS["port"], NETWORKS["LoRA"]
    dumps = [recorded(one, tmp_path / side) for side, one in (("p", port), ("b", source))]
    drawn = drawn_of(*dumps, tmp_path)
    assert edges_of(drawn) == by_hand(port.edges)
    forward = [box.row for box in drawn.boxes if box.lane == "forward"]
    assert len(forward) == 5
    assert not any(None in (row.problem, row.benchmark) for row in forward)


def test_the_graphs_of_a_pipeline_are_those_of_its_stages(tmp_path: Path) -> None:
    def work(rank: int) -> None:
        torch.manual_seed(rank)
        model, x = Stage(rank), torch.randn(3, 4)
        debugger = PrecisionDebugger(level="mix", dump_path=str(tmp_path / "run"))
        with debugger.recording(model):
            model(x)
        debugger.close()

    run_ranks(work, 2, tmp_path, "pipeline")
    out = tmp_path / "out"
    results = open_results(builder.build(tmp_path / "run", None, out, BuildOptions(workers=1)).path)
    for rank, edges in enumerate(STAGES):
        index = diff_index(results, 0, rank)
        assert edges_of(graph_of(results, index, int(index.rows.key[0]), [])) == by_hand(edges)


def test_what_a_call_without_values_may_have_made_is_not_said_to_be_fed(tmp_path: Path) -> None:
    record(HELD_BACK["masked"], tmp_path)
    drawn = drawn_of(tmp_path, None, tmp_path)
    titles = {box.place: title_of(box) for box in drawn.boxes}
    assert {titles[one.reader] for one in drawn.inputs} == {"mix"}


def recorded(network: Network, path: Path) -> Path:
    """The dump of one step of training with an optimizer for each loss."""
    torch.manual_seed(3)
    model, fed = network.make(), network.fed()
    gradients = [torch.ones(out.shape) for out in tree_leaves(model(*fed))]
    parameters = [one for one in model.parameters() if one.requires_grad]
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(model):
        for out, gradient in zip(tree_leaves(model(*fed)), gradients, strict=True):
            out.backward(gradient, retain_graph=True)
        for _ in gradients:
            torch.optim.SGD(parameters, lr=0.01, foreach=False).step()
    debugger.close()
    return path


def drawn_of(problem: Path, benchmark: Path | None, folder: Path) -> ModuleGraph:
    """The graph of the whole model, with all calls between its modules."""
    options = BuildOptions(workers=1)
    results = open_results(builder.build(problem, benchmark, folder / "out", options).path)
    index = diff_index(results, 0, 0)
    whole = int(index.rows.key[0])
    closed = graph_of(results, index, whole, [])
    between = [box.row.key for box in closed.boxes if box.row.kind == "collection"]
    return graph_of(results, index, whole, between)


def by_hand(text: str) -> Edges:
    """The edges of a drawing."""
    chains = [line.split(" > ") for line in text.strip().splitlines()]
    return {edge for chain in chains for edge in pairwise(chain)}


def edges_of(drawn: ModuleGraph) -> Edges:
    """The edges of the forward pass, those from what the run is fed among them.

    What only ran next is told to have read nothing.
    """
    forward = {
        box.place: title_of(box)
        for box in drawn.boxes
        if box.lane == "forward" and box.row.direction == "forward"
    }
    between = {
        (forward[one.producer], forward[one.consumer])
        for one in drawn.edges
        if one.producer in forward and one.consumer in forward and one.known != "next"
    }
    return between | {(FED, forward[one.reader]) for one in drawn.inputs if one.reader in forward}


def title_of(box: GraphBox) -> str:
    """A box by its title and, of a call, its number; repeats by how many they are."""
    side = box.row.problem or box.row.benchmark
    assert side is not None
    number = "" if side.call is None else f" #{side.call}"
    return f"{side.title} × {box.row.fold}" if box.row.fold else side.title + number


def test_a_drawing_is_read_as_its_edges() -> None:
    assert by_hand("a > b > c\na > c\n") == {("a", "b"), ("b", "c"), ("a", "c")}
