"""What contradicts the placement of a value by evidence of its own: in words, by axis and ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from builder.ranks.checks.check_finding import Check, CheckFinding, axis_of, listed
from builder.ranks.joining.parts import RunValues
from builder.ranks.joining.positions import order_of_positions
from builder.ranks.placement.backward_sums import (
    lacking_sums,
    modules_of_backward,
    summed_gradients,
)
from builder.ranks.placement.duplicates import apart_copies, equal_layers, equal_shares
from builder.ranks.placement.emptied_parts import emptied_parts
from builder.ranks.placement.gathered_orders import out_of_order
from builder.ranks.placement.mixtures import groups_along
from builder.ranks.placement.owned_rows import misowned_rows
from builder.ranks.placement.unlike_scales import unlike_scales
from builder.reasons import (
    CopiesApart,
    CopiesScaledApart,
    FewerReductions,
    GatheredOutOfOrder,
    LayersEqual,
    PartEmptied,
    PositionsMisplaced,
    RankReason,
    RowsOwnedTwice,
    RowsUnowned,
    SharesEqual,
    SummedAgain,
)


def contradictions(step: int, values: RunValues) -> Iterator[CheckFinding]:
    """The findings of a step that need neither a reference nor the calls in between."""
    if values.run.layout.size("tp") > 1:
        yield from _along_tp(step, values)
    if values.run.layout.size("pp") > 1:
        yield from _of_stages(step, values)
    if values.run.layout.size("cp") > 1:
        yield from _of_positions(step, values)
    for axis in ("tp", "cp"):
        if values.run.layout.size(axis) > 1:
            yield from _of_orders(step, values, axis)
    for scale in unlike_scales(values):
        factors = listed(f"{scale.numbers[rank]:.6g} on rank {rank}" for rank in scale.numbers)
        apart = CopiesScaledApart(scale.axis, factors)
        yield _finding("update", step, values, scale.call, apart, tuple(scale.numbers))
    for lacking in lacking_sums(values):
        said = FewerReductions(lacking.count, lacking.kind, lacking.peers, lacking.usual)
        yield _finding("partial", step, values, lacking.module, said)


def _along_tp(step: int, values: RunValues) -> Iterator[CheckFinding]:
    for share in equal_shares(values, "tp"):
        equal = SharesEqual(share.key, "tp", listed(share.ranks), share.peers)
        yield _finding("share", step, values, share.node, equal, share.ranks)
    for rows in misowned_rows(values, "tp"):
        facts = ("tp", *rows.rows)
        said = RowsOwnedTwice(*facts, listed(rows.owners)) if rows.owners else RowsUnowned(*facts)
        yield _finding("share", step, values, rows.module, said)
    for part in emptied_parts(values, "tp"):
        empty = PartEmptied(listed(part.ranks), "tp")
        yield _finding("partial", step, values, part.call, empty, part.ranks)
    modules = modules_of_backward(values)
    for call, count in summed_gradients(values, "tp"):
        yield _finding("collective", step, values, call, SummedAgain(count), inside=modules[call])


def _of_orders(step: int, values: RunValues, axis: str) -> Iterator[CheckFinding]:
    """Parts that are put together in another order than that in which they lie over ranks."""
    for found in out_of_order(values, axis):
        orders = (", ".join(map(str, each)) for each in (found.order, found.usual))
        said = GatheredOutOfOrder(found.call, axis, *orders)
        inside = values.run.dump.parents.get(found.gather) or ""
        yield _finding("share", step, values, found.gather, said, inside=inside)


def _of_stages(step: int, values: RunValues) -> Iterator[CheckFinding]:
    for layer in equal_layers(values):
        equal = LayersEqual(layer.key, listed(layer.ranks), layer.other)
        yield _finding("share", step, values, layer.node, equal, layer.ranks)
    for copy in apart_copies(values):
        yield _finding("replica", step, values, copy.node, CopiesApart(copy.other), copy.ranks)


def _of_positions(step: int, values: RunValues) -> Iterator[CheckFinding]:
    """The first integers that models are fed and that lie in another order than the run says."""
    order = values.run.layout.cp_order
    for index, key in enumerate(values.keys):
        owner = values.owner[index]
        if order is None or not key.startswith("input.") or not owner.startswith("Module."):
            continue
        if "int" not in (values.dtype(index) or ""):
            continue
        groups = groups_along(values, index, "cp").values()
        found = {order_of_positions(list(group.values())) for group in groups}
        other = found.pop() if len(found) == 1 else None
        if other not in (None, order):
            said = PositionsMisplaced(order, str(other))
            yield _finding("share", step, values, owner, said)
            return


def _finding(
    check: Check,
    step: int,
    values: RunValues,
    node: str,
    said: RankReason,
    ranks: Sequence[int] = (),
    inside: str = "",
) -> CheckFinding:
    layout = values.run.layout
    start, _ = values.run.dump.ranges[node]
    held = tuple(sorted({part.rank for part in values.run.parts[start]}))
    own = tuple(ranks) or held
    axis = axis_of(layout, held) or "?"
    return CheckFinding(check, step, node, axis, own, layout.describe_all(own), (said,), inside)
