"""Where two trainings part, and by what: other numbers, missing ones, or another decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from builder.series.decided import Decided
from builder.series.gone import Gone
from builder.series.run import Key

Verdict = Literal["equal", "parts", "noise", "nothing"]
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two runs part.

    `equal`: to the last digit. `parts`: at `step`, first in `target`; `count` targets part there;
    `band` and `delta` are octaves (0 where they were equal until then). `noise`: within it; `delta`
    is then the largest. `nothing`: no step and target in both. `weight` is a weight of the target's
    own module that differs about as much in that step, `factor` how many times the other run's it
    is: what puts out other numbers from other weights is no fault of its own. `missing` names the
    run that does not measure the target any more; `decided` is what a script has set otherwise, and
    `others` what follows from it. `unset` are series that one run was not set to record. `unjudged`
    counts the first and last steps, which are not judged, that differ by far more than all
    that were.
    """

    verdict: Verdict
    step: int | None = None
    target: Key | None = None
    count: int = 0
    band: float = 0.0
    delta: float = 0.0
    others: tuple[Key, ...] = ()
    steps: int = 0
    weight: Key | None = None
    factor: float | None = None
    missing: Literal["ours", "theirs"] | None = None
    decided: Decided | None = None
    unset: tuple[Key, ...] = ()
    unjudged: int = 0

    def with_gone(self, gone: Gone, orders: Mapping[Key, tuple[int, int]]) -> Divergence:
        """The same, or what has gone where that comes first; `orders` are those of a step."""
        known = replace(self, unset=gone.unset)
        if gone.step is None or gone.target is None:
            return known
        if self.step is not None and self.target is not None:
            here, there = orders[self.target], orders[gone.target]
            if (self.step, here) < (gone.step, there):
                return known
        return replace(
            known,
            verdict="parts",
            step=gone.step,
            target=gone.target,
            count=len(gone.others) + 1,
            band=0.0,
            delta=0.0,
            others=gone.others[:MOST_NAMED],
            weight=None,
            factor=None,
            missing="theirs" if gone.here else "ours",
        )

    def with_decided(self, decided: Decided | None) -> Divergence:
        """The same, or what a script has decided where the rest may follow from that."""
        if decided is None:
            return self
        if self.step is not None and self.target is not None:
            if not decided.comes_before(self.step, self.target):
                return self
            others = (self.target, *self.others)[:MOST_NAMED]
        else:
            others = ()
        return replace(
            self,
            verdict="parts",
            step=decided.step,
            target=decided.target,
            count=self.count + 1,
            others=others,
            weight=None,
            factor=None,
            missing=None,
            decided=decided,
        )
