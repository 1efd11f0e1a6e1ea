"""Which output fed which input: exact where the dump says so, else told by equal values.

All values of a side are asked at once, for a dump has an edge or two for every call.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from builder.compare.columns import Columns
from builder.dump.forms import Form
from builder.flow.fingerprints import NO_PRINT, Fingerprints
from builder.flow.handed_gradients import HandedGradients, ReadValues
from builder.match.tree import Tree, TreeNode, subtree

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOWHERE = -1
_OUTPUT = ".output."


@dataclass(frozen=True, slots=True)
class Flow:
    """The edges of one side, one a value that was read; nodes by their execution order.

    `output` is the index of the value that was put out, or NOWHERE when only the call is known.
    `prints` are the fingerprints of all values of the side's `tree`, `owners` the nodes that these
    belong to, and `begins` tells of each node the first that ran in it.
    """

    tree: Tree
    prints: Fingerprints
    owners: Ints
    begins: Ints
    value: Ints
    consumer: Ints
    producer: Ints
    output: Ints
    exact: Bools

    def made_inside(self, top: TreeNode, index: int) -> tuple[TreeNode, int] | None:
        """The call inside a module that put out a value of the module, and that value there.

        One with the same elements comes before one with the same statistics, a later one before
        an earlier one.
        """
        numbers, keys = self.prints.numbers, self.tree.dump.values.keys
        if numbers[index] == NO_PRINT:
            return None
        inside = (node for child in top.children for node in subtree(child))
        made = [
            (node, value)
            for node in inside
            if node.kind == "api" or not node.children
            for value in range(*node.values)
            if numbers[value] == numbers[index] and keys[value].startswith("output")
        ]
        sketches = self.prints.sketches if len(made) > 1 else numbers
        return max(
            made,
            key=lambda at: (sketches[at[1]] == sketches[index], at[0].exec_order),
            default=None,
        )


def flow_of(tree: Tree, columns: Columns, forms: list[Form]) -> Flow:
    """The producer of every value that a node read, where the dump tells one."""
    role = np.array([_role(form) for form in forms], dtype=np.int64)[columns.forms]
    known = Fingerprints(tree, columns, forms)
    prints = np.array(known.numbers[:-1], dtype=np.int64)
    owner, begin = owners_of(tree), begins_of(tree)
    made = np.flatnonzero((role == _MADE) & (prints != NO_PRINT))
    values = _Values(prints, owner, begin, innermost(made, prints, owner, begin))
    read = np.flatnonzero(role == _READ)
    output = _latest_before(values, read)
    producer = np.where(output == NOWHERE, NOWHERE, owner[output])
    exact = _put_exact(tree, values, read, producer, output)
    told = producer != NOWHERE
    edges = ReadValues(read[told], owner[read][told], producer[told], output[told])
    HandedGradients(tree, prints, owner, begin, values.made).put(edges)
    return Flow(
        tree,
        known,
        owner,
        begin,
        edges.value,
        edges.consumer,
        edges.producer,
        edges.output,
        exact[told],
    )


@dataclass(frozen=True, slots=True)
class _Values:
    """By value: fingerprint, the order of its node; by node: where it began; the values put out."""

    prints: Ints
    owner: Ints
    begin: Ints
    made: Ints


_READ, _MADE, _NEITHER = 0, 1, 2


def _role(form: Form) -> int:
    if not form.is_tensor:
        return _NEITHER
    if form.key.startswith("input"):
        return _READ
    return _MADE if form.key.startswith("output") else _NEITHER


def owners_of(tree: Tree) -> Ints:
    """The execution order of the node that each value belongs to."""
    owner = np.zeros(len(tree.dump.values.records), dtype=np.int64)
    for node in tree.in_order:
        start, stop = node.values
        owner[start:stop] = node.exec_order
    return owner


def begins_of(tree: Tree) -> Ints:
    """The execution order of the first node that each node began after; post-order makes it so."""
    sizes = np.ones(len(tree.in_order), dtype=np.int64)
    for node in tree.in_order:
        above = _entry_above(node)
        if above is not None:
            sizes[above.exec_order] += sizes[node.exec_order]
    return np.arange(len(sizes)) - sizes + 1


def _entry_above(node: TreeNode) -> TreeNode | None:
    """The parent that has a place in execution order, which collections have not."""
    above = node.parent
    return above.parent if above is not None and above.kind == "collection" else above


def innermost(made: Ints, prints: Ints, owner: Ints, begin: Ints) -> Ints:
    """Values put out, by fingerprint and order; a module does not hide the call inside it."""
    made = made[np.lexsort((owner[made], prints[made]))]
    same = np.append(False, prints[made][1:] == prints[made][:-1])
    before = np.append(-1, owner[made][:-1])
    inside = same & (before >= begin[owner[made]]) & (before != owner[made])
    return np.asarray(made[~inside])


def _latest_before(values: _Values, read: Ints) -> Ints:
    """The latest value put out, before its reader began, that has the fingerprint of what is read.

    NOWHERE where there is none.
    """
    made, prints, owner = values.made, values.prints, values.owner
    if not len(made):
        return np.full(len(read), NOWHERE, dtype=np.int64)
    span = int(owner.max()) + 2
    keys = prints[made] * span + owner[made]
    place = np.searchsorted(keys, prints[read] * span + values.begin[owner[read]]) - 1
    candidate = made[np.maximum(place, 0)]
    good = (place >= 0) & (prints[candidate] == prints[read]) & (prints[read] != NO_PRINT)
    return np.where(good, candidate, NOWHERE)


def _put_exact(tree: Tree, values: _Values, read: Ints, producer: Ints, output: Ints) -> Bools:
    """Put what the dump says in place of what was inferred; returns where it said something."""
    exact = np.zeros(len(read), dtype=bool)
    records = tree.dump.values.records
    said = [place for place, index in enumerate(read.tolist()) if records[index].source]
    makers = _Makers(values) if said else None
    keyed: dict[int, dict[str, int]] = {}
    for place in said:
        named = named_output(tree, records[read[place]].source or "")
        if named is None or makers is None:
            continue
        node, path = named
        if node.exec_order not in keyed:
            keyed[node.exec_order] = _by_key(tree, node)
        put_out = keyed[node.exec_order].get(path, NOWHERE)
        # What a module puts out was made by a call inside it, which has its fingerprint.
        inner = NOWHERE if put_out == NOWHERE else makers.inside(node.exec_order, put_out)
        output[place] = put_out if inner == NOWHERE else inner
        producer[place] = node.exec_order if inner == NOWHERE else values.owner[inner]
        exact[place] = True
    return exact


def _by_key(tree: Tree, node: TreeNode) -> dict[str, int]:
    """The index of each of a node's values; of two of one key the first."""
    start, stop = node.values
    keys = tree.dump.values.keys
    return {keys[index]: index for index in range(stop - 1, start - 1, -1)}


class _Makers:
    """The values put out, by fingerprint; thousands may share one."""

    def __init__(self, values: _Values) -> None:
        self._values = values
        self._made: dict[int, tuple[list[int], list[int]]] = {}
        made = values.made.tolist()
        cells = values.prints[values.made].tolist(), values.owner[values.made].tolist()
        for index, number, owner in zip(made, *cells, strict=True):
            owners, indices = self._made.setdefault(number, ([], []))
            owners.append(owner)
            indices.append(index)

    def inside(self, node: int, put_out: int) -> int:
        """The last value equal to one of a node's that the node or a call in it has put out."""
        owners, indices = self._made.get(int(self._values.prints[put_out]), ([], []))
        last = bisect_right(owners, node) - 1
        if last < 0 or owners[last] < self._values.begin[node]:
            return NOWHERE
        return indices[last]


def named_output(tree: Tree, source: str) -> tuple[TreeNode, str] | None:
    """The node and the key of `<entry>.output.<path>`; None for an entry that was not recorded."""
    end = source.rfind(_OUTPUT)
    while end > 0:
        node = tree.by_name.get(source[:end])
        if node is not None:
            return node, source[end + 1 :]
        end = source.rfind(_OUTPUT, 0, end)
    return None
