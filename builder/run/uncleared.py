"""Names gradients that were not cleared before more were added, or cleared in one run alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from builder.compare.statistics import Floats
from builder.evidence.distances import ESTIMATED
from builder.evidence.linear_projections import length
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
            if is_asked:
                sums.append((each, *before.get(each.owner, (outcome.step, None))))
            before[each.owner] = (outcome.step, each)
        told.append(_said(outcome, _reasons(sums)) if sums else outcome)
    return told


def _reasons(
    sums: Sequence[tuple[StoredGradients, int, StoredGradients | None]],
) -> dict[int, _Told]:
    """What is said of nodes in a step, by gradients and what was recorded of each before, and when.

    All of a node that is apart has to add up in one way. Sums of gradients may be nothing but
    rounding, as those of a softmax's inputs are: statistics tell nothing of these then, and what
    others of the same step say holds of them.
    """
    said: dict[tuple[int, str], list[_Told]] = {}
    of_node: defaultdict[int, list[tuple[list[_Told], bool]]] = defaultdict(list)
    known: dict[_Told, None] = {}
    for now, step, before in sums:
        ways = list(_ways(step, before, said)) if before is not None else []
        rounding = now.rounding + (before.rounding if before is not None else 0.0)
        difference = _numbers(now.ours) - _numbers(now.theirs)
        fits = [w for w in ways if length(difference - w[1]) <= ESTIMATED * rounding]
        said[now.node, now.owner] = [reason for reason, _ in fits]
        known |= dict.fromkeys(r for r, missed in fits if length(missed) > _LARGER * rounding)
        is_apart = length(difference) > ESTIMATED * rounding
        of_node[now.node].append((said[now.node, now.owner], is_apart))
    told = {node: [r for r in known if _holds(r, each)] for node, each in of_node.items()}
    return {node: reasons[0] for node, reasons in told.items() if reasons}


def _holds(reason: _Told, each: Sequence[tuple[list[_Told], bool]]) -> bool:
    """Whether a reason fits a gradient of a node, and all of the node's that are apart."""
    fits = [(reason in reasons, is_apart) for reasons, is_apart in each]
    return any(fit for fit, _ in fits) and all(fit for fit, is_apart in fits if is_apart)


def _ways(
    step: int, before: StoredGradients, said: Mapping[tuple[int, str], Sequence[_Told]]
) -> Iterator[tuple[_Told, Floats]]:
    """By which gradient a parameter's may be apart, and what is said then."""
    kept, cleared = _numbers(before.ours), -_numbers(before.theirs)
    yield GradientsKept(step), kept
    yield GradientsCleared(step), cleared
    # Of a micro-batch before: what both runs add since leaves it there.
    for reason in said.get((before.node, before.owner), ()):
        yield reason, kept + cleared


def _numbers(projections: bytes) -> Floats:
    return np.frombuffer(projections, dtype=np.float64)


def _said(outcome: PairOutcome, reasons: dict[int, _Told]) -> PairOutcome:
    findings = (
        replace(f, reasons=[reasons[f.node], *f.reasons]) if f.node in reasons else f
        for f in outcome.findings
    )
    return replace(outcome, findings=tuple(findings))
