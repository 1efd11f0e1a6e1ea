"""Which module of one program is which of the other's: that which holds the same weights.

Both sides of a pair hold the same weights, whatever the modules are called and however the weights
are fused inside. Of modules that wrap one another and hold the same, those pair that put out as
many elements and read and put out the same numbers; where none does, owners of weights pair with
the innermost, what wraps them with the outermost.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set

from builder.match.implementations.parameters import Parameter
from builder.match.implementations.weight_pairs import WeightPair

_Held = frozenset[int]
# How many of the first tensor read and the first put out are alike: of a path, of another.
EdgesAlike = Callable[[str, str], int]


def pair_modules(
    pairs: Sequence[WeightPair],
    problem: Mapping[str, int],
    benchmark: Mapping[str, int],
    *,
    alike: EdgesAlike,
) -> dict[str, str]:
    """The benchmark's module path for each of the problem's that has a partner.

    `problem` and `benchmark` tell of all modules that ran how many elements they put out.
    """
    ours, theirs = _held_by_side(pairs)
    left, right = _by_held(ours, problem), _by_held(theirs, benchmark)
    owners = {each.module for pair in pairs for each in pair.problem}
    votes = _votes(left, right, alike)
    found: dict[str, str] = {}
    for held, chain in left.items():
        waiting = right.get(held, [])
        # Owners of weights first: what they put out alone tells a projection from what it is for.
        for path in sorted(chain, key=lambda each: each not in owners):
            fitting = [other for other in waiting if benchmark[other] == problem[path]]
            if fitting:
                if path in owners:
                    fitting.reverse()
                partner = max(fitting, key=lambda other: votes[layer_of(path), layer_of(other)])
                waiting.remove(partner)
                found[path] = partner
    return found


def _votes(
    left: Mapping[_Held, Sequence[str]], right: Mapping[_Held, Sequence[str]], alike: EdgesAlike
) -> Counter[tuple[str, str]]:
    """How often modules of one name and another are alike, over all layers.

    Behind a fault nothing is alike: there the layers before it tell.
    """
    votes: Counter[tuple[str, str]] = Counter()
    for held, chain in left.items():
        others = right.get(held, ())
        if len(chain) > 1 or len(others) > 1:
            for path in chain:
                for other in others:
                    votes[layer_of(path), layer_of(other)] += alike(path, other)
    return votes


def layer_of(path: str) -> str:
    """The path of a module or weight without the numbers of its layers."""
    return re.sub(r"\d+", "#", path)


def _held_by_side(pairs: Sequence[WeightPair]) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    """The numbers of all that stands below each path; each part of a fused weight has its own."""
    ours: dict[str, set[int]] = defaultdict(set)
    theirs: dict[str, set[int]] = defaultdict(set)
    number = 0
    for pair in pairs:
        count = max(len(pair.problem), len(pair.benchmark))
        for side, parameters in ((ours, pair.problem), (theirs, pair.benchmark)):
            for part, parameter in enumerate(parameters):
                whole = range(number, number + count)
                numbers = whole if len(parameters) == 1 else (number + part,)
                for path in _above(parameter.module):
                    side[path].update(numbers)
        number += count
    return ours, theirs


def _above(path: str) -> Iterator[str]:
    """A path and all above it."""
    while path:
        yield path
        path = path.rpartition(".")[0]


def _by_held(held: Mapping[str, set[int]], ran: Mapping[str, int]) -> dict[_Held, list[str]]:
    """The modules that ran by what they hold, the outermost first."""
    chains: dict[_Held, list[str]] = defaultdict(list)
    for path in sorted(ran.keys() & held.keys(), key=lambda each: each.count(".")):
        chains[frozenset(held[path])].append(path)
    return chains


def unpaired_in(
    paths: Mapping[str, str],
    ours: Sequence[Parameter],
    theirs: Sequence[Parameter],
) -> Iterator[tuple[Parameter, Parameter]]:
    """Weights of one size that no value pairs, in the order of their calls inside one pair."""
    waiting: dict[tuple[str, int], list[Parameter]] = defaultdict(list)
    partners = frozenset(paths.values())
    for parameter in theirs:
        above = partner_above(parameter.module, partners)
        waiting[above, parameter.numbers.size].append(parameter)
    asking: dict[tuple[str, int], list[Parameter]] = defaultdict(list)
    for parameter in ours:
        above = partner_of_above(parameter.module, paths)
        asking[above, parameter.numbers.size].append(parameter)
    for key, several in asking.items():
        if len(several) == len(waiting.get(key, ())):
            yield from zip(several, waiting[key])


def partner_above(path: str, partners: Set[str]) -> str:
    """Of the benchmark: a path or the nearest above it that is a partner; empty where none is."""
    return next((each for each in _above(path) if each in partners), "")


def partner_of_above(path: str, paths: Mapping[str, str]) -> str:
    """Of the problem: the partner of a path or of the nearest above it that has one, or empty."""
    return next((paths[each] for each in _above(path) if each in paths), "")
