"""Places the nodes of a tree for the database: collections, ids in pre-order, what lies below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from math import nan

import numpy as np

from builder.compare.statistics import Floats
from builder.match.tree import Tree, TreeNode, subtree


@dataclass(frozen=True, slots=True)
class Placed:
    """One tree with its ids: node `listed[i]` gets id `node_base + i`."""

    tree: Tree
    listed: list[TreeNode]
    graph: int
    node_base: int
    value_base: int
    stack_base: int

    def id_of(self, node: TreeNode) -> int:
        """The database id of a node."""
        return self.node_base + node.index

    @property
    def following(self) -> dict[str, int]:
        """The first ids behind those of this tree, by table."""
        return {
            "graph": self.graph + 1,
            "node": self.node_base + len(self.listed),
            "record": self.value_base + len(self.tree.dump.values.records),
            "stack": self.stack_base + len(self.tree.dump.frames),
        }


def place_pair(
    problem: Tree, benchmark: Tree | None, first: Mapping[str, int]
) -> tuple[Placed, Placed | None]:
    """Place both trees of a pair; the benchmark's ids begin behind the problem's."""
    placed = place(problem, first)
    return placed, place(benchmark, placed.following) if benchmark is not None else None


def place(tree: Tree, first: Mapping[str, int]) -> Placed:
    """Give a tree's nodes their order, and ids that begin at the first of each table."""
    group_top_level(tree)
    listed = subtree(tree.root)
    for index, node in enumerate(listed):
        node.index = index
    return Placed(tree, listed, first["graph"], first["node"], first["record"], first["stack"])


def group_top_level(tree: Tree) -> None:
    """Show runs of top-level calls between modules as collections, a view that matches nothing.

    Doing it again changes nothing.
    """
    grouped: list[TreeNode] = []
    number = 0
    for run in _runs(tree):
        if len(run) > 1:
            grouped.append(_collection(tree, number, run))
            number += 1
        else:
            grouped += run
    tree.root.children = grouped


def _runs(tree: Tree) -> list[list[TreeNode]]:
    """The top level as runs of calls between modules, each module a run of its own."""
    children = tree.root.children
    if all(child.kind != "module" for child in children):
        return [[child] for child in children]
    return [
        run
        for is_call, group in groupby(children, key=lambda child: child.kind == "api")
        for run in ([list(group)] if is_call else [[child] for child in group])
    ]


def count_nodes(tree: Tree) -> int:
    """How many nodes a tree has once it is placed."""
    return len(tree.in_order) + sum(len(run) > 1 for run in _runs(tree))


def _collection(tree: Tree, number: int, run: list[TreeNode]) -> TreeNode:
    collection = TreeNode(
        f"Apis_Between_Modules.{number}",
        "collection",
        None,
        parent=tree.root,
        children=run,
        micro_step=run[0].micro_step,
        exec_order=run[-1].exec_order,
        depth=1,
        began=run[0].began,
    )
    for node in run:
        node.parent = collection
        for below in subtree(node):
            below.depth += 1
    return collection


def last_below(listed: list[TreeNode]) -> list[int]:
    """The index of the last node below each node of a pre-order list, or its own."""
    last = list(range(len(listed)))
    for index in range(len(listed) - 1, 0, -1):
        parent = listed[index].parent
        if parent is not None and last[parent.index] < last[index]:
            last[parent.index] = last[index]
    return last


def worst_below(
    listed: list[TreeNode], scores: Floats, threshold: float
) -> tuple[list[float], list[int]]:
    """The highest score below each node and how many diverge there, the node itself left out.

    NaN where no node below has a score.
    """
    known = np.where(np.isnan(scores), -1.0, scores).tolist()
    worst = [-1.0] * len(listed)
    divergent = [0] * len(listed)
    for index in range(len(listed) - 1, 0, -1):
        parent = listed[index].parent
        assert parent is not None
        above, score = parent.index, known[index]
        worst[above] = max(worst[above], worst[index], score)
        divergent[above] += divergent[index] + (score > threshold)
    return [nan if score < 0 else score for score in worst], divergent
