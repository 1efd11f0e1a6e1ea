"""Experts that several ranks send tokens to, beside experts on one: other orders, and ties.

Tokens come to shared experts in an order of their own. Where the chances of two experts agree to
rounding, two sound runs may choose either: one of them gets a token more, another one less.
"""

from __future__ import annotations

import msgspec
import numpy as np

from builder.ranks.joining.resolution import Sides
from builder.ranks.joining.roles import Pairs
from builder.ranks.joining.tolerances import Roundings
from builder.ranks.layout.names import expert_of


def of_shared_experts(sides: Sides, tensors: Pairs, roundings: Roundings) -> Pairs:
    """The pairs [n, 2] without those of unlike tokens, which are set aside.

    Values of experts lose their sketches, which see the order. What else is told of an expert with
    unlike tokens, its gradients and updates, counts only where it agrees: it is made weak.
    """
    values = sides.values[0]
    parents, records = values.run.dump.parents, values.run.dump.values.records
    experts = {o: expert_of(f"{parents.get(o, '')} {o}") for o in values.run.dump.ranges}
    unlike: set[str] = set()
    kept = np.ones(len(tensors), dtype=bool)
    for at, (index, other) in enumerate(tensors.tolist()):
        owner = values.owner[index]
        if not experts[owner] or values.keys[index].startswith("parameters"):
            continue
        records[index] = msgspec.structs.replace(records[index], sketch=None)
        if _has_ties(sides, (index, other), roundings):
            kept[at] = False
            unlike.add(experts[owner])
            sides.set_aside((index, other), "tokens that rounding gave to others")
    sides.weak |= {owner for owner, expert in experts.items() if expert in unlike}
    return np.asarray(tensors[kept])


def _has_ties(sides: Sides, pair: tuple[int, int], roundings: Roundings) -> bool:
    """Whether ties explain that an expert gets more tokens in one run than in the other.

    Where chances are off by a share e, about 2e of the tokens whose best two they are lie so near
    that either may win: of this expert's own, and of as many of others.
    """
    listed = zip(sides.values, pair, strict=True)
    ours, theirs = (values.records(index)[0].shape or () for values, index in listed)
    if len(ours) != 2 or len(theirs) != 2 or ours[1] != theirs[1]:
        return False
    values = sides.values[0]
    e = roundings.of(values.owner[pair[0]], [values.dtype(pair[0])])
    return 0 < abs(ours[0] - theirs[0]) <= int(2 * e * (ours[0] + theirs[0]))
