"""Whether replicas read shares of their own, and ranks that cut layers the same rows in one order.

Checksums of the integers that a model is fed, by row, tell it whatever the statistics are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from builder.dump.reader import Dump, FedInput
from builder.ranks.assembly.alignment import parse
from builder.ranks.layout.coordinates import RunLayout

# Axes under these names share out the batch; of other names nothing is known.
_SHARING = ("dp", "ddp", "fsdp", "data", "replica", "dp_shard", "dp_replicate", "hsdp")
_CUTTING = ("tp",)


@dataclass(frozen=True, slots=True)
class SharedRows:
    """Ranks that read the same rows of an argument of a call; `axis` has them apart.

    Where they are `reordered`, the ranks cut layers and read them in unlike orders. `is_of_all`
    tells of rows that all ranks along the axis share: that may be meant so.
    """

    call: str
    argument: str
    axis: str
    ranks: tuple[int, ...]
    rows: int
    reordered: bool = False
    is_of_all: bool = False


def misread_rows(dumps: Mapping[int, Dump], layout: RunLayout) -> Iterator[SharedRows]:
    """The first call of a training step whose rows are dealt out wrongly, for each axis.

    A run that trains nothing may answer one prompt many times over.
    """
    if not all(dump.optimizer for dump in dumps.values()):
        return
    for axis, ranks in _groups(dumps, layout):
        calls = [name for name in dumps[ranks[0]].inputs if _is_forward(name)]
        for call in calls:
            found = _misread(
                call, axis, [dumps[rank].inputs.get(call, {}) for rank in ranks], ranks
            )
            if found is not None:
                yield found
                break


def _is_forward(name: str) -> bool:
    entry = parse(name)
    return entry is not None and entry.direction == "forward"


def _groups(dumps: Mapping[int, Dump], layout: RunLayout) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The ranks that differ in their place on one axis alone, by what the dump calls it."""
    headers = {rank: dump.parallel for rank, dump in dumps.items()}
    for axis in (*_SHARING, *_CUTTING):
        groups: defaultdict[tuple[tuple[str, int], ...], list[int]] = defaultdict(list)
        for rank, header in headers.items():
            told = {} if header is None else header.axes
            if axis not in told or told[axis].size < 2:
                continue
            others = {name: own.rank for name, own in told.items() if name != axis}
            groups[tuple(sorted(others.items()))].append(rank)
        for ranks in groups.values():
            apart = {layout.describe(rank) for rank in ranks if rank in layout.places}
            if len(ranks) > 1 and len(apart) == len(ranks):
                yield axis, tuple(sorted(ranks))


def _misread(
    call: str, axis: str, fed: Sequence[Mapping[str, FedInput]], ranks: tuple[int, ...]
) -> SharedRows | None:
    told = [{key: one for key, one in each.items() if _tells(one)} for each in fed]
    shared = set.intersection(*(set(each) for each in told))
    if axis in _CUTTING:
        for key in sorted(shared):
            rows = [each[key].rows for each in told]
            if len(set(rows)) > 1 and len({tuple(sorted(own)) for own in rows}) == 1:
                return SharedRows(call, key, axis, ranks, len(rows[0]), reordered=True)
        return None
    read = [frozenset((key, one.rows) for key, one in each.items()) for each in told]
    readers = Counter(read)
    same = [rank for rank, own in zip(ranks, read, strict=True) if own and readers[own] > 1]
    if not shared or not same:
        return None
    key = min(shared)
    count = len(told[ranks.index(same[0])][key].rows)
    return SharedRows(call, key, axis, tuple(same), count, is_of_all=len(same) == len(ranks))


def _tells(one: FedInput) -> bool:
    """Whether an argument has rows of their own: those of positions and masks are alike."""
    return len(one.rows) > 1 and len(set(one.rows)) == len(one.rows)
