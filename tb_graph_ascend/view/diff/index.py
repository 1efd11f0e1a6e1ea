"""One pair as rows, kept between requests: a window of what is open, its rails, its profile."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from builder.results.flow_cells import FlowIds
from builder.results.followers.rows import MergedRows, merge
from builder.results.followers.states import states_of
from builder.results.followers.step import StepFollowers, StepReader, step_followers
from builder.results.node_words import NOTHING, Ints
from builder.results.reading import Results
from builder.results.side_nodes import SideNodes
from tb_graph_ascend.view.diff.drawn import DrawnEdges, drawn_edges
from tb_graph_ascend.view.diff.folds import Runs, repeated
from tb_graph_ascend.view.diff.modules import ModuleTree, module_tree
from tb_graph_ascend.view.diff.openness import parse_openness
from tb_graph_ascend.view.diff.profile import Profile, edges_of, profile_of
from tb_graph_ascend.view.diff.rails import Rails, rails_of
from tb_graph_ascend.view.diff.visible import Shown, VisibleRows, visible_rows
from tb_graph_ascend.view.diff.words import RowWords, row_words

_MOST_LISTS = 8
FlowReader = Callable[[], Sequence[FlowIds]]


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

    `followers` knows which rows go back to which cause; nothing here decides that.
    """

    followers: StepFollowers
    words: RowWords
    runs: Runs
    _lists: OrderedDict[Wanted, OpenList] = field(default_factory=OrderedDict)

    @property
    def rows(self) -> MergedRows:
        """All rows in pre-order."""
        return self.followers.rows

    @property
    def cause_scores(self) -> Mapping[int, float | None]:
        """The scores of the nodes at which something begins."""
        return self.followers.cause_scores

    @cached_property
    def drawn(self) -> DrawnEdges:
        """What a graph shows: the flow, led through the calls that left no values."""
        return drawn_edges(self.rows, self.followers.read.flows(), self.followers.read.passages())

    @cached_property
    def profile(self) -> Profile:
        """The strip over all rows."""
        return profile_of(self.rows, self.words)

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
                hidden = self.followers.off_the_way(cause, target)
        shown = Shown(parse_openness(wanted.openness), wanted.kept, hidden)
        visible = visible_rows(self.rows, self.runs, shown)
        bins = np.searchsorted(visible.row, edges_of(len(self.rows)))
        return OpenList(visible, rails_of(self.rows, visible, self.followers.flow), bins)


def index_of(
    problem: SideNodes,
    benchmark: SideNodes,
    causes: Sequence[int],
    threshold: float | None,
    read_flow: FlowReader,
) -> DiffIndex:
    """Merge two sides; either may be empty. `threshold` is None where nothing was compared."""
    rows = merge(problem, benchmark)
    states = states_of(rows, causes, threshold)
    return _index(StepFollowers(rows, states, StepReader(flows=read_flow)))


def diff_index(results: Results, step: int, rank: int) -> DiffIndex:
    """Both sides of a pair as one list of rows, to be kept by the caller.

    No row begins anything where the runs share too few calls. Raises UnknownNodeError where the
    file has no such step and rank.
    """
    return _index(step_followers(results, step, rank))


def _index(followers: StepFollowers) -> DiffIndex:
    words = row_words(followers)
    return DiffIndex(followers, words, repeated(followers.rows, words))
