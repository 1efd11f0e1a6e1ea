"""Whether the result of each collective is what the ranks gave: exact for moved values, Mean and
norm bounds for sums.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isnan, prod, sqrt

from builder.dump.statistic_cells import number_of
from builder.dump.values import Record
from builder.operators.table import plain_name
from builder.ranks.assembly.alignment import parse
from builder.ranks.checks.check_finding import listed
from builder.ranks.joining.parts import RunValues, fingerprint
from builder.ranks.joining.tolerances import epsilon_of, sum_rounding
from builder.ranks.placement.copies import are_copies, is_constant, is_same
from builder.reasons import (
    NotExchanged,
    NotGathered,
    NotTheSum,
    NotWhatWasSent,
    OtherForm,
    PlaceNotGiven,
    PlaceNotSent,
    RankReason,
    ResultsUnlike,
    SummedAgain,
)
from msprobe_core.format import COMMUNICATION, canonical_dtype

Group = tuple[int, ...]
Fingerprint = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class CollectiveCall:
    """One call on all ranks: its records by key and rank, and what it is checked by."""

    name: str
    records: dict[str, dict[int, Record]]
    check: Callable[[CollectiveCall, Group], RankReason | None]
    is_of_forward: bool = False
    is_scaled: bool = False

    def of(self, rank: int, *keys: str) -> Record | None:
        """A rank's record under the first of some keys that it has."""
        return next((r for key in keys if (r := self.records.get(key, {}).get(rank))), None)

    @property
    def told_groups(self) -> set[Group]:
        """The groups that the ranks gave, by name or in whatever position."""
        return {
            tuple(record.group_ranks)
            for key, records in self.records.items()
            for record in records.values()
            if key.startswith("input") and record.group_ranks
        }

    def each(self, group: Group, *keys: str) -> list[Record] | None:
        """The records of all ranks of a group; None where one is missing."""
        found = [self.of(rank, *keys) for rank in group]
        return None if None in found else found  # type: ignore[return-value]  # without None


def wrong_collectives(values: RunValues) -> Iterator[tuple[str, Group, RankReason]]:
    """The calls whose result does not follow from what went in: name, group and what is wrong."""
    for call in _checked_calls(values):
        for group in _groups_of(call):
            said = call.check(call, group)
            if said is not None:
                yield call.name, group, said


def _checked_calls(values: RunValues) -> Iterator[CollectiveCall]:
    """The calls that promise something."""
    scalings = _scalings(values)
    for name, (start, stop) in values.run.dump.ranges.items():
        entry = parse(name)
        check = _CHECKS.get(entry.type_name) if entry is not None else None
        if entry is None or entry.prefix not in COMMUNICATION or check is None:
            continue
        parent = parse(values.run.dump.parents.get(name) or "")
        is_forward = parent is not None and parent.direction == "forward"
        records = _records(values, start, stop)
        call = CollectiveCall(name, records, check, is_forward, _is_scaled(records, scalings))
        if not (_is_pending(call) or _is_no_sum(call, values.run.blank.get(name, frozenset()))):
            yield call


def told_collectives(values: RunValues) -> int:
    """How many calls could be held against what went in: both sides of them left numbers."""
    return sum(
        bool(any(group for group in _groups_of(call)) and _has_numbers(call))
        for call in _checked_calls(values)
    )


def lone_collectives(values: RunValues) -> Iterator[str]:
    """The calls of which a rank of the group left no numbers where others did, or fewer.

    What stages of a pipeline say to each other counts for none: their calls have names of their
    own, under which no call is the other's.
    """
    places = values.run.layout.places
    stages = {rank: place.at.get("pp", 0) for rank, place in places.items()}
    for call in _checked_calls(values):
        groups = call.told_groups or set(_groups_of(call))
        within = [group for group in groups if len({stages.get(rank) for rank in group}) == 1]
        if any(_is_lone(by, group) for by in call.records.values() for group in within):
            yield call.name


