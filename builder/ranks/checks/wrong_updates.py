"""What optimizers' own records say: lost updates, replicas of shards, factors of clipping."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from builder.ranks.checks.check_finding import CheckFinding, axis_of, listed
from builder.ranks.layout.coordinates import RunLayout
from builder.ranks.placement.optimizer_shares import OptimizerShares
from builder.ranks.placement.updates import (
    Dumps,
    OfRanks,
    are_unlike_factors,
    clipping_factors,
    lost_updates,
    unlike_shards,
)
from builder.reasons import (
    ClippedApart,
    RankReason,
    ShardsUpdatedApart,
    SharesUnread,
    SharesUnsummed,
    UpdateLost,
)


def wrong_updates(
    step: int,
    before: OfRanks,
    roles: OfRanks,
    dumps: Dumps,
    layout: RunLayout,
    reported: Collection[str],
) -> Iterator[CheckFinding]:
    """The findings of a step that optimizers recorded; `before` are those before it.

    `reported` are the nodes of which other checks have said that ranks are unlike.
    """
    for lost in lost_updates(before, roles):
        node = _node(lost.parameter)
        if node not in reported:
            yield _finding(step, node, lost.ranks, layout, UpdateLost(listed(lost.ranks)))
    for unlike in unlike_shards(dumps, roles):
        node = _node(unlike.parameter)
        if node not in reported:
            what = "input.gradient" if unlike.role == "input" else "output.value"
            said = ShardsUpdatedApart(listed(unlike.ranks), what)
            yield _finding(step, node, unlike.ranks, layout, said)
    yield from _clipping(step, dumps, layout)


def wrong_shares(step: int, shares: OptimizerShares, layout: RunLayout) -> Iterator[CheckFinding]:
    """Shares of parameters that no module reads, and shares of gradients that nobody added up."""
    for lost in shares.unread():
        said = SharesUnread(f"parameters.{lost.parameter}", listed(lost.ranks))
        yield _finding(step, lost.node, lost.ranks, layout, said)
    for alone in shares.unsummed():
        own = SharesUnsummed(alone.parameter, alone.peers)
        yield _finding(step, alone.node, alone.ranks, layout, own)


def _clipping(step: int, dumps: Dumps, layout: RunLayout) -> Iterator[CheckFinding]:
    """Ranks of one stage that clip by factors of their own, as clipping itself recorded them."""
    found = clipping_factors(dumps)
    stages = {layout.places[rank].at.get("pp", 0) for rank in found if rank in layout.places}
    for stage in sorted(stages):
        own = {r: f for r, f in found.items() if layout.places[r].at.get("pp", 0) == stage}
        if not are_unlike_factors(own):
            continue
        ranks = tuple(sorted(own))
        factors = listed(f"{own[rank]:.6g} on rank {rank}" for rank in ranks)
        yield _finding(step, "optimizer", ranks, layout, ClippedApart(factors))


def _finding(
    step: int, node: str, ranks: tuple[int, ...], layout: RunLayout, said: RankReason
) -> CheckFinding:
    axis, where = axis_of(layout, ranks) or "?", layout.describe_all(ranks)
    return CheckFinding("update", step, node, axis, ranks, where, (said,))


def _node(parameter: str) -> str:
    return f"Optimizer.{parameter}.0.forward"
