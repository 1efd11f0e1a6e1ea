"""What a call or a matched module shows to the alignment of two sequences."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isfinite

from builder.dump.forms import OUTPUT_ROLES
from builder.dump.values import Record
from builder.match.align import Token
from builder.match.tree import Tree, TreeNode

_MADE = re.compile(r"File .*?, line \d+, in (?P<code>[^\n]*)")


def call_names(nodes: list[TreeNode], rank: dict[TreeNode, int], loose: bool) -> list[Hashable]:
    """The names alone, which decide wherever both sides made the same calls."""
    return [_name(node, rank, loose) for node in nodes]


@dataclass(frozen=True, slots=True)
class Readers:
    """What becomes of results in one tree: `values` are the names of the outputs that a call took.

    `values` is None where a dump does not say what it took, `passes_back` whether it has
    gradients.
    """

    values: frozenset[str] | None
    passes_back: bool

    def fate(self, node: TreeNode, keys: Sequence[str]) -> tuple[bool | None, bool | None]:
        """Whether a call took what this one put out, and whether a gradient came back for it."""
        outputs = (f"{node.name}.{key}" for key in keys if key.startswith(OUTPUT_ROLES))
        taken = None if self.values is None else any(name in self.values for name in outputs)
        return taken, node.backward is not None if self.passes_back else None


def readers_of(tree: Tree) -> Readers:
    """Gather what the records of a tree say."""
    sources = frozenset(r.source for r in tree.dump.values.records if r.source is not None)
    # Of a part of a tree the passes back may lie outside of it.
    passes_back = any(n.direction == "backward" or n.backward is not None for n in tree.in_order)
    return Readers(sources or None, passes_back)


def call_tokens(
    nodes: list[TreeNode], tree: Tree, rank: dict[TreeNode, int], loose: bool, readers: Readers
) -> list[Token]:
    """Names with shapes and arguments, to tell apart equal calls around an inserted one."""
    return [_token(node, tree, rank, loose, readers) for node in nodes]


def _name(node: TreeNode, rank: dict[TreeNode, int], loose: bool) -> Hashable:
    if node.kind != "api":
        return rank.get(node, node.name)
    if loose and node.entry is not None:
        # Frameworks file the same call under different prefixes and spell in-place their own way.
        return (node.entry.type_name.strip("_"), node.direction)
    return (node.owner, node.direction)


def _token(
    node: TreeNode, tree: Tree, rank: dict[TreeNode, int], loose: bool, readers: Readers
) -> Token:
    name = _name(node, rank, loose)
    return Token(name) if node.kind != "api" else _described(name, node, tree, readers)


def pass_tokens(nodes: list[TreeNode], tree: Tree, readers: Readers) -> list[Token]:
    """Passes through one module, alike but for what they hold and what became of it."""
    return [_described("", node, tree, readers) for node in nodes]


def _described(name: Hashable, node: TreeNode, tree: Tree, readers: Readers) -> Token:
    start, stop = node.values
    records = tree.dump.values.records[start:stop]
    shapes = tuple(record.shape for record in records)
    arguments = tuple(repr(record.value) for record in records if record.dtype is None)
    fate = readers.fate(node, tree.dump.values.keys[start:stop])
    return Token(name, shapes, (arguments, _first_norm(records)), _line(node, tree), fate)


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
