"""What the command line says of a build that is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msprobe.cli.outcome import Exit, exit_of

if TYPE_CHECKING:
    from builder import BuildResult
    from builder.claim import Claim
    from builder.reasons import Reason
    from builder.work.outcome import PairOutcome, StoredFinding


def print_summary(result: BuildResult, *, comparison: bool) -> None:
    """Say what was compared, where a difference begins and where the file is."""
    from builder.reasons import sentence
    from builder.storage.folder import address_of

    outcomes = result.outcomes
    print(f"pairs: {len(outcomes)} in mode {result.mode}, {len(result.failed)} failed")
    if comparison:
        print(
            f"nodes: {sum(o.matched for o in outcomes)} matched, "
            f"{sum(o.unmatched_problem for o in outcomes)} only in the problem run, "
            f"{sum(o.unmatched_benchmark for o in outcomes)} only in the benchmark run"
        )
    for reason in result.summary:
        print(f"note: {sentence(reason)}")
    if comparison:
        print(f"begins: {beginning(result.findings, outcomes, result.claim)}")
        for told in reach(result.findings[:1], outcomes):
            print(f"reach: {told}")
    print(f"file: {address_of(result.path)}")


def beginning(
    findings: Sequence[StoredFinding], outcomes: Sequence[PairOutcome], claim: Claim
) -> str:
    """The first finding in one line, or what may be said without one."""
    from builder.claim import headline, told
    from builder.reasons import sentences
    from builder.results.certainty import refusal

    places = sum(outcome.error is None for outcome in outcomes)
    refused = refusal(outcomes, places, _notes(outcomes))
    if refused is not None and any(outcome.compared for outcome in outcomes):
        return refused
    if findings:
        first = findings[0]
        why = "; ".join(sentences(first.reasons))
        where = f"{first.name} (step {first.step}, rank {first.rank}): {why}"
        # Findings that heal stand behind all others: nothing begins where the first of them does.
        return f"nowhere; {headline(claim)}: {where}" if first.heals else where
    return told(claim)


def reach(findings: Sequence[StoredFinding], outcomes: Sequence[PairOutcome]) -> Iterator[str]:
    """How far each of some findings reaches; nothing where none is named."""
    from builder.results.certainty import refusal
    from builder.results.report import reach_told

    if refusal(outcomes, len(outcomes), _notes(outcomes)) is not None:
        return
    for one in findings:
        places = {(one.step, one.rank), *((place.step, place.rank) for place in one.places)}
        told = reach_told(one.propagated_to, one.perhaps, one.divergent, len(places))
        if told is not None:
            yield told


def _notes(outcomes: Sequence[PairOutcome]) -> list[Reason]:
    return [outcome.unlike_programs for outcome in outcomes if outcome.unlike_programs is not None]


def exit_code(result: BuildResult) -> Exit:
    """What a build ends with; one of a single run compares nothing."""
    if result.failed:
        return Exit.FAILED_PAIRS
    if not result.comparison:
        return Exit.DONE
    return exit_of(result.claim)
