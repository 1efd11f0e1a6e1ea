"""Whether two runs share enough calls for an answer to name where they begin to differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # a diagnosis is read without them
    from builder.results.reading import Results
    from builder.results.records import Pair

# Below this share most calls are compared with nothing, and what diverges first is what happens to
# have a partner. Of the samples, sound pairs share 81 % or more (recomputation, a renamed MLP) and
# ports whose layers have other names 30 % or less; between them the value is free.
ENOUGH_SHARED = 0.6


class Counted(Protocol):
    """What is asked of a compared step and rank."""

    @property
    def matched(self) -> int:
        """The nodes that have a partner."""

    @property
    def unmatched_problem(self) -> int:
        """The problem's nodes that have none."""

    @property
    def unmatched_benchmark(self) -> int:
        """The benchmark's nodes that have none."""


def share_of(pairs: Iterable[Counted]) -> float | None:
    """The share of calls that have a partner, of the run that has fewer; None without any.

    Of the run that has fewer, for one that recorded a single module can be matched whole.
    """
    counts = [(p.matched, p.unmatched_problem, p.unmatched_benchmark) for p in pairs]
    matched, *alone = (sum(column) for column in zip(*counts, (0, 0, 0)))
    fewer = min(alone)
    return matched / (matched + fewer) if matched + fewer else None


def is_certain(share: float | None) -> bool:
    """Whether a beginning may be named at a share."""
    return share is None or share >= ENOUGH_SHARED


def refusal(pairs: Sequence[Counted], places: int) -> str | None:
    """What is said in the place of a beginning, as the page says it; None where one is named.

    `places`: how many steps and ranks `pairs` are counted over.
    """
    share = share_of(pairs)
    if share is None or is_certain(share):
        return None
    unmatched = sum(pair.unmatched_problem + pair.unmatched_benchmark for pair in pairs)
    over = f" over {places} steps and ranks" if places > 1 else ""
    return (
        f"These runs share {int(100 * share)} % of their calls by name. {unmatched} nodes of both "
        f"runs together{over} have no partner and were not compared, so no beginning is named."
    )


def names_beginnings(results: Results) -> bool:
    """Whether the runs of a file share enough for it."""
    return is_certain(share_of(compared_pairs(results)))


def compared_pairs(results: Results) -> Sequence[Pair]:
    """The steps and ranks that both sides have and that were compared."""
    return [pair for pair in results.summary().pairs if pair.status == "ok"]
