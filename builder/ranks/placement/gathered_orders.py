"""In which order ranks put together what they gathered: that of their places on the axis.

What an axis cuts lies over its ranks in order, so that the parts that a gather hands to all make
the whole in that order. Along cp, where a program may deal a sequence out otherwise (zigzag), the
order of most of its gathers is that of the run. Which part is which follows from the calls between,
whatever the numbers are: a list's n-th tensor is the n-th rank's, and pieces of a whole that was
put together of as many parts along the same dimension are these parts again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from builder.dump.passing_calls import PassingCall
from builder.operators.table import plain_name
from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.parts import RunValues
from msprobe_core.format import COMMUNICATION

_PEERS = 3  # the fewest gathers that make a usual order
_CATS = frozenset(("cat", "concat", "concatenate"))
Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OutOfOrder:
    """A call that puts the parts of a `gather` together in an order that is not the usual one.

    The gather has its name in the logical run, the call that of its rank.
    """

    gather: str
    call: str
    order: Order
    usual: Order


@dataclass(frozen=True, slots=True)
class _Whole:
    """What was put together: the parts of a gather in some order, along a dimension."""

    gather: str
    order: Order
    dim: int


def out_of_order(values: RunValues, axis: str) -> Iterator[OutOfOrder]:
    """The last call for each gather along an axis, where it takes the parts in another order."""
    size, found = values.run.layout.size(axis), dict[str, tuple[str, Order]]()
    seen: Counter[Order] = Counter()
    for rank in sorted(values.run.passing)[:1]:
        gathers = _gathers(values, rank, axis)
        for call, whole in _wholes(values, rank, gathers).items():
            if len(whole.order) == size:
                seen[whole.order] += 1
                found[gathers[whole.gather][0]] = (call, whole.order)
    usual = tuple(range(size))
    if axis != "tp":
        usual, peers = seen.most_common(1)[0] if seen else ((), 0)
        if peers < _PEERS or 2 * peers <= seen.total():
            return
    for gather, (call, order) in found.items():
        if order != usual:
            yield OutOfOrder(gather, call, order, usual)


def _wholes(
    values: RunValues, rank: int, gathers: Mapping[str, tuple[str, int]]
) -> dict[str, _Whole]:
    """What a rank puts together of gathers, by the call that does it."""
    calls = values.run.passing.get(rank, {})
    wholes: dict[str, _Whole] = {}
    for name, call in calls.items():
        entry = parse(name)
        if entry is None or plain_name(entry.type_name) not in _CATS:
            continue
        parts = [_part(source, gathers, wholes, calls) for _, source in call.sources]
        known = [part for part in parts if part is not None]
        one = {gather for gather, _, _ in known}
        if len(known) == len(parts) and len(one) == 1:
            (gather,) = one
            dim = _dim(call, "input.1", gathers[gather][1])
            if len({cut for _, _, cut in known} - {None, dim}) == 0:
                order = tuple(place for _, place, _ in known)
                if len(set(order)) == len(order):
                    wholes[name] = _Whole(gather, order, dim)
    return wholes


def _gathers(values: RunValues, rank: int, axis: str) -> dict[str, tuple[str, int]]:
    """By a rank's name the gathers of lists along an axis: the logical name, the dimensions."""
    found = {}
    places = values.run.layout.places
    for owner, (start, stop) in values.run.dump.ranges.items():
        entry = parse(owner)
        if entry is None or entry.prefix not in COMMUNICATION or entry.type_name != "all_gather":
            continue
        name = values.run.origin.get(owner, {}).get(rank)
        own = [i for i in range(start, stop) if values.keys[i].startswith("output.0.")]
        told = next(
            (r.group_ranks for i in range(start, stop) for r in values.records(i) if r.group_ranks),
            None,
        )
        ranks = told or sorted({part.rank for i in own for part in values.run.parts[i]})
        at = [places[r].at for r in ranks if r in places]
        along = {a for a in values.run.layout.sizes if len({p.get(a, 0) for p in at}) > 1}
        if name is not None and own and along == {axis}:
            found[name] = (owner, len(values.records(own[0])[0].shape or ()))
    return found


def _part(
    source: str | None,
    gathers: Mapping[str, tuple[str, int]],
    wholes: Mapping[str, _Whole],
    calls: Mapping[str, PassingCall],
) -> tuple[str, int, int | None] | None:
    """The gather and the place of a part; of a piece of a whole also the dimension of the cut."""
    name, _, path = (source or "").partition(".output.")
    if name in gathers and path.startswith("0.") and path[2:].isdigit():
        return name, int(path[2:]), None
    call, entry = calls.get(name), parse(name)
    if call is None or entry is None or plain_name(entry.type_name) != "chunk":
        return None
    whole = wholes.get((call.sources[0][1] or "").partition(".output")[0])
    if whole is None or not path.isdigit() or int(path) >= len(whole.order):
        return None
    pieces = call.arguments.get("input.1", call.arguments.get("input.chunks", ("", None)))[1]
    dim = _dim(call, "input.2", gathers[whole.gather][1])
    is_back = pieces == len(whole.order) and dim == whole.dim
    return (whole.gather, whole.order[int(path)], dim) if is_back else None


def _dim(call: PassingCall, key: str, count: int) -> int:
    told = call.arguments.get(key, call.arguments.get("input.dim", ("int", 0)))[1]
    return told % count if isinstance(told, int) and count else 0
