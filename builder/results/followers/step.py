"""What follows from what in one step and rank: rows, edges and causes, each made when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from builder.results.certainty import names_beginnings
from builder.results.coarse_values import coarse_holders
from builder.results.database import ResultDatabase
from builder.results.engine import driver_of
from builder.results.equal_numbers import (
    Carried,
    ValueReader,
    fed_readers,
    gradient_readers,
    weight_readers,
)
from builder.results.flow_cells import FlowIds, PassageIds
from builder.results.followers.alike_calls import StackReader, alike_edges
from builder.results.followers.between_modules import edges_between_modules
from builder.results.followers.carry_edges import (
    INPUT,
    Edges,
    FlowEdges,
    fed_edges,
    fed_rows,
    flow_edges,
    is_inside,
    joined,
    may_pass,
    passed_edges,
    read_edges,
    rewritten_edges,
    row_edges,
    value_edges,
    weight_edges,
)
from builder.results.followers.forward_twins import forward_pass
from builder.results.followers.gradient_edges import (
    accumulated_edges,
    returned_edges,
    wanted_edges,
)
from builder.results.followers.laid import known_causes, laid_rows
from builder.results.followers.named_causes import (
    CauseRows,
    NamedCause,
    PlacedFinding,
    by_place,
    cause_rows,
    does_heal,
)
from builder.results.followers.reach import EARLIER, Followers, Origin, Passable, followers
from builder.results.followers.rows import MergedRows, merge
from builder.results.followers.standing import causes_here, changed_names, is_touched
from builder.results.followers.states import RowStates, states_of
from builder.results.followers.ways import BackStep, Terrain, incoming, off_the_way, steps_back
from builder.results.node_words import NOTHING, Bools, Ints
from builder.results.reading import Results
from builder.results.received import Received
from builder.results.records import Finding

_Found = TypeVar("_Found", ValueReader, int)
_LAST = 2**62  # in the order of execution: what the benchmark alone has


@dataclass(frozen=True, slots=True)
class StepReader:
    """What is read of the file where ways are asked for; by itself, nothing is there."""

    flows: Callable[[], Sequence[FlowIds]] = tuple
    passages: Callable[[], Sequence[PassageIds]] = tuple
    carried: Callable[[], tuple[int | None, Sequence[Carried]]] = lambda: (None, ())
    received: Callable[[], Sequence[Received]] = tuple
    found_before: Callable[[], Sequence[Finding]] = tuple
    weights: Callable[[Sequence[int]], Sequence[ValueReader]] = lambda modules: ()
    fed: Callable[[Sequence[int]], Sequence[ValueReader]] = lambda modules: ()
    gradients: Callable[[], Sequence[ValueReader]] = tuple
    coarse: Callable[[], Sequence[int]] = tuple
    stacks: StackReader = lambda nodes: {}


@dataclass
class StepFollowers:
    """The rows of a step and rank, and which of them go back to which cause, and how.

    `cause_scores` are those of the nodes at which something begins: one that has no partner has no
    score as a row, but what it hands on has.
    """

    rows: MergedRows
    states: RowStates
    read: StepReader = StepReader()
    named: Sequence[NamedCause] = ()
    cause_scores: Mapping[int, float | None] = field(default_factory=dict)

    @property
    def compared(self) -> bool:
        """Whether there are two runs: of one alone nothing differs."""
        return bool(np.isfinite(self.states.threshold))

    @cached_property
    def flow(self) -> FlowEdges:
        """What put out what, as recorded."""
        return flow_edges(self.rows, self.read.flows())

    @cached_property
    def causes(self) -> Sequence[CauseRows]:
        """The causes that are here, by their rows."""
        return [cause_rows(self.rows, self.states, one) for one in self.named]

    @cached_property
    def healing(self) -> Bools:
        """The rows of causes that heal, and of no other cause: nothing begins there."""
        found = np.zeros(len(self.rows), dtype=bool)
        found[self._rows_of(one.rows for one in self.causes if one.heals)] = True
        found[self._rows_of(one.rows for one in self.causes if not one.heals)] = False
        return found

    @cached_property
    def laid(self) -> Ints:
        """By row the row that the diagnosis lays it to."""
        return laid_rows(self.rows, self.causes)

    @cached_property
    def carrying(self) -> Bools:
        """The rows that a difference passes through, as far as it is recorded.

        Also those whose own format rounds away what finer ones behind them show.
        """
        return may_pass(self.states, self.laid) | self._coarse

    @cached_property
    def _coarse(self) -> Bools:
        found = np.zeros(len(self.rows), dtype=bool)
        ids = self.read.coarse() if self.compared and self.divergent_count else ()
        at = self.rows.rows_of(np.array(ids, dtype=np.int64))
        found[at[at >= 0]] = True
        return found

    @cached_property
    def passed(self) -> Edges:
        """What passed through calls without values."""
        return passed_edges(self.rows, self.read.passages())

    @cached_property
    def over(self) -> Passable:
        """Over which rows ways may lead."""
        every = self.carrying | self.states.silent
        surely = every if self.passed.certain.any() else self.carrying
        return Passable(surely, every, forward_pass(self.rows))

    @cached_property
    def edges(self) -> Edges:
        """Along which edges rows take a difference over from others, guesses among them."""
        rows, states, flow, surely = self.rows, self.states, self.flow, self.over.surely
        unfed = surely & ~fed_rows(flow, surely)
        read = joined((read_edges(flow), self.passed))
        parts = [read, row_edges(rows, self.laid)]
        modules = np.flatnonzero(states.cause & self._fed_otherwise).tolist()
        if modules:
            parts.append(fed_edges(rows, flow, modules, self.fed_readers, unfed, states.divergent))
        holders = self._rows_of(one.rows for one in self.causes if one.of_weights)
        if holders:
            parts.append(weight_edges(rows, holders, self._weight_readers, unfed))
        parts.append(returned_edges(rows, flow, surely))
        if (named := self._of_gradients & states.cause).any():
            parts.append(wanted_edges(rows, read, named))
        gradients = value_edges(rows, self.gradient_readers, INPUT)
        unfed[gradients.end] = False
        parts += [gradients, rewritten_edges(flow, states, unfed)]
        parts.append(edges_between_modules(rows, states, self._coarse, unfed))
        parts.append(accumulated_edges(rows, states, unfed))
        if not self.passed.certain.any():
            fed = fed_rows(flow, states.divergent | states.alone)
            found = alike_edges(rows, self.passed, states.reading, fed, self.read.stacks)
            parts.append(found)
        return joined(parts)

    @cached_property
    def divergent_count(self) -> int:
        """How many rows diverge: asked for each cause."""
        return int(self.states.divergent.sum())

    @property
    def _fed_otherwise(self) -> Bools:
        """Modules that something is fed to which differs, but for those named for their weight."""
        fed = (self.rows.last > np.arange(len(self.rows))) & self.states.reading
        fed[self._rows_of(one.rows for one in self.causes if one.of_weights)] = False
        return fed

    @cached_property
    def _of_gradients(self) -> Bools:
        found = np.zeros(len(self.rows), dtype=bool)
        found[self._rows_of(one.rows for one in self.causes if one.of_gradients)] = True
        return found

    @cached_property
    def _handing_on(self) -> Bools:
        """Forward calls that are causes about gradients, and hand on what others made differ."""
        named = self._of_gradients & self.states.cause & self.states.differing
        return np.asarray(named & forward_pass(self.rows)) if named.any() else named

    @cached_property
    def known(self) -> Ints:
        """By row the cause that is known without any way; NOTHING for none."""
        return known_causes(self.states, self.laid, self._handing_on)

    @cached_property
    def followers(self) -> Followers:
        """By row the row of the cause here that it goes back to; NOTHING for none."""
        origins = [
            Origin(row, (row,), bool(self._of_gradients[row]))
            for row in np.flatnonzero(self.states.cause).tolist()
        ]
        origins.append(Origin(EARLIER, self.carried.tolist()))
        found = followers(self.edges, self.known, origins, self.over, self.states.divergent)
        # Only what surely comes from elsewhere is not its own.
        own = np.flatnonzero(self._handing_on & ((found.cause == NOTHING) | found.perhaps))
        found.cause[own], found.perhaps[own] = own, False
        return found

    @cached_property
    def traced(self) -> Bools:
        """The divergent rows that go back to a cause, surely or perhaps, or to the step before."""
        if not self.compared or not self.divergent_count:
            return np.zeros(len(self.rows), dtype=bool)
        return np.asarray(self.states.divergent & (self.followers.cause != NOTHING))

    @staticmethod
    def _rows_of(parts: Iterable[Ints]) -> list[int]:
        return [row for part in parts for row in part.tolist()]

    @cached_property
    def gradient_readers(self) -> Sequence[ValueReader]:
        """Which calls of the optimizer read gradients of weights that differ."""
        return self.read.gradients() if self.compared else ()

    @cached_property
    def fed_readers(self) -> Sequence[ValueReader]:
        """What reads, in the modules that a cause names, what is fed to them and differs."""
        modules = np.flatnonzero(self.states.cause & self._fed_otherwise)
        return self.read.fed(self.rows.key[modules].tolist())

    @cached_property
    def _weight_readers(self) -> Sequence[ValueReader]:
        nodes = (node for cause in self.named if cause.of_weights for node in cause.nodes)
        return self.read.weights(list(nodes))

    @cached_property
    def received(self) -> Sequence[Received]:
        """By which calls a difference came in from another rank, in execution order."""
        return self.read.received() if self.compared else ()

    @cached_property
    def step_before(self) -> tuple[int | None, Sequence[Carried]]:
        """The step before, and what reads weights of it that differ, the worst first."""
        return self.read.carried() if self.compared else (None, ())

    @cached_property
    def carried(self) -> Ints:
        """The rows that read weights of the step before that differ."""
        nodes = [one.node for one in self.step_before[1]]
        rows = np.unique(self.rows.rows_of(np.array(nodes, dtype=np.int64)))
        return np.asarray(rows[rows != NOTHING])

    @cached_property
    def _land(self) -> tuple[Terrain, Terrain]:
        """With certain edges alone, and with guesses."""
        every, count, ours = self.over.perhaps, len(self.rows), self.rows.ours
        edges = self.edges.between(every, every)
        order = np.full(count, _LAST, dtype=np.int64)
        order[ours >= 0] = self.rows.problem.order[ours[ours >= 0]]
        sure, perhaps = (incoming(one, count) for one in (edges.certain_ones(), edges))
        return (
            Terrain(sure, self.states.score, order),
            Terrain(perhaps, self.states.score, order),
        )

    def leading(self, row: int) -> tuple[Bools, list[int]]:
        """Over which rows ways back from one may lead, and the rows where they are to end.

        They are rows that go back to the same cause, or into the step before, or to none; from one
        to which no guess leads they lead over none.
        """
        led, cause = self.followers, int(self.followers.cause[row])
        through = led.cause == cause
        if cause == NOTHING:
            through &= self.carrying
            came = np.array([one.node for one in self.received], dtype=np.int64)
            return through, [end for end in self.rows.rows_of(came).tolist() if end != NOTHING]
        if not led.perhaps[row]:
            through &= ~led.perhaps
        if cause != EARLIER:
            return through, [cause]
        return through, self.carried[through[self.carried]].tolist()

    def steps_back(self, row: int) -> list[BackStep]:
        """The way back from a row to where it goes back to, or as far as one leads."""
        return steps_back(self._land[int(self.followers.perhaps[row])], row, *self.leading(row))

    def off_the_way(self, cause: int, target: int) -> Bools:
        """What is on no way to a target from where it goes back to.

        Of a target that goes back to none it is what is on no way from the cause asked for.
        """
        start = self.start_of(target)
        if self.followers.cause[start] == NOTHING:
            everywhere = np.ones(len(self.rows), dtype=bool)
            return off_the_way(self.rows, read_edges(self.flow), everywhere, [cause], target)
        every = self.over.perhaps
        edges = self.edges.between(every, every)
        if not self.followers.perhaps[start]:
            edges = edges.certain_ones()
        return off_the_way(self.rows, edges, *self.leading(start), target)

    def row_of(self, node: int) -> int:
        """The row of a node; NOTHING for those of other pairs."""
        return int(self.rows.rows_of(np.array([node], dtype=np.int64))[0])

    def ids_of(self, row: int) -> list[int]:
        """The nodes of both sides in a row."""
        ours, theirs = int(self.rows.ours[row]), int(self.rows.theirs[row])
        sides = (self.rows.problem, ours), (self.rows.benchmark, theirs)
        return [int(side.id[at]) for side, at in sides if at >= 0]

    def makers_of(self, reader: int, row: int) -> list[int]:
        """The nodes in a row, and those inside of it that put out what another row reads."""
        read = self.flow.producer[self.flow.consumer == reader]
        inside = np.unique(read[is_inside(self.rows, row, read)]).tolist()
        return [node for one in (row, *inside) for node in self.ids_of(one)]

    def start_of(self, row: int) -> int:
        """Where a way from a row starts: of one that does not differ in what differs inside it."""
        inner = NOTHING if self.carrying[row] else self.first_inside(row)
        return row if inner == NOTHING else inner

    def first_inside(self, row: int) -> int:
        """Of the rows below one that differ the first that goes back to something, or the first."""
        divergent = self.states.divergent[row + 1 : self.rows.last[row] + 1]
        below = np.flatnonzero(divergent) + row + 1
        led = below[self.followers.cause[below] != NOTHING]
        return next(iter((*led.tolist(), *below.tolist())), NOTHING)

    @cached_property
    def counts(self) -> tuple[Ints, Ints]:
        """By row how many divergent rows go back to it, and how many perhaps."""
        divergent = self.states.divergent
        # Where all that diverges is laid to causes, no way needs to be looked for.
        led = Followers(self.known, np.zeros(len(self.rows), dtype=bool))
        if (divergent & (self.known == NOTHING)).any():
            led = self.followers
        here = divergent & (led.cause >= 0)
        sure, guessed = (led.cause[here & (led.perhaps == one)] for one in (False, True))
        count = len(self.rows)
        return np.bincount(sure, minlength=count), np.bincount(guessed, minlength=count)

    def divergent_of(self, causes: int | Ints, perhaps: bool | None = None) -> Ints:
        """The divergent rows that go back to these rows; with NOTHING those that go to none.

        `perhaps` asks for those alone to which a guess leads, or no guess does.
        """
        led = self.followers
        chosen = self.states.divergent & np.isin(led.cause, causes)
        return np.flatnonzero(chosen if perhaps is None else chosen & (led.perhaps == perhaps))


def step_followers(
    results: Results, step: int, rank: int, placed: Sequence[PlacedFinding] | None = None
) -> StepFollowers:
    """What follows from what in a step and rank of a file, seen through its manual pairs.

    Who asks of many of them gives what is `placed` in each, which is read from the file once.
    Raises UnknownNodeError where the file has no such step and rank.
    """
    patches = results.patches.nodes
    problem, benchmark = (side.patched(patches) for side in results.side_nodes(step, rank))
    rows = merge(problem, benchmark)
    causes: dict[int, float | None] = {}
    if placed is None:
        causes = causes_here(results, rows, step, rank)
        placed = by_place(results.findings().findings).get((step, rank), ()) if causes else ()
    for one in placed if not causes else ():
        causes |= one.scores(step, rank)
    threshold = results.threshold if results.comparison else None
    changed = changed_names(results)
    return StepFollowers(
        rows,
        states_of(rows, list(causes), threshold),
        _reader(results, step, rank, int(rows.key[0]) if len(rows) else 0),
        [one.named(touched=is_touched(one.finding, changed)) for one in placed] if causes else (),
        causes,
    )


def _found_before(results: Results, step: int, rank: int) -> list[Finding]:
    """What begins on this rank in an earlier step and does not heal, best suspect first."""
    if not names_beginnings(results):
        return []
    listed = results.findings().findings
    return [f for f in listed if f.step < step and f.rank == rank and not does_heal(f)]


def _reader(results: Results, step: int, rank: int, node: int) -> StepReader:
    """`node` is any of the step and rank."""
    threshold = results.threshold
    values = results if isinstance(results, ResultDatabase) else None

    def by_numbers(find: Callable[..., list[_Found]], *of: object) -> Sequence[_Found]:
        if values is None:
            return ()
        with values.stored.engine_at(node).connect() as connection:
            return find(driver_of(connection), *of, threshold)

    return StepReader(
        flows=lambda: results.flows(step, rank),
        passages=lambda: results.passages(step, rank),
        carried=lambda: results.carried(step, rank),
        received=lambda: results.received(step, rank),
        found_before=lambda: _found_before(results, step, rank),
        weights=lambda modules: by_numbers(weight_readers, modules),
        fed=lambda modules: by_numbers(fed_readers, modules),
        gradients=lambda: by_numbers(gradient_readers, step, rank),
        coarse=lambda: by_numbers(coarse_holders, step, rank),
        stacks=results.stacks_by_id,
    )
