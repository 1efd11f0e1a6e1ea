"""What a silent call has cut to bounds, as `clamp` does: its statistics are no other tensor's."""

from __future__ import annotations

from builder.flow.made_of import Available, Tensor
from builder.flow.passage_edges import Reading
from builder.flow.silent_runs import SilentRuns

_FAR = 64  # calls before a reader among which the one that it reads is looked for
_NEAR = 8


def lead_bounded(
    tensor: Tensor, readers: list[Reading], available: Available, silent: SilentRuns
) -> bool:
    """Draw a tensor through the first free call of its module that may have made it; if any.

    What that read has the shape and dtype, and elements as far out.
    """
    calls = silent.calls
    stop = calls.before(tensor.node)
    for place in range(max(0, stop - _FAR), stop):
        if not silent.works(place, "bound") or place in silent.claimed:
            continue
        if calls.listed[place].parent is not _module_of(silent, tensor.node):
            continue
        near = available.of_shape(tensor.shape, calls.order[place], _NEAR)
        source = next((one for one in near if _may_bound(one, tensor)), None)
        if source is not None:
            silent.claim([place], ("to", tensor.print))
            for reader in readers:
                silent.lead([source.node], [place], reader, told=False)
            return True
    return False


def _module_of(silent: SilentRuns, node: int) -> object:
    place = silent.calls.before(node)
    return silent.calls.listed[place].parent if place < len(silent.calls.listed) else None


def _may_bound(whole: Tensor, bounded: Tensor) -> bool:
    """Whether bounds make one tensor of another: no element gets farther out, and some nearer."""
    same = whole.dtype == bounded.dtype and whole.print != bounded.print
    return same and (
        whole.low <= bounded.low <= bounded.high <= whole.high
        and (whole.low, whole.high) != (bounded.low, bounded.high)
    )
