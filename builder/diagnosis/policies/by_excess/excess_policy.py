"""Which calls, edges and modules have an excess, where elements were seen.

What a node reads is judged first, then what it puts out; a module's inputs are judged before what
runs inside it. What differs and follows from a finding by the flow of values is counted under it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf

from builder.diagnosis.attribution import Attribution
from builder.diagnosis.changes import Changes, is_in, scope_of
from builder.diagnosis.excess import NO_EXCESS, PLAIN, Excess, excess_over
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.healing import Healing
from builder.diagnosis.nonfinite import nonfinite_at
from builder.diagnosis.policies.by_excess import sketched_sums
from builder.diagnosis.policies.by_excess.edges import Edges
from builder.diagnosis.policies.by_excess.excess_case import Case, Parameters
from builder.diagnosis.policies.by_excess.excess_rules import (
    BEHIND,
    RULES_FOR_EDGES,
    RULES_FOR_MODULES,
    RULES_FOR_OUTPUTS,
    first_answer,
    through_a_call_without_values,
)
from builder.diagnosis.sightings import Sightings
from builder.diagnosis.verdicts import Named, Verdict
from builder.dump.statistic_cells import constant_of
from builder.flow.feeding import Flow
from builder.flow.fingerprints import NO_PRINT
from builder.flow.parameter_readers import ParameterReaders
from builder.match.tree import TreeNode
from builder.operators.table import has, is_gradient_free
from builder.reasons import ArgumentDiffers, ReadBefore

# A call that is not as in the other run has a cause already: any excess will do.
_CHANGED = 1.0
# A choice among inputs that are further apart than this may well be another one.
_SAME_CHOICE = 0.1


class ByExcess:
    """A call, edge or module is named where what it read does not explain how far it is apart.

    Invariants: `_entered` are the modules whose inputs were judged; `_named` maps the fingerprints
    of a value's two sides to the finding that named an edge it went over; `_moves` holds the maker
    and the reader of each value that was moved on its way, with the finding. `_has_read`: a node
    with values was passed.
    """

    by_scores = False

    def __init__(
        self, facts: Facts, known: Attribution, changes: Changes, flows: tuple[Flow, Flow]
    ) -> None:
        self._facts, self._attribution, self._changes = facts, known, changes
        self._flows, self._known = flows, facts.known
        self._comparison, self._matching = facts.comparison, facts.comparison.matching
        self._edges = Edges(facts, flows)
        self._parameters = Parameters(facts, known, changes, self._edges, flows)
        self.sightings = Sightings(facts, changes, self._edges.passed)
        self._entered: set[TreeNode] = set()
        self._named: dict[Hashable, Finding] = {}
        self._moves: list[tuple[TreeNode, TreeNode, Finding]] = []
        self._from_inside: dict[TreeNode, Finding] = {}
        self._has_read = False

    def judge(self, node: TreeNode) -> Iterator[Verdict]:
        """The modules around a node that were not entered before, the outermost first; then it."""
        yield from self._enter(node)
        if not self._facts.paired.rows(node) or self._is_named(node):
            return
        differs = node.exec_order in self._known.differing
        if differs or self._changes.differs(node) or self._facts.makes_nonfinite(node):
            yield self._verdict(node)
        if differs:
            self._edges.note(node, self._known.tensor_rows(node))
        self._has_read = True

    def settled(self, verdict: Verdict, finding: Finding, *, is_new: bool) -> None:
        """Remember which finding named the edge that a value went over."""
        excess = verdict.excess
        if excess is None:
            return
        self._named[self._edge_key(excess.row)] = finding
        if isinstance(finding.reasons[0], ReadBefore):
            reader = self._edges.first_reader(verdict.node, excess.row)
            self._from_inside |= dict.fromkeys(_around(reader, verdict.node), finding)
        if self._comparison.is_output[excess.row] or excess.way != "moved":
            return
        if excess.makers is not None and excess.makers.ours is not None:
            self._moves.append((excess.makers.ours, verdict.node, finding))

    def passed(self, node: TreeNode) -> None:
        """Nothing is kept of a node but what was judged."""

    def mistaken(self) -> Iterator[tuple[Finding, Sequence[int]]]:
        """None: an excess is one, whatever comes behind it."""
        yield from ()

    def at_the_end(self) -> Iterator[Verdict]:
        """Count what was let pass under the finding that it comes of by gradients.

        Only for the eye: it was judged where it was made, a sum by all of its parts.
        """
        source = self._attribution.source
        for node in self._matching.problem.in_order if source else ():
            if node not in source and node.exec_order in self._known.differing:
                known = self.behind(node) or self._behind_gradients(node, source)
                yield Verdict(node, known)

    def maker(self, row: int) -> TreeNode | None:
        """The problem's call that put out the problem's value of a row."""
        return self._edges.makers(row).ours

    def heal(self, findings: Iterable[Finding]) -> bool:
        """Whether all that the step puts out agrees, and nothing of the findings is left behind."""
        listed, healing = list(findings), Healing(self._facts, self._flows)
        heals = healing.heals(listed)
        for finding in listed:
            finding.heals_by_itself = healing.heals_by_itself(finding)
        return heals

    # --- which nodes are judged -------------------------------------------------------------------

    def _is_named(self, node: TreeNode) -> bool:
        """Whether a node was named before its turn: a module's backward call by its gradients."""
        known = self._attribution.source.get(node)
        return known is not None and known.node is node and node.direction == "backward"

    def _enter(self, node: TreeNode) -> Iterator[Verdict]:
        """Judge what the modules around a node read, before what runs inside them."""
        around = []
        up = node if node.children else node.parent
        while up is not None and up not in self._entered:
            self._entered.add(up)
            around.append(up)
            up = up.parent
        for module in reversed(around):
            if not _holds_calls(module) or module not in self._matching.partner:
                continue
            if module.exec_order in self._known.differing:
                verdict = self._of_inputs(module, self.behind(module))
                if verdict is not None:
                    yield verdict
                self._edges.note(module, self._known.inputs(module))

    def _verdict(self, node: TreeNode) -> Verdict:
        cause = self.behind(node)
        if self._facts.makes_nonfinite(node):
            return self._of_nonfinite(node, cause)
        if cause is None or node.phase == "forward":
            wrong = self._parameters.wrong_of(node)
            if wrong:
                self._note_read(node)  # beside other weights it may be fed otherwise as well
                blamed = self._parameters.cause(node, wrong)
                is_told = isinstance(blamed, Finding) or blamed.kind != "parameter_differs"
                supposed = None if is_told else self._parameters.supposed(node, wrong)
                if supposed is None:
                    return Verdict(node, blamed)
                values = self._facts.paired.problem_values(wrong)
                return Verdict(node, values=values, perhaps=supposed)
        self._note_changes(node)
        if _holds_calls(node):
            found = self._of_module_output(node, cause)
        else:
            found = self._of_inputs(node, cause) or self._of_outputs(node, cause)
        if cause is None and node.phase == "after":
            cause = self._behind_gradients(node, self._attribution.source)
        if found is not None or cause is not None:
            return found or Verdict(node, cause)
        rows = [r for r in self._known.outputs(node) if self._known.distance[r] > 0]
        values = self._facts.paired.problem_values(rows)
        perhaps = self._supposed(node)
        return Verdict(node, values=values, may_have_chosen=True, perhaps=perhaps)

    def _of_nonfinite(self, node: TreeNode, cause: Finding | None) -> Verdict:
        known = cause or self._attribution.latest_nonfinite
        if known is None and node.direction == "backward":
            known = self._attribution.latest()
        return Verdict(node, known or nonfinite_at(self._facts, node))

    def _note_changes(self, node: TreeNode) -> None:
        facts, changes = self._facts, self._changes
        if facts.changes_precision(node) and not facts.reads_precision(node, self.maker):
            changes.add("precision", node)
        if changes.arguments(node):
            changes.add("argument", node)

    # --- what a node follows from -----------------------------------------------------------------

    def behind(self, node: TreeNode) -> Finding | None:
        """The finding upstream that a node is reached from by values that differ."""
        source = self._attribution.source
        if not source:
            return None
        found = self._led_to(node, source)
        if found is None and node.forward is not None:
            found = self._from_inside.get(node.forward)
        if found is None and node.holds_gradients:
            found = self._of_other_readers(node)
            if found is None and self._facts.expected.is_differentiated_again(node):
                return self._attribution.latest()
        return found

    def _led_to(self, node: TreeNode, source: Mapping[TreeNode, Finding]) -> Finding | None:
        """What the nodes belong to that made what differs in a node, by their `source`."""
        makers = [*node.children, *self._makers_of(node)]
        if node.direction == "backward":
            if node.forward is not None and self._shapes_gradient(node.forward):
                makers.append(node.forward)
            if node.holds_gradients:
                # It is what calls inside the module, or beside it, have put out.
                for module in self._facts.expected.summed_over(node):
                    rows = self._known.inputs(module) if module in self._matching.partner else []
                    makers += module.children
                    makers += [m for r in rows if (m := self.maker(r)) is not None]
        return next((source[maker] for maker in makers if maker in source), None)

    def _shapes_gradient(self, forward: TreeNode) -> bool:
        """Whether what a call read otherwise makes its gradient another one.

        What a sum or a view read does not, but for another number of elements.
        """
        if not is_gradient_free(forward.call):
            return True
        rows = (
            row for one in (forward, *self._makers_of(forward)) for row in self._paired_rows(one)
        )
        return any(map(self._facts.paired.is_reshaped, rows))

    def _paired_rows(self, node: TreeNode) -> Iterable[int]:
        return self._facts.paired.rows(node) if node in self._matching.partner else ()

    def _of_other_readers(self, node: TreeNode) -> Finding | None:
        """The finding that calls elsewhere follow from which read a module's parameters as well.

        As a penalty on weights does, or two modules of one weight: all that they return is added
        up. What the benchmark alone calls has left no part in the problem's.
        """
        module = node.forward
        partner = None if module is None else self._matching.partner.get(module)
        if module is None or partner is None:
            return None
        readers = zip(self._parameter_readers, (module, partner))
        ours, theirs = (list(known.of(own)) for known, own in readers)
        source, found = self._attribution.source, self._changes.finding_of
        known = [source.get(call.backward) or found(call) for call in ours if call.backward]
        known += [found(call) for call in theirs if call not in self._matching.partner]
        return next(filter(None, known), None)

    @cached_property
    def _parameter_readers(self) -> tuple[ParameterReaders, ParameterReaders]:
        return ParameterReaders(self._flows[0]), ParameterReaders(self._flows[1])

    def _makers_of(self, node: TreeNode) -> list[TreeNode]:
        if node not in self._matching.partner:
            return self._edges.makers_of_values(range(*node.values))
        made: list[TreeNode] = []
        for row in self._known.inputs(node):
            if not self._known.is_rounded(row) or self._may_hide(row):
                makers = self._edges.makers(row)
                theirs = self._matching.partner.get(makers.theirs) if makers.theirs else None
                made += [one for one in (makers.ours, theirs) if one is not None]
        return made

    def _supposed(self, node: TreeNode) -> Finding | None:
        """The finding that something may come of which is no further apart than expected.

        Gradients come in on ways that nobody recorded, of which the latest finding may be the
        reason; and what is made of such.
        """
        attribution, known = self._attribution, self._known
        if not attribution.findings:
            return None
        led = self._led_to(node, attribution.supposed)
        led = led or self._behind_gradients(node, attribution.supposed)
        if led is not None or node.direction != "backward":
            return led
        lost = (r for r in known.inputs(node) if known.distance[r] > PLAIN * known.noise[r])
        is_lost = any(self._edges.of_input(node, row).way == "outside" for row in lost)
        return attribution.latest() if is_lost else None

    def _behind_gradients(
        self, node: TreeNode, source: Mapping[TreeNode, Finding]
    ) -> Finding | None:
        """The finding that a value comes of which no recorded call made: a parameter's gradient, or
        one that is the sum of what several calls returned.
        """
        numbers = self._flows[0].prints.numbers
        for row in self._known.inputs(node):
            if self._known.distance[row] == 0 or self.maker(row) is not None:
                continue
            gradients = self._gradients.get(numbers[self._facts.paired.value_pair(row)[0]], ())
            parts = self._edges.returned.makers(node, row)
            found = (source.get(part) for part in (*gradients, *parts))
            known = next(filter(None, found), None)
            if known is not None:
                return known
        return None

    @cached_property
    def _gradients(self) -> dict[int, list[TreeNode]]:
        """The nodes that hold a parameter's gradient, by its fingerprint."""
        numbers = self._flows[0].prints.numbers
        held: dict[int, list[TreeNode]] = defaultdict(list)
        for node in self._matching.problem.in_order:
            if node.holds_gradients:
                for number in numbers[slice(*node.values)]:
                    held[number].append(node)
        held.pop(NO_PRINT, None)
        return held

    # --- what is read -----------------------------------------------------------------------------

    def _of_inputs(self, node: TreeNode, cause: Finding | None) -> Verdict | None:
        read = self._note_read(node)
        if node.phase == "after":
            otherwise = self._begun_otherwise(node, read) or self._given_others(node)
            if otherwise is not None:
                return otherwise
        worst = max(read, key=_times, default=NO_EXCESS)
        if worst.times <= (_CHANGED if worst.way == "changed" else PLAIN):
            return None
        if not self._has_read and not self._is_other_data(worst):
            return None
        case = self._case(node, worst)
        known = self._returned_by_a_finding(node, worst)
        if known is not None:
            return Verdict(node, known)
        said = self._said_already(node, worst)
        if said is not None:
            through = worst.told and worst.times < inf and through_a_call_without_values(case)
            return Verdict(node, through or said, under=cause)
        # Behind NaN there is no distance to tell a second fault by.
        guessed = worst.way in ("changed", "outside") and worst.times < inf
        limit = PLAIN if worst.told else BEHIND if guessed else inf
        if cause is not None and worst.times <= limit:
            return None
        answer = first_answer(RULES_FOR_EDGES, case)
        if cause is not None and isinstance(answer, Named) and worst.way == "changed":
            # All that such a gradient depends on agrees: no cause before it can explain it.
            answer = replace(answer, stands_alone=worst.told and worst.came == 0)
        return Verdict(node, answer, excess=worst)

    def _note_read(self, node: TreeNode) -> list[Excess]:
        """The excesses of what a node reads, its parameters apart, which are places of a cause."""
        parameters = set(self._known.parameters(node))
        rows = [r for r in self._known.inputs(node) if r not in parameters]
        read = [self._edges.of_input(node, r) for r in rows]
        self.sightings.note(node, [*read, *self._edges.of_other_forms(rows)])
        return read

    def _case(self, node: TreeNode, excess: Excess) -> Case:
        return Case(
            node,
            excess,
            self._facts,
            self._attribution,
            self._changes,
            self._edges,
            self._parameters,
            self._has_read,
        )

    def _begun_otherwise(self, node: TreeNode, read: Sequence[Excess]) -> Verdict | None:
        """An update that reads a state which began as another number.

        Nobody made it and it is one number throughout: no gradient makes such a state, whatever
        differs before. A tensor of one element may be a norm, and come of gradients.
        """
        comparison, paired = self._facts.comparison, self._facts.paired
        for excess in read:
            row = excess.row
            if excess.way != "outside" or comparison.statistics[0].size[row] < 2:
                continue
            sides = paired.ours[row], paired.theirs[row]
            ours, theirs = (constant_of(one.Max, one.Min) for one in sides)
            if ours is not None and theirs is not None and ours != theirs:
                numbers = f"{ours:.4g}", f"{theirs:.4g}"
                reason = ArgumentDiffers(comparison.keys[row], *numbers)
                named = Named("argument_differs", node, reason, stands_alone=True)
                return Verdict(node, named, excess=excess)
        return None

    def _given_others(self, node: TreeNode) -> Verdict | None:
        """A call on gradients that one run alone gives further tensors, behind another finding.

        No value decides how many there are; a gradient that one run alone has would.
        """
        if not self._attribution.findings or not self._all_go_back:
            return None
        rows = self._changes.given_by_one_run(node)
        if not rows:
            return None
        reason = self._count_reason(node, rows[0])
        return Verdict(node, Named("argument_differs", node, reason, stands_alone=True))

    def _count_reason(self, node: TreeNode, row: int) -> ArgumentDiffers:
        """How many tensors either run gives in the list that a row is of; without one, the row."""
        key = self._facts.comparison.keys[row]
        listed, _, place = key.rpartition(".")
        if not place.isdigit() or "." not in listed:
            return self._facts.argument_reason(row)
        sides = (self._flows[0].tree, node), (self._flows[1].tree, self._matching.partner[node])
        counts = [
            sum(k.startswith(f"{listed}.") for k in tree.dump.values.keys[slice(*call.values)])
            for tree, call in sides
        ]
        return ArgumentDiffers(f"len({listed})", *map(str, counts))

    @cached_property
    def _all_go_back(self) -> bool:
        """Whether both runs go back through the same calls and modules."""
        trees = self._matching.problem, self._matching.benchmark
        back = (n for tree in trees for n in tree.in_order if n.direction == "backward")
        return all(node in self._matching.partner for node in back)

    def _said_already(self, node: TreeNode, excess: Excess) -> Finding | None:
        """The finding that named this edge where the value went over it before."""
        known = self._named.get(self._edge_key(excess.row))
        known = known or self._moved_forward(node, excess)
        if known is not None:
            return known
        scope, makers = scope_of(node), excess.makers
        traced = makers is not None and None not in (makers.ours, makers.theirs)
        if scope is not None and scope in self._attribution.source and not traced:
            return self._attribution.source[scope]
        # One wrong gradient changes the norm by which all are clipped, which leaves no entry.
        return self._attribution.latest() if node.phase == "after" else None

    def _moved_forward(self, node: TreeNode, excess: Excess) -> Finding | None:
        """What moved the value on which a gradient goes back moves the gradient as well."""
        from_there = excess.makers.ours if excess.makers is not None else None
        if excess.way != "moved" or from_there is None:
            return None
        if node.forward is None or from_there.forward is None:
            return None
        return next(
            (
                finding
                for maker, reader, finding in self._moves
                if is_in(maker, node.forward) and is_in(reader, from_there.forward)
            ),
            None,
        )

    def _edge_key(self, row: int) -> Hashable:
        sides = zip(self._flows, self._facts.paired.value_pair(row))
        numbers = tuple(flow.prints.numbers[index] for flow, index in sides)
        return row if NO_PRINT in numbers else numbers

    def _returned_by_a_finding(self, node: TreeNode, worst: Excess) -> Finding | None:
        """The finding whose own call returned a gradient of which no record tells.

        A loss of several calls records the gradient of its last; the rest is that call's as well.
        """
        if worst.way != "outside":
            return None
        calls = self._edges.returned.returned_by(node, worst.row)
        named = ((call, self._attribution.source.get(call)) for call in calls)
        return next((one for call, one in named if one is not None and one.node is call), None)

    def _is_other_data(self, excess: Excess) -> bool:
        """Whether the run's own input is outside the tolerance: what was done to it is unknown."""
        score = self._comparison.scores.score[excess.row]
        return self._known.paired.is_integer(excess.row) or bool(score > self._facts.threshold)

    # --- what is put out --------------------------------------------------------------------------

    def _of_module_output(self, node: TreeNode, cause: Finding | None) -> Verdict | None:
        outputs = self._known.outputs(node)
        worst = max(
            (self._edges.of_module_output(node, r) for r in outputs), key=_times, default=NO_EXCESS
        )
        if cause is not None and not worst.told:
            return None
        changed = cause is None and self._changes.inside(node) is not None
        if worst.times <= (_CHANGED if changed else PLAIN):
            return None
        answer = first_answer(RULES_FOR_MODULES, self._case(node, worst))
        return Verdict(node, answer, excess=worst)

    def _of_outputs(self, node: TreeNode, cause: Finding | None) -> Verdict | None:
        # Behind NaN there is no distance to tell a second fault by.
        told = (
            r for r in self._known.outputs(node) if cause is None or self._known.distance[r] < inf
        )
        worst = max((self._excess(node, r) for r in told), key=_times, default=NO_EXCESS)
        if cause is None and self._changes.arguments(node) and self._chose_otherwise(node):
            worst = Excess(inf, self._known.outputs(node)[0])
        if cause is not None and worst.times <= (PLAIN if worst.told else BEHIND):
            return None
        adds_up = cause is not None and node.holds_gradients
        if adds_up and self._facts.expected.is_differentiated_again(node):
            return None  # with what goes through calls of the first pass, which nothing records
        if adds_up and (not worst.told or self._of_other_readers(node) is not None):
            return None  # with that of another call of its parameter
        change = self._changes.of(node)
        if worst.times <= (PLAIN if change is None or cause is not None else _CHANGED):
            return None
        return Verdict(node, first_answer(RULES_FOR_OUTPUTS, self._case(node, worst)))

    def _excess(self, node: TreeNode, row: int) -> Excess:
        """How many times further apart an output is than what its call read explains."""
        known, expected = self._known, self._facts.expected
        if known.hidden[row] or known.is_rounded(row):
            return NO_EXCESS
        if known.paired.is_integer(row):
            read = expected.operands(node)
            picks = has(node.call, "chooses", "picks")
            blind = picks or any(known.distance[r] > 0 or self._may_hide(r) for r in read)
            return NO_EXCESS if blind else Excess(inf, row)
        if known.paired.is_resized(row) and any(map(known.paired.is_resized, known.inputs(node))):
            return NO_EXCESS  # what is read has other elements, repeated as often as shapes ask
        added_up = sketched_sums.of_call(known, node, row)
        if added_up is not None:
            return added_up
        may = expected.of(node, row)
        came = may.came
        if any(known.hidden[r] for r in known.inputs(node)):
            came += 2 * max(self._edges.around(node), known.working) * known.norm[row]
        # What estimates may have missed of inputs that agree allows for more, and explains nothing.
        read = expected.operands(node)
        brought = came if any(known.distance[r] > 0 or known.hidden[r] for r in read) else 0.0
        return excess_over(
            known.distance[row], came + may.rounding, row, came=brought, told=may.told
        )

    def _may_hide(self, row: int) -> bool:
        """Whether whole numbers that agree were made of values that do not.

        Of one element that moved by one place all eight signs of a sketch are the same in one case
        of 2⁸; of a mask nothing else is recorded but its extremes.
        """
        maker = self.maker(row) if self._known.paired.is_integer(row) else None
        if maker is None:
            return False
        return any(self._known.distance[r] > 0 for r in self._known.inputs(maker))

    def _chose_otherwise(self, node: TreeNode) -> bool:
        """Whether a call that picks puts out something else for inputs that hardly differ."""
        known = self._known
        differs = any(known.distance[r] > 0 for r in known.outputs(node))
        near = all(known.share[r] <= _SAME_CHOICE for r in known.inputs(node))
        return has(node.call, "chooses") and differs and near


def _times(excess: Excess) -> float:
    return excess.times


def _holds_calls(node: TreeNode) -> bool:
    """Whether a node is a module with calls inside, which are judged in its place."""
    is_entry = node.entry is not None and not node.holds_gradients
    return node.kind == "module" and bool(node.children) and is_entry


def _around(reader: TreeNode | None, other: TreeNode) -> Iterator[TreeNode]:
    """The modules around a node that are not around another: gradients of both meet in them."""
    up = None if reader is None else reader.parent
    while up is not None and up.kind != "root" and not is_in(other, up):
        yield up
        up = up.parent
