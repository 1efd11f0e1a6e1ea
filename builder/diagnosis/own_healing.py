"""Whether what follows from one finding comes to agree again, whatever other findings there are.

All that it changes is followed from call to call. It heals where every way ends in a call that puts
out the same as its partner, and where the gradients of all that was read on these ways agree. What
cannot be followed, or differs for another reason as well, does not heal: of two causes of one
difference nothing tells that one of them is none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from builder.diagnosis.changes import are_of_one_run, scope_of
from builder.diagnosis.excess import OF_WEIGHTS
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.dump.passing_calls import call_of
from builder.flow.feeding import NOWHERE, Flow
from builder.flow.parameter_readers import holders
from builder.flow.recorded_passages import recorded_edges
from builder.match.tree import TreeNode, outputs_of, subtree
from builder.operators.table import has

Agrees = Callable[[int], bool]


class BothEdges:
    """The edges of both runs, made when they are first asked for: most steps have no finding."""

    def __init__(self, flows: tuple[Flow, Flow]) -> None:
        self._flows = flows

    @cached_property
    def sides(self) -> tuple[_Edges, _Edges]:
        """Those of the problem and of the benchmark."""
        return _Edges(self._flows[0]), _Edges(self._flows[1])


class OwnHealing:
    """Follows findings along the edges of both runs; `agrees` tells of a row whether it does."""

    def __init__(self, facts: Facts, edges: BothEdges, agrees: Agrees) -> None:
        self._facts, self._known, self._agrees = facts, facts.known, agrees
        self._matching = facts.comparison.matching
        self._edges = edges

    def heals(self, finding: Finding) -> bool:
        """Whether all ways from a finding end in agreement, forward and backward."""
        region = self.region(finding)
        if not region:
            return False
        if self._all_gradients_agree:
            return True
        makers = self._fed(region)
        return makers is not None and all(map(self._gradients_agree, makers))

    def meets_changes(self, finding: Finding) -> bool:
        """Whether a way from a finding passes a call that one run alone makes.

        Without one the two runs compute the same of another value, and nothing takes that back.
        """
        partner, theirs = self._matching.partner, self._edges.sides[1]
        for node in self._walk(finding)[0]:
            if node not in partner:
                return True
            values = range(*partner[node].values)
            readers = [r for v in values for r in theirs.readers.get(v, ())]
            if any(r not in partner for r in (*readers, *theirs.passing.get(partner[node], ()))):
                return True
        return False

    @cached_property
    def _all_gradients_agree(self) -> bool:
        """Whether there are no gradients, or those of all parameters of either run agree."""
        trees = (self._matching.problem, self._matching.benchmark)
        sides = [[n for n in tree.in_order if n.direction == "backward"] for tree in trees]
        ours, theirs = ([n for n in side if n.holds_gradients] for side in sides)
        known = not any(are_of_one_run(node, self._matching.partner) for node in ours + theirs)
        rows = [row for node in ours for row in self._known.outputs(node)]
        return not any(sides) or (bool(rows) and known and all(map(self._agrees, rows)))

    def region(self, finding: Finding) -> set[TreeNode]:
        """The calls of the problem that differ because of a finding; empty where a way is lost."""
        found, is_lost = self._walk(finding)
        return set() if is_lost else found

    def _walk(self, finding: Finding) -> tuple[set[TreeNode], bool]:
        """These calls, as far as they can be followed, and whether a way is lost."""
        ours = [] if finding.side == "benchmark" else [*subtree(finding.node)]
        pending = [n for n in (*ours, *finding.carriers) if _computes(n)]
        found: set[TreeNode] = set()
        is_lost = False
        while pending:
            node = pending.pop()
            if node in found:
                continue
            found.add(node)
            passing = [r for r in self._edges.sides[0].passing.get(node, ()) if _computes(r)]
            if next(outputs_of(node, self._matching.problem), None) is None:
                is_lost |= not passing  # nothing tells who reads what it puts out
                pending += passing
                continue
            for value in self._apart(node):
                readers = [r for r in self._edges.sides[0].readers.get(value, ()) if _computes(r)]
                readers += passing
                is_lost |= not readers  # it ends here, or nobody knows where it goes
                pending += readers
        return found, is_lost

    def _apart(self, node: TreeNode) -> Iterable[int]:
        """The values that a call puts out otherwise, or of which nothing tells."""
        keys = self._matching.problem.dump.values.keys
        agreeing = set()
        if node in self._matching.partner:
            rows = (row for row in self._known.outputs(node) if self._agrees(row))
            agreeing = set(self._facts.paired.problem_values(list(rows)))
        made = (value for value in range(*node.values) if keys[value].startswith("output"))
        return (value for value in made if value not in agreeing)

    def _fed(self, region: set[TreeNode]) -> set[TreeNode] | None:
        """The matched calls of which these, or calls of the benchmark alone, read anything.

        With the modules around, whose parameters may be read. None where a maker of something that
        wants a gradient is not known.
        """
        partner, in_order = self._matching.partner, self._matching.benchmark.in_order
        alone = {node for node in in_order if node not in partner and _computes(node)}
        fed: set[TreeNode] = set()
        for edges, calls in zip(self._edges.sides, (region, alone), strict=True):
            leaves = {leaf for node in calls for leaf in edges.leaves(node)}
            if None in leaves:
                return None
            made = {maker for node in calls for maker in edges.makers.get(node, ())}
            around = {scope for node in calls if (scope := scope_of(node)) is not None}
            around |= {module for module in leaves if module is not None}
            fed |= {partner.get(node, node) if calls is alone else node for node in made - alone}
            fed |= {partner[scope] for scope in around if scope in partner and calls is alone}
            fed |= around if calls is region else set()
        fed -= region
        return fed if all(node in partner for node in fed if node.kind == "api") else None

    def _gradients_agree(self, node: TreeNode) -> bool:
        """Whether what flows back into a call, and into parameters of a module, agrees."""
        if node.kind == "module":
            partner = self._matching.partner
            ours, theirs = (self._held.get(n, []) for n in (node, partner[node]))
            rows = [r for held in ours for r in self._known.outputs(held)]
            alone = any(are_of_one_run(held, partner) for held in ours + theirs)
            return not alone and all(map(self._agrees, rows))
        if node.backward is None:
            wanted = self._matching.partner[node].backward is not None
            return not wanted and not _wants_gradient(self._facts, node)
        rows = self._known.inputs(node.backward)
        return bool(rows) and all(map(self._agrees, rows))

    def depends_on_none(self, module: TreeNode) -> bool:
        """Whether the results depend on none of the parameters by which a module's sides differ.

        Their gradients are nothing but rounding: what an optimizer makes of such, by Adam a whole
        step, is chance, as it is for an attention key's bias. Beside these stand weights that an
        optimizer left a little apart, by what a call makes of rounding of which nothing is known.
        """
        keys, known = self._facts.comparison.keys, self._known
        apart = {
            keys[r].partition(".")[2]
            for r in known.parameters(module)
            if not self._agrees(r) and known.distance[r] > OF_WEIGHTS * known.noise[r]
        }
        held = [r for node in self._held.get(module, ()) for r in known.outputs(node)]
        idle = {keys[r].partition(".")[2] for r in held if self._facts.expected.is_idle(r)}
        return bool(apart) and apart <= idle

    @cached_property
    def _held(self) -> dict[TreeNode, list[TreeNode]]:
        """The nodes of gradients of parameters, of both runs, by their module's forward call."""
        held: dict[TreeNode, list[TreeNode]] = defaultdict(list)
        for tree in (self._matching.problem, self._matching.benchmark):
            for node in tree.in_order:
                if node.holds_gradients and node.forward is not None:
                    held[node.forward].append(node)
        return held


