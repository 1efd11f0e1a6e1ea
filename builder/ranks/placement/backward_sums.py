"""What the backward pass reduces over ranks: sums that a layer lacks, and sums of whole gradients.

A value that is the same on all ranks and read by each for a share of the work has on each a part of
its gradient, and the dual of its forward call adds them up; one that each reads for all of the work
has its whole gradient already. Collectives of a backward pass have no module in the dump: they
stand behind the last entry of the module whose gradient they reduce.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.operators.table import plain_name
from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.parts import REDUCING, RunValues, fingerprint
from builder.ranks.layout.names import role_of
from builder.ranks.placement.copies import are_copies, is_constant, norm_of
from msprobe_core.format import COMMUNICATION

_SCALES = frozenset("__mul__ __rmul__ mul mul_ __imul__ __truediv__ div div_ __itruediv__".split())
_NEAR = 0.02  # of a square; rounding of half formats. A mean or an extreme misses it by half
_PEERS = 3  # the fewest that make a usual number


@dataclass(frozen=True, slots=True)
class LackingSum:
    """A module whose backward pass makes fewer reductions of a kind than most of its role."""

    module: str
    kind: str
    count: int
    usual: int
    peers: int


def modules_of_backward(values: RunValues) -> dict[str, str]:
    """By reducing collective of a backward pass the module behind whose entries it stands.

    Entries of another pass between them, such as those of a recomputation, part the two. Behind a
    call outside of modules it is of the module that comes next.
    """
    found: dict[str, str] = {}
    waiting: list[str] = []
    module, is_backward = "", False
    for owner in values.run.dump.ranges:
        entry = parse(owner)
        if entry is not None and entry.prefix in COMMUNICATION:
            if is_backward and entry.type_name in REDUCING:
                found[owner] = module
                waiting += [] if module else [owner]
            continue
        if not _is_of_gradients(owner):
            module = _module_of(values, owner)
            is_backward = bool(module) or (entry is not None and entry.direction == "backward")
            found |= dict.fromkeys(waiting, module) if module else {}
            waiting = [] if module or not is_backward else waiting
    return {owner: own for owner, own in found.items() if own}


def lacking_sums(values: RunValues) -> Iterator[LackingSum]:
    """The modules of which most others of their role reduce more; the first layer is left out.

    Nothing before it may need a gradient.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for owner, module in modules_of_backward(values).items():
        entry = parse(owner)
        if entry is not None:
            counts[module][entry.type_name] += 1
    roles: defaultdict[str, list[str]] = defaultdict(list)
    for module in dict.fromkeys(_module_of(values, owner) for owner in values.run.dump.ranges):
        if module:
            roles[role_of(module)].append(module)
    for own in roles.values():
        yield from _fewer(own[:-1], counts)


def _fewer(own: Sequence[str], counts: Mapping[str, Counter[str]]) -> Iterator[LackingSum]:
    kinds = {kind for module in own for kind in counts.get(module, ())}
    for kind in sorted(kinds):
        made = [counts[module][kind] if module in counts else 0 for module in own]
        usual, peers = Counter(made).most_common(1)[0]
        if peers + 1 < _PEERS or 2 * peers <= len(own):
            continue
        for module, count in zip(own, made, strict=True):
            if count < usual:
                yield LackingSum(module, kind, count, usual, peers)


def summed_gradients(values: RunValues, axis: str) -> Iterator[tuple[str, int]]:
    """The sums over an axis of gradients of activations that its ranks have whole, and how many.

    A gradient that a plain number divides before it is added up, or behind that, is averaged. Those
    of parameters are averaged to keep replicas.
    """
    of_parameters, scaled = _gradients_of_parameters(values), _scaled(values)
    for owner in modules_of_backward(values):
        start, stop = values.run.dump.ranges[owner]
        given = [i for i in range(start, stop) if values.keys[i].startswith(("input.0", "input.1"))]
        groups = [group for index in given for group in _along(values, index, axis)]
        is_averaged = any(_ends(values, own) in scaled for own in (given, _made(values, owner)))
        is_sum = bool(groups) and _is_times(values, owner, given, len(groups[0]))
        if is_sum and not is_averaged and all(_is_whole(g, of_parameters) for g in groups):
            yield owner, len(groups[0])


