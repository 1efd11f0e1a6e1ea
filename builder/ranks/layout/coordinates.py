"""Where each rank stands on the axes of a parallel run: recorded in its dump, or told by sizes.

An axis of size 1 is no axis. Experts (ep) divide the context- and data-parallel ranks; with a
tensor axis of their own (etp) they lie on a second grid over the same ranks, as Megatron's do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import prod

from builder.dump.reader import Chunk, Dump, ExpertShare, Parallel
from builder.errors import InputError

DEFAULT_ORDER = "tp-cp-ep-dp-pp"
_SHOWN = 4
_KNOWN = ("tp", "cp", "ep", "etp", "edp", "dp", "pp")
# How an expert's replicas lie: an axis of the second grid that is never shown.
_HIDDEN = ("edp",)
# The axes of the first grid, on which everything but experts lies; those of experts run through
# the same ranks a second time.
_FIRST_GRID = ("tp", "cp", "dp", "pp")


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
        return any(getattr(self, axis.name) for axis in fields(self) if axis.name != "order")


@dataclass(frozen=True, slots=True)
class Place:
    """One rank: its place on each axis, and the layers and experts that are its own.

    `expert_at` is its place for what experts compute, where that differs from `at`.
    """

    rank: int
    at: Mapping[str, int]
    chunks: tuple[Chunk, ...] = ()
    experts: ExpertShare | None = None
    expert_at: Mapping[str, int] | None = None

    def of(self, is_expert: bool) -> Mapping[str, int]:
        """The place of an expert's values, or of all others."""
        return self.expert_at if is_expert and self.expert_at is not None else self.at


@dataclass(frozen=True, slots=True)
class RunLayout:
    """All ranks of a run; `sizes` of the axes that there are, `vpp` chunks on each stage.

    `groups` has what process groups are for, by the ids that they have in a dump.
    """

    sizes: Mapping[str, int]
    places: Mapping[int, Place]
    vpp: int = 1
    micro_batches: int | None = None
    cp_order: str | None = None
    source: str = "recorded"
    groups: Mapping[str, str] = field(default_factory=dict)

    def size(self, axis: str) -> int:
        """The size of an axis, 1 where there is none."""
        return self.sizes.get(axis, 1)

    @property
    def shares_experts(self) -> bool:
        """Whether ranks have experts of their own, to which the tokens of others come."""
        owned = any(place.experts is not None for place in self.places.values())
        return owned or self.size("ep") > 1

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
    silent = [rank for rank, header in recorded.items() if header is None or not header.axes]
    if len(silent) < len(dumps) and not given.is_given:
        raise InputError(
            f"{folder}: rank {', '.join(map(str, silent[:_SHOWN]))} of {len(dumps)} does not say "
            "where it stands, others do",
            "look whether its dump.json is there and whole, or give --rank_size, --tp and --pp",
        )
    return _complete(_given_layout(sorted(dumps), given, folder), dumps, given.rank_size, folder)


def replica_layout(
    headers: Mapping[int, Parallel | None], given: Sizes, folder: object
) -> RunLayout:
    """The layout of some ranks without regard to the others: for replicas that are kept apart.

    Raises InputError when a flag contradicts the dump, or nothing tells where the ranks stand.
    """
    recorded = {rank: header for rank, header in headers.items() if header is not None}
    if len(recorded) == len(headers) and all(header.axes for header in recorded.values()):
        layout = _recorded_layout(recorded)
        _check_flags(layout, given, folder)
        return layout
    if len(headers) == 1 and not given.is_given:
        (rank,) = headers
        return RunLayout({}, {rank: Place(rank, {})}, source="one rank")
    if given.rank_size is None:
        raise InputError(
            f"{folder}: replicas that are kept apart, and nothing says where ranks stand",
            "give --rank_size, --tp and --pp",
        )
    return _given_layout(sorted(headers), given, folder)


def one_replica(layout: RunLayout, ranks: Collection[int]) -> RunLayout:
    """The part of a layout that is one data-parallel replica."""
    sizes = {axis: size for axis, size in layout.sizes.items() if axis != "dp"}
    places = {
        rank: replace(place, at={axis: at for axis, at in place.at.items() if axis != "dp"})
        for rank, place in layout.places.items()
        if rank in ranks
    }
    return replace(layout, sizes=sizes, places=places)


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
            if own.size > 1 and name not in _HIDDEN:
                gathered[name] = max(gathered.get(name, 1), own.size)
    places = {}
    told = {
        rank: {name if name in _KNOWN else "dp": axis.rank for name, axis in header.axes.items()}
        for rank, header in headers.items()
    }
    if "ep" in gathered and _is_apart_by_experts(told.values(), headers):
        shares = gathered["ep"]
        told = {rank: _beside_experts(at, shares) for rank, at in told.items()}
        gathered["dp"] = gathered.get("dp", 1) * shares
    for rank, header in headers.items():
        at = told[rank]
        experts = _expert_place(at) if "etp" in at or "edp" in at else None
        at = {axis: at.get(axis, 0) for axis in gathered}
        places[rank] = Place(rank, at, header.chunks, header.experts, experts)
    first = next(iter(headers.values()))
    return RunLayout(
        gathered,
        places,
        vpp=max(1, len(first.chunks)),
        micro_batches=first.micro_batches,
        cp_order=first.cp_order,
        groups={key: name for header in headers.values() for key, name in header.groups.items()},
    )


