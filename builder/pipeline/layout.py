"""Places the nodes of a tree for the database: collections, ids in pre-order, what lies below."""

from __future__ import annotations

from dataclasses import dataclass

from builder.tree import Tree, TreeNode, subtree


@dataclass(slots=True)
class Bases:
    """The first free id of each table."""

    node: int
    value: int
    stack: int


@dataclass(slots=True)
class Placed:
    """One tree with its ids: node `listed[i]` gets id `node_base + i`."""

    tree: Tree
    graph: int
    listed: list[TreeNode]
    node_base: int
    value_base: int
    stack_base: int

    def id_of(self, node: TreeNode) -> int:
        """The database id of a node."""
        return self.node_base + node.index


def place(tree: Tree, graph: int, bases: Bases) -> Placed:
    """Give ids to a tree's nodes and reserve those of its values and stacks."""
    group_top_level(tree)
    listed = subtree(tree.root)
    for index, node in enumerate(listed):
        node.index = index
    placed = Placed(tree, graph, listed, bases.node, bases.value, bases.stack)
    bases.node += len(listed)
    bases.value += len(tree.dump.values.records)
    bases.stack += len(tree.dump.frames)
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
    listed: list[TreeNode], scores: list[float | None], threshold: float
) -> tuple[list[float | None], list[int]]:
    """The highest score and the number of divergent nodes below each node, itself left out."""
    worst: list[float | None] = [None] * len(listed)
    divergent = [0] * len(listed)
    for index in range(len(listed) - 1, 0, -1):
        parent = listed[index].parent
        assert parent is not None
        score, below = scores[index], worst[index]
        if score is not None and (below is None or score > below):
            below = score
        known = worst[parent.index]
        if below is not None and (known is None or below > known):
            worst[parent.index] = below
        divergent[parent.index] += divergent[index] + (score is not None and score > threshold)
    return worst, divergent
