"""Which divergent rows of a step and rank go back to a cause that is there, and to which.

A row goes back to a cause where a way leads from it to that cause over rows that differ: from an
input to the call that put it out, from a module to what is in it, from a gradient to the forward
call that it belongs to, from what reads a weight to the module that is named for it, from what
reads, in a module that is named for what it is fed, that input to the module, or by the diagnosis'
own word. Where such a way leads through a call without values, it goes back to it perhaps. To a
cause about gradients nothing of the forward pass goes back: no value there shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from builder.results.equal_numbers import ValueReader
from builder.results.flow_cells import PassageIds
from builder.results.node_words import NOTHING, Bools, Ints
from tb_graph_ascend.view.diff.alike_calls import StackReader, alike_links
from tb_graph_ascend.view.diff.carrying import (
    INPUT,
    CarryLinks,
    carry_links,
    carrying_rows,
    fed_otherwise,
    fed_rows,
    passing_links,
    reading_rows,
    silent_rows,
    sources_of,
)
from tb_graph_ascend.view.diff.fed_links import fed_links
from tb_graph_ascend.view.diff.merge import MergedRows
from tb_graph_ascend.view.diff.nearest_places import CauseRows, nearest_places
from tb_graph_ascend.view.diff.rails import Edges
from tb_graph_ascend.view.diff.reach import Links, links_of, reached
from tb_graph_ascend.view.diff.returned_links import returned_links
from tb_graph_ascend.view.diff.twins import forward_pass
from tb_graph_ascend.view.diff.weight_links import weight_links
from tb_graph_ascend.view.diff.words import RowWords

# What reads a weight that differs since the step before, and what follows from it.
EARLIER = -2


@dataclass(frozen=True, slots=True)
class LedBack:
    """By row the row of its `cause`: NOTHING for none, EARLIER for what the step before wrote.

    `perhaps` says that a guess leads there. Of several causes that a way leads to it is the one
    that stands first.
    """

    cause: Ints
    perhaps: Bools


@dataclass(frozen=True, slots=True)
class Carriers:
    """What ways are looked for in; what is read is read where something is left to be led back."""

    rows: MergedRows
    words: RowWords
    edges: Edges
    threshold: float
    source: Ints
    causes: Sequence[CauseRows]
    read_carried: Callable[[], Ints]
    read_passages: Callable[[], Sequence[PassageIds]]
    read_readers: Callable[[], Sequence[ValueReader]]
    read_gradients: Callable[[], Sequence[ValueReader]]
    read_fed: Callable[[], Sequence[ValueReader]]
    read_stacks: StackReader

    def carrying(self) -> Bools:
        """The rows that a difference passes through, as far as it is recorded."""
        return carrying_rows(self.rows, self.words, self.source, self.threshold)

    def of_gradients(self) -> Bools:
        """The rows of causes about gradients."""
        return self._rows_of(one.rows for one in self.causes if one.of_gradients)

    def links(self, passing: Bools, ends: Bools) -> CarryLinks:
        """The links from rows that carry a difference to some that do.

        What is recorded, and what leads into the modules of causes.
        """
        found = carry_links(self.rows, self.edges, self.source, passing, ends)
        found = found.joined(self._of_fed(passing).between(passing, ends))
        found = found.joined(self._gradients(passing).between(passing, ends))
        holders = np.flatnonzero(self._of_weights() & self.words.cause).tolist()
        if not holders:
            return found
        read = weight_links(self.rows, self.edges, holders, self.read_readers(), passing)
        return found.joined(read.between(passing, ends))

    def passing(self) -> CarryLinks:
        """What passed through calls without values: as the dump says, else perhaps."""
        guessed = passing_links(self.rows, self.read_passages())
        if len(guessed.recorded().start):
            return guessed
        reading = reading_rows(self.rows, self.threshold)
        fed = fed_rows(self.edges, self.words.divergent | self.words.alone)
        return guessed.joined(alike_links(self.rows, guessed, reading, fed, self.read_stacks))

    def fed(self) -> Ints:
        """The rows of modules that a cause names and that something is fed to which differs."""
        fed = fed_otherwise(self.rows, self.threshold) & ~self._of_weights()
        return np.flatnonzero(self.words.cause & fed)

    def _of_weights(self) -> Bools:
        return self._rows_of(one.rows for one in self.causes if one.of_weights)

    def _of_fed(self, passing: Bools) -> CarryLinks:
        modules = self.fed().tolist()
        readers = self.read_fed() if modules else ()
        return fed_links(self.rows, self.edges, modules, readers, passing, self.words.divergent)

    def _gradients(self, passing: Bools) -> CarryLinks:
        read = self.read_gradients()
        start = self.rows.rows_of(np.array([one.holder for one in read], dtype=np.int64))
        end = self.rows.rows_of(np.array([one.reader for one in read], dtype=np.int64))
        known = (start != NOTHING) & (end != NOTHING)
        kind = np.full(int(known.sum()), INPUT, dtype=np.int64)
        returned = returned_links(self.rows, self.edges, passing)
        return returned.joined(CarryLinks(start[known], end[known], kind))

    def _rows_of(self, parts: Iterable[Ints]) -> Bools:
        flags = np.zeros(len(self.rows), dtype=bool)
        for part in parts:
            flags[part] = True
        return flags


def laid_rows(rows: MergedRows, causes: Sequence[CauseRows]) -> Ints:
    """By row the row that it is laid to: of the places of a cause the one that it belongs to.

    What is called in a module that one run alone calls is a part of that module's fault. Of the
    forward pass nothing is laid to a cause about gradients but the cause itself.
    """
    source = nearest_places(rows, sources_of(rows), causes)
    alone = (rows.ours < 0) | (rows.theirs < 0)
    for row in (row for cause in causes for row in cause.rows.tolist() if alone[row]):
        inside = np.arange(row + 1, rows.last[row] + 1)
        source[inside[source[inside] == NOTHING]] = row
    of_gradients = [one.rows for one in causes if one.of_gradients]
    if of_gradients:
        named = np.concatenate(of_gradients)
        wrong = np.isin(source, named) & forward_pass(rows)
        wrong[named] = False
        source = np.where(wrong, NOTHING, source)
    return source


def led_back(here: Carriers) -> LedBack:
    """Where every row goes back to; what the diagnosis lays to a cause goes back to that one."""
    rows, words, source = here.rows, here.words, here.source
    cause = np.full(len(rows), NOTHING, dtype=np.int64)
    perhaps = np.zeros(len(rows), dtype=bool)
    if not len(rows):
        return LedBack(cause, perhaps)
    laid = (source != NOTHING) & words.cause[np.maximum(source, 0)]
    cause[laid] = source[laid]
    causes = np.flatnonzero(words.cause)
    cause[causes] = causes
    # A forward call that is a cause about gradients hands on values of which it is no cause.
    passed = here.of_gradients() & words.cause & forward_pass(rows)
    passed &= words.score > here.threshold
    cause[passed] = NOTHING
    _lead(here, cause, guesses=False)
    before = cause.copy()
    left = cause == NOTHING
    if (left & words.divergent).any():
        _lead(here, cause, guesses=True)
        perhaps = left & (cause != before)
    own = np.flatnonzero(passed & (cause == NOTHING))
    cause[own] = own
    return LedBack(cause, perhaps)


def links_among(here: Carriers) -> CarryLinks:
    """All links along which a difference is carried here, or may be."""
    passing = here.carrying() | silent_rows(here.rows, here.words)
    found = here.links(passing, passing)
    return found.joined(here.passing().between(passing, passing))


def _lead(here: Carriers, cause: Ints, guesses: bool) -> None:
    """Lead back what recorded flow leads back, or, by guesses, calls without values do."""
    passing, passed = here.carrying(), here.passing()
    if guesses or len(passed.recorded().start):
        passing = passing | silent_rows(here.rows, here.words)
    # Most rows are laid to a cause: only ways to the others are looked for.
    free = passing & (cause == NOTHING)
    found = here.links(passing, free)
    found = found.joined(passed.between(passing, free))
    found = found if guesses else found.recorded()
    first, through = np.unique(found.start), free.tolist()
    links = links_of(found.start, found.end, len(cause))
    backward = _of_gradients(here, found)
    of_gradients = here.of_gradients()
    for one in np.flatnonzero(here.words.cause).tolist():
        starts = {one, *first[cause[first] == one].tolist()}
        led = reached(backward if of_gradients[one] else links, starts, through) - {one}
        _settle(cause, through, led, one)
    if any(through):
        carried = here.read_carried().tolist()
        starts = set(first[cause[first] == EARLIER].tolist())
        starts |= {row for row in carried if through[row]}
        _settle(cause, through, reached(links, starts, through), EARLIER)


def _of_gradients(here: Carriers, found: CarryLinks) -> Links:
    """The links that lead to nothing of the forward pass."""
    everywhere = np.ones(len(here.rows), dtype=bool)
    kept = found
    if here.of_gradients().any():
        kept = found.between(everywhere, ~forward_pass(here.rows))
    return links_of(kept.start, kept.end, len(here.rows))


def _settle(cause: Ints, through: list[bool], led: set[int], one: int) -> None:
    rows = list(led)
    cause[rows] = one
    for row in rows:
        through[row] = False
