"""Names where a difference begins in one compared (step, rank)."""

from __future__ import annotations

from builder.compare.comparison import Comparison
from builder.compare.score import THRESHOLD
from builder.diagnosis.attribution import attribute
from builder.diagnosis.by_scores import walk_by_scores
from builder.diagnosis.calls_beside import say_calls_beside
from builder.diagnosis.nonfinite import say_first_nonfinite
from builder.diagnosis.walked import Walked
from builder.flow.feeding import Flow, flow_of


def walk(
    comparison: Comparison,
    threshold: float = THRESHOLD,
    flows: tuple[Flow, Flow] | None = None,
) -> Walked:
    """The findings of one comparison in order; carriers stand in each finding's `carriers`.

    Distances need elements, as tensors or by sketches. Of dumps without, statistics tell a least
    distance only, and scores decide; so they do of single saved values, which no call leads to.
    `flows` are those of both sides where they are known.
    """
    walked = _walked(comparison, threshold, flows)
    say_first_nonfinite(comparison, walked.findings)
    say_calls_beside(comparison.matching, walked.findings)
    return walked


def _walked(comparison: Comparison, threshold: float, flows: tuple[Flow, Flow] | None) -> Walked:
    is_saved = comparison.matching.problem.dump.level == "debug"
    if is_saved or (comparison.estimates is None and not comparison.tensors):
        return walk_by_scores(comparison, threshold)
    return attribute(comparison, threshold, flows or flows_of(comparison))


def flows_of(comparison: Comparison) -> tuple[Flow, Flow]:
    """Which output fed which input, on either side."""
    forms, matching = comparison.forms.listed(), comparison.matching
    ours, theirs = comparison.columns
    return flow_of(matching.problem, ours, forms), flow_of(matching.benchmark, theirs, forms)
