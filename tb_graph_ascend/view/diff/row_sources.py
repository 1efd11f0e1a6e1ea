"""What a view asks of a merged pair: its rows, its modules or what is drawn of it, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from builder.results.followers.rows import MergedRows
from tb_graph_ascend.view.diff.drawn import DrawnEdges
from tb_graph_ascend.view.diff.folds import Runs
from tb_graph_ascend.view.diff.modules import ModuleTree
from tb_graph_ascend.view.diff.words import RowWords


class HasRows(Protocol):
    """The rows of a pair in pre-order, both sides as one."""

    @property
    def rows(self) -> MergedRows:
        """All rows in pre-order."""


class ToldRows(HasRows, Protocol):
    """Rows with what each says: its words, its fold, what begins there."""

    words: RowWords
    runs: Runs

    @property
    def cause_scores(self) -> Mapping[int, float | None]:
        """The scores of the nodes at which something begins."""

    def above(self, row: int) -> list[int]:
        """The rows above a row, the root first."""


class ModuleRows(HasRows, Protocol):
    """Rows with the modules among them as a tree of their own."""

    @property
    def modules(self) -> ModuleTree:
        """The modules as a tree of their own."""


class DrawnRows(ToldRows, Protocol):
    """Rows with what a graph shows between them."""

    @property
    def drawn(self) -> DrawnEdges:
        """What a graph shows: the flow, led through the calls that left no values."""
