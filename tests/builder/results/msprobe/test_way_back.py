"""The way back in files of msprobe's own builder: by equal values, as far as any tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.errors import UnknownNodeError
from builder.results.msprobe.graph import MsprobePair, Passed
from builder.results.msprobe.way_back import way_back
from builder.results.records import Node
from builder.results.trace import Trace
from tb_graph_ascend.view.explained_way import explained_way as explain

MLP = "Module.layers.1.mlp.MLP.forward.0"


@pytest.fixture
def ranks(samples: Path) -> Path:
    return samples / "vis-db" / "ranks.vis.db"


def hops(trace: Trace) -> list[tuple[str, str]]:
    return [(hop.link, hop.name) for hop in trace.hops]


def test_a_gradient_leads_to_the_error_in_the_call_it_belongs_to(ranks: Path) -> None:
    trace = explain(ranks, "Module.layers.1.Block.backward.0", 1, 1)
    assert hops(trace) == [
        ("start", "Module.layers.1.Block.backward.0"),
        ("inside", "Module.layers.1.mlp.MLP.backward.0"),
        ("forward", MLP),
    ]
    assert (trace.step, trace.rank, trace.finding, trace.differs) == (1, 1, 1, True)


def test_a_module_leads_to_the_call_inside_that_is_an_error(samples: Path) -> None:
    name = "Module.layers.0.ln1.LayerNorm.backward.0"
    trace = explain(samples / "vis-db" / "nan-overflow.vis.db", name)
    assert hops(trace)[1:] == [("inside", "Functional.layer_norm.0.backward")]
    assert trace.finding is not None


def test_what_agrees_leads_nowhere(ranks: Path) -> None:
    trace = explain(ranks, "Functional.embedding.0.forward", 0, 0)
    assert (hops(trace), trace.finding, trace.differs) == (
        [("start", "Functional.embedding.0.forward")],
        None,
        False,
    )


def test_part_of_a_name_is_answered_with_whole_ones(ranks: Path) -> None:
    with pytest.raises(UnknownNodeError) as caught:
        explain(ranks, "CONV1D")
    assert "Functional.conv1d.0.forward" in (caught.value.hint or "")
    with pytest.raises(UnknownNodeError):
        explain(ranks, MLP, step=7)


def node(id_: int, score: float | None, **facts: object) -> Node:
    given = {
        "id": id_,
        "graph": 1,
        "side": "problem",
        "name": f"Torch.op{id_}.0.forward",
        "kind": "api",
        "order": id_,
        "score": score,
        "match": 100 + id_,
    }
    empty = dict.fromkeys(Node.__struct_fields__)
    return Node(**{**empty, **given, **facts})  # type: ignore[arg-type]


def test_of_the_inputs_that_differ_the_worst_leads_back_and_is_marked_as_inferred() -> None:
    nodes = [node(1, 0.9), node(2, 0.4), node(3, 0.1), node(4, 0.9)]
    pair = MsprobePair({one.id: one for one in nodes})
    key = f"{nodes[3].name}.input."
    passed = [Passed(2, 4, f"{key}0"), Passed(1, 4, f"{key}1"), Passed(3, 4, f"{key}2")]
    trace = way_back(pair, nodes[3], (0, 0), lambda _: passed, {})
    assert [(hop.node, hop.link, hop.value) for hop in trace.hops] == [
        (4, "start", None),
        (1, "input", "input.1"),
    ]
    assert not any(hop.exact for hop in trace.hops)
    assert trace.finding is None


def test_a_node_of_the_benchmark_leads_to_its_partner() -> None:
    ours, theirs = node(1, 0.9), node(101, None, side="benchmark", match=1)
    pair = MsprobePair({1: ours, 101: theirs})
    trace = way_back(pair, theirs, (0, 0), lambda _: [], {1: 7})
    assert [(hop.node, hop.link) for hop in trace.hops] == [(101, "start"), (1, "partner")]
    assert trace.finding == 7


def test_values_that_go_in_circles_end() -> None:
    nodes = [node(1, 0.9), node(2, 0.9)]
    pair = MsprobePair({one.id: one for one in nodes})
    passed = [Passed(1, 2, "a"), Passed(2, 1, "b")]
    trace = way_back(pair, nodes[1], (0, 0), lambda _: passed, {2: 1})
    assert [hop.node for hop in trace.hops] == [2]