def _is_times(values: RunValues, owner: str, given: Sequence[int], count: int) -> bool:
    """Whether all results together are `count` times what one rank gave: no mean, no extremes.

    Norms add in squares: over the ranks' shares of what is scattered, else over equal results.
    """
    entry, records = parse(owner), values.run.records
    parts = [part for index in given for part in values.run.parts[index]]
    lowest = min((part.rank for part in parts), default=-1)
    one = [records[part.record] for part in parts if part.rank == lowest]
    own = set(_members(values, owner, lowest))
    results = [part for index in _made(values, owner) for part in values.run.parts[index]]
    made = [records[part.record] for part in results if part.rank in own]
    before = sum(norm_of(record) ** 2 for record in one if record.dtype is not None)
    after = sum(norm_of(record) ** 2 for record in made)
    is_scattered = entry is not None and "scatter" in entry.type_name
    wanted = count * count * before * (1 if is_scattered else len(made))
    return abs(after - wanted) <= _NEAR * wanted


def _members(values: RunValues, owner: str, rank: int) -> Sequence[int]:
    """The ranks of a rank's group in a call, as it told them."""
    start, stop = values.run.dump.ranges[owner]
    told = (
        values.run.records[part.record].group_ranks
        for index in range(start, stop)
        for part in values.run.parts[index]
        if part.rank == rank
    )
    known = next((ranks for ranks in told if ranks), None)
    return known or [part.rank for part in values.run.parts[start]]


def _made(values: RunValues, owner: str) -> list[int]:
    start, stop = values.run.dump.ranges[owner]
    return [index for index in range(start, stop) if values.keys[index] == "output.0"]


def _ends(values: RunValues, rows: Sequence[int]) -> tuple[float, float] | None:
    """The extremes of the tensor that some pieces of a rank make up."""
    pieces = [values.records(index)[0] for index in rows]
    cells = [(number_of(p.Max), number_of(p.Min)) for p in pieces if p.Max is not None]
    return (max(c[0] for c in cells), min(c[1] for c in cells)) if cells else None


def _scaled(values: RunValues) -> frozenset[tuple[float, float] | None]:
    """The extremes of what a plain number multiplies or divides, and of what comes of it."""
    found: set[tuple[float, float] | None] = set()
    for owner, (start, stop) in values.run.dump.ranges.items():
        entry = parse(owner)
        if entry is None or plain_name(entry.type_name) not in _SCALES:
            continue
        if any(type(values.records(i)[0].value) in (int, float) for i in range(start, stop)):
            found |= {_ends(values, [index]) for index in range(start, stop)}
    return frozenset(found - {None})


def _along(values: RunValues, index: int, axis: str) -> list[list[Record]]:
    """The tensors that the ranks along an axis give, for each place on the other axes."""
    places = values.run.layout.places
    groups: defaultdict[tuple[tuple[str, int], ...], list[Record]] = defaultdict(list)
    for part in values.run.parts[index]:
        record = values.run.records[part.record]
        at = places[part.rank].at if part.rank in places else {}
        if record.dtype is not None and not record.group_ranks:
            rest = tuple(sorted((name, own) for name, own in at.items() if name != axis))
            groups[rest].append(record)
    return list(groups.values())


def _is_whole(group: Sequence[Record], of_parameters: frozenset[tuple[object, ...]]) -> bool:
    first = group[0]
    return (
        len(group) > 1
        and len(first.shape or ()) > 1
        and "float" in str(first.dtype)
        and not is_constant(first)
        and fingerprint(first) not in of_parameters
        and are_copies(group)
    )


def _gradients_of_parameters(values: RunValues) -> frozenset[tuple[object, ...]]:
    keys = ("parameters_grad.", "input.gradient")
    return frozenset(
        fingerprint(record)
        for index, key in enumerate(values.keys)
        if key.startswith(keys)
        for record in values.records(index)
    ) - {()}


def _module_of(values: RunValues, owner: str) -> str:
    """The module whose backward pass an entry is, or is a call of; "" of all else."""
    for name in (owner, values.run.dump.parents.get(owner) or ""):
        entry = parse(name)
        if entry is not None and entry.kind == "module" and entry.direction == "backward":
            return name
    return ""


def _is_of_gradients(owner: str) -> bool:
    """Whether an entry tells of gradients of parameters, which hooks see in between."""
    return ".parameters_grad." in owner
