"""`msprobe diagnose`: name the places where the problem run begins to differ.

The best suspect comes first.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.cli.outcome import Exit, exit_of
from msprobe.errors import CommandError

if TYPE_CHECKING:
    from builder import Diagnosis, Suspect
    from builder.results.trace import Hop, Trace

SUMMARY = "name the places where a comparison begins to differ, best suspect first"
TOP = 5
_PLACES = 3  # repeats of a finding that are listed as text; JSON has all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument(
        "database",
        type=Path,
        nargs="+",
        metavar="DB",
        help="a *.vis.db of graph_visualize, or its folder; of several the newest counts",
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write a self-contained report with the values"
    )
    parser.add_argument(
        "--sarif",
        type=Path,
        metavar="FILE",
        help="write the findings as SARIF 2.1.0, for code hosts",
    )
    parser.add_argument(
        "--top", type=_count, metavar="N", help=f"findings to list [text: {TOP}, JSON: all]"
    )
    parser.add_argument(
        "--explain", metavar="NODE", help="show the way from a divergent node back to its cause"
    )
    parser.add_argument("--step", type=int, help="the step of --explain [the first that has it]")
    parser.add_argument("--rank", type=int, help="the rank of --explain [the first that has it]")
    parser.add_argument(
        "--fail-above",
        type=float,
        metavar="SCORE",
        help="exit with code 4 when the worst score is above this",
    )


def run(options: argparse.Namespace) -> Exit:
    """Print the diagnosis; the exit code tells whether it can be trusted."""
    from builder import diagnose
    from builder.results.newest import newest_result

    options.database = newest_result(options.database)
    if options.explain is not None:
        return _explain(options)
    diagnosis = diagnose(options.database, options.top)
    if options.html is not None:
        _write_html(options.database, options.html, _top(options))
    if options.sarif is not None:
        _write_sarif(diagnosis, options.sarif)
    if options.json:
        print(json.dumps(diagnosis.as_json(), indent=1, ensure_ascii=False))
    else:
        print("\n".join(report(diagnosis, _top(options))))
    return _exit_code(diagnosis, options.fail_above)


def _explain(options: argparse.Namespace) -> Exit:
    import msgspec

    from tb_graph_ascend.view.explained_way import explained_way

    trace = explained_way(options.database, options.explain, options.step, options.rank)
    if options.json:
        shown = {"version": 1, "database": str(options.database), **msgspec.to_builtins(trace)}
        print(json.dumps(shown, indent=1, ensure_ascii=False))
    else:
        print("\n".join(_way(trace, options.database)))
    return Exit.DONE


def _way(trace: Trace, database: Path) -> list[str]:
    from msprobe.answers.way_words import LINKS, way_end, way_to_finding

    lines = [f"step {trace.step}, rank {trace.rank}"]
    for hop in trace.hops:
        told = LINKS[hop.link].format(value=hop.value, step=hop.step)
        lines.append(f"{told:<28} {hop.name} ({_compared(hop)})")
    if any(hop.link == "input" and not hop.exact for hop in trace.hops):
        lines.append("note: where the dump does not record who made an input, equal numbers decide")
    if trace.finding is not None:
        lines.append(way_to_finding(database, trace.finding))
    else:
        lines.append(way_end(trace))
    return lines


def _compared(hop: Hop) -> str:
    """How far apart the two runs are at a node, as scores."""
    if not hop.matched:
        alone = f"only in the {hop.side} run"
        return alone if hop.score is None else f"{alone}; what it hands on: {hop.score:.2f}"
    if hop.score is None and hop.input_score is None:
        return "no values compared"
    score = "–" if hop.score is None else f"{hop.score:.2f}"
    before = "–" if hop.input_score is None else f"{hop.input_score:.2f}"
    return f"inputs {before}, outputs {score}"


def _top(options: argparse.Namespace) -> int:
    return TOP if options.top is None else int(options.top)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is negative; give how many findings to list")
    return number


def _write_html(database: Path, file: Path, top: int) -> None:
    from tb_graph_ascend.view.html import html_report

    _write_whole(file, html_report(database, top), "--html")


def _write_sarif(diagnosis: Diagnosis, file: Path) -> None:
    from msprobe.answers.sarif import sarif_log

    log = sarif_log(diagnosis, Path.cwd())
    _write_whole(file, json.dumps(log, indent=1, ensure_ascii=False), "--sarif")


def _write_whole(file: Path, text: str, option: str) -> None:
    from msprobe_core.format.whole_file import written_whole

    try:
        with written_whole(file) as beside:
            beside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(
            f"{file}: cannot be written ({error.strerror})", f"choose another {option}"
        ) from error


def _exit_code(diagnosis: Diagnosis, fail_above: float | None) -> Exit:
    if fail_above is not None and (diagnosis.worst or 0.0) > fail_above:
        return Exit.DIVERGED
    return exit_of(diagnosis.claim)


def report(diagnosis: Diagnosis, top: int) -> list[str]:
    """The diagnosis in lines of text, with `top` findings."""
    from builder.reasons import sentence

    lines = [
        f"{diagnosis.database}: {diagnosis.pairs} pairs compared by {diagnosis.task}, "
        f"{diagnosis.matched} nodes matched, {diagnosis.unmatched_problem} only in the problem "
        f"run, {diagnosis.unmatched_benchmark} only in the benchmark run"
    ]
    if diagnosis.kind is not None:
        lines.append(f"kind: {sentence(diagnosis.kind)}")
    lines += [f"note: {line}" for line in diagnosis.summary]
    lines += [
        f"failed: step {pair['step']} rank {pair['rank']}: {pair['error']}"
        for pair in diagnosis.failed
    ]
    lines.append(_headline(diagnosis))
    for place, suspect in enumerate(diagnosis.named[:top], 1):
        lines += _suspect(place, suspect)
    hidden = len(diagnosis.named) - top
    return lines if hidden <= 0 else [*lines, f"… and {hidden} more; --top N lists them"]


def _headline(diagnosis: Diagnosis) -> str:
    from builder.claim import headline, told
    from builder.results.extent import formats_told

    claim = diagnosis.claim
    if diagnosis.named:
        return f"{headline(claim)}:"
    if claim.code == "nothing":
        return told(claim)
    if diagnosis.refusal is not None:
        return (
            f"{diagnosis.refusal}\npair other names with -lm, or on the page, which proposes them"
        )
    formats = None if diagnosis.extent is None else formats_told(diagnosis.extent)
    return f"{told(claim)}, {formats}" if formats else told(claim)


def _suspect(place: int, suspect: Suspect) -> list[str]:
    from builder.dump.stack_frames import place_lines

    lines = [
        f"{place}. {suspect.node} ({suspect.type}, {suspect.direction}, step {suspect.step}, "
        f"rank {suspect.rank})"
    ]
    if suspect.inside is not None:
        lines.append(f"   inside {suspect.inside}")
    lines += [f"   {reason}" for reason in suspect.reasons]
    lines.append(f"   {suspect.sure}")
    if suspect.places:
        count = len(suspect.places)
        lines.append(f"   in {count} more place{'s' * (count != 1)}: {_places(suspect)}")
    if suspect.reach is not None:
        lines.append(f"   {suspect.reach}")
    place_and_own = place_lines(*suspect.stacks)
    lines += [f"   {said}{line}" for said, line in zip(("", "called from "), place_and_own)]
    there = suspect.line_there
    return lines if there is None else [*lines, f"   in the benchmark: {there.told}"]


def _places(suspect: Suspect) -> str:
    """The nodes of a finding's repeats, with step and rank where these are others."""
    own = (suspect.step, suspect.rank)
    listed = [
        str(p["node"]) + ("" if (p["step"], p["rank"]) == own else f" ({_when(p)})")
        for p in suspect.places[:_PLACES]
    ]
    return ", ".join(listed) + (", …" if len(suspect.places) > _PLACES else "")


def _when(place: dict[str, int | str]) -> str:
    return f"step {place['step']}, rank {place['rank']}"
