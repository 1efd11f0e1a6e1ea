"""Which changed call a difference points to."""

from __future__ import annotations

from builder.diagnosis.case import Case
from builder.diagnosis.structure import Change
from builder.flow.feeding import named_output


def candidate_that_made(case: Case) -> Change | None:
    """The candidate whose very value is read here, on either side.

    What is no further apart than was usual before came so, whatever call it went through.
    """
    usual = case.candidates.usual_strain()
    for row in case.rows.inputs or case.rows.outputs:
        if not case.scored.stands_out([row], usual):
            continue
        ours, theirs = case.facts.paired.value_pair(row)
        ledger = case.ledger
        for producer in (ledger.producers.of(ours), ledger.benchmark_producers.of(theirs)):
            candidate = case.candidates.listed(producer) if producer is not None else None
            if candidate is not None:
                return candidate
        if (ahead := _candidate_ahead(case, row)) is not None:
            return ahead
    return None


def _candidate_ahead(case: Case, row: int) -> Change | None:
    """The unmatched call that either dump names as the maker of an input."""
    trees = (case.matching.problem, case.matching.benchmark)
    readers = (case.node, case.matching.partner[case.node])
    for tree, reader, side in zip(trees, readers, case.facts.comparison.records):
        source = side[row].source
        named = named_output(tree, source) if source else None
        if named is not None and named[0].exec_order > reader.exec_order:
            return case.candidates.ahead(named[0], case.node)
    return None
