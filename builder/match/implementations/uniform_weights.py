"""Pairs weights that are one number throughout, as norms and biases of a drawn model are, by place.

Their values tell nothing. Those pair whose modules stand in modules that hold the same other
weights. Of several in one such place those pair whose modules read and put out the nearest numbers,
in most layers; where nothing tells, and either side has as many, they pair in turn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from builder.match.implementations.modules import layer_of, partner_above, partner_of_above
from builder.match.implementations.parameters import Parameter
from builder.match.implementations.weight_pairs import Side, WeightPair, joined_pairs, whole_pair

# How far apart the edges of two modules are, in units of their norms; infinity where nothing tells.
EdgesApart = Callable[[str, str], float]
# So many of one place are held against one another: more of them are all of a program that has no
# modules, where turns tell as much.
_MOST = 64
# Edges of partners are nearer than this: numbers of two unlike values are apart by about 1.
_NEAR = 0.5

_Place = tuple[str, int, float]  # the module of the benchmark around it, size, and the number
_Places = Mapping[_Place, list[Parameter]]


def pair_constants(
    paths: Mapping[str, str], problem: Side, benchmark: Side, apart: EdgesApart
) -> Iterator[WeightPair]:
    """The pairs of constant weights; `paths` are modules that correspond by other weights."""
    ours = _by_place(problem, lambda path: partner_of_above(path, paths))
    partners = frozenset(paths.values())
    theirs = _by_place(benchmark, lambda path: partner_above(path, partners))
    votes = _votes(ours, theirs, apart)
    taken: set[int] = set()
    for place, several in ours.items():
        for one, other in _in_place(several, theirs.get(place, []), votes):
            taken.update((id(one), id(other)))
            yield whole_pair(one, other)
    yield from _joined_in_places(ours, theirs, (problem, benchmark), taken)


def _by_place(side: Side, around: Callable[[str], str]) -> dict[_Place, list[Parameter]]:
    found: dict[_Place, list[Parameter]] = defaultdict(list)
    for each in side.parameters:
        if each.is_constant:
            place = around(each.module), each.numbers.size, each.numbers.largest
            found[place].append(each)
    return found


def _votes(ours: _Places, theirs: _Places, apart: EdgesApart) -> Counter[tuple[str, str]]:
    """How often a weight of one name is nearest to one of another, over all layers."""
    votes: Counter[tuple[str, str]] = Counter()
    for place, several in ours.items():
        others = theirs.get(place, [])
        if not 1 < max(len(several), len(others)) <= _MOST or not others:
            continue
        for one in several:
            away, nearest = min(
                ((apart(one.module, other.module), other) for other in others),
                key=lambda each: (each[0], each[1].name != one.name),
            )
            if away < _NEAR:
                votes[layer_of(one.path), layer_of(nearest.path)] += 1
    return votes


def _in_place(
    ours: Sequence[Parameter], theirs: Sequence[Parameter], votes: Counter[tuple[str, str]]
) -> Iterator[tuple[Parameter, Parameter]]:
    """The pairs of one place, those that most layers vote for first."""
    left, right = list(ours), list(theirs)
    told = sorted(
        (
            (-votes[layer_of(one.path), layer_of(other.path)], at, to, one, other)
            for at, one in enumerate(ours)
            for to, other in enumerate(theirs)
            if votes[layer_of(one.path), layer_of(other.path)]
        ),
        key=lambda each: each[:3],
    )
    for _, _, _, one, other in told:
        if one in left and other in right:
            left.remove(one)
            right.remove(other)
            yield one, other
    if len(left) == len(right):
        yield from zip(left, right)


def _joined_in_places(
    ours: _Places, theirs: _Places, sides: tuple[Side, Side], taken: set[int]
) -> Iterator[WeightPair]:
    """What several constants of one place make up, as biases of projections that are fused."""
    left, right = (_by_module(places, taken) for places in (ours, theirs))
    for around, several in left.items():
        if others := right.get(around):
            yield from joined_pairs(Side(several, sides[0].records), Side(others, sides[1].records))


def _by_module(places: _Places, taken: set[int]) -> dict[str, list[Parameter]]:
    found: dict[str, list[Parameter]] = defaultdict(list)
    for (around, _, _), several in places.items():
        found[around] += [each for each in several if id(each) not in taken]
    return found
