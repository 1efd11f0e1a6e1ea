"""What an excess is blamed on: each rule names a cause, or says nothing.

The first rule of a list that answers is right. docs/internals/diagnosis-rules.md explains each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import TypeAlias

from builder.compare.score import coarsest_epsilon
from builder.diagnosis.changes import silent_before
from builder.diagnosis.communication import gathers
from builder.diagnosis.excess import PLAIN
from builder.diagnosis.finding import Finding
from builder.diagnosis.module_modes import mode_differs
from builder.diagnosis.policies.by_excess.excess_case import Case
from builder.diagnosis.verdicts import Cause, Named
from builder.flow.feeding import NOWHERE
from builder.match.tree import TreeNode
from builder.reasons import (
    BatchDiffers,
    BatchRows,
    CalledEarlier,
    CalledLater,
    ElementsMoved,
    FusedAway,
    HandsOn,
    HiddenByInfinity,
    InputDiffers,
    Introduced,
    IntroducedBeyond,
    ReadBefore,
    Reason,
    Rewired,
    UnrecordedDiffers,
)

# Behind a finding a guess has to be exceeded by so much: twice what a call alone is named from, for
# a guess is no bound, and a second finding that is none costs more trust than one that is missing.
BEHIND = 6.0

Rule: TypeAlias = Callable[[Case], Cause | None]


def first_answer(rules: tuple[Rule, ...], case: Case) -> Cause | None:
    """What the first rule that knows says."""
    return next((said for rule in rules if (said := rule(case)) is not None), None)


# --- what a node reads --------------------------------------------------------------------------


def made_by_a_changed_call(case: Case) -> Cause | None:
    """The value was put out by a call that one run alone makes, or went through a call without
    values that one run alone makes or makes otherwise; one that nothing has named yet comes first.
    """
    made = case.maker_of_one_run()
    if isinstance(made, Named):
        return made
    passed = through_a_call_without_values(case)
    return passed if isinstance(passed, Named) else made or passed


def behind_a_changed_call(case: Case) -> Cause | None:
    """A changed call ran before in the innermost module that has one: it may have moved a value
    that no recorded call made.
    """
    change = case.changes.around(case.node)
    return None if change is None else case.of_change(change)


def gradient_of_a_changed_call(case: Case) -> Cause | None:
    """The gradient passes a call that is not as in the other run, or one run alone wants
    it (`requires_grad`).
    """
    if not case.is_gradient:
        return None
    known = case.changes.finding_of(case.node.forward)
    if known is not None:
        return known
    # What a changed call put out may agree by chance where its gradient does not.
    calls = case.edges.returned.returned_by(case.node, case.excess.row)
    change = next((c for call in calls if (c := case.changes.of(call)) is not None), None)
    change = change or case.changes.of_gradient() or case.changes.of(case.node.forward)
    return None if change is None else case.of_change(change)


def rounded_as_its_forward_call(case: Case) -> Cause | None:
    """The gradient arrives in another format, in which a finding lets its forward call compute, and
    is apart by roundings to that.
    """
    forward, row = case.node.forward, case.excess.row
    if forward is None or row not in case.facts.differing_dtypes(case.node, outputs=False):
        return None
    sides = (case.facts.paired.ours[row].dtype, case.facts.paired.theirs[row].dtype)
    rounding = coarsest_epsilon([dtype for dtype in sides if dtype]) * case.known.norm[row]
    if case.known.distance[row] > PLAIN * (case.excess.came + rounding):
        return None
    return case.attribution.source.get(forward)


def elements_moved(case: Case) -> Cause | None:
    """The call that made the value agrees with its partner: on the way here elements were moved."""
    excess = case.excess
    maker = excess.makers.ours if excess.makers is not None else None
    if excess.way != "moved" or maker is None or excess.came > case.known.noise[excess.row]:
        return None
    if case.facts.paired.is_nonfinite(case.facts.paired.value_pair(excess.row)[0]):
        return None  # an infinite norm is the same whatever the other elements are
    return case.of_input(ElementsMoved(case.key, maker.name))


def fed_other_data(case: Case) -> Cause | None:
    """No recorded call made what is read, and it is the data of the run: the first that anything
    reads, no parameter, or whole numbers.
    """
    row = case.excess.row
    is_data = not case.has_read or case.known.paired.is_integer(row)
    if case.facts.paired.ours[row].requires_grad:
        return None  # a parameter, or what a layer made that was not recorded
    if case.excess.way != "outside" or case.node.phase != "forward" or not is_data:
        return None
    if not case.has_read and not gathers(case.node):
        return case.of_input(case.facts.batch_reason(case.node, [row]))
    batch = _batch_of(case) or _data_of(case)
    if batch is not None:
        return batch
    if _reads_more_moved(case):
        return case.of_input(UnrecordedDiffers(*case.worst))
    return case.of_input(UnrecordedDiffers(*case.worst, silent_before(case.node)))


def gathers_parts_of_a_parameter(case: Case) -> Cause | None:
    """No recorded call made the numbers that ranks gather in the forward pass: shards of parameters
    lie so between two steps. The next module with a parameter that differs is named, if one does.
    """
    row = case.excess.row
    if case.excess.way != "outside" or case.node.phase != "forward":
        return None
    if not gathers(case.node) or case.known.paired.is_integer(row):
        return None
    for node in case.facts.comparison.matching.problem.in_order[case.node.exec_order :]:
        if node.phase == "forward" and (rows := case.parameters.wrong_of(node)):
            return case.parameters.cause(node, rows)
    return None


def follows_the_latest_finding(case: Case) -> Cause | None:
    """The latest finding may have led to the value on ways that nobody recorded."""
    excess = case.excess
    stands_out = excess.way == "outside" and BEHIND < excess.times < inf
    return None if excess.told or stands_out else case.attribution.latest()


def handed_on_unrecorded(case: Case) -> Cause | None:
    """The one backward call behind a gradient did not record what it hands on: it is named."""
    silent = case.edges.returned.silent_maker(case.node, case.excess.row)
    if silent is None:
        return None
    named = case.with_evidence(Named("introduced", silent, HandsOn(case.key, case.node.name)))
    return replace(named, inherits=case.attribution.keys_of([case.excess.row]))


def ran_on_another_side_of_its_writer(case: Case) -> Cause | None:
    """What a call reads is written in place by a call of both runs, before it in one of them and
    behind it in the other, where it reads what no call put out: it is named as called earlier or
    later.
    """
    makers, partner = case.excess.makers, case.facts.comparison.matching.partner
    if makers is None or case.node not in partner or None not in (makers.ours, makers.theirs):
        return None
    writer = partner.get(makers.theirs) if makers.theirs is not None else None
    if writer is not None and writer.exec_order > case.node.exec_order:
        return _called(case, CalledEarlier(case.node.name, writer.name))
    there = partner.get(makers.ours) if makers.ours is not None else None
    if there is None or makers.ours is None or there.exec_order < partner[case.node].exec_order:
        return None
    return _called(case, CalledLater(case.node.name, makers.ours.name))


def _called(case: Case, reason: Reason) -> Named:
    return case.with_evidence(Named("input_differs", case.node, reason))


def reads_otherwise(case: Case) -> Cause | None:
    """The two runs read what different calls made, or what nobody recorded: the reader is named."""
    makers = case.excess.makers
    if case.excess.way == "rewired" and makers is not None and makers.ours is None:
        reader = case.edges.first_reader(case.node, case.excess.row)
        if reader is not None and makers.theirs is not None:
            return case.of_input(ReadBefore(case.key, reader.name, makers.theirs.name))
    if case.excess.way != "rewired" or makers is None or None in (makers.ours, makers.theirs):
        return case.of_input(InputDiffers(*case.worst))
    assert makers.ours is not None and makers.theirs is not None
    reason = Rewired(*case.worst, makers.ours.name, makers.theirs.name)
    return case.with_evidence(Named("input_differs", case.node, reason))


# --- what a node puts out -----------------------------------------------------------------------


def holds_a_changed_call(case: Case) -> Cause | None:
    """A call inside the module is not as in the other run, though all its calls agree."""
    change = case.changes.inside(case.node) if case.node.kind == "module" else None
    return None if change is None else case.of_change(change)


def gradient_of_one_run(case: Case) -> Cause | None:
    """One run alone wants a gradient of some value (`requires_grad`), or cut it off."""
    change = case.changes.of_gradient() if case.is_gradient else None
    return None if change is None else case.of_change(change)


def called_otherwise(case: Case) -> Cause | None:
    """The call itself is not as in the other run: another argument, or another format."""
    change = case.changes.of(case.node)
    return None if change is None else case.of_change(change)


def backward_of_a_changed_call(case: Case) -> Cause | None:
    """The forward call of a gradient is not as in the other run."""
    if not case.is_gradient:
        return None
    known = case.changes.finding_of(case.node.forward)
    change = case.changes.of(case.node.forward)
    return known if known is not None or change is None else case.of_change(change)


def hidden_by_infinity(case: Case) -> Cause | None:
    """The call made infinities of what is read, in which nothing behind could be compared."""
    hidden = (r for r in case.known.inputs(case.node) if case.known.hidden[r])
    found = ((r, maker) for r in hidden if (maker := case.edges.makers(r).ours) is not None)
    row, maker = next(found, (0, None))
    if maker is None:
        return None
    if maker in case.attribution.source:
        return case.attribution.source[maker]
    reason = HiddenByInfinity(case.facts.comparison.keys[row], case.node.name)
    return Named("introduced", maker, reason, case.score)


def reads_what_was_fused(case: Case) -> Cause | None:
    """A compiler left no record of what is read: the first of the calls is named that lie between
    the last values that agree and this one.
    """
    found = _fused_maker(case)
    if found is None or found.exec_order in case.known.differing:
        return None
    if found in case.attribution.source:
        return case.attribution.source[found]
    row = next(r for r in _fused_inputs(case, case.node))
    reason = FusedAway(case.facts.comparison.keys[row], case.node.name)
    return Named("introduced", found, reason, case.score)


def given_otherwise(case: Case) -> Cause | None:
    """What a call reads in one run alone, or an argument of another kind; asked last."""
    given = case.changes.given_otherwise(case.node)
    if not given:
        return None
    reason = case.facts.argument_reason(given[0])
    return case.with_evidence(Named("argument_differs", case.node, reason))


def runs_in_another_mode(case: Case) -> Cause | None:
    """The module is trained in one run and evaluated in the other (`module.eval()`)."""
    partner = case.facts.comparison.matching.partner
    mode = mode_differs(case.node, partner, ours=True) if case.node.kind == "module" else None
    if mode is None or mode.module != case.node.name:
        return None
    return case.with_evidence(Named("argument_differs", case.node, mode))


def introduces_a_difference(case: Case) -> Cause | None:
    """Nothing else tells of it: the difference begins here."""
    before = case.facts.reads(case.node)
    said = IntroducedBeyond if before > case.facts.threshold else Introduced
    reason = said(*case.worst, before)
    return case.with_evidence(Named("introduced", case.node, reason))


RULES_FOR_EDGES: tuple[Rule, ...] = (
    made_by_a_changed_call,
    ran_on_another_side_of_its_writer,
    rounded_as_its_forward_call,
    behind_a_changed_call,
    gradient_of_a_changed_call,
    elements_moved,
    gathers_parts_of_a_parameter,
    fed_other_data,
    follows_the_latest_finding,
    handed_on_unrecorded,
    reads_otherwise,
)
"""Asked of a value that is further apart where it is read than where it was put out."""

RULES_FOR_MODULES: tuple[Rule, ...] = (
    made_by_a_changed_call,
    holds_a_changed_call,
    gradient_of_one_run,
    runs_in_another_mode,
    given_otherwise,
    introduces_a_difference,
)
"""Asked of a module that puts out what is further apart than inside it."""

RULES_FOR_OUTPUTS: tuple[Rule, ...] = (
    called_otherwise,
    backward_of_a_changed_call,
    hidden_by_infinity,
    reads_what_was_fused,
    runs_in_another_mode,
    given_otherwise,
    introduces_a_difference,
)
"""Asked of a call that puts out what is further apart than what it read explains."""


# --- what rules ask -----------------------------------------------------------------------------


def through_a_call_without_values(case: Case) -> Cause | None:
    """The call without values on the way of a value that one run alone makes, or otherwise."""
    known, passed, row = None, case.edges.passed, case.excess.row
    for alone in filter(case.changes.is_change, passed.alone(row)):
        made = case.changes.made_by(alone, case.node)
        if made.finding is None:
            return case.of_change(made, traced=True)
        known = known or made.finding
    otherwise = passed.otherwise(row)
    if otherwise is None:
        return known or _written_otherwise(case)
    call, reason = otherwise
    named = case.attribution.source.get(call)
    if named is not None and named.node is call:
        return named
    return case.with_evidence(Named("argument_differs", call, reason, case.score))


def _written_otherwise(case: Case) -> Cause | None:
    """The call that wrote in place what is read, and puts out nothing, where it was given another
    argument, as an index.
    """
    for writer in case.edges.passed.writers(case.excess.row):
        change = case.changes.of(writer)
        if change is not None:
            return change.finding or case.of_change(change, traced=True)
    return None


def _fused_maker(case: Case) -> TreeNode | None:
    """The first call that the values come from which a compiler kept out of memory on the way to a
    call: by the benchmark, as the problem has none of their numbers.
    """
    partner, first = case.facts.comparison.matching.partner, None
    pending, seen = [case.node], {case.node}
    while pending:
        for row in _fused_inputs(case, pending.pop()):
            theirs = case.edges.makers(row).theirs
            maker = _writer_by_index(case, row) if theirs is None else partner.get(theirs)
            if maker is None or maker in seen:
                continue
            seen.add(maker)
            pending.append(maker)
            first = maker if first is None or maker.exec_order < first.exec_order else first
    return first


def _writer_by_index(case: Case, row: int) -> TreeNode | None:
    """The last call before the reader, in its module, that writes by index into a value of that
    shape: it puts out nothing, so nothing tells what else it has written to.
    """
    comparison, paired = case.facts.comparison, case.facts.paired
    reader = comparison.matching.problem.in_order[int(comparison.pairs.node[row])]
    for node in reversed(reader.parent.children if reader.parent is not None else []):
        if node.exec_order < reader.exec_order and node.call == "__setitem__":
            written = paired.rows(node)
            if written and paired.theirs[written[0]].shape == paired.theirs[row].shape:
                return node
    return None


def _fused_inputs(case: Case, node: TreeNode) -> list[int]:
    """The rows of what a node reads that the problem has no numbers of, as they were fused."""
    paired = case.facts.paired
    read = (row for row in paired.rows(node) if not paired.is_output[row])
    return [row for row in read if paired.ours[row].fused or paired.theirs[row].fused]


def _batch_of(case: Case) -> Finding | None:
    """The finding of a batch of another size that a value has the rows of, as labels have."""
    sides = (
        side[case.excess.row].shape for side in (case.facts.paired.ours, case.facts.paired.theirs)
    )
    rows = [shape[0] for shape in sides if shape]
    for known in case.attribution.findings:
        match known.reasons[0]:
            case BatchRows(rows=ours, rows_there=theirs) if rows == [ours, theirs]:
                return known
    return None


def _data_of(case: Case) -> Finding | None:
    """The finding of other data, where what is read is data as well: no call stands behind it."""
    if not case.edges.passed.is_outside_data(case.excess.row):
        return None
    findings = case.attribution.findings
    return next((one for one in findings if isinstance(one.reasons[0], BatchDiffers)), None)


def _reads_more_moved(case: Case) -> bool:
    """Whether a call reads other tensors that calls without values made, or moved.

    What runs right before it and left no values may as well have made one of those.
    """
    tensors = case.facts.paired.tensors[0]
    others = (r for r in case.known.inputs(case.node) if r != case.excess.row and tensors[r])
    return any(_is_moved(case, r) for r in others)


def _is_moved(case: Case, row: int) -> bool:
    """Whether a value is not as a recorded call put it out."""
    made = case.edges.makers(row).outputs[0]
    records = case.facts.comparison.matching.problem.dump.values.records
    return made == NOWHERE or records[made].shape != case.facts.paired.ours[row].shape
