"""`msprobe diagnose`: name the places where the problem run begins to differ.

The best suspect comes first.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.outcome import CommandError, Exit

if TYPE_CHECKING:
    from builder import Diagnosis, Suspect

SUMMARY = "name the places where a comparison begins to differ, best suspect first"
TOP = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("database", type=Path, metavar="DB", help="a *.vis.db of graph_visualize")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a self-contained report with the values"
    )
    parser.add_argument(
        "--top", type=int, metavar="N", help=f"findings to list [text: {TOP}, JSON: all]"
    )
    parser.add_argument(
        "--fail-above",
        type=float,
        metavar="SCORE",
        help="exit with code 4 when the worst score is above this",
    )


def run(options: argparse.Namespace) -> Exit:
    """Print the diagnosis; the exit code tells whether it can be trusted."""
    from builder import diagnose

    diagnosis = diagnose(options.database, options.top)
    if options.html is not None:
        _write_html(options.database, options.html, options.top or TOP)
    if options.json:
        print(json.dumps(diagnosis.as_json(), indent=1, ensure_ascii=False))
    else:
        print("\n".join(_report(diagnosis, options.top or TOP)))
    return _exit_code(diagnosis, options.fail_above)


def _write_html(database: Path, file: Path, top: int) -> None:
    from builder.diagnosis.html import html_report

    report = html_report(database, top)
    try:
        file.write_text(report, encoding="utf-8")
    except OSError as error:
        raise CommandError(
            f"{file}: cannot be written ({error.strerror}); choose another --html"
        ) from error


def _exit_code(diagnosis: Diagnosis, fail_above: float | None) -> Exit:
    if fail_above is not None and (diagnosis.worst or 0.0) > fail_above:
        return Exit.DIVERGED
    if not diagnosis.comparable:
        return Exit.NOTHING_COMPARABLE
    return Exit.FAILED_PAIRS if diagnosis.failed else Exit.DONE


def _report(diagnosis: Diagnosis, top: int) -> list[str]:
    lines = [
        f"{diagnosis.database}: {diagnosis.pairs} pairs compared by {diagnosis.task}, "
        f"{diagnosis.matched} nodes matched, {diagnosis.unmatched_problem} only in the problem "
        f"run, {diagnosis.unmatched_benchmark} only in the benchmark run"
    ]
    lines += [f"note: {line}" for line in diagnosis.summary]
    lines += [
        f"failed: step {pair['step']} rank {pair['rank']}: {pair['error']}"
        for pair in diagnosis.failed
    ]
    lines.append(_headline(diagnosis))
    for place, suspect in enumerate(diagnosis.findings[:top], 1):
        lines += _suspect(place, suspect)
    hidden = len(diagnosis.findings) - top
    return lines if hidden <= 0 else [*lines, f"… and {hidden} more; --top N lists them"]


def _headline(diagnosis: Diagnosis) -> str:
    if diagnosis.findings:
        return "look here first:"
    if not diagnosis.comparable or not diagnosis.matched:
        return "nothing was compared, so nothing can be said"
    return "no difference found"


def _suspect(place: int, suspect: Suspect) -> list[str]:
    lines = [
        f"{place}. {suspect.node} ({suspect.type}, {suspect.direction}, step {suspect.step}, "
        f"rank {suspect.rank})"
    ]
    if suspect.inside is not None:
        lines.append(f"   inside {suspect.inside}")
    lines += [f"   {reason}" for reason in suspect.reasons]
    if suspect.propagated_to:
        lines.append(f"   explains {suspect.propagated_to} nodes further on")
    frame = _own_frame(suspect.stack)
    return [*lines, f"   {frame}"] if frame else lines


def _own_frame(stack: str | None) -> str | None:
    """The innermost frame outside installed packages: the line a user can open."""
    frames = [" ".join(line.split()) for line in (stack or "").splitlines()]
    own = (f for f in frames if f.startswith("File ") and "site-packages" not in f)
    return next(own, None)
