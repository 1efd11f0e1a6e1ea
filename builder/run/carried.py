"""Tells other calls that are off by no more than the weights which they read.

Two versions of a program that come to the same by other calls agree in their first step. Their
optimizers make steps of what was rounded otherwise, so their weights are apart in the next one; and
where no call of both runs reads a weight, what reads it is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from builder.diagnosis.excess import PLAIN, UNKNOWN
from builder.reasons import Explained, ExtraCalls, ExtraReplaced, MissingCalls, MissingReplaced
from builder.work.outcome import PairOutcome, StoredFinding

OTHER_CALLS = (ExtraCalls, ExtraReplaced, MissingCalls, MissingReplaced)
# A call of which nothing is known puts out what is apart by UNKNOWN times its inputs' share, and
# anything is named that is apart by PLAIN times what is expected of it.
_OF_WEIGHTS = PLAIN * UNKNOWN


def without_carried(
    causes: Iterable[Sequence[StoredFinding]], outcomes: Mapping[int, Sequence[PairOutcome]]
) -> Iterator[list[StoredFinding]]:
    """The findings of each cause without those that are off as the weights are which they read.

    `outcomes` are those of each rank in the order of steps. The same calls were made in the step
    before, nothing of it was named, and its optimizer moved the weights apart by as much.
    """
    for cause in causes:
        left = [one for one in cause if not _is_carried(one, outcomes.get(one.rank, ()))]
        if left:
            yield left


def _is_carried(finding: StoredFinding, own: Sequence[PairOutcome]) -> bool:
    if not any(isinstance(reason, OTHER_CALLS) for reason in finding.reasons[:1]):
        return False
    before = max((o for o in own if o.step < finding.step), key=_step, default=None)
    apart = next((r.apart for r in finding.reasons if isinstance(r, Explained)), None)
    if before is None or before.updates_apart is None or not isinstance(apart, float):
        return False
    if before.findings and not before.heals:
        return False
    shown = (kind for sighting in before.sightings for kind in sighting.kinds)
    made_before = not set(finding.kinds).isdisjoint(shown)
    return made_before and apart <= _OF_WEIGHTS * before.updates_apart


def _step(outcome: PairOutcome) -> int:
    return outcome.step
