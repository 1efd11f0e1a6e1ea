"""The table of situations in a page of the documentation."""

from __future__ import annotations

import platform
import time
from pathlib import Path

import torch

from benchmarks.situations.outcomes import Result, is_good
from benchmarks.situations.run import SPECS
from benchmarks.situations.situation import SITUATIONS, Situation

_START, _END = "<!-- situations -->", "<!-- end of situations -->"
_MOST_WITHOUT = 0.02


def row(situation: Situation, result: Result) -> str:
    """What a situation came to at all levels and tasks, as a line of the table."""
    head = f"| {situation.family} | {situation.name} "
    if isinstance(result, str):
        return f"{head}| {result} | | | | |"
    counts = [
        sum(len(getattr(each, kind)) for each in result) for kind in ("differs", "left", "broken")
    ]
    records = sum(each.records for each in result)
    without = sum(each.without_numbers for each in result)
    reason = f": {situation.without_numbers}" if without and situation.without_numbers else ""
    return f"{head}| {' | '.join(map(str, counts))} | {records:,} | {without:,}{reason} |"


def write_table(page: Path, results: list[tuple[Situation, Result]]) -> None:
    """Put the table between its marks. Raises SystemExit where the page has none."""
    text = page.read_text(encoding="utf-8")
    before, started, rest = text.partition(_START)
    _, ended, after = rest.partition(_END)
    if not (started and ended):
        raise SystemExit(f"{page}: no {_START} … {_END}")
    rows = [row(*each) for each in results]
    lines = [
        _summary(results),
        "",
        "| family | situation | differs | left | broken | records | without numbers |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]
    page.write_text(f"{before}{_START}\n{chr(10).join(lines)}\n{_END}{after}", encoding="utf-8")


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
    return (
        f"Measured on {time.strftime('%Y-%m-%d')} with torch {torch.__version__} on Python "
        f"{platform.python_version()}: {len(run)} of {len(SITUATIONS)} situations were run, "
        f"{good} of them left no trace at all "
        f"{len(SPECS)} levels and tasks; {missing:,} of {records:,} records without numbers that "
        f"have no reason for it ({missing / max(records, 1):.2%}; at most {_MOST_WITHOUT:.0%})."
    )
