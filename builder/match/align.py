"""Aligns two sequences of calls: a longest common subsequence that prefers agreeing details.

Among alignments of equal length the one with more agreeing details (shapes, then arguments, then
what became of the result and the line of source) wins, so that an inserted call
leaves itself unmatched and not its neighbour of the same name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

# Cells of the dynamic programme that are affordable; wider gaps are cut at unique calls first.
_CELLS = 1_000_000
# Each outweighs any number of the next in a sequence of a thousand calls; what became of a result
# tells more than the line, which a loop or a helper makes all calls share.
_NAME, _SHAPE, _DETAIL, _FATE, _LINE = 10**12, 10**8, 10**4, 2, 1


@dataclass(frozen=True, slots=True)
class Token:
    """What a call shows to the alignment: its name decides, the rest breaks ties.

    `fate` (what became of its result, part by part) and the line say which of two equal calls it
    is; another fate or line makes no call another one. None stands for what is not known.
    """

    name: Hashable
    shape: Hashable = None
    detail: Hashable = None
    line: Hashable = field(default=None, compare=False)
    fate: tuple[bool | None, ...] = field(default=(), compare=False)


def align(left: Sequence[Token], right: Sequence[Token]) -> list[tuple[int, int]]:
    """Index pairs of matched tokens, increasing on both sides."""
    pairs: list[tuple[int, int]] = []
    pending = [(0, len(left), 0, len(right))]
    while pending:
        a, b, c, d = pending.pop()
        as_many = b - a == d - c
        while a < b and c < d and _same(left[a], right[c], as_many):
            pairs.append((a, c))
            a, c = a + 1, c + 1
        while a < b and c < d and _same(left[b - 1], right[d - 1], as_many):
            b, d = b - 1, d - 1
            pairs.append((b, d))
        if a == b or c == d:
            continue
        if (b - a) * (d - c) <= _CELLS:
            pairs += _best(left, right, a, b, c, d)
        else:
            pending += _cut(left, right, a, b, c, d, pairs)
    return sorted(pairs)


def _same(one: Token, other: Token, as_many: bool) -> bool:
    # With a call more on one side, fate and line tell which of two equal ones that is.
    return one == other and (as_many or (one.line, one.fate) == (other.line, other.fate))


def _best(
    left: Sequence[Token], right: Sequence[Token], a: int, b: int, c: int, d: int
) -> list[tuple[int, int]]:
    # table[i][j] = best weight of left[i:b] against right[j:d]; walking it from the front makes
    # earlier partners win among equals.
    width = d - c
    table = [[0] * (width + 1)]
    for i in range(b - 1, a - 1, -1):
        below = table[-1]
        row = [0] * (width + 1)
        token = left[i]
        for j in range(width - 1, -1, -1):
            best = below[j] if below[j] > row[j + 1] else row[j + 1]
            other = right[c + j]
            if token.name == other.name:
                best = max(best, below[j + 1] + _weight(token, other))
            row[j] = best
        table.append(row)
    table.reverse()
    return _trace(left, right, table, (a, b, c, d))


def _trace(
    left: Sequence[Token],
    right: Sequence[Token],
    table: list[list[int]],
    window: tuple[int, int, int, int],
) -> list[tuple[int, int]]:
    a, b, c, d = window
    pairs = []
    i, j = 0, 0
    while i < b - a and j < d - c:
        one, other = left[a + i], right[c + j]
        taken = one.name == other.name
        if taken and table[i][j] == table[i + 1][j + 1] + _weight(one, other):
            pairs.append((a + i, c + j))
            i, j = i + 1, j + 1
        elif table[i][j] == table[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _weight(one: Token, other: Token) -> int:
    weight = _NAME
    if one.shape == other.shape:
        weight += _SHAPE
        if one.detail == other.detail:
            weight += _DETAIL
    if one.line is not None and one.line == other.line:
        weight += _LINE
    for ours, theirs in zip(one.fate, other.fate):
        weight += _FATE * (ours is theirs is not None)
    return weight


def _cut(
    left: Sequence[Token],
    right: Sequence[Token],
    a: int,
    b: int,
    c: int,
    d: int,
    pairs: list[tuple[int, int]],
) -> list[tuple[int, int, int, int]]:
    anchors = _unique_anchors(left, right, a, b, c, d)
    if not anchors:
        # Thousands of equal calls on both sides: pair them in order as far as they go.
        pairs += _greedy(left, right, a, b, c, d)
        return []
    gaps = []
    for i, j in anchors:
        pairs.append((i, j))
        gaps.append((a, i, c, j))
        a, c = i + 1, j + 1
    gaps.append((a, b, c, d))
    return gaps


def _unique_anchors(
    left: Sequence[Token], right: Sequence[Token], a: int, b: int, c: int, d: int
) -> list[tuple[int, int]]:
    ours, theirs = _once(left, a, b), _once(right, c, d)
    shared = [(i, theirs[token]) for token, i in ours.items() if token in theirs]
    return _increasing(sorted(shared))


def _once(tokens: Sequence[Token], start: int, stop: int) -> dict[Token, int]:
    index_of: dict[Token, int] = {}
    repeated: set[Token] = set()
    for index in range(start, stop):
        token = tokens[index]
        if token in index_of:
            repeated.add(token)
        index_of[token] = index
    return {token: index for token, index in index_of.items() if token not in repeated}


def _increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    # Patience sorting: the longest subsequence that increases on the right side too.
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, (_, j) in enumerate(pairs):
        place = bisect_left(tails, j)
        if place == len(tails):
            tails.append(j)
            ends.append(index)
        else:
            tails[place], ends[place] = j, index
        previous.append(ends[place - 1] if place else -1)
    chain = []
    current = ends[-1] if ends else -1
    while current >= 0:
        chain.append(pairs[current])
        current = previous[current]
    return chain[::-1]


def _greedy(
    left: Sequence[Token], right: Sequence[Token], a: int, b: int, c: int, d: int
) -> list[tuple[int, int]]:
    places: dict[Hashable, list[int]] = {}
    for j in range(d - 1, c - 1, -1):
        places.setdefault(right[j].name, []).append(j)
    pairs, reached = [], c - 1
    for i in range(a, b):
        waiting = places.get(left[i].name, [])
        while waiting and waiting[-1] <= reached:
            waiting.pop()
        if waiting:
            reached = waiting.pop()
            pairs.append((i, reached))
    return pairs
