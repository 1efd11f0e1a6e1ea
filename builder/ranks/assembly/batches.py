"""Which micro-batch of one run is which of the other: told by checksums of what models were fed.

Data-parallel ranks and micro-batches take their share of the batch in an order that schedules and
samplers choose. Where both runs recorded checksums of the rows, the benchmark's order is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builder.dump.reader import Dump
from builder.ranks.assembly.alignment import parse
from builder.ranks.layout.coordinates import RunLayout
from builder.ranks.layout.names import without_wrappers

# (data-parallel rank, micro-batch): where a share of the batch was worked on.
Share = tuple[int, int]
Rows = tuple[str, ...]
_Argument = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Fed:
    """What a run was fed in a step: by argument and share the checksums of its rows."""

    rows: Mapping[_Argument, Mapping[Share, Rows]]
    replicas: int
    micro_batches: int

    @property
    def usual(self) -> list[Share]:
        """The shares in the order that is taken where nothing tells: Megatron's, i·dp + r."""
        return [(dp, m) for m in range(self.micro_batches) for dp in range(self.replicas)]


def fed_to(dumps: Mapping[int, Dump], layout: RunLayout, micro_batches: int) -> Fed:
    """What the first rank of each replica was fed; nothing where sequences are cut."""
    rows: dict[_Argument, dict[Share, Rows]] = {}
    for rank, dump in dumps.items():
        at = layout.places[rank].at
        if layout.size("cp") > 1 or any(at.get(axis, 0) for axis in ("tp", "pp")):
            continue
        for (argument, micro), own in _rows_of(dump, micro_batches).items():
            rows.setdefault(argument, {})[at.get("dp", 0), micro] = own
    return Fed(rows, layout.size("dp"), micro_batches)


def moved_shares(ours: Fed, theirs: Fed) -> dict[Share, Share]:
    """Where each share of `ours` has to stand for the rows to lie as those of `theirs` do.

    Empty where they lie so already, or where rows do not tell: not recorded, the same more than
    once, others on either side, or spread so that no order of shares gives the benchmark's.
    """
    for argument in ours.rows:
        wanted = _in_order(theirs, argument)
        shares = ours.rows[argument]
        if wanted is None or set(shares) != set(ours.usual) or len(set(wanted)) < len(wanted):
            continue
        place = {row: number for number, row in enumerate(wanted)}
        if not all(own and own[0] in place for own in shares.values()):
            continue
        ordered = sorted(shares, key=lambda share: place[shares[share][0]])
        if [row for share in ordered for row in shares[share]] == wanted:
            moved = dict(zip(ordered, ours.usual, strict=True))
            return {share: to for share, to in moved.items() if share != to}
    return {}


@dataclass(frozen=True, slots=True)
class OtherRows:
    """An argument of the module at a path of which `count` of `total` rows are not the benchmark's.

    `replicas` are the data-parallel ranks that read them.
    """

    path: str
    key: str
    count: int
    total: int
    replicas: tuple[int, ...]


def other_rows(ours: Fed, theirs: Fed) -> OtherRows | None:
    """The first argument that a run was fed otherwise, by its rows in whatever order.

    None where rows do not tell: not recorded, of another number, or none in common, as where
    another format holds them.
    """
    for argument, shares in ours.rows.items():
        have, wanted = _in_order(ours, argument), _in_order(theirs, argument)
        if have is None or wanted is None or len(have) != len(wanted):
            continue
        count = (Counter(have) - Counter(wanted)).total()
        if 0 < count < len(have):
            replicas = {dp for dp, _ in _shares_off(shares, ours.usual, wanted)}
            return OtherRows(*argument, count, len(have), tuple(sorted(replicas)))
    return None


def _shares_off(
    shares: Mapping[Share, Rows], usual: Sequence[Share], wanted: Sequence[str]
) -> list[Share]:
    """The shares with rows that are left over once those in their places have taken theirs."""
    left, size = Counter(wanted), len(wanted) // len(usual)
    placed = {share: tuple(wanted[n * size : (n + 1) * size]) for n, share in enumerate(usual)}
    off = []
    for share in sorted(usual, key=lambda one: placed[one] != shares[one]):
        if Counter(shares[share]) - left:
            off.append(share)
        left -= Counter(shares[share])
    return off


def _in_order(fed: Fed, argument: _Argument) -> list[str] | None:
    shares = fed.rows.get(argument)
    if shares is None or set(shares) != set(fed.usual):
        return None
    return [row for share in fed.usual for row in shares[share]]


def _rows_of(dump: Dump, micro_batches: int) -> dict[tuple[_Argument, int], Rows]:
    """By argument and micro-batch the rows of the first call of it."""
    calls: dict[str, list[dict[str, Rows]]] = {}
    for name, arguments in dump.inputs.items():
        entry = parse(name)
        is_dry = dump.micro_batch.get(name, 0) is None
        if entry is not None and entry.direction == "forward" and not is_dry:
            own = {key: tuple(found.rows) for key, found in arguments.items() if found.rows}
            calls.setdefault(without_wrappers(entry.path), []).append(own)
    by_share: dict[tuple[_Argument, int], Rows] = {}
    for path, listed in calls.items():
        share = max(1, len(listed) // micro_batches)
        for number, fed in enumerate(listed[::share][:micro_batches]):
            by_share.update({((path, key), number): rows for key, rows in fed.items()})
    return by_share
