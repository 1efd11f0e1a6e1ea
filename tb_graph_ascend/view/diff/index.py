"""One pair as rows, kept between requests: a window of what is open, its rails, its profile."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from builder.results.carried_weights import Carried
from builder.results.certainty import names_beginnings
from builder.results.equal_numbers import ValueReader
from builder.results.flow_cells import FlowIds, PassageIds
from builder.results.node_words import NOTHING, Bools, Ints
from builder.results.reading import Results
from builder.results.received import Received
from builder.results.side_nodes import SideNodes
from tb_graph_ascend.view.diff.alike_calls import StackReader
from tb_graph_ascend.view.diff.back_steps import BackStep, Terrain, incoming, steps_back
from tb_graph_ascend.view.diff.carrying import CarryLinks, flow_links
from tb_graph_ascend.view.diff.drawn import DrawnEdges, drawn_edges
from tb_graph_ascend.view.diff.fed_links import is_inside
from tb_graph_ascend.view.diff.first_divergent import first_divergent
from tb_graph_ascend.view.diff.folds import Runs, repeated
from tb_graph_ascend.view.diff.led_back import (
    EARLIER,
    Carriers,
    LedBack,
    laid_rows,
    led_back,
    links_among,
)
from tb_graph_ascend.view.diff.merge import MergedRows, merge
from tb_graph_ascend.view.diff.modules import ModuleTree, module_tree
from tb_graph_ascend.view.diff.named_causes import NamedCause, named_causes
from tb_graph_ascend.view.diff.nearest_places import CauseRows
from tb_graph_ascend.view.diff.openness import parse_openness
from tb_graph_ascend.view.diff.profile import Profile, edges_of, profile_of
from tb_graph_ascend.view.diff.rails import Edges, Rails, rails_of
from tb_graph_ascend.view.diff.standing import standing
from tb_graph_ascend.view.diff.value_readers import (
    readers_of_gradients,
    readers_of_inputs,
    readers_of_weights,
)
from tb_graph_ascend.view.diff.visible import Shown, VisibleRows, visible_rows
from tb_graph_ascend.view.diff.way import off_the_way
from tb_graph_ascend.view.diff.words import RowWords, words_of

_MOST_LISTS = 8
_LAST = 2**62  # in the order of execution: what the benchmark alone has
FlowReader = Callable[[], Sequence[FlowIds]]
PassageReader = Callable[[], Sequence[PassageIds]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a list shows: the text of what is open, nodes kept out of folds, and the way if asked.

    `way` is a cause and a target: only rows between them are listed.
    """

    openness: str = ""
    kept: tuple[int, ...] = ()
    way: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class OpenList:
    """A list with its rails, and how many of its rows begin before each bin of the profile."""

    visible: VisibleRows
    rails: Rails
    bins: Ints


