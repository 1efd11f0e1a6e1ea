"""Pairs the calls of a loop turn by turn where its lines stand in another order.

An alignment cannot cross: where a loop reads what it updates before it does so in one run, and
behind it in the other, each call of that line pairs with the next turn's, and one is left at either
end. Of a line that both runs come to as often the n-th call pairs with the n-th.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

from builder.match.align import Token

_Pairs = list[tuple[int, int]]


def pair_turns(pairs: _Pairs, left: Sequence[Token], right: Sequence[Token]) -> _Pairs:
    """The pairs with those put right that a loop has shifted.

    `pairs` are what an alignment of the tokens found. A line is shifted where most of its calls
    pair among themselves, all by one number of turns, and some do not. Nothing that has a partner
    is left without one.
    """
    ours, theirs = _by_line(left), _by_line(right)
    partner = dict(pairs)
    shifted = {
        line: dict(zip(own, theirs[line], strict=True))
        for line, own in ours.items()
        if len(own) == len(theirs.get(line, ())) and _are_shifted(own, theirs[line], partner)
    }
    _without_robbing(shifted, partner)
    turned = {i: j for own in shifted.values() for i, j in own.items()}
    kept = {i: j for i, j in pairs if i not in turned}
    return sorted((kept | turned).items())


def _without_robbing(shifted: dict[Hashable, dict[int, int]], partner: Mapping[int, int]) -> None:
    """Take out lines of which a call would take the partner of one that gets no other."""
    line_of = {j: line for line, own in shifted.items() for j in own.values()}
    turned = {i for own in shifted.values() for i in own}
    robbed = [j for i, j in partner.items() if i not in turned]
    while robbed:
        line = line_of.get(robbed.pop())
        if line in shifted:
            robbed += [partner[i] for i in shifted.pop(line) if i in partner]


def _by_line(tokens: Sequence[Token]) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = defaultdict(list)
    for index, token in enumerate(tokens):
        if token.line is not None:
            found[token.name, token.line].append(index)
    return found


def _are_shifted(own: list[int], others: list[int], partner: Mapping[int, int]) -> bool:
    """Whether most of these calls pair with those of the others k turns on, and some do not."""
    place = {index: at for at, index in enumerate(others)}
    turns = [(at, place[partner[i]]) for at, i in enumerate(own) if partner.get(i) in place]
    shifts = {other - at for at, other in turns}
    free = len(own) - len(turns)
    return len(shifts) == 1 and 0 < free <= max(1, *map(abs, shifts)) and free < len(turns)
