"""Which changed call a difference points to, and the finding that names it."""

from __future__ import annotations

from builder.diagnosis.candidates import Candidate, CandidateKind
from builder.diagnosis.case import Case
from builder.diagnosis.finding import Finding
from builder.flow.feeding import named_output
from builder.match.nodes import Matching
from builder.match.tree import TreeNode
from builder.reasons import Reason


def candidate_that_made(case: Case) -> Candidate | None:
    """The candidate whose very value is read here, on either side.

    What is no further apart than was usual before came so, whatever call it went through.
    """
    usual = case.candidates.usual_strain()
    for row in case.rows.inputs or case.rows.outputs:
        if not case.facts.stands_out([row], usual):
            continue
        ours, theirs = case.facts.value_pair(row)
        ledger = case.ledger
        for producer in (ledger.producers.of(ours), ledger.benchmark_producers.of(theirs)):
            candidate = case.candidates.named(producer) if producer is not None else None
            if candidate is not None:
                return candidate
        if (ahead := _candidate_ahead(case, row)) is not None:
            return ahead
    return None


def _candidate_ahead(case: Case, row: int) -> Candidate | None:
    """The unmatched call that either dump names as the maker of an input."""
    kinds: tuple[CandidateKind, CandidateKind] = ("extra", "missing")
    trees = (case.matching.problem, case.matching.benchmark)
    readers = (case.node, case.matching.partner[case.node])
    records = case.facts.comparison.records
    for kind, tree, reader, side in zip(kinds, trees, readers, records):
        source = side[row].source
        named = named_output(tree, source) if source else None
        if named is not None and named[0].exec_order > reader.exec_order:
            order = named[0].exec_order if kind == "extra" else case.node.exec_order
            return case.candidates.ahead(kind, named[0], order)
    return None


def candidate_in_forward(case: Case) -> Candidate | None:
    """A forward twin with another argument or precision that only its gradient shows."""
    forward = case.node.forward
    return case.candidates.named(forward, "argument", "precision") if forward else None


def open_candidate(case: Case, candidate: Candidate, score: float) -> Finding:
    """Name what a difference points to; the node of the case is the first that shows it."""
    named = _outermost(candidate.node, case.matching)
    run, instead = case.candidates.run(candidate), case.candidates.instead(candidate)
    case.candidates.name(candidate)
    ledger, facts = case.ledger, case.facts
    if candidate.kind == "argument":
        row = facts.divergent(named).arguments[0]
        return ledger.open(named, "argument_differs", facts.argument_reason(row))
    if candidate.kind == "precision":
        return ledger.open(named, "precision", facts.precision_reason(named))
    is_extra = candidate.kind == "extra"
    affected = None if is_extra else case.node
    return ledger.open(
        named, "input_differs", _calls_reason(is_extra, run, instead), score, affected=affected
    )


def _calls_reason(is_extra: bool, run: list[TreeNode], instead: list[TreeNode]) -> Reason:
    """What one run alone calls, or calls where the other calls something else."""
    kind, names = "extra" if is_extra else "missing", _names(run)
    if instead:
        return {"code": f"{kind}_replaced", "names": names, "instead": _names(instead)}
    return {"code": f"{kind}_calls", "names": names}


def _names(calls: list[TreeNode]) -> str:
    """The last few of a run of calls."""
    return ", ".join(call.name for call in calls[-5:])


def _outermost(node: TreeNode, matching: Matching) -> TreeNode:
    """The whole module where a whole module is extra or missing, else the call itself."""
    while (
        node not in matching.partner
        and node.parent is not None
        and node.parent.kind == "module"
        and node.parent.entry is not None
        and node.parent not in matching.partner
    ):
        node = node.parent
    return node
