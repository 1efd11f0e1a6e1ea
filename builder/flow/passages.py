"""What flowed through calls that left no values: told by the tensors around them, or by order.

`Flow` has the edges of which a recorded value speaks. A joined tensor was put out by nobody: what
is known of `cat` is its name and when it ran. Here its inputs are found by their numbers, and
gradients follow the forward pass in reverse. Nothing of this is asked by the diagnosis.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from builder.compare.columns import Columns
from builder.dump.forms import Form
from builder.flow.bounded import lead_bounded
from builder.flow.constant_tensors import Constants, constants_of
from builder.flow.constant_ways import lead_constants
from builder.flow.cuts import Cuts
from builder.flow.feeding import NOWHERE, Flow, Ints
from builder.flow.gradient_ways import lead_back
from builder.flow.joins import Joins
from builder.flow.made_of import (
    Available,
    Shape,
    Tensor,
    cast_from,
    holds,
    is_cut_along_one,
    pieces_of,
    repeated_from,
    tells,
    terms_of,
    turned_from,
)
from builder.flow.open_ends import open_ends
from builder.flow.passage_edges import PassageEdges, Reading
from builder.flow.recorded_passages import recorded_edges
from builder.flow.reshaped_flow import ReshapedFlow
from builder.flow.scopes import Scopes
from builder.flow.shared_runs import Unmade
from builder.flow.silent_calls import Calls, Work
from builder.flow.silent_runs import SilentRuns
from builder.flow.single_joins import lead_through_single_joins

_NEAR = 8  # calls in which the source of a part is looked for by its shape alone
_FAR = 64  # calls before a reader among which the one without values that it reads is looked for


ORDER, NUMBERS, RECORDED = range(3)
"""How an edge is known: by shapes and the order of execution, by numbers, or the dump says so."""


@dataclass(frozen=True, slots=True)
class Passages:
    """Edges from or to a call without values, or past one that nobody recorded; by execution order.

    `told` says how it is known: ORDER, NUMBERS or RECORDED. An edge
    replaces the one that leads from `instead`, where there is one, straight to the same consumer.
    `value` is the index of what the consumer read, NOWHERE where it has left none.
    """

    producer: Ints
    consumer: Ints
    told: Ints
    instead: Ints
    value: Ints


def passages_of(flow: Flow, columns: Columns, forms: list[Form]) -> Passages:
    """What passed through unrecorded calls on one side: as the dump says, else as it seems."""
    if flow.tree.dump.passing is not None:
        return _listed(recorded_edges(flow), RECORDED)
    return _listed(_inferred(flow, columns, forms), NUMBERS)


def _listed(edges: PassageEdges, certain: int) -> Passages:
    rows = sorted((c, p, i, *seen) for (p, c, i), seen in edges.found.items())
    cells = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    return Passages(cells[1], cells[0], cells[3] * certain, cells[2], cells[4])


def _inferred(flow: Flow, columns: Columns, forms: list[Form]) -> PassageEdges:
    ends = open_ends(flow, columns, forms)
    edges = PassageEdges(set(flow.producer.tolist()))
    constants = constants_of(flow, columns, forms)
    silent = SilentRuns(ends.calls, edges)
    ReshapedFlow(flow, columns, forms, silent).lead(Unmade(ends.wanted, ends.calls))
    search = _Search(flow, columns, forms, ends.calls, ends.available, constants, silent)
    search.explain(ends.wanted)
    lead_constants(constants, silent, ends.available, search.cut, search.origins)
    lead_through_single_joins(flow, silent)
    lead_back(flow, ends.calls, edges)
    return edges


@dataclass(slots=True)
class _Search:
    flow: Flow
    columns: Columns
    forms: list[Form]
    calls: Calls
    available: Available
    constants: Constants
    silent: SilentRuns
    origins: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """By fingerprint: the nodes that a tensor comes from, where its maker is not its node."""
    whole: dict[Shape, list[Tensor]] = field(default_factory=lambda: defaultdict(list))
    """What parts of a shape were cut from, the latest last."""
    cut: Cuts = field(default_factory=Cuts)
    behind: list[tuple[Tensor, list[Reading]]] = field(default_factory=list)
    """What is read next, behind the tensor that is being explained."""
    doubted: set[int] = field(default_factory=set)
    """Silent calls, by place, of which one was taken though nothing told which."""
    joins: Joins = field(default_factory=Joins)
    scopes: Scopes = field(init=False)

    def __post_init__(self) -> None:
        self.scopes = Scopes(self.flow)

    def explain(self, wanted: list[tuple[Tensor, list[Reading]]]) -> None:
        """Find what tensors that nobody put out were made of: by their numbers, then by shape."""
        left = []
        for at, one in enumerate(wanted):
            self.behind = wanted[at + 1 : at + _NEAR]
            if one[0].counts or not self._by_numbers(*one):
                left.append(one)
        left = [one for one in left if not self._is_output(one[0])]
        for tensor, readers in left:
            if not lead_bounded(tensor, readers, self.available, self.silent):
                self._by_shape(tensor, readers)

    def _by_numbers(self, tensor: Tensor, readers: list[Reading]) -> bool:
        begin = tensor.node
        made, work = self._made_of(tensor, begin)
        if not made and self._may_be_a_sum(readers):
            made = terms_of(tensor, self.available, begin, self.columns) or ()
        if not made:
            # Nobody made it, but what it is joined to may be looked for later.
            if not self._is_output(tensor):
                self._found(tensor, (), begin)
            return False
        if work == "part":
            self.whole[tensor.shape].append(made[0])
        self._explain(tensor, made, work, readers, told=True)
        return True

    def _is_had(self, one: Tensor, tensor: Tensor) -> bool:
        """Whether a tensor can be read where another is; true of one of which no maker is known."""
        origins = self._origins(one)
        is_made = one.print not in self.origins or self._is_silent(origins)
        return not is_made or self.scopes.has(one.print, origins[0], tensor.node)

    def _is_silent(self, origins: tuple[int, ...]) -> bool:
        if len(origins) != 1:
            return False
        place = self.calls.before(origins[0])
        return place < len(self.calls.order) and (
            self.calls.order[place] == origins[0] and self.calls.silent[place]
        )

    def _made_of(self, tensor: Tensor, begin: int) -> tuple[Sequence[Tensor], Work]:
        available = self.available
        sharing = available.with_a_peak_of(tensor, begin)
        filling = self.constants.before(begin) if self._is_joined(begin) else []
        pieces = pieces_of(
            tensor, sharing, available, begin, lambda one: self._is_had(one, tensor), filling
        )
        if pieces:
            return pieces, "join"
        small = repeated_from(tensor, sharing)
        if small is not None:
            return [small], "repeat" if tensor.size % small.size == 0 else "pad"
        other = cast_from(tensor, available, begin)
        if other is not None:
            return [other], "cast"
        turned = turned_from(tensor, sharing)
        if turned is not None:
            return [turned], "join"
        cut = [one for one in sharing if holds(one, tensor)]
        whole = next((one for one in cut if tells(one, tensor)), None)
        if whole is not None:
            return [whole], "part"
        return (), "other"

    def _is_joined(self, begin: int) -> bool:
        """Whether a silent call that joins, and that nobody claims, ran right before."""
        run = self.calls.run_before(self.calls.before(begin))
        return any(
            self.silent.works(place, "join") and place not in self.silent.claimed for place in run
        )

    def _may_be_a_sum(self, readers: list[Reading]) -> bool:
        """Whether nobody would have recorded the call that adds: where modules alone are."""
        nodes = self.flow.tree.in_order
        return all(nodes[reader.node].kind == "module" for reader in readers)

    def _explain(
        self,
        tensor: Tensor,
        made: Sequence[Tensor],
        work: Work,
        readers: list[Reading],
        told: bool,
    ) -> None:
        """Draw a tensor from what it was made of, through the silent call that made it."""
        used = [one for one in made if len(made) > 1 or self._was_had(one, tensor)]
        guessed: set[int] = set()
        if work == "join" and len(used) > 1:
            used, unsure = self.joins.apart(used, lambda one: self._is_had(one, tensor))
            # What is constant adds nothing to a sum: its shape alone speaks for it.
            unsure |= {one.print for one in used if one.print < 0}
            guessed = {node for one in used if one.print in unsure for node in self._origins(one)}
            self.joins.note(tensor, used)
        sources = sorted({node for one in used for node in self._origins(one)})
        first = max((one.node for one in made), default=NOWHERE)
        stop = self.calls.before(tensor.node)
        key = ("of", *(one.print for one in made)) if work == "part" else ("to", tensor.print)
        place, is_sure = self._silent(work, first, stop, key)
        told = told and is_sure
        run: list[int] = []
        if place is not None:
            run = [place, *self.silent.views_after(self.calls.order[place], stop)]
            if not self.silent.claim(run, key):
                run = run[:1]
            if work == "part":
                self.cut.note(place, made[0], tensor)
        # What ran right before its reader, and works on nothing else, had it too.
        behind = self.calls.order[run[-1]] if run else first
        rest = [at for at in self.calls.run_before(stop) if self.calls.order[at] > behind]
        # Another call of the kind is of what else is read, and any where its reader reads several.
        several = any(one.node == tensor.node for one in self._ahead()[:1])
        others: tuple[Work, ...] = ("join", "part", "repeat", "cast") if several else ()
        mixed = any(self.silent.works(place, *others, *([work] if run else [])) for place in rest)
        if mixed or self.silent.are_alike(rest):
            rest = []
        if rest and not self._is_output(tensor) and not self.silent.claimed.keys() & set(rest):
            self.silent.claim(rest, ("to", tensor.print))
            run += rest
        self._found(tensor, (self.calls.order[run[-1]],) if run else sources, first)
        for reader in readers:
            self.silent.lead([node for node in sources if node not in guessed], run, reader, told)
            self.silent.lead([node for node in sources if node in guessed], run, reader, False)

    def _was_had(self, one: Tensor, tensor: Tensor) -> bool:
        """Whether what tells a tensor alone was there for it: a module makes its output inside.

        Several pieces that add up are no chance, and a skip comes from outside.
        """
        return not self._is_output(tensor) or one.node >= self.flow.begins[tensor.node]

    def _silent(self, work: Work, after: int, stop: int, key: object) -> tuple[int | None, bool]:
        """A silent call of a kind behind a node and before a place that nobody else claims.

        Where several could have made it, and other tensors that are read next, they ran in the
        order of what these were made of. The second says that there is no other.
        """
        last = max(self.calls.before(after + 1), stop - _FAR)
        claimed = self.silent.claimed
        fitting = [
            place
            for place in range(last, stop)
            if self.calls.silent[place]
            and self.silent.works(place, work)
            and claimed.get(place, key) == key
        ]
        own = [place for place in fitting if place in claimed]
        if work == "other" or not fitting:
            return None, True
        if own:
            return own[-1], True
        rivals = self._rivals(work, self.calls.order[fitting[-1]]) if len(fitting) > 1 else []
        later = sum(last_piece >= after for last_piece in rivals)
        place = fitting[-1 - min(later, len(fitting) - 1)]
        self.silent.claim([place], key)
        is_sure = len(fitting) <= len(rivals) + 1 and place not in self.doubted
        self.doubted |= set() if is_sure else set(fitting)
        return place, is_sure

    def _rivals(self, work: Work, until: int) -> list[int]:
        """Of what is read next, was made by such a call, and may have been before a node: when.

        That is the execution order of the last of its pieces.
        """
        found: list[int] = []
        for one in self._ahead():
            made, how = self._made_of(one, one.node)
            last = max((piece.node for piece in made), default=until)
            if how == work and last < until:
                found.append(last)
        return found

    def _ahead(self) -> list[Tensor]:
        return [tensor for tensor, _ in self.behind if not tensor.counts]

    def _origins(self, one: Tensor) -> tuple[int, ...]:
        return self.origins.get(one.print, (one.node,))

    def _found(self, tensor: Tensor, origins: Iterable[int], since: int) -> None:
        """Let a tensor be a piece of later ones."""
        self.origins[tensor.print] = tuple(origins)
        self.available.add(tensor._replace(node=max(since, 0)))

    def _by_shape(self, tensor: Tensor, readers: list[Reading]) -> None:
        """What shape and order say, where numbers say nothing: a part, or the call right before."""
        first = self._is_first_input(tensor)
        if not first and not tensor.counts:
            return
        begin = tensor.node
        near = self.available.near(begin, _NEAR)
        cut = [one for one in self.whole[tensor.shape][-_NEAR:] if one.node < begin]
        near_cut = [one for one in near if is_cut_along_one(tensor.shape, one.shape)]
        whole = next((one for one in (*cut[::-1], *near_cut) if holds(one, tensor)), None)
        if whole is not None and self._origins(whole) and first:
            self._explain(tensor, [whole], "part", readers, told=False)
            return
        stop = self.calls.before(begin)
        run = [at for at in self.calls.run_before(stop) if at not in self.silent.claimed]
        if run and run[-1] + 1 == stop:
            sources, run = self._right_before(run, tensor)
            self.silent.claim(run, ("to", tensor.print))
            for reader in readers:
                self.silent.lead(sources, run, reader, told=False)

    def _right_before(self, run: list[int], tensor: Tensor) -> tuple[list[int], list[int]]:
        """Of silent calls before a reader those that led to it, and what they must have read.

        That is what ran right before them, where nobody else has read what it put out.
        """
        if tensor.counts:
            return [], run
        source = self.calls.order[run[0] - 1] if run[0] > 0 else NOWHERE
        if (
            source == NOWHERE
            or run[0] - 1 in self.silent.claimed
            or source in self.silent.edges.read
            or self._backward_ran(source, self.calls.order[run[0]])
        ):
            return [], self.silent.joined_by_last(run)
        views = next((n for n, at in enumerate(run) if not self.silent.works(at, "view")), len(run))
        return [source], [*run[: min(views, len(run) - 1)], run[-1]]

    def _backward_ran(self, since: int, until: int) -> bool:
        """Whether a backward pass lies between: what runs behind it works on gradients, weights."""
        nodes = self.flow.tree.in_order[since + 1 : until]
        return any(node.direction == "backward" for node in nodes)

    def _is_output(self, tensor: Tensor) -> bool:
        return self.flow.tree.dump.values.keys[tensor.at].startswith("output")

    def _is_first_input(self, tensor: Tensor) -> bool:
        """Whether a call works on it: what comes behind may be a weight, which nobody puts out."""
        return self.flow.tree.dump.values.keys[tensor.at].removeprefix("input.") in (
            "0",
            "input",
        )
