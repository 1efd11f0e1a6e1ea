"""Says which findings heal, and puts them last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from builder.reasons import Heals
from builder.run.rewritten import is_rewritten
from builder.work.outcome import PairOutcome, StoredFinding


def with_healed(
    listed: Sequence[StoredFinding], outcomes: Sequence[PairOutcome]
) -> list[StoredFinding]:
    """The findings in their order, those that heal with that reason and behind all others.

    A finding heals where nothing is left of any when its step has ended, on any rank, and where the
    same holds of every step behind it: what a step leaves unseen would show there. By itself it
    heals where all that follows from it was seen to agree again, at each of its places.
    """
    left = _last_that_stays(listed, outcomes)
    stays = [f for f in listed if f.step <= left and not f.heals_by_itself]
    heals = [f for f in listed if f.step > left or f.heals_by_itself]
    return stays + [replace(f, reasons=[*f.reasons, Heals()]) for f in heals]


def _last_that_stays(listed: Sequence[StoredFinding], outcomes: Sequence[PairOutcome]) -> float:
    """The last step of which something is left, or which cannot be told of."""
    stays = [o.step for o in outcomes if o.error or (o.findings and not o.heals)]
    # What all pairs together tell is of messages between ranks, and of weights between steps.
    stays += [f.step for f in listed if f.kind == "communication" or is_rewritten(f)]
    return max(stays, default=-inf)
