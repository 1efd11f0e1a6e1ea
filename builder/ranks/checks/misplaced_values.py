"""What the placements of values along tp contradict, in words."""

from __future__ import annotations

from collections.abc import Iterator

from builder.ranks.checks.check_finding import CheckFinding
from builder.ranks.joining.parts import RunValues
from builder.ranks.placement.inference import Conflict, Inference
from builder.reasons import (
    DrawsOther,
    DropsOther,
    PartAdded,
    PartBent,
    RankReason,
    ShardAsWhole,
    SummedElsewhere,
    WholeBias,
)


def misplaced(step: int, values: RunValues) -> Iterator[CheckFinding]:
    """The values of the forward pass that are used as what they are not along tp."""
    layout = values.run.layout
    for found in Inference(values).conflicts():
        start, _ = values.run.dump.ranges[found.maker]
        ranks = tuple(sorted(part.rank for part in values.run.parts[start]))
        where = layout.describe_all(ranks)
        node = values.run.dump.parents.get(found.maker) or found.maker
        yield CheckFinding("partial", step, node, "tp", ranks, where, _reasons(found))


def _reasons(found: Conflict) -> tuple[RankReason, ...]:
    maker, reader = found.maker, found.reader
    match found.reason:
        case "random":
            return (DropsOther(maker, "tp"),)
        case "drawn":
            return (DrawsOther(maker, "tp"),)
        case "bias":
            return (WholeBias(maker, "tp"),)
        case "cut":
            return (ShardAsWhole(maker, "tp", reader),)
    is_added = found.reason == "added"
    used = PartAdded(maker, "tp", reader) if is_added else PartBent(maker, "tp", reader)
    return (used, SummedElsewhere(found.summed)) if found.summed else (used,)
