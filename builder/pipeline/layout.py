"""Places the nodes of a tree for the database: collections, ids in pre-order, what lies below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan

import numpy as np

from builder.measure.statistics import Floats
from builder.tree import Tree, TreeNode, subtree


@dataclass(slots=True)
class Sizes:
    """How many ids the trees of a pair need in each table."""

    graphs: int = 0
    nodes: int = 0
    values: int = 0
    stacks: int = 0


@dataclass(slots=True)
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

    def move(self, first: Mapping[str, int]) -> None:
        """Let the ids begin at the first free ones of each table."""
        self.graph += first["graph"]
        self.node_base += first["node"]
        self.value_base += first["record"]
        self.stack_base += first["stack"]


def place(tree: Tree, sizes: Sizes) -> Placed:
    """Give a tree's nodes their order; its ids begin behind those that `sizes` has counted."""
    group_top_level(tree)
    listed = subtree(tree.root)
    for index, node in enumerate(listed):
        node.index = index
    placed = Placed(tree, listed, sizes.graphs, sizes.nodes, sizes.values, sizes.stacks)
    sizes.graphs += 1
    sizes.nodes += len(listed)
    sizes.values += len(tree.dump.values.records)
    sizes.stacks += len(tree.dump.frames)
    return placed


def group_top_level(tree: Tree) -> None:
    """Show runs of top-level calls between modules as collections, a view that matches nothing."""
    if all(child.kind != "module" for child in tree.root.children):
        return
    grouped: list[TreeNode] = []
    run: list[TreeNode] = []
    number = 0
    for child in [*tree.root.children, tree.root]:
        if child.kind == "api":
            run.append(child)
            continue
        if len(run) > 1:
            grouped.append(_collection(tree, number, run))
            number += 1
        else:
            grouped += run
        run = []
        if child is not tree.root:
            grouped.append(child)
    tree.root.children = grouped


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
