"""Where gradients begin to be one rank's part of a sum, once an optimizer reads such a part.

In itself a part of a sum is nothing wrong: programs may add it up later than the first they could.
That the optimizer reads it says that nobody did; then the first call tells from where it comes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from builder.operators.table import plain_name
from builder.ranks.assembly.alignment import parse
from builder.ranks.joining.parts import RunValues, fingerprint
from builder.ranks.placement.copies import are_apart, are_copies, is_constant
from builder.ranks.placement.mixtures import groups_along
from msprobe_core.format import COMMUNICATION

_SUMS = frozenset(("__add__", "__radd__", "__iadd__", "add"))


@dataclass(frozen=True, slots=True)
class Origin:
    """The call behind which values, or gradients where it is `of_gradient`, are a rank's own.

    `whole` is the call that gives the same on all ranks, `reader` one that works on a share of it.
    """

    module: str
    whole: str
    reader: str
    of_gradient: bool


def origin(values: RunValues, axis: str, parameters: Collection[str]) -> Origin | None:
    """Where it begins that ranks along an axis have gradients of their own of some parameters."""
    return next(_forward(values, axis), None) or next(_backward(values, axis, parameters), None)


def _forward(values: RunValues, axis: str) -> Iterator[Origin]:
    """The sums of a value that is whole and one of the same shape that is each rank's own."""
    weights = _parameters(values)
    for owner, (start, stop) in values.run.dump.ranges.items():
        entry = parse(owner)
        if entry is None or entry.kind != "api" or entry.direction != "forward":
            continue
        if plain_name(entry.type_name) not in _SUMS:
            continue
        at = {values.keys[index]: index for index in range(start, stop)}
        read = [at[key] for key in ("input.0", "input.1") if key in at]
        if len(read) < 2 or "output.0" not in at:
            continue
        shapes = {values.records(index)[0].shape for index in read}
        whole = [index for index in read if _is_whole(values, index, axis)]
        own = [index for index in read if _is_own(values, index, axis)]
        is_weight = any(fingerprint(values.records(index)[0]) in weights for index in whole)
        if len(shapes) == len(whole) == len(own) == 1 and not is_weight:
            maker = _maker(values, own[0])
            # Beside a large whole a part may be less than a rounding of the sum's norm, but equal
            # numbers and unlike ones never have equal sums.
            if maker and not _is_whole(values, at["output.0"], axis):
                yield Origin(_module_of(values, maker), owner, maker, of_gradient=False)


def _module_of(values: RunValues, maker: str) -> str:
    """A maker that is a module itself, else the module in which it is called."""
    entry = parse(maker)
    if entry is not None and entry.kind == "module":
        return maker
    return values.run.dump.parents.get(maker) or maker


def _backward(values: RunValues, axis: str, parameters: Collection[str]) -> Iterator[Origin]:
    """The calls whose result is whole and its gradient each rank's own, the last call first.

    Only where the optimizer reads such a gradient of a parameter of their module: elsewhere it is
    added up later.
    """
    ranges, parents = values.run.dump.ranges, values.run.dump.parents
    for owner, (start, stop) in ranges.items():
        entry = parse(owner)
        if entry is None or entry.kind != "api" or entry.direction != "backward":
            continue
        forward = entry.twin("forward")
        made = _index(values, forward, "output.0")
        given = next((i for i in range(start, stop) if values.keys[i] == "input.0"), None)
        module = parents.get(forward)
        within = parse(module) if module else None
        if made is None or given is None or within is None or module is None:
            continue
        if not any(name.startswith(f"{within.path}.") for name in parameters):
            continue
        if _is_whole(values, made, axis) and _is_own(values, given, axis):
            reader = _share_reader(values, made, axis)
            yield Origin(parents.get(reader or "") or module, forward, reader or "", True)


def _share_reader(values: RunValues, made: int, axis: str) -> str | None:
    """The first call that reads a whole value and gives each rank something of its own."""
    numbers = {fingerprint(record) for record in values.records(made)} - {()}
    for owner, (start, stop) in values.run.dump.ranges.items():
        entry = parse(owner)
        if entry is None or entry.kind != "api" or entry.direction != "forward":
            continue
        if entry.prefix in COMMUNICATION:
            continue
        at = {values.keys[index]: index for index in range(start, stop)}
        first, result = at.get("input.0"), at.get("output.0")
        if first is None or result is None or fingerprint(values.records(first)[0]) not in numbers:
            continue
        if _is_own(values, result, axis):
            return owner
    return None


def _parameters(values: RunValues) -> frozenset[tuple[object, ...]]:
    return frozenset(
        fingerprint(record)
        for index, key in enumerate(values.keys)
        if key.startswith("parameters.")
        for record in values.records(index)
    ) - {()}


def _index(values: RunValues, owner: str, key: str) -> int | None:
    start, stop = values.run.dump.ranges.get(owner, (0, 0))
    return next((index for index in range(start, stop) if values.keys[index] == key), None)


def _maker(values: RunValues, index: int) -> str | None:
    """The call that made what a value is, as the logical run names it."""
    part = min(values.run.parts[index], key=lambda part: part.rank)
    source = (values.run.records[part.record].source or "").partition(".output")[0]
    named = (
        logical
        for logical, by_rank in values.run.origin.items()
        if by_rank.get(part.rank) == source
    )
    return next(named, None) if source else None


def _is_whole(values: RunValues, index: int, axis: str) -> bool:
    groups = groups_along(values, index, axis).values()
    return all(
        len(group) > 1 and are_copies(list(group.values())) and not is_constant(one)
        for group in groups
        for one in list(group.values())[:1]
    )


def _is_own(values: RunValues, index: int, axis: str) -> bool:
    groups = [list(group.values()) for group in groups_along(values, index, axis).values()]
    if "float" not in (values.dtype(index) or "") or any(len(group) < 2 for group in groups):
        return False
    shapes = {record.shape for group in groups for record in group}
    return len(shapes) == 1 and all(are_apart(values.owner[index], group) for group in groups)
