"""Gives values that are one tensor one shape, and tells those whose elements stand otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import msgspec
import numpy as np

from builder.dump.sketch_numbers import projected_norms, sketches_of
from builder.dump.values import Record
from builder.match.implementations.parameters import numbers_of
from builder.match.tree import Tree
from builder.match.value_pairing import SURPLUS

# Numbers that are the same to 1e-5 leave elements that far apart, by the norm, where none moved;
# moved at random they are √2 apart. Between them the value is free.
_MOVED = 0.1
# What is left of a value whose elements stand in another order: its statistics.
_UNSEEN: dict[str, None] = {"sketch": None, "md5": None, "data_name": None}


def made_alike(
    problem: Tree, benchmark: Tree, rows: Sequence[tuple[int, int, int]]
) -> frozenset[int]:
    """Give the problem's values the shapes of their partners; tells those in another order.

    A sketch sees the order of elements. Where it is quite another one, and the numbers that do not
    depend on it are the same, elements have moved and none has changed. A module whose weight's
    elements moved puts out what moved with them.
    """
    sides = problem.dump.values.records, benchmark.dump.values.records
    keys = problem.dump.values.keys
    paired = [row for row in rows if SURPLUS not in row]
    weights = [row for row in paired if keys[row[1]].startswith("parameters.")]
    others = [row for row in paired if not keys[row[1]].startswith("parameters.")]
    moved = dict.fromkeys(_moved(weights, sides, frozenset()))
    owners = {node for node, p, _ in weights if p in moved}
    backward = problem.in_order
    owners |= {b.exec_order for at in owners if (b := backward[at].backward) is not None}
    return frozenset([*moved, *_moved(others, sides, owners)])


def _moved(
    rows: Sequence[tuple[int, int, int]],
    sides: tuple[list[Record], list[Record]],
    owners: Set[int],
) -> Iterator[int]:
    """The problem's values whose elements moved; `owners` are nodes whose weights did.

    Not those whose axes stand in another order, which is how a program lays them out.
    """
    ours, theirs = sides
    pairs = [(p, b) for _, p, b in rows]
    apart = _apart_by_sketches([ours[p] for p, _ in pairs], [theirs[b] for _, b in pairs])
    for (node, p, b), share in zip(rows, apart):
        one, other = ours[p], theirs[b]
        has_turned = _axes_turned(one.shape or (), other.shape or ())
        may_move = node in owners or has_turned or one.shape != other.shape
        if share > _MOVED and _are_of_the_same(one, other, may_move=may_move):
            ours[p] = msgspec.structs.replace(one, shape=other.shape, **_UNSEEN)
            theirs[b] = msgspec.structs.replace(other, **_UNSEEN)
            if not has_turned:
                yield p
        elif one.shape != other.shape:
            ours[p] = msgspec.structs.replace(one, shape=other.shape, md5=None)


def _axes_turned(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two shapes have the same axes in another order, as [tokens, batch, width] has."""
    ours, theirs = ([size for size in shape if size != 1] for shape in (one, other))
    return ours != theirs and sorted(ours) == sorted(theirs)


def _apart_by_sketches(ours: list[Record], theirs: list[Record]) -> list[float]:
    """How far apart values are in relation to their norm, by their sketches; 0 without any."""
    left, right = sketches_of(ours), sketches_of(theirs)
    if left is None or right is None:
        return [0.0] * len(ours)
    distance, norm = map(projected_norms, (left - right, right))
    with np.errstate(all="ignore"):
        return list(np.nan_to_num(distance / norm, nan=0.0, posinf=0.0).tolist())


def _are_of_the_same(one: Record, other: Record, *, may_move: bool) -> bool:
    """Whether elements may have moved; where something else says that, numbers say less."""
    ours, theirs = numbers_of(one), numbers_of(other)
    if ours is None or theirs is None:
        return False
    return ours.are_like(theirs) if may_move else ours.agree(theirs)
