"""Parts of a sum that are used as if they were the whole (C5), and clip factors that ranks do not
share (C7): what the layers of one run tell of each other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from builder.operators.table import has, plain_name
from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.layouts import AXIS_NAMES
from builder.ranks.joining.parts import REDUCING, RunValues, fingerprint
from builder.ranks.joining.told import names_of
from builder.ranks.joining.tolerances import Roundings
from builder.ranks.layout.names import role_of
from builder.ranks.placement.evidence import are_apart, norm_of
from msprobe_core.format import COMMUNICATION

_PEERS = 3  # the fewest of which two outvote the third
Fingerprint = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Unreduced:
    """A value that its peers in other layers add up over ranks and that is used in parts."""

    module: str
    call: str
    reader: str
    ranks: tuple[int, ...]
    peers: int


def unreduced_sums(values: RunValues) -> Iterator[Unreduced]:
    """The sums that most layers form over ranks and one does not, by their first reader."""
    reduced = _reduced_over(values)
    if not reduced:
        return
    readers: dict[Fingerprint, list[str]] | None = None
    for rows in _outputs_by_role(values).values():
        groups = [reduced.get(_print_of(values, row), ()) for row in rows]
        peers = sum(1 for group in groups if group)
        if peers < _PEERS or peers * 2 <= len(rows) or peers == len(rows):
            continue
        usual = max(groups, key=len)
        readers = _readers(values) if readers is None else readers
        for row, group in zip(rows, groups, strict=True):
            reader = None if group else _first_reader(values, row, readers)
            if reader is not None and are_apart(values.owner[row], values.records(row)):
                owner = values.owner[row]
                parent = values.run.dump.parents.get(owner) or owner
                ranks = tuple(sorted({part.rank for part in values.run.parts[row]}))
                axis = _axis_ranks(values, ranks, usual)
                yield Unreduced(parent, owner, reader, axis, peers)


def _reduced_over(values: RunValues) -> dict[Fingerprint, tuple[int, ...]]:
    """By fingerprint of what is given to collectives that sum, the ranks of their group."""
    over: dict[Fingerprint, tuple[int, ...]] = {}
    for name, (start, stop) in values.run.dump.ranges.items():
        entry = parse(name) if name.partition(".")[0] in COMMUNICATION else None
        if entry is None or entry.type_name not in REDUCING:
            continue
        given = [i for i in range(start, stop) if values.keys[i].startswith("input")]
        told = [r.group_ranks for i in given for r in values.records(i) if r.group_ranks]
        present = sorted({p.rank for i in given for p in values.run.parts[i]})
        group = tuple(told[0] if told else present)
        over.update((fingerprint(record), group) for i in given for record in values.records(i))
    over.pop((), None)
    return over


def _print_of(values: RunValues, row: int) -> Fingerprint:
    return fingerprint(values.run.records[values.run.parts[row].records[0]])


def _outputs_by_role(values: RunValues) -> Mapping[tuple[object, ...], list[int]]:
    """The outputs of forward calls by module, kind and turn, layers beside each other."""
    roles: dict[tuple[object, ...], list[int]] = defaultdict(list)
    turns: Counter[tuple[str, str]] = Counter()
    for name, (start, stop) in values.run.dump.ranges.items():
        entry, parent = parse(name), values.run.dump.parents.get(name)
        if entry is None or parent is None or entry.prefix in COMMUNICATION:
            continue
        if entry.kind != "api" or entry.direction != "forward":
            continue
        turn = turns[parent, entry.owner.rpartition(".")[0] + entry.type_name]
        turns[parent, entry.owner.rpartition(".")[0] + entry.type_name] += 1
        for index in range(start, stop):
            if values.keys[index].startswith("output"):
                key = (role_of(parent), entry.type_name, turn, values.keys[index])
                roles[key].append(index)
    return roles


def _readers(values: RunValues) -> dict[Fingerprint, list[str]]:
    """By fingerprint, the calls that read a value, in order."""
    readers: dict[Fingerprint, list[str]] = defaultdict(list)
    for name, (start, stop) in values.run.dump.ranges.items():
        entry = parse(name)
        if entry is None or entry.kind != "api" or entry.direction != "forward":
            continue
        for index in range(start, stop):
            if values.keys[index].startswith("input"):
                readers[_print_of(values, index)].append(name)
    return readers


def _first_reader(
    values: RunValues, row: int, readers: Mapping[Fingerprint, Sequence[str]]
) -> str | None:
    """The first call that a sum's part does not go through unharmed."""
    made = _print_of(values, row)
    for name in readers.get(made, ()) if made else ():
        entry = parse(name)
        if entry is not None and entry.prefix in COMMUNICATION:
            return None
        if entry is not None and not (
            has(entry.type_name, "linear") or _is_scaling(values, name, entry.type_name)
        ):
            return name
    return None


def _is_scaling(values: RunValues, name: str, call: str) -> bool:
    """Whether a call multiplies its one tensor by a plain number, which sums go through."""
    start, stop = values.run.dump.ranges[name]
    read = [i for i in range(start, stop) if values.keys[i].startswith("input")]
    tensors = [i for i in read if values.dtype(i) is not None]
    return len(tensors) == 1 < len(read) and plain_name(call) in ("__mul__", "__rmul__", "mul")


def _axis_ranks(values: RunValues, ranks: Sequence[int], group: Sequence[int]) -> tuple[int, ...]:
    """The ranks that lie to each other as those of a group of the peers do, first found."""
    places = values.run.layout.places
    varying = [
        axis
        for axis in AXIS_NAMES
        if len({places[r].at.get(axis, 0) for r in group if r in places}) > 1
    ]
    first = places[ranks[0]].at
    return tuple(
        rank
        for rank in ranks
        if all(first.get(a) == at for a, at in places[rank].at.items() if a not in varying)
    )


# --- clipping -----------------------------------------------------------------------------------


def clip_factors(values: RunValues) -> tuple[dict[int, float], float]:
    """By rank, the one factor between gradients of modules and those that its optimizer reads.

    Ranks without one such factor are left out: there, gradients are reduced in between. The second
    result is how far rounding may move a factor: both gradients are rounded to their format.
    """
    epsilon = 0.0
    before: dict[tuple[int, str], float] = {}
    after: dict[tuple[int, str], float] = {}
    for index, key in enumerate(values.keys):
        owner = values.owner[index]
        is_read = key == "input.gradient" and owner.startswith("Optimizer.")
        if not is_read and not key.startswith("parameters_grad."):
            continue
        name = next(names_of(owner, key))
        epsilon = max(epsilon, Roundings().of(owner, [values.dtype(index)]))
        (after if is_read else before).update(
            ((p.rank, name), norm_of(values.run.records[p.record])) for p in values.run.parts[index]
        )
    ratios: dict[int, list[float]] = defaultdict(list)
    for (rank, name), norm in after.items():
        if before.get((rank, name), 0.0) > 0.0:
            ratios[rank].append(norm / before[rank, name])
    found = {}
    for rank, listed in ratios.items():
        middle = float(np.median(listed))
        alike = np.abs(np.array(listed) - middle) <= epsilon * middle
        # The median is the factor of most only where most are near it.
        if len(listed) >= _PEERS and 2 * alike.sum() > len(listed):
            found[rank] = middle
    return found, epsilon


def unlike_factors(factors: Mapping[int, float], rounding: float) -> bool:
    """Whether ranks scaled their gradients by different factors."""
    if len(factors) < 2:
        return False
    return max(factors.values()) - min(factors.values()) > rounding * max(factors.values())
