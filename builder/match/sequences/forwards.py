"""The forward passes of a run: what each was fed, and which calls of modules belong to it.

A run is one dump or several: an engine records each forward pass as a step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from builder.dump.values import Record
from builder.match.sequences.row_numbers import integers_of
from builder.match.sequences.token_alignment import Forward, Integers
from builder.match.tree import Tree, TreeNode
from msprobe_core.format import is_integer_dtype


@dataclass(frozen=True, slots=True)
class Pass:
    """One forward pass: its ids, and the call of each module in it by the module's path."""

    tree: Tree
    forward: Forward
    calls: dict[str, TreeNode]

    @property
    def rows(self) -> int:
        """How many tokens it computed."""
        return len(self.forward.ids)

    @property
    def batch(self) -> tuple[int, ...]:
        """The dimensions of its ids."""
        return self.forward.shape

    def value(self, path: str, key: str) -> Record | None:
        """A value of a module in this pass."""
        node = self.calls.get(path)
        if node is None:
            return None
        values = self.tree.dump.values
        for index in range(*node.values):
            if values.keys[index] == key:
                return values.records[index]
        return None


_Calls = dict[str, list[TreeNode]]


def passes_of(trees: Sequence[Tree]) -> list[Pass]:
    """The forward passes of a run, in order; none where nothing tells what it was fed."""
    calls = [(tree, _forward_calls(tree)) for tree in trees]
    embedding = next((path for tree, each in calls if (path := _embedding(each, tree))), None)
    if embedding is None:
        return []
    return _with_positions([p for tree, each in calls for p in _passes(tree, each, embedding)])


def _forward_calls(tree: Tree) -> _Calls:
    """The forward calls of each module by its path, in their order, but for recomputed ones."""
    calls: _Calls = defaultdict(list)
    for node in sorted(tree.in_order, key=lambda each: each.began):
        is_call = node.kind == "module" and node.direction == "forward" and not node.recomputed
        if is_call and node.entry is not None:
            calls[node.entry.path].append(node)
    return calls


def _passes(tree: Tree, calls: _Calls, embedding: str) -> Iterator[Pass]:
    """A dump's passes: as many as its embedding was called, with ids that were recorded."""
    fed_by = calls.get(embedding, [])
    for number, node in enumerate(fed_by):
        found = _fed(node, tree)
        if found is None:
            continue
        belonging = {
            path: nodes[number] for path, nodes in calls.items() if len(nodes) == len(fed_by)
        }
        yield Pass(tree, Forward(*found), belonging)


def _embedding(calls: _Calls, tree: Tree) -> str | None:
    """The path of the module that embeds ids; one that embeds positions counts from 0 on."""
    found = [path for path, nodes in calls.items() if _embeds(nodes[0], tree)]
    fed = [_fed(calls[path][0], tree) for path in found]
    of_ids = (path for path, told in zip(found, fed) if told and not _counts(told[0]))
    return next(of_ids, found[0] if found else None)


def _embeds(node: TreeNode, tree: Tree) -> bool:
    """Whether a module makes a row of each integer that it is given."""
    ids = _ids(node, tree)
    if ids is None or ids.shape is None:
        return False
    values = tree.dump.values
    return any(
        values.keys[index].startswith("output")
        and not is_integer_dtype(values.records[index].dtype or "int64")
        and values.records[index].shape is not None
        and sorted((values.records[index].shape or ())[:-1]) == sorted(ids.shape)
        and _holds_table(node, tree)
        for index in range(*node.values)
    )


def _holds_table(node: TreeNode, tree: Tree) -> bool:
    keys = tree.dump.values.keys
    return any(keys[index].startswith("parameters.") for index in range(*node.values))


def _ids(node: TreeNode, tree: Tree) -> Record | None:
    values = tree.dump.values
    for index in range(*node.values):
        record = values.records[index]
        if values.keys[index].startswith("input") and is_integer_dtype(record.dtype or ""):
            return record
    return None


def _fed(node: TreeNode, tree: Tree) -> tuple[Integers, tuple[int, ...]] | None:
    record = _ids(node, tree)
    ids = None if record is None else integers_of(record, tree.dump)
    if record is None or ids is None or not record.shape:
        return None
    return ids, record.shape


# --- positions ------------------------------------------------------------------------------------


def _with_positions(passes: list[Pass]) -> list[Pass]:
    """The passes with the positions of their tokens, where a module is given some."""
    for path, key in _like_positions(passes):
        told = [_positions(each, path, key) for each in passes]
        if all(positions is not None for positions in told):
            return [
                Pass(each.tree, Forward(each.forward.ids, each.forward.shape, p), each.calls)
                for each, p in zip(passes, told)
            ]
    return passes


def _like_positions(passes: list[Pass]) -> Iterator[tuple[str, str]]:
    """Where the first pass has integers that count its tokens from 0 on."""
    for first in passes[:1]:
        values = first.tree.dump.values
        for path, node in first.calls.items():
            for index in range(*node.values):
                key = values.keys[index]
                if key.startswith("input"):
                    positions = _positions(first, path, key)
                    if positions is not None and _counts(positions):
                        yield path, key


def _positions(each: Pass, path: str, key: str) -> Integers | None:
    record = each.value(path, key)
    if record is None or not is_integer_dtype(record.dtype or "") or record.dtype is None:
        return None
    if "bool" in record.dtype or prod(record.shape or ()) != each.rows:
        return None
    return integers_of(record, each.tree.dump)


def _counts(positions: Integers) -> bool:
    """Whether integers begin with 0 and either go on by one or begin with 0 again."""
    steps = np.diff(positions)
    return bool(positions[0] == 0 and ((steps == 1) | (positions[1:] == 0)).all())
