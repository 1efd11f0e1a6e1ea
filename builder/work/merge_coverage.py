"""What a comparison of merged ranks covered, in the summary and for reports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from builder.reasons import Merged, MergedLittle, MergedValues, Reason
from builder.work.outcome import PairOutcome


def merged_summary(outcomes: Sequence[PairOutcome]) -> list[Reason]:
    """The layouts that were merged and what became of the values; nothing without merging."""
    layouts = next((o.layouts for o in outcomes if o.layouts is not None), None)
    if layouts is None:
        return []
    values, aside = _totals(outcomes)
    said: list[Reason] = [Merged(*layouts)]
    total = values["compared"] + sum(aside.values())
    if values["compared"] * 2 < total:
        said.append(MergedLittle(values["compared"], total))
    listed = ", ".join(f"{reason}: {count}" for reason, count in aside.most_common())
    return [
        *said,
        MergedValues(
            compared=values["compared"],
            bounded=values["bounded"],
            assumed=values["assumed"],
            set_aside=sum(aside.values()),
            reasons=listed or "none",
        ),
    ]


def merged_values(outcomes: Sequence[PairOutcome]) -> dict[str, object]:
    """The meta row `values` of the result, as JSON; nothing without merging."""
    if not any(outcome.layouts for outcome in outcomes):
        return {}
    values, aside = _totals(outcomes)
    exact = values["compared"] - values["bounded"]
    return {"values": json.dumps({**values, "exact": exact, "set_aside": dict(aside)})}


def _totals(outcomes: Sequence[PairOutcome]) -> tuple[Counter[str], Counter[str]]:
    values: Counter[str] = Counter(compared=0, bounded=0, assumed=0, told=0)
    aside: Counter[str] = Counter()
    for outcome in outcomes:
        values.update(outcome.values)
        aside.update(outcome.set_aside)
    return values, aside
