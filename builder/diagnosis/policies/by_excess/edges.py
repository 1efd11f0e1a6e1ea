"""How far apart a value may be read: as far as it was put out, and a rounding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from math import hypot, inf, sqrt

from builder.diagnosis.changes import scope_of
from builder.diagnosis.excess import (
    FORMS,
    NO_EXCESS,
    PLAIN,
    UNKNOWN,
    Excess,
    Makers,
    Way,
    excess_over,
)
from builder.diagnosis.facts import Facts
from builder.diagnosis.passed_calls import PassedCalls
from builder.diagnosis.policies.by_excess.lone_gradients import LoneGradients
from builder.diagnosis.policies.by_excess.moved_values import MovedValues, stand_beside
from builder.diagnosis.policies.by_excess.returned_gradients import ReturnedGradients
from builder.evidence.distances import ESTIMATED
from builder.flow.feeding import NOWHERE, Flow
from builder.flow.fingerprints import NO_PRINT
from builder.match.tree import StepPhase, TreeNode
from msprobe_core.format import is_integer_dtype


class GradientShares:
    """How far apart the gradients of parameters are, and what the optimizer reads of their size.

    Clipping, loss scaling and adding up over micro-steps leave no record: what is read is a
    gradient times a number that all have in common. Its share is that of the gradient and that of
    the number: ‖Δ(cg)‖ ≤ c·‖Δg‖ + |Δc|·‖g‖, with |Δc| ≤ c·‖ΔG‖/‖G‖ for the norm of all of them, G.
    """

    def __init__(self) -> None:
        self._of_size: dict[float, float] = {}
        self._apart = self._norm = 0.0

    def add(self, size: float, share: float, distance: float, norm: float) -> None:
        """Note a value; the distance of one that is no gradient of a parameter is 0."""
        self._of_size[size] = max(self._of_size.get(size, 0.0), share)
        if distance > 0:
            self._apart, self._norm = hypot(self._apart, distance), hypot(self._norm, norm)

    def of_size(self, size: float) -> float | None:
        """The share by which a gradient of so many elements may be read apart; None if unknown."""
        if not self._norm or size not in self._of_size:
            return None
        return self._of_size[size] + self._apart / self._norm


class Edges:
    """The makers of what nodes read, and the excess on the way.

    `note` remembers by how much the values of a module and of a pass are apart, which is all that
    can be expected of a value that no recorded call made.
    """

    def __init__(self, facts: Facts, flows: tuple[Flow, Flow]) -> None:
        self._facts, self._known, self._flows = facts, facts.known, flows
        self._matching = facts.comparison.matching
        self._inside: dict[TreeNode | None, float] = defaultdict(float)
        self._in_pass: dict[StepPhase, float] = defaultdict(float)
        self._gradients = GradientShares()
        self.returned = ReturnedGradients(facts, flows)
        self.passed = PassedCalls(facts)

    def makers(self, row: int) -> Makers:
        """Who put out the two sides of a value, as far as the dumps tell."""
        found = [flow.get(i) for flow, i in zip(self._made, self._facts.paired.value_pair(row))]
        if found == [None, None]:
            found = self._moved_unseen(row)
        trees = (self._matching.problem, self._matching.benchmark)
        nodes = [t.in_order[at[0]] if at else None for t, at in zip(trees, found)]
        outputs = [at[1] if at else NOWHERE for at in found]
        return Makers(nodes[0], nodes[1], (outputs[0], outputs[1]))

    def _moved_unseen(self, row: int) -> list[tuple[int, int] | None]:
        """The two sides of what no recorded call moved: the benchmark's has norm and peak of it."""
        reader = self._matching.problem.in_order[self._facts.comparison.pairs.node[row]]
        reads = self._matching.partner[reader]
        index = self._moved_values.maker(self._facts.paired.value_pair(row)[1], reads)
        made = None if index is None else self._rows[1].get(index)
        if made is None or index is None:
            return [None, None]
        ours = self._matching.problem.in_order[self._facts.comparison.pairs.node[made]]
        theirs = self._matching.partner[ours]
        problem, _ = self._facts.paired.value_pair(made)
        return [(ours.exec_order, problem), (theirs.exec_order, index)]

    def makers_of_values(self, indices: range) -> list[TreeNode]:
        """Who put out what a node that the problem alone has reads."""
        found = (self._made[0].get(index) for index in indices)
        return [self._matching.problem.in_order[at[0]] for at in found if at is not None]

    def of_input(self, node: TreeNode, row: int) -> Excess:
        """The excess of a value that a node reads over what its maker put out."""
        known = self._known
        if known.hidden[row] or known.is_rounded(row):
            return NO_EXCESS
        is_otherwise = self._facts.is_of_another_form(row)
        if is_otherwise and not (self._shows(node) or self._shows_going_back(row)):
            return NO_EXCESS
        if self._are_exchanged(node):
            return NO_EXCESS
        makers = self.makers(row)
        if self.are_partners(makers):
            return self._moved(node, row, makers)
        passed = None if known.paired.is_integer(row) else self._passed(row, makers)
        if passed is not None:
            return passed
        share = self.around(node, known.size[row])
        if known.paired.is_integer(row):
            blind = share > 0 and self._come_of_floats(makers)
            is_made = makers.ours is not None and makers.theirs is not None
            way = self._way(makers) if is_made else "outside"
            return NO_EXCESS if blind else Excess(inf, row, way, makers)
        if node.direction == "backward":
            added = self.returned.of_output(node.forward, row)
            if added is not None:
                return replace(added, makers=makers)
        way = self._way(makers)
        lone = self._lone.share(makers) if way == "changed" else None
        if lone is not None:
            came = ESTIMATED * UNKNOWN * lone * known.norm[row]
            return replace(self._excess(row, came, way, makers), told=lone == 0)
        much = 1.0 if way == "changed" else UNKNOWN
        return self._excess(row, ESTIMATED * much * share * known.norm[row], way, makers)

    def _passed(self, row: int, makers: Makers) -> Excess | None:
        """The excess over what calls without values read; None where nothing tells of that."""
        is_alone, passed = self.unmatched(makers) is not None, self.passed
        came = None if is_alone else passed.expected(row)
        if came is not None:
            return self._excess(row, ESTIMATED * came, "moved", Makers(None, None))
        if not passed.is_outside_data(row) or not (is_alone or passed.are_otherwise(row)):
            return None
        apart, noise = self._known.distance[row], self._known.noise[row]
        return excess_over(apart, noise, row, "changed", makers, told=True)

    def of_other_forms(self, rows: list[int]) -> Iterator[Excess]:
        """What is read in another form because another call made it.

        Where all else that is read differs as well, no distance tells that this is more than that.
        """
        for row in rows:
            if self._facts.is_of_another_form(row) and not self._known.hidden[row]:
                makers = self.makers(row)
                if not self.are_partners(makers) and self._way(makers) == "rewired":
                    yield Excess(inf, row, "rewired", makers)

    def of_module_output(self, node: TreeNode, row: int) -> Excess:
        """The excess of what a module puts out over what was put out inside it."""
        known = self._known
        if known.hidden[row] or known.paired.is_integer(row) or known.is_rounded(row):
            return NO_EXCESS
        makers = self._makers_inside(node, row)
        share = max(self._inside[node], known.most(known.inputs(node)))
        if self.are_partners(makers):
            return self._moved(node, row, makers)
        if makers.ours is not None or makers.theirs is not None:
            way = self._way(makers)
            return self._excess(row, ESTIMATED * UNKNOWN * share * known.norm[row], way, makers)
        noise = known.noise[row]
        if node.direction == "backward":
            forward = node.forward
            came = self._facts.expected.of_gradient(node, row)
            if came is not None:
                return self._excess(row, came, "moved", makers)
            added = self.returned.of_input(forward, row)
            if added is not None:
                return replace(added, makers=makers)
            if forward is not None:
                share = max(share, self._inside[forward], known.most(known.tensor_rows(forward)))
            read = [r for r in known.inputs(node) if not known.paired.is_integer(r)]
            largest = max([known.norm[row], *(known.norm[r] for r in read)])
            noise *= largest / max(known.norm[row], 1e-300)
        came = ESTIMATED * UNKNOWN * share * known.norm[row]
        return self._excess(row, came, "outside", None, noise)

    def around(self, node: TreeNode, size: float = 0.0) -> float:
        """The largest share by which what a node may have come from is apart.

        `size` is that of the value in question, which tells gradients apart behind them.
        """
        phase = node.phase
        if phase == "after":
            own = self._gradients.of_size(size)
            return own if own is not None else max(self._in_pass[p] for p in ("after", "backward"))
        scope = scope_of(node)
        if scope is None:
            return max(self._inside[None], self._in_pass[phase])
        read = self._known.inputs(scope) if scope in self._matching.partner else []
        if not read:
            return max(self._inside[scope], self._in_pass[phase])
        return max(self._inside[scope], self._kept(scope), *(self._known.share[r] for r in read))

    def _kept(self, scope: TreeNode) -> float:
        """The largest share in the forward pass of a module, which its gradients read unseen."""
        forward = scope.forward if scope.direction == "backward" else None
        if forward is None or forward not in self._matching.partner:
            return 0.0
        return max(self._inside[forward], self._known.most(self._known.tensor_rows(forward)))

    def note(self, node: TreeNode, rows: list[int]) -> None:
        """Remember by how much rows of a node are apart, for what runs beside and behind it."""
        share = self._known.most(rows)
        if share == 0:
            return
        phase = node.phase
        if node.holds_gradients or phase == "after":
            known = self._known
            for row in rows:
                apart = known.distance[row] if node.holds_gradients else 0.0
                self._gradients.add(known.size[row], known.share[row], apart, known.norm[row])
        self._in_pass[phase] = max(self._in_pass[phase], share)
        self._inside[None] = max(self._inside[None], share)
        up = node.parent
        while up is not None and up.kind != "root":
            self._inside[up] = max(self._inside[up], share)
            up = up.parent

    def _shows(self, node: TreeNode) -> bool:
        """Whether a call computes something else from inputs in another form."""
        known = self._known
        read = [
            r for r in self._facts.expected.operands(node) if not self._facts.is_of_another_form(r)
        ]
        share, outputs = known.most(read), known.outputs(node)
        return not outputs or any(
            known.distance[r] > FORMS * known.noise[r] + ESTIMATED * UNKNOWN * known.norm[r] * share
            for r in outputs
        )

    def _shows_going_back(self, row: int) -> bool:
        """Whether what goes back through a value in another form differs where the value does not.

        A loss is rounded to one number, which may hide that it was computed of other rows.
        """
        known, partner, makers = self._known, self._matching.partner, self.makers(row)
        theirs = partner.get(makers.theirs) if makers.theirs is not None else None
        maker = makers.ours or theirs
        if maker is None or maker.backward is None or maker.backward not in partner:
            return False
        if not all(map(known.is_rounded, known.outputs(maker))):
            return False
        return any(known.distance[r] > PLAIN * known.noise[r] for r in known.inputs(maker.backward))

    def _are_exchanged(self, node: TreeNode) -> bool:
        """Whether a call reads in another order what its partner reads, and puts out the same."""
        known, read, outputs = self._known, self._known.inputs(node), self._known.outputs(node)
        if len(read) < 2 or not outputs or not all(map(known.is_rounded, outputs)):
            return False
        sides = (side.table[3][read].tolist() for side in self._facts.comparison.statistics)
        ours, theirs = map(sorted, sides)
        near = max(known.epsilon[r] for r in read)
        return all(abs(one - other) <= near * other for one, other in zip(ours, theirs))

    def first_reader(self, node: TreeNode, row: int) -> TreeNode | None:
        """The first call or module that read what a later node reads, as equal numbers tell.

        None where that is the node itself, or what it read differs as well.
        """
        number = self._flows[0].prints.numbers[self._facts.paired.value_pair(row)[0]]
        first = self._first_read.get(number)
        if first is None or number == NO_PRINT or not self._known.is_rounded(first):
            return None
        reader = self._matching.problem.in_order[self._facts.comparison.pairs.node[first]]
        return reader if reader.exec_order < node.exec_order else None

    @cached_property
    def _first_read(self) -> dict[int, int]:
        """The first row of an input by the numbers of the problem's value."""
        comparison, numbers = self._facts.comparison, self._flows[0].prints.numbers
        found: dict[int, int] = {}
        for row, value in enumerate(comparison.pairs.problem.tolist()):
            if not comparison.is_output[row]:
                found.setdefault(int(numbers[value]), row)
        return found

    def are_partners(self, makers: Makers) -> bool:
        """Whether the same call made both sides."""
        ours, theirs = makers.ours, makers.theirs
        return (
            ours is not None and theirs is not None and self._matching.partner.get(ours) is theirs
        )

    def unmatched(self, makers: Makers) -> TreeNode | None:
        """The maker that one run alone has."""
        both = (makers.ours, makers.theirs)
        return next((n for n in both if n is not None and n not in self._matching.partner), None)

    def _way(self, makers: Makers) -> Way:
        if self.unmatched(makers) is not None:
            return "changed"
        return "outside" if makers.ours is None and makers.theirs is None else "rewired"

    def _come_of_floats(self, makers: Makers) -> bool:
        """Whether rounding can have reached an integer: floats lie upstream of a maker of it."""
        made = zip(self._made, self._flows, (makers.ours, makers.theirs))
        return any(node is not None and _reads_floats(node, at, flow) for at, flow, node in made)

    def _moved(self, node: TreeNode, row: int, makers: Makers) -> Excess:
        """Moved or copied: ‖Δ‖ ≤ ‖Δ as it was put out‖·√copies."""
        known = self._known
        outputs = self._put_out(makers)
        unlike = any(known.hidden[r] or not known.known[r] for r in outputs)
        if not outputs or unlike or any(known.seen[r] != known.seen[row] for r in outputs):
            return NO_EXCESS
        base = max(known.distance[r] for r in outputs)
        if known.paired.is_integer(row):
            return NO_EXCESS if base > 0 else Excess(inf, row, "moved", makers)
        size = max(known.size[r] for r in outputs)
        is_part = size < known.size[row] and self.passed.is_read_at_once(row)
        is_guess = node.phase == "after" or is_part
        moved = None if is_guess else stand_beside(known, row, outputs)
        if moved is not None:
            return replace(moved, way="moved", makers=makers)
        came = ESTIMATED * base * sqrt(max(1.0, known.size[row] / max(1.0, size)))
        if is_guess:
            # Gradients are scaled in place and added up over micro-steps: nothing records it. Of
            # what was written in part, nothing tells where the rest was made.
            share = self.around(node, known.size[row])
            came = max(came, ESTIMATED * UNKNOWN * share * known.norm[row])
        if node.phase == "after" and all(
            known.distance[r] <= FORMS * known.noise[r] for r in known.outputs(node)
        ):
            return NO_EXCESS  # what was read in truth agrees
        return self._excess(row, came, "moved", makers)

    def _put_out(self, makers: Makers) -> list[int]:
        """The row that was put out, or where the sides tell of two, all rows of the maker."""
        ours, theirs = (rows.get(i) for rows, i in zip(self._rows, makers.outputs))
        if ours is not None and ours == theirs:
            return [ours]
        assert makers.ours is not None
        return self._known.outputs(makers.ours)

    def _excess(
        self, row: int, came: float, way: Way, makers: Makers | None, noise: float | None = None
    ) -> Excess:
        expected = came + (self._known.noise[row] if noise is None else noise)
        told = way == "moved"
        return excess_over(self._known.distance[row], expected, row, way, makers, came, told)

    def _makers_inside(self, node: TreeNode, row: int) -> Makers:
        """The innermost nodes inside both sides of a module that put out what it puts out."""
        tops = (node, self._matching.partner[node])
        sides = zip(self._flows, tops, self._facts.paired.value_pair(row))
        found = [flow.made_inside(top, index) for flow, top, index in sides]
        nodes = [None if at is None else at[0] for at in found]
        outputs = [NOWHERE if at is None else at[1] for at in found]
        return Makers(nodes[0], nodes[1], (outputs[0], outputs[1]))

    @cached_property
    def _lone(self) -> LoneGradients:
        return LoneGradients(self._matching, self._known, self._flows, self._made, self._rows)

    @cached_property
    def _moved_values(self) -> MovedValues:
        comparison = self._facts.comparison
        return MovedValues(self._matching.benchmark, comparison.columns[1])

    @cached_property
    def _made(self) -> tuple[dict[int, tuple[int, int]], ...]:
        return tuple(
            dict(zip(f.value.tolist(), zip(f.producer.tolist(), f.output.tolist())))
            for f in self._flows
        )

    @cached_property
    def _rows(self) -> tuple[dict[int, int], dict[int, int]]:
        pairs = self._facts.comparison.pairs
        ours, theirs = pairs.problem.tolist(), pairs.benchmark.tolist()
        return {v: r for r, v in enumerate(ours)}, {v: r for r, v in enumerate(theirs)}


def _reads_floats(maker: TreeNode, made: dict[int, tuple[int, int]], flow: Flow) -> bool:
    """Whether a call reads floats, or what calls before it made of some; `made` tells by whom."""
    values, seen, pending = flow.tree.dump.values, {maker}, [maker]
    while pending:
        for index in range(*pending.pop().values):
            dtype = values.records[index].dtype
            if dtype is None or values.keys[index].startswith("output"):
                continue
            if not is_integer_dtype(dtype):
                return True
            before = flow.tree.in_order[made[index][0]] if index in made else None
            if before is not None and before not in seen:
                seen.add(before)
                pending.append(before)
    return False
