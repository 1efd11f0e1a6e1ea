"""Nodes get their places: runs of calls between modules as collections, ids in pre-order."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from builder.dump.reader import Dump
from builder.dump.values import Values
from builder.match.tree import Tree, build_tree
from builder.write.placement import count_nodes, place, place_pair

FIRST = {"graph": 3, "node": 10, "record": 100, "stack": 5}


def tree_of(kinds: str) -> Tree:
    """A top level of modules (m) and calls (c)."""
    names = [
        f"Module.part{place}.Part.forward.0" if kind == "m" else f"Torch.op.{place}.forward"
        for place, kind in enumerate(kinds)
    ]
    parents: dict[str, str | None] = dict.fromkeys(names)
    return build_tree(
        Dump(Path(), "structure", "mix", "pytorch", Values(), {}, parents, {}, {}, [])
    )


def shape(tree: Tree) -> list[str]:
    return [f"{node.kind}{len(node.children)}" for node in tree.root.children]


def test_runs_of_calls_become_collections() -> None:
    tree = tree_of("ccmcmccc")
    place(tree, FIRST)
    assert shape(tree) == ["collection2", "module0", "api0", "module0", "collection3"]
    assert {node.depth for node in tree.root.children[0].children} == {2}


def test_without_modules_there_is_nothing_to_stand_between() -> None:
    tree = tree_of("ccc")
    place(tree, FIRST)
    assert shape(tree) == ["api0"] * 3


@given(st.text("mc", max_size=12))
def test_the_count_is_known_before_and_a_second_time_changes_nothing(kinds: str) -> None:
    tree = tree_of(kinds)
    count = count_nodes(tree)
    listed = place(tree, FIRST).listed
    assert [node.index for node in listed] == list(range(count))
    assert place(tree, FIRST).listed == listed


@given(st.text("mc", max_size=6), st.text("mc", max_size=6))
def test_the_ids_of_a_pair_do_not_meet(left: str, right: str) -> None:
    problem, benchmark = place_pair(tree_of(left), tree_of(right), FIRST)
    assert benchmark is not None
    ids = [side.id_of(node) for side in (problem, benchmark) for node in side.listed]
    assert ids == list(range(10, 10 + len(ids)))
    assert (problem.graph, benchmark.graph) == (3, 4)
