"""One pair as rows, kept between requests: a window of what is open, its rails, its profile."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from builder.results.certainty import names_beginnings
from builder.results.flow_cells import FlowIds, PassageIds
from builder.results.node_words import NOTHING, Ints
from builder.results.reading import Results
from builder.results.received import Received
from builder.results.side_nodes import SideNodes
from tb_graph_ascend.view.diff.drawn import DrawnEdges, drawn_edges
from tb_graph_ascend.view.diff.first_divergent import first_divergent
from tb_graph_ascend.view.diff.folds import Runs, repeated
from tb_graph_ascend.view.diff.led_back import led_back
from tb_graph_ascend.view.diff.merge import MergedRows, merge
from tb_graph_ascend.view.diff.modules import ModuleTree, module_tree
from tb_graph_ascend.view.diff.openness import parse_openness
from tb_graph_ascend.view.diff.profile import Profile, edges_of, profile_of
from tb_graph_ascend.view.diff.rails import Edges, Rails, rails_of
from tb_graph_ascend.view.diff.standing import standing
from tb_graph_ascend.view.diff.visible import Shown, VisibleRows, visible_rows
from tb_graph_ascend.view.diff.way import off_the_way
from tb_graph_ascend.view.diff.words import RowWords, words_of

_MOST_LISTS = 8
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
    read_carried: Callable[[], tuple[int | None, Sequence[int]]] = lambda: (None, ())
    read_received: Callable[[], Sequence[Received]] = tuple
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
    def led_back(self) -> Ints:
        """By row the row of the cause here that it goes back to; NOTHING for none."""
        if self.threshold is None:
            return np.full(len(self.rows), NOTHING, dtype=np.int64)
        return led_back(self.rows, self.words, self.edges, self.threshold, lambda: self.carried)

    @cached_property
    def step_before(self) -> tuple[int | None, Sequence[int]]:
        """The step before, and the nodes that read weights of it that differ."""
        return self.read_carried() if self.threshold is not None else (None, ())

    @cached_property
    def carried(self) -> Ints:
        """The rows that read weights of the step before that differ."""
        rows = self.rows.rows_of(np.array(self.step_before[1], dtype=np.int64))
        return np.asarray(rows[rows != NOTHING])

    def divergent_of(self, causes: int | Ints) -> Ints:
        """The divergent rows that go back to these rows; with NOTHING those that go to none."""
        return np.flatnonzero(self.words.divergent & np.isin(self.led_back, causes))

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
                hidden = off_the_way(self.rows, self.edges, cause, target)
        shown = Shown(parse_openness(wanted.openness), wanted.kept, hidden)
        visible = visible_rows(self.rows, self.runs, shown)
        bins = np.searchsorted(visible.row, edges_of(len(self.rows)))
        return OpenList(visible, rails_of(self.rows, visible, self.edges), bins)


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
    )
