"""Whether two runs share enough calls for an answer to name where they begin to differ."""

from __future__ import annotations

from collections.abc import Sequence

from builder.results.reading import Results
from builder.results.records import Pair

# Below this share most calls are compared with nothing, and what diverges first is what happens to
# have a partner. Of the samples, sound pairs share 81 % or more (recomputation, a renamed MLP) and
# ports whose layers have other names 30 % or less; between them the value is free.
ENOUGH_SHARED = 0.6


def share_of(pairs: Sequence[Pair]) -> float | None:
    """The share of calls that have a partner, of the run that has fewer; None without any.

    Of the run that has fewer, for one that recorded a single module can be matched whole.
    """
    matched = sum(pair.matched for pair in pairs)
    fewer = min(
        sum(pair.unmatched_problem for pair in pairs),
        sum(pair.unmatched_benchmark for pair in pairs),
    )
    return matched / (matched + fewer) if matched + fewer else None


def is_certain(share: float | None) -> bool:
    """Whether a beginning may be named at a share."""
    return share is None or share >= ENOUGH_SHARED


def names_beginnings(results: Results) -> bool:
    """Whether the runs of a file share enough for it."""
    return is_certain(share_of(compared_pairs(results)))


def compared_pairs(results: Results) -> list[Pair]:
    """The steps and ranks that both sides have and that were compared."""
    return [pair for pair in results.summary().pairs if pair.status == "ok"]
