"""Where each rank stands on the axes of a parallel run: recorded in its dump, or told by sizes.

An axis of size 1 is no axis. Experts (ep) divide the data-parallel ranks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from builder.dump.reader import Chunk, Dump, ExpertShare, Parallel
from builder.errors import InputError

# Those that shard or repeat values, innermost first: the order in which parts are joined.
AXES = ("tp", "cp", "dp")
DEFAULT_ORDER = "tp-cp-ep-dp-pp"
_SHOWN = 4
_KNOWN = ("tp", "cp", "ep", "etp", "dp", "pp")


class MissingRanksError(InputError):
    """Some ranks of a run have no dump, without which parts of values are missing."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many ranks each axis has, as a command line says; None where it does not."""

    rank_size: int | None = None
    tp: int | None = None
    cp: int | None = None
    ep: int | None = None
    etp: int | None = None
    dp: int | None = None
    pp: int | None = None
    vpp: int | None = None
    order: str = DEFAULT_ORDER

    @property
    def is_given(self) -> bool:
        """Whether any size was said."""
        return any((self.rank_size, self.tp, self.cp, self.ep, self.dp, self.pp, self.vpp))


@dataclass(frozen=True, slots=True)
class Place:
    """One rank: its place on each axis, and the layers and experts that are its own."""

    rank: int
    at: Mapping[str, int]
    chunks: tuple[Chunk, ...] = ()
    experts: ExpertShare | None = None


@dataclass(frozen=True, slots=True)
class RunLayout:
    """All ranks of a run; `sizes` of the axes that there are, `vpp` chunks on each stage."""

    sizes: Mapping[str, int]
    places: Mapping[int, Place]
    vpp: int = 1
    micro_batches: int | None = None
    cp_order: str | None = None
    source: str = "recorded"

    def size(self, axis: str) -> int:
        """The size of an axis, 1 where there is none."""
        return self.sizes.get(axis, 1)

    def describe(self, rank: int) -> str:
        """A rank's place in words: `tp 1 of 2, pp 0 of 2`."""
        at = self.places[rank].at
        return ", ".join(f"{axis} {at[axis]} of {size}" for axis, size in self.sizes.items())

    def describe_all(self, ranks: Iterable[int]) -> str:
        """The places of some ranks; of many the first and how many more there are."""
        listed = [self.describe(rank) for rank in ranks]
        more = f"; and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
        return "; ".join(listed[:_SHOWN]) + more

    def __str__(self) -> str:
        return " × ".join(f"{axis} {size}" for axis, size in self.sizes.items()) or "one rank"


def layout_of(dumps: Mapping[int, Dump], given: Sizes, folder: object) -> RunLayout:
    """The layout of one side's ranks.

    Raises InputError when a flag contradicts the dump, ranks are missing, or nothing tells where
    the ranks stand.
    """
    recorded = {rank: dump.parallel for rank, dump in dumps.items()}
    if all(header is not None and header.axes for header in recorded.values()):
        layout = _recorded_layout({r: h for r, h in recorded.items() if h is not None})
        _check_flags(layout, given, folder)
        return _complete(layout, dumps, given.rank_size or _world_size(recorded), folder)
    if len(dumps) == 1 and not given.is_given:
        (rank,) = dumps
        return RunLayout({}, {rank: Place(rank, {})}, source="one rank")
    return _complete(_given_layout(sorted(dumps), given, folder), dumps, given.rank_size, folder)


def ordered(layout: RunLayout, cp_order: str, folder: object) -> RunLayout:
    """The layout with the order of sequences over cp that a flag says, if it is not `auto`.

    Raises InputError when the dump recorded another one.
    """
    if cp_order == "auto" or layout.size("cp") == 1:
        return layout
    if layout.cp_order not in (None, cp_order):
        raise InputError(
            f"{folder}: --cp-order {cp_order} contradicts the dump, which recorded "
            f"{layout.cp_order}",
            "leave the flag out",
        )
    return replace(layout, cp_order=cp_order)


def check_ranks(
    ranks: Sequence[int], header: Parallel | None, given: Sizes, folder: object
) -> None:
    """Raise InputError where sizes do not fit a dump, MissingRanksError where ranks are missing.

    `header` is what the dump records of its layout.
    """
    if header is not None and header.axes:
        layout = _recorded_layout({ranks[0]: header})
        _check_flags(layout, given, folder)
        _complete(layout, ranks, given.rank_size or header.world_size, folder)
    elif len(ranks) > 1 or given.is_given:
        _complete(_given_layout(sorted(ranks), given, folder), ranks, given.rank_size, folder)