def _is_apart_by_experts(
    told: Collection[Mapping[str, int]], headers: Mapping[int, Parallel]
) -> bool:
    """Whether ep is no division of the other axes' ranks but tells apart what they do not.

    So it is on a mesh of (dp, ep), and where ep alone is told.
    """
    places = {tuple(at.get(axis, 0) for axis in _FIRST_GRID) for at in told}
    if len(places) < len(told):
        return True
    first = next(iter(headers.values()))
    sizes = {name: axis.size for name, axis in first.axes.items() if name in _FIRST_GRID}
    return first.world_size == prod(sizes.values()) * first.axes["ep"].size


def _beside_experts(at: Mapping[str, int], size: int) -> dict[str, int]:
    """A place whose dp is told without the ranks of ep, which share the batch out as well."""
    replica = at.get("dp", 0)
    own = {"etp": at.get("etp", at.get("tp", 0)), "edp": at.get("edp", replica)}
    return {**at, **own, "dp": replica * size + at["ep"]}


def _expert_place(at: Mapping[str, int]) -> dict[str, int]:
    """Where an expert's values stand: its shards take the place of tp's, its replicas of dp's."""
    return {"tp": at.get("etp", 0), "dp": at.get("edp", 0), "pp": at.get("pp", 0)}


def _world_size(recorded: Mapping[int, Parallel | None]) -> int | None:
    return next((h.world_size for h in recorded.values() if h is not None and h.world_size), None)


def _check_flags(layout: RunLayout, given: Sizes, folder: object) -> None:
    for axis in ("tp", "cp", "ep", "etp", "dp", "pp"):
        said = getattr(given, axis)
        if said is not None and said != layout.size(axis):
            raise InputError(
                f"{folder}: --{axis} {said} contradicts the dump, which recorded {axis} "
                f"{layout.size(axis)}",
                "leave the flag out",
            )


def _given_layout(ranks: Sequence[int], given: Sizes, folder: object) -> RunLayout:
    sizes = _sizes_of(ranks, given, folder)
    order = _order_of(given)
    total = prod(sizes.values())
    places = {rank: Place(rank, _shown(_at(rank, sizes, order), sizes)) for rank in range(total)}
    shown = {axis: size for axis, size in sizes.items() if size > 1}
    if (given.ep or 1) > 1 or given.etp is not None:
        own = _expert_sizes(sizes, given, folder)
        shown |= {axis: own[axis] for axis in ("ep", "etp") if own[axis] > 1}
        if own["etp"] == sizes["tp"]:
            shown.pop("etp", None)
        places = {r: _with_experts(p, own, given.order.split("-")) for r, p in places.items()}
    return RunLayout(shown, places, vpp=given.vpp or 1, source="flags")


def _order_of(given: Sizes) -> list[str]:
    """The axes of the first grid, the fastest first. Raises InputError for what is no order."""
    named = given.order.split("-")
    order = [axis for axis in named if axis not in ("ep", "etp")]
    if sorted(order) != sorted(_FIRST_GRID) or not set(named) <= set(_KNOWN):
        raise InputError(
            f"--order {given.order}: is no order of the axes",
            f"name tp, cp, ep, dp and pp once each, as {DEFAULT_ORDER}",
        )
    return order


def _at(rank: int, sizes: Mapping[str, int], order: Iterable[str]) -> dict[str, int]:
    at = {}
    for axis in order:
        at[axis], rank = rank % sizes[axis], rank // sizes[axis]
    return at


def _shown(at: Mapping[str, int], sizes: Mapping[str, int]) -> dict[str, int]:
    return {axis: place for axis, place in at.items() if sizes[axis] > 1}


def _expert_sizes(sizes: Mapping[str, int], given: Sizes, folder: object) -> dict[str, int]:
    """The second grid over the same ranks: etp (tp where it is not given), ep, edp and pp."""
    ep, etp = given.ep or 1, given.etp or sizes["tp"]
    shared = sizes["tp"] * sizes["cp"] * sizes["dp"]
    if shared % (ep * etp):
        said = f"--ep {ep}" + (f" · --etp {etp}" if given.etp else "")
        what = "tp × cp × dp" if given.etp else "dp × cp"
        raise InputError(f"{folder}: {said} does not divide {what}", "mend --ep or the others")
    return {"etp": etp, "ep": ep, "edp": shared // (ep * etp), "pp": sizes["pp"]}


def _with_experts(place: Place, sizes: Mapping[str, int], order: Sequence[str]) -> Place:
    """A rank's place on the second grid, whose order is the first's without cp."""
    stand_in = {"tp": "etp", "ep": "ep", "dp": "edp", "pp": "pp"}
    listed = [stand_in[axis] for axis in order if axis in stand_in]
    if "ep" not in listed:
        listed.insert(listed.index("edp"), "ep")
    at = _at(place.rank, sizes, listed)
    own = {axis: at[axis] for axis in ("ep", "etp") if sizes[axis] > 1}
    return replace(place, at={**own, **place.at}, expert_at=_expert_place(at))


def _sizes_of(ranks: Sequence[int], given: Sizes, folder: object) -> dict[str, int]:
    total = given.rank_size or len(ranks)
    if given.rank_size is not None and given.rank_size > 1 and None in (given.tp, given.pp):
        raise InputError(
            f"{folder}: --rank_size {total} alone tells no layout", "add --tp and --pp"
        )
    if not given.is_given:
        raise InputError(
            f"{folder}: {len(ranks)} ranks that do not say where they stand",
            "give the size of each axis, as `--dp 2`, or record with `start(parallel=…)`",
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
    told = prod(layout.size(axis) for axis in _FIRST_GRID)
    expected = range(total if total is not None else told)
    missing = [rank for rank in expected if rank not in present]
    if missing:
        raise MissingRanksError(
            f"{folder}: rank {', '.join(map(str, missing))} of {len(expected)} is missing",
            "dump all ranks, or compare rank by rank with --merge off",
        )
    return layout
