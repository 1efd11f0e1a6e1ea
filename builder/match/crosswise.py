"""Pairs calls crosswise where one side makes equal calls in another order.

An alignment cannot cross. Two calls of one name that read and put out, each, what the other does on
the other side are the same two in another order: they pair by what they hold. A call without a
partner pairs with an equal one that stands elsewhere among the calls of the same parent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import isclose, isfinite

from builder.match.tree import Tree, TreeNode

_Pairs = list[tuple[int, int]]
# Sizes that agree to three digits are one value for this purpose: runs that round otherwise agree
# better than that where they agree, and unlike tensors rarely do in all of their sizes.
_DIGITS = 3


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
    if not found:
        return pairs, set()
    ours, theirs = set(found), set(found.values())
    kept = [(i, j) for i, j in pairs if i not in ours and j not in theirs]
    lost_left = [i for i, j in pairs if j in theirs and i not in ours]
    lost_right = [j for i, j in pairs if i in ours and j not in theirs]
    kept += _in_order(lost_left, lost_right, left, right)
    return sorted([*kept, *found.items()]), ours


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
        norm = record.Norm
        known = isinstance(norm, float) and isfinite(norm) and norm != 0
        sizes += known
        held.append((record.shape, float(f"{norm:.{_DIGITS - 1}e}") if known else None))
    return (node.owner, node.direction, tuple(held)) if sizes else None


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
        _close(one[index].Norm, other[twin].Norm)
        for index, twin in zip(range(*ours.values), range(*theirs.values))
    )


def _close(one: object, other: object) -> bool:
    if not (isinstance(one, float) and isinstance(other, float)):
        return True
    return isclose(one, other, rel_tol=10.0**-_DIGITS) or not (isfinite(one) or isfinite(other))


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