def _is_lone(by_rank: dict[int, Record], group: Group) -> bool:
    known = [by_rank[rank] for rank in group if rank in by_rank]
    if not any(record.dtype is not None for record in known):
        return False
    unlike = {_recorded(record) for record in known if not record.unwritten}
    return len(known) < len(group) or not all(map(_is_told, known)) or len(unlike) > 1


def _recorded(record: Record) -> tuple[bool, ...]:
    """Which numbers a tensor left; of an empty one there are none."""
    cells = (record.Max, record.Min, record.Mean, record.Norm)
    return tuple(cell is not None or not _has_elements(record) for cell in cells)


def _is_told(record: Record) -> bool:
    """Whether a tensor left its numbers, or has none: it is empty, or nobody had written it."""
    recorded = record.Max is not None or record.Mean is not None
    return bool(recorded or record.unwritten or not _has_elements(record))


def _has_elements(record: Record) -> bool:
    return bool(prod(record.shape or (1,)))


def _has_numbers(call: CollectiveCall) -> bool:
    def known(side: str) -> bool:
        own = (r for key, by in call.records.items() if key.startswith(side) for r in by.values())
        return any(record.Max is not None or record.Mean is not None for record in own)

    return known("input") and known("output")


def _records(values: RunValues, start: int, stop: int) -> dict[str, dict[int, Record]]:
    return {
        values.keys[index]: {p.rank: values.run.records[p.record] for p in values.run.parts[index]}
        for index in range(start, stop)
    }


def _is_pending(call: CollectiveCall) -> bool:
    """Whether the call returns before its result is there."""
    # `async_op` is the only flag that a collective takes, by name or as its last position.
    return any(
        record.value is True
        for key, records in call.records.items()
        if key.startswith("input")
        for record in records.values()
    )


def _is_no_sum(call: CollectiveCall, blank: frozenset[str]) -> bool:
    """Whether the ranks' values are not added up, or nothing tells how they are combined."""
    places = [key for kind, key in _OPERATIONS.items() if kind in call.name]
    keys = ("input.op", *places)
    if not blank.isdisjoint(keys):
        return True
    told = (r for key in keys for r in call.records.get(key, {}).values() if not r.dtype)
    return any(_OTHER_OPERATION.search(str(record.value)) for record in told)


def _scalings(values: RunValues) -> frozenset[Fingerprint]:
    """The tensors that calls with a plain number multiply or divide, and what they make of them.

    They are known by their numbers: what a collective reads is often a copy of its own.
    """
    found: set[Fingerprint] = set()
    for owner, (start, stop) in values.run.dump.ranges.items():
        entry = parse(owner)
        if entry is None or plain_name(entry.type_name) not in _SCALES:
            continue
        own = [record for index in range(start, stop) for record in values.records(index)]
        if any(type(record.value) in (int, float) for record in own):
            found |= {fingerprint(record) for record in own}
    return frozenset(found - {()})


def _is_scaled(records: dict[str, dict[int, Record]], scalings: frozenset[Fingerprint]) -> bool:
    """Whether a mean is formed: what goes in or comes out is multiplied by a plain number."""
    all_of = (record for by_rank in records.values() for record in by_rank.values())
    return any(fingerprint(record) in scalings for record in all_of)


_SCALES = frozenset(
    ("__mul__", "__rmul__", "mul", "__truediv__", "div", "__imul__", "__itruediv__")
)
# `ReduceOp.MAX`, `RedOpType.MAX` and, of functional collectives, `max`; PREMUL_SUM scales first.
_OTHER_OPERATION = re.compile(
    r"\b(avg|max|min|prod|product|premul_sum|band|bor|bxor|unused|unknown)\b", re.IGNORECASE
)
# Where a call takes its operation by position.
_OPERATIONS = {"all_reduce": "input.1", "reduce_scatter": "input.2"}


