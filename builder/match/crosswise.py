"""Pairs calls crosswise where one side makes equal calls in another order.

An alignment cannot cross. Two calls of one name that read and put out, each, what the other does on
the other side are the same two in another order: they pair by what they hold. A call without a
partner pairs with an equal one that stands elsewhere among the calls of the same parent. Turns of a
loop that take what another turn should take are equal crosswise as well, and stay as they are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from math import isclose, isfinite

from builder.dump.values import Record
from builder.match.tree import Tree, TreeNode
from msprobe_core.format import machine_epsilon

_Pairs = list[tuple[int, int]]
# Sizes that agree to three digits are one value for this purpose: unlike tensors rarely do in all
# of their sizes. Runs that round otherwise may agree less in formats whose epsilon is larger.
_DIGITS = 3
# Turns of a loop that are asked who reads them: one index shifts all of them alike.
_LOOKED_AT = 16


def pair_crosswise(
    pairs: _Pairs,
    left: Sequence[TreeNode],
    right: Sequence[TreeNode],
    trees: tuple[Tree, Tree],
) -> tuple[_Pairs, set[int]]:
    """The pairs with those exchanged that are equal crosswise, and the indices on the left of them.

    `pairs` are what an alignment found, over `left` and `right` of one parent.
    """
    doubtful = _doubtful(pairs, left, right, trees)
    open_left = [i for i, _ in doubtful] + _without(len(left), {i for i, _ in pairs})
    open_right = [j for _, j in doubtful] + _without(len(right), {j for _, j in pairs})
    found = _equal(
        {i: contents(left[i], trees[0]) for i in open_left if left[i].kind == "api"},
        {j: contents(right[j], trees[1]) for j in open_right if right[j].kind == "api"},
    )
    if found:  # most alignments have none, and who reads what is asked of all values
        siblings = _Siblings(left, trees[0]), _Siblings(right, trees[1])
        found = _without_shifted(found, pairs, *siblings)
    if not found:
        return pairs, set()
    ours, theirs = set(found), set(found.values())
    kept = [(i, j) for i, j in pairs if i not in ours and j not in theirs]
    lost_left = [i for i, j in pairs if j in theirs and i not in ours]
    lost_right = [j for i, j in pairs if i in ours and j not in theirs]
    kept += _in_order(lost_left, lost_right, left, right)
    return sorted([*kept, *found.items()]), ours


class _Siblings:
    """The calls of one parent, and which of them read what a call puts out, as equal sizes tell."""

    def __init__(self, nodes: Sequence[TreeNode], tree: Tree) -> None:
        self.nodes = nodes
        self._values = tree.dump.values
        self._readers: dict[Hashable, list[int]] = defaultdict(list)
        for place, node in enumerate(nodes):
            for index in range(*node.values):
                if not self._values.keys[index].startswith("output"):
                    self._readers[self._sizes(index)].append(place)

    def readers(self, place: int) -> set[int]:
        """The places of the first calls behind one that read what it puts out."""
        found = set()
        for index in range(*self.nodes[place].values):
            if self._values.keys[index].startswith("output"):
                readers = self._readers.get(self._sizes(index), [])
                found.update(readers[(at := bisect_right(readers, place)) : at + 1])
        return found

    def _sizes(self, index: int) -> Hashable:
        record = self._values.records[index]
        return tuple(_to_digits(size) for size in (record.Norm, record.Max, record.Min))


def _without_shifted(
    found: dict[int, int], pairs: _Pairs, ours: _Siblings, theirs: _Siblings
) -> dict[int, int]:
    """The crosswise pairs without those of a loop whose turns take what another turn should take.

    All turns are shifted by as many, and what reads them stays in its turn: an index is off by one.
    """
    turns: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for pair in sorted(found.items()):
        turns[ours.nodes[pair[0]].owner].append(pair)
    partner = {**dict(pairs), **found}
    kept: dict[int, int] = {}
    for calls in turns.values():
        if not (_are_read_elsewhere(calls, partner, ours, theirs) and _are_shifted(calls)):
            kept |= dict(calls)
    return kept


def _are_shifted(calls: Sequence[tuple[int, int]]) -> bool:
    """Whether three calls or more keep their order, but for those at one end."""
    places = [place for _, place in calls]
    falls = sum(one > other for one, other in pairwise(places))
    return len(calls) > 2 and falls <= 1 and (falls == 0 or places[-1] < places[0])


def _are_read_elsewhere(
    calls: Sequence[tuple[int, int]], partner: Mapping[int, int], ours: _Siblings, theirs: _Siblings
) -> bool:
    """Whether what the first of some calls put out is read, and never by partners."""
    read = [(ours.readers(one), theirs.readers(other)) for one, other in calls[:_LOOKED_AT]]
    together = (partner.get(reader) in others for readers, others in read for reader in readers)
    return any(readers for readers, _ in read) and not any(together)


def contents(node: TreeNode, tree: Tree) -> Hashable | None:
    """What a call holds, to three digits; None where it holds nothing that tells it from others."""
    values = tree.dump.values
    held: list[Hashable] = []
    sizes = 0
    for index in range(*node.values):
        record = values.records[index]
        if record.dtype is None:
            held.append(repr(record.value))
            continue
        told = [_to_digits(size) for size in (record.Norm, record.Max, record.Min)]
        sizes += bool(told[0])
        held.append((record.shape, *told))
    return (node.owner, node.direction, tuple(held)) if sizes else None


def _to_digits(size: object) -> float | None:
    known = isinstance(size, float) and isfinite(size)
    return float(f"{size:.{_DIGITS - 1}e}") if known else None


def _doubtful(
    pairs: _Pairs, left: Sequence[TreeNode], right: Sequence[TreeNode], trees: tuple[Tree, Tree]
) -> _Pairs:
    """Pairs whose name occurs more than once and whose sizes differ."""
    names = Counter(node.owner for node in left if node.kind == "api")
    return [
        (i, j)
        for i, j in pairs
        if left[i].kind == "api"
        and names[left[i].owner] > 1
        and not _agree(left[i], right[j], trees)
    ]


def _agree(ours: TreeNode, theirs: TreeNode, trees: tuple[Tree, Tree]) -> bool:
    one, other = trees[0].dump.values.records, trees[1].dump.values.records
    return all(
        _close(one[index], other[twin])
        for index, twin in zip(range(*ours.values), range(*theirs.values))
    )


def _close(one: Record, other: Record) -> bool:
    """Whether the norms agree to the digits, or to a rounding of each element."""
    ours, theirs = one.Norm, other.Norm
    if not (isinstance(ours, float) and isinstance(theirs, float)):
        return True
    epsilons = (machine_epsilon(record.dtype or "") or 0.0 for record in (one, other))
    tolerance = max(10.0**-_DIGITS, *epsilons)
    return isclose(ours, theirs, rel_tol=tolerance) or not (isfinite(ours) or isfinite(theirs))


def _equal(ours: dict[int, Hashable | None], theirs: dict[int, Hashable | None]) -> dict[int, int]:
    """Indices of equal contents that occur once on each side."""
    left, right = _once(ours), _once(theirs)
    return {left[held]: right[held] for held in left if held in right}


def _once(contents_of: dict[int, Hashable | None]) -> dict[Hashable, int]:
    counts = Counter(held for held in contents_of.values() if held is not None)
    return {held: i for i, held in contents_of.items() if counts[held] == 1}


def _without(length: int, taken: set[int]) -> list[int]:
    return [index for index in range(length) if index not in taken]


def _in_order(
    lost_left: list[int], lost_right: list[int], left: Sequence[TreeNode], right: Sequence[TreeNode]
) -> _Pairs:
    """Calls that lost their partners to a crosswise pair, paired by name in their order."""
    waiting: dict[str, list[int]] = {}
    for j in reversed(lost_right):
        waiting.setdefault(right[j].owner, []).append(j)
    return [(i, waiting[left[i].owner].pop()) for i in lost_left if waiting.get(left[i].owner)]
