"""Orders the findings of all steps and ranks, and folds those that an earlier step explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from builder.pipeline.store import PairOutcome, StoredFinding

# What a step inherits from the one before it: its weights, and what was computed from them.
_INHERITED = ("parameter_differs", "input_differs")


def order_findings(outcomes: Sequence[PairOutcome]) -> list[StoredFinding]:
    """All findings, best suspect first: step, then pass and place, then rank.

    A parameter that differs after a step with findings of its own is that step's consequence; it
    counts as propagated and is not listed. After a step whose gradients all agree, the optimizer
    is named as the reason.
    """
    listed: list[StoredFinding] = []
    for rank in sorted({outcome.rank for outcome in outcomes}):
        own = sorted((o for o in outcomes if o.rank == rank), key=lambda outcome: outcome.step)
        listed += _of_rank(own)
    return sorted(listed, key=lambda f: (f.step, f.sort_key, f.rank))


def _of_rank(outcomes: Sequence[PairOutcome]) -> list[StoredFinding]:
    listed: list[StoredFinding] = []
    previous: PairOutcome | None = None
    for outcome in outcomes:
        earlier = listed[0] if listed else None
        for finding in outcome.findings:
            if earlier is not None and finding.kind in _INHERITED:
                count = earlier.propagated_to + finding.propagated_to + 1
                listed[0] = earlier = replace(earlier, propagated_to=count)
            else:
                listed.append(_with_optimizer(finding, previous))
        previous = outcome
    return listed


def _with_optimizer(finding: StoredFinding, previous: PairOutcome | None) -> StoredFinding:
    named = previous is not None and previous.gradients_agree
    if finding.kind != "parameter_differs" or previous is None or not named:
        return finding
    return replace(
        finding, reasons=[*finding.reasons, {"code": "optimizer", "step": previous.step}]
    )
