"""Experts that several ranks send tokens to, beside experts on one: other orders, and ties.

Tokens come to shared experts in an order of their own. Where the chances of two experts agree to
rounding, two sound runs may choose either: one of them gets a token more, another one less.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp

import msgspec
import numpy as np
from numpy.typing import NDArray

from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.layouts import AXIS_NAMES
from builder.ranks.joining.parts import RunValues
from builder.ranks.joining.resolution import Sides
from builder.ranks.joining.roles import Pairs
from builder.ranks.joining.tolerances import Roundings
from builder.ranks.layout.names import expert_of

Floats = NDArray[np.float64]
Extents = tuple[int, int]  # tokens, and numbers of each
_RARE = 1000  # more experts than a step of a model of usual size has


def of_shared_experts(sides: Sides, tensors: Pairs, roundings: Roundings) -> Pairs:
    """The pairs [n, 2] of tensors that are to be joined: those without unlike numbers of tokens.

    Values of experts lose their sketches, which see the order. Where ties explain the numbers they
    are set aside; what else is told of such an expert, its gradients and updates, counts only where
    it agrees: it is made weak. Where ties do not, the forward pass differs in its shapes.
    """
    values = sides.values[0]
    parents, records = values.run.dump.parents, values.run.dump.values.records
    experts = {o: expert_of(f"{parents.get(o, '')} {o}") for o in values.run.dump.ranges}
    unlike: set[str] = set()
    tokens: dict[str, Extents] = {}
    kept = np.ones(len(tensors), dtype=bool)
    for at, (index, other) in enumerate(tensors.tolist()):
        owner = values.owner[index]
        if not experts[owner] or values.class_of(index) == "parameter":
            continue
        records[index] = msgspec.structs.replace(records[index], sketch=None)
        ours, theirs = (_extents(v, i) for v, i in zip(sides.values, (index, other), strict=True))
        if ours is None or theirs is None or ours[1] != theirs[1]:
            continue
        tokens.setdefault(experts[owner], (ours[0], theirs[0]))
        if ours[0] == theirs[0]:
            continue
        rounding = roundings.of(owner, [values.dtype(index)])
        if abs(ours[0] - theirs[0]) <= _most_ties(ours[0] + theirs[0], rounding):
            unlike.add(experts[owner])
            sides.set_aside((index, other), "tokens that rounding gave to others")
            kept[at] = False
        elif values.class_of(index) == "forward":
            sides.leave_unlike((index, other), (ours, theirs))
            kept[at] = False
    if unlike:
        sides.result.moved_share = moved_share(tokens)
    sides.weak |= {owner for owner, expert in experts.items() if expert in unlike}
    return np.asarray(tensors[kept])


def moved_share(tokens: dict[str, Extents]) -> float:
    """The largest share of a layer's tokens that went to another expert; by expert, of both sides.

    One that moved is missing at one expert and is more at another.
    """
    layers: dict[str, list[Extents]] = {}
    for expert, of_both in tokens.items():
        layers.setdefault(expert.rpartition(".")[0], []).append(of_both)
    shares = [
        sum(abs(ours - theirs) for ours, theirs in of_layer) / 2 / sum(t for _, t in of_layer)
        for of_layer in layers.values()
        if any(theirs for _, theirs in of_layer)
    ]
    return max(shares, default=0.0)


def exchanged_share(counted: Floats, choices: int, roundings: Floats) -> float:
    """The largest share of a layer's choices of experts that ties explain, by those that differ.

    Experts that exchange tokens keep their numbers of them. `counted` [instances] is the squared
    distance of two lists of `choices` where they were not read: where choices differ, they do so by
    1 at least, and no more of them do.
    """
    differing = np.ceil(counted)
    most = [_most_ties(choices, rounding) for rounding in roundings.tolist()]
    return float(np.where(differing <= most, differing, 0.0).max(initial=0.0)) / max(choices, 1)


def share_of_ties(choices: int, rounding: float) -> float:
    """The share of a layer's choices of experts that ties may have turned."""
    return _most_ties(choices, rounding) / max(choices, 1)


def spread_unseen(routers: Mapping[str, float], values: RunValues) -> dict[str, float]:
    """What is unseen of routers, by the backward entries that it is behind: theirs and experts'.

    Experts stand in the layer of their router, or in one that holds both.
    """
    parents = values.run.dump.parents
    known: dict[str, float] = {}
    for owner in values.run.dump.ranges:
        around = f"{owner} {parents.get(owner) or ''}"
        if "forward" in owner.split("."):
            continue
        own = [share for router, share in routers.items() if _behind(router, around)]
        if own:
            known[owner] = max(own)
    return known


def _behind(router: str, around: str) -> bool:
    """Whether an entry, with what is around it, is in a router or in an expert beside it."""
    chosen = parse(router)
    path = chosen.path if chosen is not None else ""
    if any(found is not None and found.path == path for found in map(parse, around.split())):
        return True
    expert = expert_of(around)
    return bool(expert) and expert.startswith(path.rpartition(".")[0])


def _most_ties(tokens: int, rounding: float) -> int:
    """How many tokens ties may move from or to an expert that two runs gave so many in all.

    Where chances are off by a share e, about 2e of the tokens whose best two they are lie so near
    that either may win: of this expert's own, and of as many of others. So many are expected; more
    than are returned happen to one expert in _RARE, as rare events are counted (Poisson).
    """
    expected = 2 * rounding * tokens
    count, chance = 0, exp(-expected)
    seen = chance
    while 1.0 - seen > 1.0 / _RARE and count < tokens:
        count += 1
        chance *= expected / count
        seen += chance
    return count


def _extents(values: RunValues, index: int) -> Extents | None:
    """The tokens of all parts and their width; None where a part is no list of tokens.

    Weights that a call is given are none. Ranks along tp have the same tokens.
    """
    shapes = [record.shape or () for record in values.records(index)]
    parent = values.run.dump.parents.get(values.owner[index])
    if parent is not None and shapes[0] in values.parameter_shapes(parent):
        return None
    if any(len(shape) != 2 for shape in shapes) or len({shape[1] for shape in shapes}) > 1:
        return None
    tp = AXIS_NAMES.index("tp")
    copies = len({at[tp] for at in values.run.parts[index].places.at})
    return sum(shape[0] for shape in shapes) // copies, shapes[0][1]
