"""Which rows of a vocabulary each rank looks up: every token's row has one owner.

A rank masks the tokens whose rows it lacks by two comparisons with plain numbers. What they let
through is an interval, and the intervals of ranks have to lie end to end: a token in a gap is
zeros in the sum, one in two of them counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from builder.dump.values import Record
from builder.operators.table import plain_name
from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.parts import RunValues
from builder.ranks.placement.copies import are_copies
from builder.ranks.placement.mixtures import groups_along

# By comparison: whether it tells tokens below an end, and how far the end lies from its number.
_BELOW = {"lt": (True, 0), "le": (True, 1), "ge": (False, 0), "gt": (False, 1)}


@dataclass(frozen=True, slots=True)
class OwnedRows:
    """The first rows that no rank or several own, of an embedding in `module`."""

    module: str
    axis: str
    rows: tuple[int, int]
    owners: tuple[int, ...]


def misowned_rows(values: RunValues, axis: str) -> Iterator[OwnedRows]:
    """The embeddings some of whose tokens have no owner along an axis, or several."""
    for module, calls in _comparisons(values).items():
        ends = [end for owner in calls for end in [_ends(values, owner, axis)] if end is not None]
        if len(ends) != 2 or len(calls) != 2 or ends[0].is_below == ends[1].is_below:
            continue
        found = _first_off(*ends)
        if found is not None:
            yield OwnedRows(module, axis, *found)


@dataclass(frozen=True, slots=True)
class _Ends:
    """By rank the end that a comparison makes, and the least and largest token."""

    is_below: bool
    at: dict[int, int]
    tokens: tuple[int, int]


def _comparisons(values: RunValues) -> dict[str, list[str]]:
    """The comparisons of integers by module, of the modules that look rows up."""
    found: dict[str, list[str]] = {}
    looking: set[str] = set()
    for owner in values.run.dump.ranges:
        entry, parent = parse(owner), values.run.dump.parents.get(owner)
        if entry is None or entry.kind != "api" or entry.direction != "forward" or not parent:
            continue
        name = plain_name(entry.type_name).strip("_")
        if name in _BELOW:
            found.setdefault(parent, []).append(owner)
        elif name == "embedding":
            looking.add(parent)
    return {module: calls for module, calls in found.items() if module in looking}


def _ends(values: RunValues, owner: str, axis: str) -> _Ends | None:
    entry = parse(owner)
    start, stop = values.run.dump.ranges[owner]
    at = {values.keys[index]: index for index in range(start, stop)}
    if entry is None or not {"input.0", "input.1"} <= at.keys():
        return None
    is_below, off = _BELOW[plain_name(entry.type_name).strip("_")]
    groups = list(groups_along(values, at["input.0"], axis).values())
    tokens = [record for group in groups for record in group.values()]
    numbers = {p.rank: values.run.records[p.record].value for p in values.run.parts[at["input.1"]]}
    plain = {rank: n + off for rank, n in numbers.items() if type(n) is int}
    if len(groups) != 1 or not _are_tokens(tokens) or plain.keys() != groups[0].keys():
        return None
    least, most = tokens[0].Min, tokens[0].Max
    if not isinstance(least, int) or not isinstance(most, int):
        return None
    return _Ends(is_below, plain, (least, most))


def _are_tokens(records: list[Record]) -> bool:
    return len(records) > 1 and "int" in str(records[0].dtype) and are_copies(records)


def _first_off(one: _Ends, other: _Ends) -> tuple[tuple[int, int], tuple[int, ...]] | None:
    """The first rows among the tokens that have not one owner, and who has them."""
    if one.at.keys() != other.at.keys():
        return None
    least, most = one.tokens
    # Tokens outside are masked, or tokens inside are kept: what is owned lies between the ends.
    owned = {rank: tuple(sorted((one.at[rank], other.at[rank]))) for rank in one.at}
    ends = {end for own in owned.values() for end in own if least < end <= most}
    cuts = sorted({least, most + 1, *ends})
    for first, last in pairwise(cuts):
        owners = tuple(r for r, own in sorted(owned.items()) if own[0] <= first and last <= own[1])
        if len(owners) != 1:
            return (first, last - 1), owners
    return None