class _Edges:
    """Who reads a value of one run, and whose values a call reads.

    `passing` are those who read what a call put out behind calls without values, and these.
    """

    def __init__(self, flow: Flow) -> None:
        in_order = flow.tree.in_order
        self.readers: dict[int, list[TreeNode]] = defaultdict(list)
        self.makers: dict[TreeNode, list[TreeNode]] = defaultdict(list)
        self.passing: dict[TreeNode, list[TreeNode]] = defaultdict(list)
        self._values, self._prints = flow.tree.dump.values, flow.prints
        self._known: set[int] = set()
        self._holders = holders(flow)
        columns = (flow.value, flow.consumer, flow.producer, flow.output)
        edges = zip(*(column.tolist() for column in columns), strict=True)
        for value, consumer, producer, output in edges:
            if output != NOWHERE:
                self.readers[output].append(in_order[consumer])
            if producer != NOWHERE:
                self._known.add(value)
                self.makers[in_order[consumer]].append(in_order[producer])
        self._passing = flow.tree.dump.passing or {}
        told = recorded_edges(flow).found if self._passing else {}
        for way, (_, value) in told.items():
            maker, reader = in_order[way.producer], in_order[way.consumer]
            self.passing[maker].append(reader)
            self.makers[reader].append(maker)
            self._known.add(value)

    def leaves(self, node: TreeNode) -> Iterator[TreeNode | None]:
        """The modules that hold what a call reads, wants a gradient and no recorded call made.

        None stands for one of which no gradients are recorded, or for what a call without values
        cuts off that may be such a parameter.
        """
        if has(node.call, "cuts") and self._may_read_a_leaf(node.name):
            yield None
        keys, records, numbers = self._values.keys, self._values.records, self._prints.numbers
        for value in range(*node.values):
            wants = records[value].dtype is not None and records[value].requires_grad is not False
            if wants and value not in self._known and not keys[value].startswith("output"):
                yield self._holders.get(numbers[value])

    def _may_read_a_leaf(self, name: str) -> bool:
        """Whether calls without values alone stand between a call and what none has put out."""
        pending, seen = [name], set[str]()
        while pending:
            call = self._passing.get(name := pending.pop())
            if name in seen or call is None:
                continue
            seen.add(name)
            sources = [source for _, source in call.sources]
            if None in sources:
                return True
            pending += [call_of(source) for source in sources if source]
        return False


def _computes(node: TreeNode) -> bool:
    """Whether a node is a call of the forward pass, and no module around calls."""
    is_call = node.kind == "api" or (node.kind == "module" and not node.children)
    return is_call and node.direction == "forward" and node.phase == "forward"


def _wants_gradient(facts: Facts, node: TreeNode) -> bool:
    """Whether any output of a call is part of what gradients are computed of."""
    is_output = facts.comparison.is_output
    return any(
        is_output[r] and facts.paired.ours[r].requires_grad is not False
        for r in facts.paired.rows(node)
    )