def _groups_of(call: CollectiveCall) -> Sequence[Group]:
    present = {rank for records in call.records.values() for rank in records}
    groups = call.told_groups
    return sorted(g for g in groups if present.issuperset(g)) or (
        [] if groups else [tuple(sorted(present))]
    )


# --- what each collective promises --------------------------------------------------------------


def _reduced(call: CollectiveCall, group: Group) -> RankReason | None:
    given = call.each(group, "input.0", "input.tensor")
    if given is None:
        return None
    return (
        _all_sums(call, group, given, "output.0", "output.tensor")
        or _unlike(call, group)
        or _summed_again(call, given)
    )


def _summed_again(call: CollectiveCall, given: Sequence[Record]) -> RankReason | None:
    """Whether what is added up is one whole value on all ranks.

    Single numbers and lists of counts are left alone: ranks have equal ones by chance, and losses
    are averaged over whatever group there is. So are gradients, which may be divided before.
    """
    is_whole = are_copies(given) and not any(map(is_constant, given))
    if not (call.is_of_forward and is_whole and len(given[0].shape or ()) > 1) or call.is_scaled:
        return None
    return SummedAgain(len(given))


def _unlike(call: CollectiveCall, group: Group) -> RankReason | None:
    """The ranks have one result, to its last digit: it was added up once."""
    results = call.each(group, "output.0", "output.tensor") or []
    for rank, made in zip(group, results):
        if not is_same(made, results[0]):
            return ResultsUnlike(group[0], rank)
    return None


def _all_sums(
    call: CollectiveCall, group: Group, given: Sequence[Record], *keys: str
) -> RankReason | None:
    for rank in group:
        made = call.of(rank, *keys)
        if made is None:
            continue
        said = _other_form(made, given, rank, group) or _not_the_sum(made, given, rank, group)
        if said is not None:
            return said
    return None


def _other_form(
    made: Record, given: Sequence[Record], rank: int, group: Group
) -> RankReason | None:
    """What is put out where it lies has the shape and format that every rank gave."""
    forms = [_form(record) for record in (made, *given)]
    if len(set(forms)) < 2:
        return None
    return OtherForm(rank, forms[0], listed(group), ", ".join(sorted(set(forms[1:]))))


def _form(record: Record) -> str:
    return f"{canonical_dtype(record.dtype or '')} {list(record.shape or ())}"


def _not_the_sum(
    made: Record, given: Sequence[Record], rank: int, group: Group
) -> RankReason | None:
    mean, norm = number_of(made.Mean), number_of(made.Norm)
    means, norms = [number_of(r.Mean) for r in given], [number_of(r.Norm) for r in given]
    if any(map(isnan, (mean, norm, *means, *norms))):
        return None
    count = max(1, prod(made.shape or (1,)))
    off = sum_rounding(len(given), epsilon_of([made.dtype]), count)
    # A mean of magnitudes is at most the root mean square.
    is_sum = abs(mean - sum(means)) <= off * sum(norms) / sqrt(count)
    if is_sum and norm <= sum(norms) * (1 + off):
        return None
    return NotTheSum(rank, listed(group), mean, sum(means))


def _broadcast(call: CollectiveCall, group: Group) -> RankReason | None:
    said, within = call.of(group[0], "input.src", "input.1"), call.of(group[0], "input.group_src")
    source = said.value if said is not None else None
    if within is not None and isinstance(within.value, int) and within.value < len(group):
        source = group[within.value]
    if not isinstance(source, int) or source not in group:
        return None
    sent = call.of(source, "input.0", "input.tensor")
    for rank in group:
        made = call.of(rank, "output.0", "output.tensor")
        if sent is not None and made is not None and not is_same(made, sent):
            return NotWhatWasSent(rank, source)
    return None


