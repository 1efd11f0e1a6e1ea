"""Which rows follow from a cause: all that edges lead to from it, over rows that may carry it.

What goes back over certain edges alone does so; where no such way leads to any cause, one over a
guess leads there perhaps. Of several causes that a way leads to it is the one that stands first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.followers.carry_edges import Edges
from builder.results.node_words import NOTHING, Bools, Ints

# What reads a weight that differs since the step before, and what follows from it.
EARLIER = -2


@dataclass(frozen=True, slots=True)
class Origin:
    """Where ways begin: the `row` of a cause, or EARLIER with the rows that read what came in.

    To a cause `of_gradients` nothing of the forward pass goes back: no value there shows it.
    """

    row: int
    starts: Sequence[int]
    of_gradients: bool = False


@dataclass(frozen=True, slots=True)
class Followers:
    """By row the row of its `cause`: NOTHING for none, EARLIER for what the step before wrote.

    `perhaps` says that a guess leads there.
    """

    cause: Ints
    perhaps: Bools


@dataclass(frozen=True, slots=True)
class Passable:
    """Over which rows ways may lead: by certain edges alone, and by any; which rows run forward."""

    surely: Bools
    perhaps: Bools
    forward: Bools


def followers(
    edges: Edges, known: Ints, origins: Sequence[Origin], over: Passable, wanted: Bools
) -> Followers:
    """By row the cause that it goes back to, where `known` says none yet.

    Guesses are followed where some row that is `wanted` goes back to nothing else.
    """
    cause = np.array(known)
    _lead(cause, edges.certain_ones(), origins, over.surely, over.forward)
    left = cause == NOTHING
    if (left & wanted).any():
        _lead(cause, edges, origins, over.perhaps, over.forward)
    return Followers(cause, left & (cause != NOTHING))


def _lead(
    cause: Ints, edges: Edges, origins: Sequence[Origin], passing: Bools, forward: Bools
) -> None:
    # Most rows are laid to a cause: only ways to the others are looked for.
    free = passing & (cause == NOTHING)
    edges = edges.between(passing, free)
    links = links_of(edges.start, edges.end, len(cause))
    backward = links
    if any(one.of_gradients for one in origins):
        kept = edges.between(np.ones(len(cause), dtype=bool), ~forward)
        backward = links_of(kept.start, kept.end, len(cause))
    sources, through = np.unique(edges.start), free.tolist()
    for one in origins:
        starts = {*sources[cause[sources] == one.row].tolist()}
        starts |= {row for row in one.starts if row == one.row or through[row]}
        led = reached(backward if one.of_gradients else links, starts, through) - {one.row}
        cause[list(led)] = one.row
        for row in led:
            through[row] = False


@dataclass(frozen=True, slots=True)
class Links:
    """Links from rows to rows: those of row n lead to `targets[heads[n]:heads[n + 1]]`."""

    heads: list[int]
    targets: list[int]


def links_of(source: Ints, target: Ints, count: int) -> Links:
    """The links between so many rows."""
    order = np.argsort(source, kind="stable")
    heads = np.searchsorted(source[order], np.arange(count + 1)).tolist()
    return Links(heads, target[order].tolist())


def reached(links: Links, start: Iterable[int], through: Sequence[bool]) -> set[int]:
    """The rows that links lead to from others, the start included; only some may be passed."""
    found = set(start)
    pending = list(found)
    heads, targets = links.heads, links.targets
    while pending:
        row = pending.pop()
        for following in targets[heads[row] : heads[row + 1]]:
            if through[following] and following not in found:
                found.add(following)
                pending.append(following)
    return found
