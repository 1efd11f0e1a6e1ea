"""What the edges of two programs' modules show: what was fed the same, and where errors jump."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from math import isnan

import numpy as np

from builder.compare.rounding import REDUCTION
from builder.compare.statistics import Floats
from builder.diagnosis.facts import Facts
from builder.diagnosis.single_numbers import SingleNumbers
from builder.flow.feeding import NOWHERE, Flow
from builder.flow.fingerprints import NO_PRINT
from builder.flow.recorded_passages import HandedOn, handed_on
from builder.match.implementations.met_values import MetValues
from builder.match.tree import TreeNode, outputs_of
from builder.match.value_pairing import SURPLUS
from msprobe_core.format import is_half_format, machine_epsilon

# By how much a module takes a difference further apart than it was, or than rounding leaves of what
# agrees. Of 1,223 modules of sound ports nine in ten stay below 1.8 forward and 2.5 backward: what
# grows no more has grown over the threshold by rounding, and begins nowhere.
_GROWN = 3.0
# None of those modules is above 5 where it puts out more than the tolerance: such a jump tells
# where a difference began that crosses the threshold later on.
_JUMPED = 6.0
# What rounding leaves, in units of epsilon: half formats are summed in float32, and only the result
# is rounded; sums of float32 round at each step, which the tolerance has a factor of 4 for.
_HALF, _FULL = 0.5, 4.0
# A sum hands on the whole of a difference that stands in one of its terms, and rounding hides less
# than half of one that diverges: a residual leaves more than this, another way to the same result
# leaves rounding.
_HANDED_ON = 0.5
# So many values are followed from a module to what reads it behind calls without a partner.
_FURTHER_ON = 200


class ModuleEdges:
    """The edges of a comparison's matched nodes; `flow` is that of the problem run.

    `apart` are the nodes that diverge at an edge, in order.
    """

    def __init__(self, facts: Facts, flow: Flow, theirs: Flow) -> None:
        self.facts = facts
        self.matching = matching = facts.comparison.matching
        self.flow = flow
        self._numbers = SingleNumbers(flow.tree, lambda: self.handed_on, theirs)
        self._running: dict[int, tuple[int, float]] = {}
        self._healing: dict[TreeNode, bool] = {}  # asked of a node by each way that passes it
        self.nodes = [
            n for n in matching.problem.in_order if n in matching.partner and n.kind != "root"
        ]
        self.apart = [node for node in self.nodes if self.diverging(node)]

    def diverging(self, node: TreeNode) -> list[int]:
        """The rows of a node's inputs and outputs that diverge."""
        rows = self.facts.divergent(node)
        return [*rows.inputs, *rows.outputs]

    def made(self, node: TreeNode) -> list[int]:
        """The rows of what a node puts out."""
        paired = self.facts.paired
        return [row for row in paired.rows(node) if paired.is_output[row]]

    def tensors_read(self, node: TreeNode) -> list[int]:
        """The rows of the tensors that a node is given and that were compared."""
        facts, error = self.facts, self.facts.comparison.scores.error
        read, keys = facts.paired.read(node), facts.comparison.keys
        return [r for r in read if not isnan(error[r]) and not keys[r].startswith("parameters.")]

    @cached_property
    def handed_on(self) -> HandedOn:
        """Which node hands something to which: asked for where something is apart alone."""
        return handed_on(self.flow)

    # --- what a module was fed --------------------------------------------------------------------

    def innermost_fed_alike(self, node: TreeNode) -> TreeNode | None:
        """The node, or the nearest module around it, that was fed the same."""
        for around in (node, *above(node)):
            is_matched = around in self.matching.partner
            if self.is_fed_alike(around) if is_matched else self._reads_what_agrees(around):
                return around
        return None

    def is_fed_alike(self, node: TreeNode) -> bool:
        """Whether all that a node reads agrees, and something of it was compared.

        Elements in another order are not the same to a module, unless its weights moved with them,
        which nothing recorded tells.
        """
        read = self.tensors_read(node)
        moved, paired = self.matching.moved, self.facts.paired
        if not read or self.facts.divergent(node).inputs:
            return False
        if any(paired.value_pair(row)[0] in moved for row in read):
            return False
        return not any(self._has_grown_unseen(row, node) for row in read)

    def _has_grown_unseen(self, row: int, node: TreeNode) -> bool:
        """Whether statistics alone are known of what a node reads, and they moved before it.

        The tolerance is one of elements. Statistics are sums over them, in which rounding averages
        out: what is well below the tolerance may be a difference of most elements.
        """
        if not self._is_unseen(row):
            return False
        before = self._worst_unseen[node.direction == "backward"][self.flow.begins[node.exec_order]]
        usual = max(float(before), self._formats[node.exec_order])
        return float(self.facts.comparison.scores.error[row]) > _GROWN * usual

    def _is_unseen(self, row: int) -> bool:
        """Whether the elements of a value stand in another order, which sketches cannot compare."""
        return self.has_sketches and self.facts.paired.ours[row].sketch is None

    def _reads_what_agrees(self, node: TreeNode) -> bool:
        """Whether a module without a partner reads values that are equal to ones that agree.

        One of them at least was compared; others may be equal to any of the other program's.
        """
        if node.kind != "module":
            return False
        values, numbers = self.matching.problem.dump.values, self.flow.prints.numbers
        read = [
            index
            for index in range(*node.values)
            if values.keys[index].startswith("input")
            and machine_epsilon(values.records[index].dtype or "") is not None
        ]
        compared = [index for index in read if numbers[index] in self._agreeing]
        if not compared:
            return False
        return all(index in self.met.indices for index in read if index not in compared)

    @cached_property
    def met(self) -> MetValues:
        """The values of the problem that are equal to one of the benchmark's, made anywhere."""
        return MetValues(self.matching.problem, self.matching.benchmark)

    @cached_property
    def _agreeing(self) -> frozenset[int]:
        """The fingerprints of the problem's values that were compared and agree."""
        comparison, numbers = self.facts.comparison, self.flow.prints.numbers
        known = ~np.isnan(comparison.scores.error) & ~self.facts.is_divergent
        values = comparison.pairs.problem[known].tolist()
        return frozenset(numbers[index] for index in values if index != SURPLUS) - {NO_PRINT}

    # --- how errors grow --------------------------------------------------------------------------

    def grows_in(self, begins: TreeNode | None, shown: TreeNode) -> bool:
        """Whether what diverges at a node is further apart than all that a module had before.

        Where none is known to be fed the same: than all that the pass had.
        """
        apart: float = max(
            float(self.facts.comparison.scores.error[r]) for r in self.diverging(shown)
        )
        if begins is None:
            return apart > _GROWN * self._before(shown)
        # Several modules may stand between the edge of one and what shows inside it.
        factor = _GROWN if begins is shown else _JUMPED
        return apart > factor * self.noise(begins, shown)

    def is_rounding_of_gradients(self, node: TreeNode) -> bool:
        """Whether all that an optimizer's call reads otherwise may be the rounding of gradients.

        A gradient whose maker is not recorded, as that of a bias under autocast, is a sum over some
        gradient dy that flowed back, and may cancel to nothing: it is off by up to REDUCTION·ε·‖dy‖
        (`builder/compare/rounding.py`). Of which dy is not known: the largest bounds all.
        """
        read = self.facts.divergent(node).inputs
        if node.direction == "backward" or not read:
            return False
        distance = self.facts.comparison.distances.distance
        return self._fed.isdisjoint(self.facts.paired.problem_values(read)) and all(
            float(distance[row]) <= REDUCTION * self._rounding_of_gradients for row in read
        )

    @cached_property
    def _fed(self) -> frozenset[int]:
        """The problem's values that some recorded call has put out, where they are read."""
        return frozenset(self.flow.value.tolist())

    @cached_property
    def _rounding_of_gradients(self) -> float:
        """The largest ε·‖dy‖ of what calls of the backward pass read."""
        values, known = self.matching.problem.dump.values, [0.0]
        for node in self.flow.tree.in_order:
            for index in range(*node.values) if node.direction == "backward" else ():
                record = values.records[index]
                if values.keys[index].startswith("input") and isinstance(record.Norm, float):
                    known.append((machine_epsilon(record.dtype or "") or 0.0) * record.Norm)
        return max(known)

    def _before(self, node: TreeNode) -> float:
        """How far apart rounding has taken what ran before a node in its pass."""
        before = self._worst_before[node.direction == "backward"][node.exec_order]
        return max(float(before), self._formats[node.exec_order])

    def jumped_before(self, late: TreeNode) -> TreeNode | None:
        """Where an error jumped most which rounding may have grown over the threshold later on."""
        earlier = bisect_left(self._jumps, late.exec_order, key=lambda each: each[1].exec_order)
        return self._highest_jumps[earlier - 1][1] if earlier else None

    @cached_property
    def _highest_jumps(self) -> list[tuple[float, TreeNode]]:
        """The highest jump up to each of them."""
        highest: list[tuple[float, TreeNode]] = []
        for each in self._jumps:
            highest.append(highest[-1] if highest and highest[-1][0] >= each[0] else each)
        return highest

    @cached_property
    def _jumps(self) -> list[tuple[float, TreeNode]]:
        comparison = self.facts.comparison
        found = []
        for node in self.nodes:
            made = [row for row in self.made(node) if comparison.scores.score[row] > 0]
            if node.kind != "module" or not made or not self.is_fed_alike(node):
                continue
            jump = max(float(comparison.scores.error[row]) for row in made) / self.noise(node)
            if jump > _JUMPED and not self.heals(node):
                found.append((jump, node))
        return found

    def noise(self, node: TreeNode, until: TreeNode | None = None) -> float:
        """How far apart rounding has taken what a module reads and makes, up to a node in it."""
        begin, end = self.flow.begins[node.exec_order], (until or node).exec_order
        error, is_matched = self.facts.comparison.scores.error, node in self.matching.partner
        read = [float(error[r]) for r in self.tensors_read(node)] if is_matched else []
        return max([*read, self._worst_inside(int(begin), end), self._formats[node.exec_order]])

    def _worst_inside(self, begin: int, end: int) -> float:
        """The largest error from one node to another; asked again with a later end, it goes on."""
        known, worst = self._running.get(begin, (begin, 0.0))
        if end < known:
            known, worst = begin, 0.0
        worst = max(worst, float(self._rounded[known:end].max(initial=0.0)))
        self._running[begin] = (end, worst)
        return worst

    @cached_property
    def _rounded(self) -> Floats:
        """The largest error of each node's values that do not diverge."""
        comparison, facts = self.facts.comparison, self.facts
        worst: Floats = np.zeros(len(self.matching.problem.in_order))
        known = ~np.isnan(comparison.scores.error) & ~facts.is_divergent
        np.maximum.at(worst, comparison.pairs.node[known], comparison.scores.error[known])
        return worst

    @cached_property
    def _worst_before(self) -> tuple[Floats, Floats]:
        """The largest error of all that ran before each node: of the forward pass, the backward."""
        return self._running_worst(self._rounded)

    @cached_property
    def _worst_unseen(self) -> tuple[Floats, Floats]:
        """The same of values whose statistics alone are known."""
        comparison = self.facts.comparison
        worst: Floats = np.zeros(len(self.matching.problem.in_order))
        for row in np.flatnonzero(~np.isnan(comparison.scores.error)).tolist():
            if self._is_unseen(row) and not self.facts.is_divergent[row]:
                node = int(comparison.pairs.node[row])
                worst[node] = max(worst[node], float(comparison.scores.error[row]))
        return self._running_worst(worst)

    def _running_worst(self, worst: Floats) -> tuple[Floats, Floats]:
        is_backward = np.array([n.direction == "backward" for n in self.flow.tree.in_order])
        forward, backward = (
            np.append(0.0, np.maximum.accumulate(np.where(of_pass, worst, 0.0)))
            for of_pass in (~is_backward, is_backward)
        )
        return forward, backward

    @cached_property
    def _formats(self) -> list[float]:
        """What rounding leaves in each node, by the coarsest format of its values and below it."""
        values, nodes = self.matching.problem.dump.values, self.flow.tree.in_order
        left = [_rounding(record.dtype) for record in values.records]
        least = _rounding("float32")
        coarsest = [max([least, *left[slice(*node.values)]]) for node in nodes]
        for node in nodes:  # what stands below a node comes before it
            around = node.parent
            if around is not None and around.exec_order > node.exec_order:
                order = around.exec_order
                coarsest[order] = max(coarsest[order], coarsest[node.exec_order])
        return coarsest

    def heals(self, node: TreeNode) -> bool:
        """Whether what differs at a node is another way to the same result.

        So it is where the node puts out what agrees; where all that reads it further on does, as
        with a factor that one program has inside a module and the other behind it; and where the
        module around it does; and where all that is made of it are single numbers, of which the
        last agrees. Not where a difference is handed on beside larger numbers, as a
        residual does: then it is as far apart as the node's, by its norm, however near in relation
        to the whole. A module of which some outputs have no partner proves nothing, and the one
        around it is asked.
        """
        if node not in self._healing:
            self._healing[node] = self._is_made_up_for(node)
        return self._healing[node]

    def _is_made_up_for(self, node: TreeNode) -> bool:
        divergent, error = self.facts.divergent, self.facts.comparison.scores.error
        differing = divergent(node).outputs or divergent(node).inputs or self.made(node)
        apart = self._distance(differing)
        before = self._read_before(node)
        if (
            divergent(node).inputs
            and not divergent(node).outputs
            and self._vanishes(self.made(node), apart, before)
        ):
            return True
        if self._numbers.come_to_the_same(node, _JUMPED * before):
            return True
        further = self._read_further_on(node)
        if self._vanishes(further, apart, before):
            return True
        if self._is_put_out_again(further, before):
            return False
        for around in above(node):
            rows = self.made(around) if around in self.matching.partner else []
            if rows and not any(isnan(error[row]) for row in rows):
                return self._vanishes(rows, apart, self._read_before(around))
        return False

    def _is_put_out_again(self, rows: list[int], before: float) -> bool:
        """Whether what reads rows puts out what is apart: a residual may hide that behind it."""
        error, nodes = self.facts.comparison.scores.error, self.flow.tree.in_order
        readers = {nodes[int(self.facts.comparison.pairs.node[row])] for row in rows}
        made = (row for reader in readers for row in self.made(reader))
        return any(float(error[row]) > self._left(row) * before for row in made)

    def _read_before(self, node: TreeNode) -> float:
        """How far apart what a node reads is where it agrees, at least as rounding leaves it."""
        facts = self.facts
        read = [row for row in self.tensors_read(node) if not facts.is_divergent[row]]
        errors = [float(facts.comparison.scores.error[row]) for row in read]
        return max([*errors, self._formats[node.exec_order]])

    def _vanishes(self, rows: list[int], apart: float, before: float) -> bool:
        """Whether rows were compared, agree, and hand on less than half of a difference.

        What is left may be what rounding makes of what was `before`: a norm brings differences
        nearer, and takes none away. Of elements in another order statistics alone are known, which
        rounding leaves nearer than elements.
        """
        if not rows or any(isnan(self.facts.comparison.scores.error[row]) for row in rows):
            return False
        if self._distance(rows) > _HANDED_ON * apart:
            return False
        return all(
            float(self.facts.comparison.scores.error[row]) <= self._left(row) * before
            and not self.facts.is_divergent[row]
            for row in rows
        )

    def _left(self, row: int) -> float:
        return 1.0 if self._is_unseen(row) else _JUMPED

    def _read_further_on(self, node: TreeNode) -> list[int]:
        """The rows of what matched nodes read of a node's outputs, through calls without a partner.

        What is read inside another matched module shows at that module's own edge. Nothing where a
        way ends in a call whose result nobody reads, for it may be what the run puts out; nor where
        it is long.
        """
        around = {node, *above(node)}
        if not any(self._readers.get(self._same(index)) for index in self._put_out(node)):
            return self._first_new_after(node)
        waiting = self._put_out(node)
        seen, rows = set(waiting), list[int]()
        while waiting and len(seen) < _FURTHER_ON:
            readers = self._readers.get(self._same(waiting.pop()), [])
            if not readers:
                return []
            for reader, value in readers:
                if (row := self._rows_of.get(value)) is not None:
                    rows.append(row)
                elif reader.kind == "api" and self._inner_edge(reader) in around:
                    made = set(outputs_of(reader, self.flow.tree)) - seen
                    seen |= made
                    waiting += made
        return [] if waiting else rows

    def _put_out(self, node: TreeNode) -> list[int]:
        return [i for i in self.facts.paired.problem_values(self.made(node)) if i != SURPLUS]

    def _first_new_after(self, node: TreeNode) -> list[int]:
        """Where no reader was recorded: what a later node reads first that none had before.

        Modules alone are recorded, and what stands between them made it, of the node's output too.
        """
        start, numbers = self._at[node] + 1, self.flow.prints.numbers
        for later in self.nodes[start : start + _FURTHER_ON]:
            if self.flow.begins[later.exec_order] <= node.exec_order:
                continue  # it stands around the node
            read = self.tensors_read(later)
            values = self.facts.paired.problem_values(read)
            if any(self._is_new_after(numbers[index], node) for index in values):
                return read
        return []

    def _is_new_after(self, number: int, node: TreeNode) -> bool:
        """Whether no node had a value before; of sums of aligned tokens nothing denies it."""
        if number == NO_PRINT:
            return self.matching.token_errors is not None
        return self._first_seen[number] > node.exec_order

    @cached_property
    def _first_seen(self) -> dict[int, int]:
        """When each fingerprint was seen first: as what a node put out, or as it began with it."""
        flow, found = self.flow, dict[int, int]()
        keys, owners = flow.tree.dump.values.keys, flow.owners.tolist()
        begins = flow.begins.tolist()
        for index, owner in enumerate(owners):
            order = owner if keys[index].startswith("output") else begins[owner]
            number = flow.prints.numbers[index]
            found[number] = min(found.get(number, order), order)
        return found

    @cached_property
    def _at(self) -> dict[TreeNode, int]:
        return {node: place for place, node in enumerate(self.nodes)}

    def _inner_edge(self, node: TreeNode) -> TreeNode:
        """The innermost matched node around a node."""
        return next(each for each in above(node) if each in self.matching.partner)

    @cached_property
    def _rows_of(self) -> dict[int, int]:
        """The row of each of the problem's values that was compared."""
        error = self.facts.comparison.scores.error.tolist()
        return {
            value: row
            for row, value in enumerate(self.facts.comparison.pairs.problem.tolist())
            if value != SURPLUS and not isnan(error[row])
        }

    @cached_property
    def _readers(self) -> dict[tuple[int, int], list[tuple[TreeNode, int]]]:
        """Which nodes read each value that was put out, and as which value of theirs."""
        flow, found = self.flow, defaultdict[tuple[int, int], list[tuple[TreeNode, int]]](list)
        cells = zip(flow.output.tolist(), flow.consumer.tolist(), flow.value.tolist(), strict=True)
        for output, consumer, value in cells:
            if output != NOWHERE:
                found[self._same(output)].append((flow.tree.in_order[consumer], value))
        return found

    def _same(self, value: int) -> tuple[int, int]:
        """What a value has in common with the same tensor where a module hands it on."""
        number = self.flow.prints.numbers[value]
        return (number, NO_PRINT) if number != NO_PRINT else (NO_PRINT, value)

    @cached_property
    def has_sketches(self) -> bool:
        """Whether elements were seen, by sketches, and not statistics alone."""
        return any(record.sketch for record in self.matching.problem.dump.values.records)

    def _distance(self, rows: list[int]) -> float:
        return max(
            (float(self.facts.comparison.distances.distance[row]) for row in rows), default=0.0
        )


def _rounding(dtype: str | None) -> float:
    name = dtype or ""
    return (machine_epsilon(name) or 0.0) * (_HALF if is_half_format(name) else _FULL)


def above(node: TreeNode) -> Iterator[TreeNode]:
    """The modules around a node, the innermost first."""
    around = node.parent
    while around is not None:
        yield around
        around = around.parent
