"""The table of situations in a page of the documentation."""

from __future__ import annotations

from pathlib import Path

from benchmarks.page_table import measured_with_torch, put_table
from benchmarks.situations.outcomes import Result, is_good
from benchmarks.situations.run import SPECS
from benchmarks.situations.situation import SITUATIONS, Situation

_TITLES = (
    "family",
    "situation",
    "differs",
    "left",
    "broken",
    "wrong",
    "records",
    "without numbers",
)
_MOST_WITHOUT = 0.02


def row(situation: Situation, result: Result) -> str:
    """What a situation came to at all levels and tasks, as a line of the table."""
    head = f"| {situation.family} | {situation.name} "
    if isinstance(result, str):
        return f"{head}| {result} | | | | | |"
    counts = [
        sum(len(getattr(each, kind)) for each in result)
        for kind in ("differs", "left", "broken", "wrong")
    ]
    records = sum(each.records for each in result)
    without = sum(each.without_numbers for each in result)
    reason = f": {situation.without_numbers}" if without and situation.without_numbers else ""
    return f"{head}| {' | '.join(map(str, counts))} | {records:,} | {without:,}{reason} |"


def write_table(page: Path, results: list[tuple[Situation, Result]]) -> None:
    """Put the table between its marks. Raises SystemExit where the page has none."""
    rows = [row(*each) for each in results]
    put_table(page, "situations", _summary(results), _TITLES, rows)


def _summary(results: list[tuple[Situation, Result]]) -> str:
    run = [(situation, result) for situation, result in results if not isinstance(result, str)]
    records = sum(each.records for _, result in run for each in result)
    missing = sum(
        each.without_numbers
        for situation, result in run
        for each in result
        if not situation.without_numbers
    )
    good = sum(is_good(result) for _, result in run)
    later = sum(situation.later for situation, _ in run)
    return (
        f"{measured_with_torch()}: {len(run)} of {len(SITUATIONS)} situations were run, {later} of "
        "them written after the code, "
        f"{good} of them left no trace at all "
        f"by any of {len(SPECS)} ways to follow them; {missing:,} of {records:,} records without "
        f"numbers that have no reason for it ({missing / max(records, 1):.2%}; at most "
        f"{_MOST_WITHOUT:.0%})."
    )