@dataclass
class DiffIndex:
    """A pair merged, with what its rows say; lists of it are made when asked for.

    `cause_scores` are those of the nodes at which something begins: one that has no partner has no
    score as a row, but what it hands on has.
    """

    rows: MergedRows
    words: RowWords
    runs: Runs
    read_flow: FlowReader
    threshold: float | None
    cause_scores: Mapping[int, float | None] = field(default_factory=dict)
    read_passages: PassageReader = tuple
    read_carried: Callable[[], tuple[int | None, Sequence[Carried]]] = lambda: (None, ())
    read_received: Callable[[], Sequence[Received]] = tuple
    named: Sequence[NamedCause] = ()
    read_readers: Callable[[Sequence[int]], Sequence[ValueReader]] = lambda modules: ()
    read_gradients: Callable[[], Sequence[ValueReader]] = tuple
    read_fed: Callable[[Sequence[int]], Sequence[ValueReader]] = lambda modules: ()
    read_stacks: StackReader = lambda nodes: {}
    _lists: OrderedDict[Wanted, OpenList] = field(default_factory=OrderedDict)

    @cached_property
    def edges(self) -> Edges:
        """The flow of the problem, and that of the benchmark where it has calls of its own."""
        producers, consumers, exact = [], [], []
        for side, (producer, consumer, sure) in enumerate(self.read_flow()):
            start, stop = self.rows.rows_of(producer), self.rows.rows_of(consumer)
            known = (start != NOTHING) & (stop != NOTHING)
            if side == 1 and len(self.rows.problem):
                alone = self.rows.ours < 0
                known &= alone[start] | alone[stop]
            producers.append(start[known])
            consumers.append(stop[known])
            exact.append(sure[known])
        return Edges(*(np.concatenate(part) for part in (producers, consumers, exact)))

    @cached_property
    def drawn(self) -> DrawnEdges:
        """What a graph shows: the flow, led through the calls that left no values."""
        return drawn_edges(self.rows, self.read_flow(), self.read_passages())

    @cached_property
    def received(self) -> Sequence[Received]:
        """By which calls a difference came in from another rank, in execution order."""
        return self.read_received() if self.threshold is not None else ()

    @cached_property
    def profile(self) -> Profile:
        """The strip over all rows."""
        return profile_of(self.rows, self.words)

    @cached_property
    def led_back(self) -> LedBack:
        """By row the row of the cause here that it goes back to; NOTHING for none."""
        return led_back(self._carriers)

    @cached_property
    def _carriers(self) -> Carriers:
        # Of what is not compared nothing is above a threshold.
        threshold = np.inf if self.threshold is None else self.threshold
        parts = self.rows, self.words, self.edges, threshold
        causes = [self._cause_rows(one) for one in self.named]
        source = laid_rows(self.rows, causes)
        return Carriers(
            *parts,
            source,
            causes,
            read_carried=lambda: self.carried,
            read_passages=self.read_passages,
            read_readers=lambda: self._weight_readers,
            read_gradients=lambda: self.gradient_readers,
            read_fed=lambda: self.fed_readers,
            read_stacks=self.read_stacks,
        )

    def _cause_rows(self, cause: NamedCause) -> CauseRows:
        rows = np.unique(self.rows.rows_of(np.array(cause.nodes, dtype=np.int64)))
        rows = rows[rows != NOTHING]
        return CauseRows(rows[self.words.cause[rows]], cause.of_gradients, cause.of_weights)

    @cached_property
    def gradient_readers(self) -> Sequence[ValueReader]:
        """Which calls of the optimizer read gradients of weights that differ."""
        return self.read_gradients() if self.threshold is not None else ()

    @cached_property
    def fed_readers(self) -> Sequence[ValueReader]:
        """What reads, in the modules that a cause names, what is fed to them and differs."""
        return self.read_fed(self.rows.key[self._carriers.fed()].tolist())

    @cached_property
    def _weight_readers(self) -> Sequence[ValueReader]:
        nodes = (node for cause in self.named if cause.of_weights for node in cause.nodes)
        return self.read_readers(list(nodes))

    @cached_property
    def carrying(self) -> Bools:
        """The rows that a difference passes through, as far as it is recorded."""
        return self._carriers.carrying()

    @cached_property
    def carry_links(self) -> CarryLinks:
        """Along which links rows take a difference over from others, guesses among them."""
        return links_among(self._carriers)

    @cached_property
    def _land(self) -> tuple[Terrain, Terrain]:
        """With recorded links alone, and with guesses."""
        links, count = self.carry_links, len(self.rows)
        ours = self.rows.ours
        order = np.full(count, _LAST, dtype=np.int64)
        order[ours >= 0] = self.rows.problem.order[ours[ours >= 0]]
        sure, every = (incoming(one, count) for one in (links.recorded(), links))
        return Terrain(sure, self.words.score, order), Terrain(every, self.words.score, order)

    def leading(self, row: int) -> tuple[Bools, list[int]]:
        """Over which rows ways back from one may lead, and the rows where they are to end.

        They are rows that go back to the same cause, or into the step before, or to none; from one
        to which no guess leads they lead over none.
        """
        led, cause = self.led_back, int(self.led_back.cause[row])
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
        return steps_back(self._land[int(self.led_back.perhaps[row])], row, *self.leading(row))

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
        read = self.edges.producer[self.edges.consumer == reader]
        inside = np.unique(read[is_inside(self.rows, row, read)]).tolist()
        return [node for one in (row, *inside) for node in self.ids_of(one)]

    def start_of(self, row: int) -> int:
        """Where a way from a row starts: of one that does not differ in what differs inside it."""
        inner = NOTHING if self.carrying[row] else self.first_inside(row)
        return row if inner == NOTHING else inner

    def first_inside(self, row: int) -> int:
        """Of the rows below one that differ the first that goes back to something, or the first."""
        below = np.flatnonzero(self.words.divergent[row + 1 : self.rows.last[row] + 1]) + row + 1
        led = below[self.led_back.cause[below] != NOTHING]
        return next(iter((*led.tolist(), *below.tolist())), NOTHING)

    @cached_property
    def step_before(self) -> tuple[int | None, Sequence[Carried]]:
        """The step before, and what reads weights of it that differ, the worst first."""
        return self.read_carried() if self.threshold is not None else (None, ())

    @cached_property
    def carried(self) -> Ints:
        """The rows that read weights of the step before that differ."""
        nodes = [one.node for one in self.step_before[1]]
        rows = np.unique(self.rows.rows_of(np.array(nodes, dtype=np.int64)))
        return np.asarray(rows[rows != NOTHING])

    def divergent_of(self, causes: int | Ints, perhaps: bool | None = None) -> Ints:
        """The divergent rows that go back to these rows; with NOTHING those that go to none.

        `perhaps` asks for those alone to which a guess leads, or no guess does.
        """
        led = self.led_back
        chosen = self.words.divergent & np.isin(led.cause, causes)
        return np.flatnonzero(chosen if perhaps is None else chosen & (led.perhaps == perhaps))

    @cached_property
    def modules(self) -> ModuleTree:
        """The modules as a tree of their own."""
        return module_tree(self.rows, self.words)

    def listed(self, wanted: Wanted) -> OpenList:
        """The list of what is open."""
        known = self._lists.get(wanted)
        if known is None:
            known = self._list(wanted)
            self._lists[wanted] = known
            while len(self._lists) > _MOST_LISTS:
                self._lists.pop(next(iter(self._lists)), None)
        return known

    def above(self, row: int) -> list[int]:
        """The rows above a row, the root first."""
        ancestors = []
        up = int(self.rows.parent[row])
        while up >= 0:
            ancestors.append(up)
            up = int(self.rows.parent[up])
        return ancestors[::-1]

    def _list(self, wanted: Wanted) -> OpenList:
        hidden = None
        if wanted.way is not None:
            cause, target = self.rows.rows_of(np.array(wanted.way, dtype=np.int64)).tolist()
            if NOTHING not in (cause, target):
                hidden = self._off_the_way(cause, target)
        shown = Shown(parse_openness(wanted.openness), wanted.kept, hidden)
        visible = visible_rows(self.rows, self.runs, shown)
        bins = np.searchsorted(visible.row, edges_of(len(self.rows)))
        return OpenList(visible, rails_of(self.rows, visible, self.edges), bins)

    def _off_the_way(self, cause: int, target: int) -> Bools:
        """What is on no way to a target from where it goes back to.

        Of a target that goes back to none it is what is on no way from the cause asked for.
        """
        start = self.start_of(target)
        if self.led_back.cause[start] == NOTHING:
            everywhere = np.ones(len(self.rows), dtype=bool)
            return off_the_way(self.rows, flow_links(self.edges), everywhere, [cause], target)
        guessed = bool(self.led_back.perhaps[start])
        links = self.carry_links if guessed else self.carry_links.recorded()
        return off_the_way(self.rows, links, *self.leading(start), target)


