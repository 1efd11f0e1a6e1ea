"""What the placements of values along tp contradict, in words."""

from __future__ import annotations

from collections.abc import Iterator

from builder.ranks.checks.check_finding import CheckFinding
from builder.ranks.joining.parts import RunValues
from builder.ranks.placement.inference import Conflict, Inference


def misplaced(step: int, values: RunValues) -> Iterator[CheckFinding]:
    """The values of the forward pass that are used as what they are not along tp."""
    layout = values.run.layout
    for found in Inference(values).conflicts():
        start, _ = values.run.dump.ranges[found.maker]
        ranks = tuple(sorted(part.rank for part in values.run.parts[start]))
        where = layout.describe_all(ranks)
        node = values.run.dump.parents.get(found.maker) or found.maker
        yield CheckFinding("partial", step, node, "tp", ranks, where, _text(found))


def _text(found: Conflict) -> str:
    part = f"{found.maker} gives each tp rank its part of a sum"
    if found.reason == "random":
        return f"{found.maker} drops other elements of one whole value on each tp rank"
    if found.reason == "bias":
        return f"{part} and adds the whole bias to each: the sum over tp has it once for each rank"
    if found.reason == "cut":
        return (
            f"{found.maker} has another weight on each tp rank, and {found.reader} reads what it "
            "gives as if it were all there is: either its shards are not gathered, or the weights "
            "should be the same"
        )
    added = found.reason == "added"
    how = "adds to it what is the same on all tp ranks" if added else "is not linear"
    over = f"; {found.summed} adds it up over another axis" if found.summed else ""
    reader = f"{found.reader}, which reads it, {how}"
    return f"{part}, and {reader}: no reduction over tp stands between{over}"