def _gathered_list(call: CollectiveCall, group: Group) -> RankReason | None:
    for rank in group:
        for place, source in enumerate(group):
            sent = call.of(source, "input.1", "input.tensor")
            made = call.of(rank, f"output.0.{place}", f"output.tensor_list.{place}")
            if sent is not None and made is not None and not is_same(made, sent):
                return PlaceNotGiven(place, rank, source)
    return None


def _gathered(call: CollectiveCall, group: Group) -> RankReason | None:
    given = call.each(group, "input.1", "input.input_tensor", "input.input")
    if given is None:
        return None
    whole = _union(given)
    for rank in group:
        made = call.of(rank, "output.0", "output.output_tensor", "output.output")
        if made is not None and whole is not None and not is_same(made, whole):
            return NotGathered(rank, listed(group))
    return None


def _scattered_list(call: CollectiveCall, group: Group) -> RankReason | None:
    for place, rank in enumerate(group):
        given = call.each(group, f"input.1.{place}", f"input.input_list.{place}")
        made = call.of(rank, "output.0", "output.output")
        if given is None or made is None:
            continue
        said = _not_the_sum(made, given, rank, group)
        if said is not None:
            return said
    return None


def _scattered(call: CollectiveCall, group: Group) -> RankReason | None:
    given = call.each(group, "input.1", "input.input")
    parts = call.each(group, "output.0", "output.output")
    whole = None if parts is None else _union(parts)
    if given is None or whole is None:
        return None
    return _not_the_sum(whole, given, group[0], group)


def _exchanged(call: CollectiveCall, group: Group) -> RankReason | None:
    given = call.each(group, "input.1", "input.input")
    made = call.each(group, "output.0", "output.output")
    if given is None or made is None:
        return None
    sent, received = _union(given), _union(made)
    if sent is None or received is None or is_same(received, sent):
        return None
    return NotExchanged(listed(group))


def _exchanged_lists(call: CollectiveCall, group: Group) -> RankReason | None:
    """What rank r has from rank s in place s is what s gave in place r."""
    for own, rank in enumerate(group):
        for place, source in enumerate(group):
            sent = call.of(source, f"input.1.{own}", f"input.input_tensor_list.{own}")
            made = call.of(rank, f"output.0.{place}", f"output.output_tensor_list.{place}")
            if sent is not None and made is not None and not is_same(made, sent):
                return PlaceNotSent(place, rank, source)
    return None


_CHECKS: dict[str, Callable[[CollectiveCall, Group], RankReason | None]] = {
    "all_reduce": _reduced,
    "broadcast": _broadcast,
    "all_gather": _gathered_list,
    **dict.fromkeys(("all_gather_into_tensor", "all_gather_single", "_all_gather_base"), _gathered),
    "reduce_scatter": _scattered_list,
    **dict.fromkeys(
        ("reduce_scatter_tensor", "reduce_scatter_single", "_reduce_scatter_base"), _scattered
    ),
    "all_to_all_single": _exchanged,
    "all_to_all": _exchanged_lists,
}


# --- numbers ------------------------------------------------------------------------------------


def _union(parts: Sequence[Record]) -> Record | None:
    """The record of all elements of some tensors; None where a statistic is missing."""
    if any(part.shape is None for part in parts):
        return None
    filled = [part for part in parts if prod(part.shape or ())]
    counts = [prod(part.shape or ()) for part in filled]
    cells = [[number_of(c) for c in (p.Max, p.Min, p.Mean, p.Norm)] for p in filled]
    if not cells or any(isnan(c) for row in cells for c in row[:2]):
        return None
    mean = sum(row[2] * n for row, n in zip(cells, counts, strict=True)) / sum(counts)
    formats = {part.dtype for part in filled}
    return Record(
        dtype=formats.pop() if len(formats) == 1 else None,  # in which sums are rounded
        shape=(sum(counts),),
        Max=max(row[0] for row in cells),
        Min=min(row[1] for row in cells),
        Mean=None if isnan(mean) else mean,
        Norm=None if isnan(mean) else sqrt(sum(row[3] ** 2 for row in cells)),
    )