def index_of(
    problem: SideNodes,
    benchmark: SideNodes,
    causes: Sequence[int],
    threshold: float | None,
    read_flow: FlowReader,
) -> DiffIndex:
    """Merge two sides; either may be empty. `threshold` is None where nothing was compared."""
    rows = merge(problem, benchmark)
    words = words_of(rows, causes, threshold)
    return DiffIndex(rows, words, repeated(rows, words), read_flow, threshold)


def diff_index(results: Results, step: int, rank: int) -> DiffIndex:
    """Both sides of a pair as one list of rows, to be kept by the caller.

    No row begins anything where the runs share too few calls. Through manual pairs, which the
    file's diagnosis does not know, it is the causes that stand, else the first row that differs.
    Raises UnknownNodeError where the file has no such step and rank.
    """
    patches = results.patches.nodes
    problem, benchmark = (side.patched(patches) for side in results.side_nodes(step, rank))
    threshold = results.threshold if results.comparison else None
    rows = merge(problem, benchmark)
    if patches and threshold is not None:
        first = first_divergent(rows, threshold)
        causes = standing(results, rows, step, rank, first) or dict.fromkeys(first)
    else:
        causes = results.beginnings(step, rank) if names_beginnings(results) else {}
    words = words_of(rows, list(causes), threshold)
    runs = repeated(rows, words)
    return DiffIndex(
        rows,
        words,
        runs,
        lambda: results.flows(step, rank),
        threshold,
        causes,
        lambda: results.passages(step, rank),
        lambda: results.carried(step, rank),
        lambda: results.received(step, rank),
        named_causes(results, step, rank) if causes else (),
        lambda modules: readers_of_weights(results, modules),
        lambda: readers_of_gradients(results, step, rank, int(rows.key[0])),
        lambda modules: readers_of_inputs(results, modules),
        results.stacks_by_id,
    )
