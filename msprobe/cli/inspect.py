"""`msprobe inspect`: what is in a dump, in less than a second for a million entries.

Of a folder of trends it says steps, ranks, series and alerts.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.outcome import Exit

if TYPE_CHECKING:
    from builder.dump.inspection.inspect_dump import Inspection, RankContents
    from builder.series.contents import TrendContents

SUMMARY = "say what is in a dump or in trends: steps, ranks, entries, the first NaN or infinity"
_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "dump",
        type=Path,
        metavar="DUMP",
        help="a rank, a step or a whole dump; or the trends of a training",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(options: argparse.Namespace) -> Exit:
    """Print what is there; code 3 when a rank cannot be read."""
    from builder.dump.inspection import inspect_dump
    from msprobe_core.format.series import RUN_FILE

    if (options.dump / RUN_FILE).is_file():
        return _inspect_trends(options)
    inspection = inspect_dump(options.dump)
    if options.json:
        print(json.dumps(_as_json(inspection), indent=1, ensure_ascii=False))
    else:
        print("\n".join(_report(inspection)))
    return Exit.FAILED_PAIRS if any(rank.is_broken for rank in inspection.ranks) else Exit.DONE


def _inspect_trends(options: argparse.Namespace) -> Exit:
    from builder.series.contents import trend_contents

    contents = trend_contents(options.dump)
    if options.json:
        facts = {**asdict(contents), "path": str(contents.path), "bytes": contents.size}
        del facts["size"]
        print(json.dumps({"version": 1, "granularity": "trends", **facts}, indent=1))
    else:
        print("\n".join(_trend_report(contents)))
    return Exit.DONE


def _trend_report(contents: TrendContents) -> list[str]:
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in contents.series.items())
    span = "" if contents.first is None else f", {contents.first} to {contents.last}"
    return [
        f"{contents.path}: trends of a training",
        f"steps: {contents.steps:,}{span}",
        f"ranks: {_numbers(list(contents.ranks))}",
        f"starts: {contents.starts}",
        f"series: {sum(contents.series.values()):,} ({kinds})",
        f"alerts: {contents.alerts}",
        f"size: {contents.size / 1e6:,.1f} MB",
    ]


def _as_json(inspection: Inspection) -> dict[str, object]:
    first = inspection.first_nonfinite
    return {
        "version": 1,
        "path": str(inspection.path),
        "granularity": inspection.granularity,
        "steps": _steps(inspection),
        "ranks": _ranks(inspection),
        "task": _kinds(inspection, "task"),
        "level": _kinds(inspection, "level"),
        "framework": _kinds(inspection, "framework"),
        "entries": inspection.entries,
        "bytes": inspection.size,
        "first_nonfinite": None if first is None else _rank_json(first),
        "contents": [_rank_json(rank) for rank in inspection.ranks],
    }


def _rank_json(rank: RankContents) -> dict[str, object]:
    record = asdict(rank)
    record["bytes"] = record.pop("size")
    return {**record, "path": str(rank.path)}


def _report(inspection: Inspection) -> list[str]:
    tensors = sum(rank.tensor_files for rank in inspection.ranks)
    lines = [
        f"{inspection.path}: {_GRANULARITY[inspection.granularity]}",
        f"steps: {_numbers(_steps(inspection))}",
        f"ranks: {_numbers(_ranks(inspection))}",
        *(f"{key}: {', '.join(_kinds(inspection, key))}" for key in ("task", "level", "framework")),
        f"entries: {inspection.entries:,}",
        f"size: {inspection.size / 1e6:,.1f} MB"
        + (f", {tensors:,} tensor files" if tensors else ""),
        f"first NaN or infinity: {_first(inspection)}",
    ]
    said = [f"step {r.step} rank {r.rank}: {each}" for r in inspection.ranks for each in r.problems]
    lines += [f"problem: {line}" for line in said[:_SHOWN]]
    hidden = len(said) - _SHOWN
    return lines if hidden <= 0 else [*lines, f"… and {hidden} more; --json lists them"]


_GRANULARITY = {
    "rank": "one step of one rank",
    "step": "one step",
    "root": "a whole dump",
}


def _first(inspection: Inspection) -> str:
    rank = inspection.first_nonfinite
    if rank is None or rank.nonfinite is None:
        return "none"
    value = rank.nonfinite
    return f"{value.value} (step {rank.step}, rank {rank.rank}, {value.statistic} {value.number})"


def _steps(inspection: Inspection) -> list[int]:
    return sorted({rank.step for rank in inspection.ranks})


def _ranks(inspection: Inspection) -> list[int]:
    return sorted({rank.rank for rank in inspection.ranks})


def _kinds(inspection: Inspection, key: str) -> list[str]:
    return sorted({getattr(rank, key) or "unknown" for rank in inspection.ranks})


def _numbers(numbers: list[int]) -> str:
    """`0 to 7` for a run without gaps, else the numbers."""
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))
