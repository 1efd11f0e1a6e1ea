"""Whether two runs share enough calls for an answer to name where they begin to differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from builder.match.shared_calls import ENOUGH_SHARED, share
from builder.reasons import Reason, TwoImplementations

if TYPE_CHECKING:  # a diagnosis is read without them
    from builder.results.reading import ReadsPairs
    from builder.results.records import Pair, Summary


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
    """The share of calls that have a partner, of the run that has fewer; None without any."""
    counts = [(p.matched, p.unmatched_problem, p.unmatched_benchmark) for p in pairs]
    matched, *alone = (sum(column) for column in zip(*counts, (0, 0, 0)))
    return share(matched, *alone)


def is_certain(shared: float | None, notes: Iterable[Reason] = ()) -> bool:
    """Whether a beginning may be named at a share.

    Two programs of one model share few calls; what `notes` say of them tells that they are paired
    by their weights, and compared where modules correspond.
    """
    by_weights = any(isinstance(note, TwoImplementations) for note in notes)
    return by_weights or shared is None or shared >= ENOUGH_SHARED


def refusal(pairs: Sequence[Counted], places: int, notes: Iterable[Reason] = ()) -> str | None:
    """What is said in the place of a beginning, as the page says it; None where one is named.

    `places`: how many steps and ranks `pairs` are counted over; `notes` are on the whole
    comparison.
    """
    shared = share_of(pairs)
    if shared is None or is_certain(shared, notes):
        return None
    unmatched = sum(pair.unmatched_problem + pair.unmatched_benchmark for pair in pairs)
    over = f" over {places} steps and ranks" if places > 1 else ""
    return (
        f"These runs share {int(100 * shared)} % of their calls by name. {unmatched} nodes of both "
        f"runs together{over} have no partner and were not compared, so no beginning is named."
    )


def names_beginnings(results: ReadsPairs) -> bool:
    """Whether the runs of a file share enough for it."""
    summary = results.summary()
    return is_certain(share_of(_compared(summary)), summary.summary)


def compared_pairs(results: ReadsPairs) -> Sequence[Pair]:
    """The steps and ranks that both sides have and that were compared."""
    return _compared(results.summary())


def _compared(summary: Summary) -> list[Pair]:
    return [pair for pair in summary.pairs if pair.status == "ok"]
