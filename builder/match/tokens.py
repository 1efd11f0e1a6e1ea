"""What a call or a matched module shows to the alignment of two sequences."""

from __future__ import annotations

import re
from collections.abc import Hashable
from math import isfinite

from builder.dump.values import Record
from builder.match.align import Token
from builder.match.tree import Tree, TreeNode

_MADE = re.compile(r"File .*?, line \d+, in (?P<code>[^\n]*)")


def call_names(nodes: list[TreeNode], rank: dict[TreeNode, int], loose: bool) -> list[Hashable]:
    """The names alone, which decide wherever both sides made the same calls."""
    return [_name(node, rank, loose) for node in nodes]


def call_tokens(
    nodes: list[TreeNode], tree: Tree, rank: dict[TreeNode, int], loose: bool
) -> list[Token]:
    """Names with shapes and arguments, to tell apart equal calls around an inserted one."""
    return [_token(node, tree, rank, loose) for node in nodes]


def _name(node: TreeNode, rank: dict[TreeNode, int], loose: bool) -> Hashable:
    if node.kind != "api":
        return rank.get(node, node.name)
    if loose and node.entry is not None:
        # Frameworks file the same call under different prefixes and spell in-place their own way.
        return (node.entry.type_name.strip("_"), node.direction)
    return (node.owner, node.direction)


def _token(node: TreeNode, tree: Tree, rank: dict[TreeNode, int], loose: bool) -> Token:
    name = _name(node, rank, loose)
    if node.kind != "api":
        return Token(name)
    start, stop = node.values
    records = tree.dump.values.records[start:stop]
    shapes = tuple(record.shape for record in records)
    arguments = tuple(repr(record.value) for record in records if record.dtype is None)
    return Token(name, shapes, (arguments, _first_norm(records)), _line(node, tree))


def _line(node: TreeNode, tree: Tree) -> str | None:
    """The text of the line that made a call; its number moves with every line above it."""
    if node.stack is None:
        return None
    found = _MADE.match(tree.dump.frames[node.stack])
    return found["code"] if found is not None else None


def _first_norm(records: list[Record]) -> float | None:
    # Three digits of the first input's norm tell equal calls apart without asking for equality.
    for record in records:
        if record.dtype is not None:
            norm = record.Norm
            return float(f"{norm:.2e}") if isinstance(norm, float) and isfinite(norm) else None
    return None