def _recorded_layout(headers: Mapping[int, Parallel]) -> RunLayout:
    gathered: dict[str, int] = {}
    for header in headers.values():
        for axis, own in header.axes.items():
            name = axis if axis in _KNOWN else "dp"
            if own.size > 1:
                gathered[name] = max(gathered.get(name, 1), own.size)
    places = {}
    for rank, header in headers.items():
        at = {name if name in _KNOWN else "dp": axis.rank for name, axis in header.axes.items()}
        at = {axis: at.get(axis, 0) for axis in gathered}
        places[rank] = Place(rank, at, header.chunks, header.experts)
    first = next(iter(headers.values()))
    return RunLayout(
        gathered,
        places,
        vpp=max(1, len(first.chunks)),
        micro_batches=first.micro_batches,
        cp_order=first.cp_order,
    )


def _world_size(recorded: Mapping[int, Parallel | None]) -> int | None:
    return next((h.world_size for h in recorded.values() if h is not None and h.world_size), None)


def _check_flags(layout: RunLayout, given: Sizes, folder: object) -> None:
    for axis in ("tp", "cp", "ep", "dp", "pp"):
        said = getattr(given, axis)
        if said is not None and said != layout.size(axis):
            raise InputError(
                f"{folder}: --{axis} {said} contradicts the dump, which recorded {axis} "
                f"{layout.size(axis)}",
                "leave the flag out",
            )


def _given_layout(ranks: Sequence[int], given: Sizes, folder: object) -> RunLayout:
    sizes = _sizes_of(ranks, given, folder)
    order = [axis for axis in given.order.split("-") if axis not in ("ep", "etp")]
    unknown = [axis for axis in given.order.split("-") if axis not in _KNOWN]
    if unknown or sorted(order) != sorted(("tp", "cp", "dp", "pp")):
        raise InputError(
            f"--order {given.order}: is no order of the axes",
            f"name tp, cp, ep, dp and pp once each, as {DEFAULT_ORDER}",
        )
    places = {}
    for rank in range(prod(sizes.values())):
        rest, at = rank, {}
        for axis in order:
            at[axis], rest = rest % sizes[axis], rest // sizes[axis]
        places[rank] = Place(rank, {axis: at[axis] for axis in order if sizes[axis] > 1})
    ep = given.ep or 1
    if sizes["dp"] * sizes["cp"] % ep:
        raise InputError(f"{folder}: --ep {ep} does not divide dp × cp", "mend --ep or the others")
    shown = {axis: size for axis, size in sizes.items() if size > 1}
    if ep > 1:
        shown["ep"] = ep
        places = {
            rank: Place(rank, {**place.at, "ep": place.at.get("dp", 0) % ep})
            for rank, place in places.items()
        }
    return RunLayout(shown, places, vpp=given.vpp or 1, source="flags")


def _sizes_of(ranks: Sequence[int], given: Sizes, folder: object) -> dict[str, int]:
    total = given.rank_size or len(ranks)
    if given.rank_size is not None and given.rank_size > 1 and None in (given.tp, given.pp):
        raise InputError(
            f"{folder}: --rank_size {total} alone tells no layout", "add --tp and --pp"
        )
    if not given.is_given:
        raise InputError(
            f"{folder}: {len(ranks)} ranks that do not say where they stand",
            "give --rank_size, --tp and --pp",
        )
    sizes = {axis: getattr(given, axis) or 1 for axis in ("tp", "cp", "pp")}
    taken = prod(sizes.values())
    sizes["dp"] = given.dp or max(1, total // taken)
    if taken * sizes["dp"] != total:
        said = " · ".join(f"{axis} {size}" for axis, size in sizes.items())
        raise InputError(
            f"{folder}: {said} make {taken * sizes['dp']} ranks, not {total}", "mend the sizes"
        )
    return sizes


def _complete(
    layout: RunLayout, present: Collection[int], total: int | None, folder: object
) -> RunLayout:
    expected = range(total if total is not None else prod(layout.sizes.values()))
    missing = [rank for rank in expected if rank not in present]
    if missing:
        raise MissingRanksError(
            f"{folder}: rank {', '.join(map(str, missing))} of {len(expected)} is missing",
            "dump all ranks, or compare rank by rank with --merge off",
        )
    return layout
