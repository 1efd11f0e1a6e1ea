"""Names gradients that were not cleared before more were added, or cleared in one run alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from typing import TypeAlias

import numpy as np

from builder.compare.statistics import Floats
from builder.evidence.distances import ESTIMATED
from builder.reasons import GradientsCleared, GradientsKept
from builder.work.outcome import PairOutcome, StoredFinding
from builder.work.stored_gradients import StoredGradients

_Told: TypeAlias = GradientsKept | GradientsCleared
# What stood there before is told from rounding where it is larger than that by so much: a sum that
# misses it by ESTIMATED roundings is then at most a quarter of it off, in nine projections at once.
_LARGER = 4 * ESTIMATED


def is_uncleared(finding: StoredFinding) -> bool:
    """Whether a finding says what gradients add up to."""
    return any(isinstance(reason, _Told) for reason in finding.reasons)


def with_uncleared(outcomes: Sequence[PairOutcome]) -> list[PairOutcome]:
    """One rank's outcomes in the order of steps; findings of gradients say what these add up to.

    Where a gradient was recorded before, in the step before or for a micro-batch of the same step,
    the problem's may be the benchmark's and that added up, or lack what the benchmark adds to.
    """
    told: list[PairOutcome] = []
    before: dict[str, tuple[int, StoredGradients]] = {}
    for outcome in outcomes:
        if told and outcome.step != told[-1].step + 1:
            before.clear()
        named = {finding.node for finding in outcome.findings}
        is_asked = any(each.node in named for each in outcome.gradients)
        sums = []
        for each in outcome.gradients:
            if is_asked and each.owner in before:
                sums.append((each.node, *before[each.owner], each))
            before[each.owner] = (outcome.step, each)
        told.append(_said(outcome, _reasons(sums)) if sums else outcome)
    return told


def _reasons(sums: Sequence[tuple[int, int, StoredGradients, StoredGradients]]) -> dict[int, _Told]:
    """What is said of nodes by what stood there before, in a step.

    Sums of gradients may be nothing but rounding, as those of a softmax's inputs are: statistics
    tell nothing of these then, and what others of the same step say holds of them.
    """
    told: dict[int, _Told] = {}
    untold: defaultdict[int, list[_Told]] = defaultdict(list)
    for node, step, before, now in sums:
        rounding = before.rounding + now.rounding
        kept, cleared = _numbers(before.ours), -_numbers(before.theirs)
        ways: tuple[tuple[_Told, Floats], ...]
        ways = ((GradientsKept(step), kept), (GradientsCleared(step), cleared))
        # Of a micro-batch before: what both runs add since leaves it there.
        stays = [told[before.node]] if before.node in told else untold[before.node]
        ways += tuple((reason, kept + cleared) for reason in stays)
        for reason, missed in ways:
            if not _adds_up(now, missed, rounding):
                continue
            if _length(missed) > _LARGER * rounding:
                told.setdefault(node, reason)
            else:
                untold[node].append(reason)
    known = set(told.values())
    others = ((n, reason) for n, listed in untold.items() for reason in listed)
    return {n: reason for n, reason in others if reason in known} | told


def _adds_up(now: StoredGradients, missed: Floats, rounding: float) -> bool:
    """Whether the problem's gradients are the benchmark's and what is missed."""
    apart = _numbers(now.ours) - _numbers(now.theirs)
    return _length(apart - missed) <= ESTIMATED * rounding


def _numbers(projections: bytes) -> Floats:
    return np.frombuffer(projections, dtype=np.float64)


def _said(outcome: PairOutcome, reasons: dict[int, _Told]) -> PairOutcome:
    findings = (
        replace(f, reasons=[reasons[f.node], *f.reasons]) if f.node in reasons else f
        for f in outcome.findings
    )
    return replace(outcome, findings=tuple(findings))


def _length(projections: Floats) -> float:
    """The length that projections tell; NaN, which equals nothing, without any."""
    known = projections[np.isfinite(projections)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else nan
