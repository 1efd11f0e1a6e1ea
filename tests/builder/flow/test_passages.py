"""Graphs stay whole where calls left no values, and nothing is told that did not happen.

What happened is told by the same run at risk level ALL, which records every call: an edge that the
default's numbers tell has to be a way there.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from builder.compare.columns import columns_of
from builder.dump.forms import Forms
from builder.dump.reader import Dump, read_dump
from builder.flow.feeding import flow_of
from builder.flow.passages import passages_of
from builder.match.tree import Tree, build_tree
from tests.builder.flow.recorded_models import BUILT_WITH, HELD_BACK, record

MODELS = BUILT_WITH | HELD_BACK
Edges = set[tuple[str, str]]


class Side(NamedTuple):
    """A dump's tree, its flow, and what passed through unrecorded calls: by numbers, by order.

    `replaced` are edges of the flow that lead past such calls.
    """

    tree: Tree
    flow: Edges
    told: Edges
    ordered: Edges
    replaced: Edges


def side_of(dump: Path) -> Side:
    """A side without what our own dumps say of calls without values, as other tools write it."""
    told = read_dump(dump)
    told.passing = None
    return edges_of(told)


def edges_of(dump: Dump) -> Side:
    tree = build_tree(dump)
    forms = Forms()
    columns = columns_of(tree.dump.values, forms)
    flow = flow_of(tree, columns, forms.listed())
    passages = passages_of(flow, columns, forms.listed())
    names = [node.name for node in tree.in_order]
    found: dict[bool, Edges] = {True: set(), False: set()}
    cells = (passages.producer, passages.consumer, passages.told)
    for producer, consumer, told in zip(*(each.tolist() for each in cells), strict=True):
        found[told > 0].add((names[producer], names[consumer]))
    known = zip(flow.producer.tolist(), flow.consumer.tolist(), strict=True)
    past = zip(passages.instead.tolist(), passages.consumer.tolist(), strict=True)
    return Side(
        tree,
        {(names[p], names[c]) for p, c in known},
        found[True],
        found[False],
        {(names[p], names[c]) for p, c in past if p >= 0},
    )


def reached(start: str, edges: Edges) -> set[str]:
    """All that a way leads to."""
    follow = defaultdict(set)
    for producer, consumer in edges:
        follow[producer].add(consumer)
    seen, pending = {start}, [start]
    while pending:
        new = follow[pending.pop()] - seen
        seen |= new
        pending += new
    return seen


def pieces(side: Side, edges: Edges) -> int:
    """In how many pieces the forward calls with values lie."""
    both = edges | {(consumer, producer) for producer, consumer in edges}
    calls = {
        node.name
        for node in side.tree.in_order
        if node.direction == "forward" and not node.children and node.values[0] < node.values[1]
    }
    found = 0
    while calls:
        calls -= reached(next(iter(calls)), both)
        found += 1
    return found


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Side]:
    return {
        name: side_of(record(one, tmp_path_factory.mktemp(name))) for name, one in MODELS.items()
    }


@pytest.mark.parametrize("name", MODELS)
def test_the_forward_pass_is_one_piece(sides: dict[str, Side], name: str) -> None:
    side = sides[name]
    assert pieces(side, side.flow | side.told | side.ordered) == 1


def test_it_would_fall_apart_by_recorded_flow_alone(sides: dict[str, Side]) -> None:
    apart = {name for name, side in sides.items() if pieces(side, side.flow) > 1}
    assert apart >= {"skips", "branches", "experts", "steps"}


@pytest.mark.parametrize("name", [name for name, one in MODELS.items() if one.level == "mix"])
def test_what_numbers_tell_has_happened(sides: dict[str, Side], name: str, tmp_path: Path) -> None:
    whole = side_of(record(MODELS[name], tmp_path, risk_level="ALL")).flow
    forward = {edge for edge in sides[name].told if ".forward" in edge[0]}
    forward = {edge for edge in forward if ".forward" in edge[1]}
    assert {edge for edge in forward if edge[1] not in reached(edge[0], whole)} == set()


def test_a_skip_ends_in_the_call_that_joins_it(sides: dict[str, Side]) -> None:
    told = sides["skips"].told
    assert {edge for edge in told if edge[1] == "Torch.cat.0.forward"} == {
        ("Torch.tanh.1.forward", "Torch.cat.0.forward"),
        ("Functional.interpolate.0.forward", "Torch.cat.0.forward"),
    }
    # The gradient takes the same way back.
    assert ("Torch.cat.0.backward", "Torch.tanh.1.backward") in told


@pytest.mark.parametrize("name", ["skips", "growing", "three", "stacked"])
def test_all_that_is_joined_leads_to_the_call_that_joins(
    sides: dict[str, Side], name: str, tmp_path: Path
) -> None:
    whole = side_of(record(MODELS[name], tmp_path, risk_level="ALL")).flow
    joins = (".cat.", ".stack.")
    true = {edge for edge in whole if any(one in edge[1] for one in joins)}
    true = {edge for edge in true if edge[1].endswith(".forward")}
    side = sides[name]
    read = {producer for producer, _ in side.flow | side.told | side.ordered}
    # What nobody reads at the default was not looked for: the output of the whole model.
    true = {edge for edge in true if edge[1] in read}
    drawn = {edge for edge in side.told | side.ordered if edge[1] in {join for _, join in true}}
    assert drawn == true != set()


def test_a_skip_into_the_end_of_a_module_comes_from_outside_of_it(sides: dict[str, Side]) -> None:
    joined = {edge for edge in sides["growing"].told if edge[1].startswith("Torch.cat.")}
    forward = {edge for edge in joined if edge[1].endswith(".forward")}
    # By the program: conv2d 0 is the stem, and each block has one more; nobody reads the last two.
    convs = [f"Functional.conv1d.{at}.forward" for at in range(5)]
    cats = [f"Torch.cat.{at}.forward" for at in range(4)]
    skips = zip([convs[0], *cats[:3]], cats, strict=True)
    assert forward == {*skips, *zip(convs[1:], cats, strict=True)}


def test_gradients_of_parameters_come_from_their_own_module(sides: dict[str, Side]) -> None:
    heads = {edge for edge in sides["growing"].told if "Linear.parameters_grad" in edge[1]}
    assert heads == {
        ("Functional.linear.0.backward", "Module.out.Linear.parameters_grad.0"),
        ("Functional.linear.1.backward", "Module.small.Linear.parameters_grad.0"),
    }


def test_a_sum_that_nobody_recorded_reads_both_its_terms(sides: dict[str, Side]) -> None:
    read = "Module.layers.0.norm2.LayerNorm.forward.0"
    assert {p for p, c in sides["residuals"].told if c == read} == {
        "Module.embed.Linear.forward.0",
        "Module.layers.0.mix.Linear.forward.0",
    }


def test_a_cut_goes_through_the_call_that_cuts(sides: dict[str, Side]) -> None:
    known = sides["chunks"].told | sides["chunks"].ordered
    cut, read = "Tensor.chunk.0.forward", "Functional.scaled_dot_product_attention.0.forward"
    assert {("Functional.linear.0.forward", cut), (cut, read)} <= known


def test_each_input_of_a_loss_has_a_view_of_its_own(sides: dict[str, Side]) -> None:
    head, loss = "Functional.linear.0.forward", "Functional.cross_entropy.0.forward"
    for_logits, for_ids = (f"Tensor.flatten.{n}.forward" for n in range(2))
    side = sides["targets"]
    known = side.told | side.ordered
    assert {(head, for_logits), (for_logits, loss), (for_ids, loss)} <= known
    assert not known & {(for_logits, for_ids), (head, for_ids), (head, loss)}


def test_a_view_of_the_ids_is_none_of_the_logits(sides: dict[str, Side]) -> None:
    head, loss = "Functional.linear.0.forward", "Functional.cross_entropy.0.forward"
    side = sides["labels"]
    known = side.told | side.ordered
    flow = side.flow
    assert (head, loss) in flow
    assert ("Tensor.flatten.1.forward", loss) in known
    assert not {edge for edge in known if edge[0] == head and ".forward" in edge[1]}


def test_each_expert_reads_what_was_routed(sides: dict[str, Side]) -> None:
    known = sides["experts"].told | sides["experts"].ordered
    experts = {c for p, c in known if p == "Functional.layer_norm.0.forward"}
    assert {f"Functional.linear.{n}.forward" for n in range(3)} <= experts


def test_a_dump_of_structure_tells_nothing(tmp_path: Path) -> None:
    side = side_of(record(MODELS["skips"], tmp_path, task="structure"))
    assert side.told | side.ordered == set()


def test_another_dumpers_dump_is_whole_too(samples: Path) -> None:
    dump = next((samples / "statistics").rglob("dump.json")).parent
    side = side_of(dump)
    assert pieces(side, side.flow | side.told | side.ordered) <= pieces(side, side.flow)
