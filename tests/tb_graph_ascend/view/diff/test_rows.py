"""Rows of both sides: every node once, in order of execution; folds, windows and rails of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.results.flow_cells import NO_FLOW
from builder.results.followers.carry_edges import FlowEdges, read_edges
from builder.results.followers.rows import MergedRows, merge
from builder.results.followers.ways import off_the_way
from tb_graph_ascend.view.diff.folds import repeated
from tb_graph_ascend.view.diff.index import Wanted, index_of
from tb_graph_ascend.view.diff.openness import parse_openness
from tb_graph_ascend.view.diff.rails import rails_of
from tb_graph_ascend.view.diff.visible import Shown, VisibleRows, visible_rows
from tb_graph_ascend.view.diff.window import window_of
from tb_graph_ascend.view.diff.words import WORDS, words_of
from tests.builder.results.followers.sides import Entry, both, names


@st.composite
def trees(draw: st.DrawFn, most: int = 14) -> list[Entry]:
    """A pre-order: each node below the last one or below something above it."""
    entries = [Entry("root")]
    above = [0]
    for index in range(1, draw(st.integers(1, most))):
        del above[draw(st.integers(1, len(above))) :]
        name = f"Module.m{draw(st.integers(0, 2))}.{draw(st.integers(0, 3))}.Block.forward.0"
        entries.append(Entry(name, above[-1]))
        above.append(index)
    return entries


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[Entry], list[Entry]]:
    """Two trees and a matching between any of their nodes, the roots always matched."""
    problem, benchmark = draw(trees()), draw(trees())
    free = draw(st.permutations(range(1, len(benchmark))))
    problem[0] = problem[0]._replace(match=0)
    for index, partner in zip(range(1, len(problem)), free, strict=False):
        if draw(st.booleans()):
            problem[index] = problem[index]._replace(match=partner)
    return problem, benchmark


@given(pairs())
def test_every_node_has_its_row_and_stands_below_its_parent(
    pair: tuple[list[Entry], list[Entry]],
) -> None:
    problem, benchmark = both(*pair)
    rows = merge(problem, benchmark)
    assert sorted(rows.ours[rows.ours >= 0]) == list(range(len(problem)))
    assert sorted(rows.theirs[rows.theirs >= 0]) == list(range(len(benchmark)))
    # The problem's own order is kept whatever the benchmark adds.
    assert (np.diff(rows.ours[rows.ours >= 0]) > 0).all()
    for row in range(1, len(rows)):
        assert 0 <= rows.parent[row] < row
        assert rows.last[rows.parent[row]] >= rows.last[row] >= row
    assert rows.depth[0] == 0


@given(trees())
def test_sides_that_match_throughout_are_one_list(tree: list[Entry]) -> None:
    matched = [entry._replace(match=index) for index, entry in enumerate(tree)]
    rows = merge(*both(matched, tree))
    assert len(rows) == len(tree)
    assert (rows.ours == rows.theirs).all()
    assert rows.children.sum() == len(tree) - 1


def test_an_extra_call_of_either_side_stands_where_it_ran() -> None:
    problem = [
        Entry("root", match=0),
        Entry("a", 0, 1),
        Entry("only", 0),
        Entry("b", 0, 2),
        Entry("c", 0, 4),
    ]
    benchmark = [Entry("root"), Entry("a", 0), Entry("b", 0), Entry("gone", 0), Entry("c", 0)]
    rows = merge(*both(problem, benchmark))
    assert names(rows, range(len(rows))) == ["root", "a", "only", "b", "+gone", "c"]


def model(layers: int, odd: int | None = None) -> list[Entry]:
    """Layers of two calls; the calls of one of them differ, where one is `odd`."""
    entries = [Entry("root", match=0)]
    for layer in range(layers):
        top, score = len(entries), 0.9 if layer == odd else 0.0
        entries.append(Entry(f"Module.layers.{layer}.Block.forward.0", 0, top, score))
        for call in ("relu", "add"):
            name = f"Torch.{call}.{layer}.forward"
            entries.append(Entry(name, top, len(entries), score, "api"))
    return entries


def listed(
    entries: list[Entry], openness: str = "", causes: tuple[int, ...] = ()
) -> tuple[MergedRows, VisibleRows]:
    rows = merge(*both(entries, [e._replace(match=None) for e in entries]))
    words = words_of(rows, causes, 0.25)
    shown = Shown(parse_openness(openness))
    return rows, visible_rows(rows, repeated(rows, words), shown)


def test_repeats_become_one_row_and_split_where_one_differs() -> None:
    rows, visible = listed(model(10, odd=4))
    assert names(rows, visible.row.tolist()) == [
        "root",
        "Module.layers.0.Block.forward.0",
        "Module.layers.4.Block.forward.0",
        "Module.layers.5.Block.forward.0",
    ]
    assert visible.fold.tolist() == [0, 4, 0, 5]


def test_a_fold_is_called_by_the_names_of_each_side() -> None:
    ours = model(3)
    theirs = [e._replace(match=None, name=e.name.replace("layers", "h")) for e in ours]
    index = index_of(*both(ours, theirs), [], 0.25, lambda: [NO_FLOW, NO_FLOW])
    row = window_of(index, Wanted(), 0, 9, None).rows[1]
    sides = [(side.title, side.until) for side in (row.problem, row.benchmark) if side]
    assert (row.fold, sides) == (3, [("layers.0", "layers.2"), ("h.0", "h.2")])


def test_an_unfolded_run_has_a_head_and_all_its_rows_below() -> None:
    rows, visible = listed(model(3), "f2")
    assert visible.fold.tolist() == [0, -3, 0, 0, 0]
    assert visible.depth.tolist() == [0, 1, 2, 2, 2]
    rows, visible = listed(model(3), "f2.5")
    assert names(rows, visible.row.tolist())[3:6] == [
        "Module.layers.1.Block.forward.0",
        "Torch.relu.1.forward",
        "Torch.add.1.forward",
    ]


def test_a_repeat_that_is_open_splits_its_fold() -> None:
    _, visible = listed(model(5), "8")
    assert visible.fold.tolist() == [0, 2, 0, 0, 0, 2]


def test_where_a_cause_is_nothing_is_folded() -> None:
    _, visible = listed(model(5), causes=(8,))
    assert visible.fold.tolist() == [0, 2, 0, 2]


@settings(deadline=None)
@given(pairs(), st.lists(st.tuples(st.sampled_from(["", "-", "f", "a"]), st.integers(1, 30))))
def test_a_list_shows_each_row_once_and_every_other_in_one_of_its_own(
    pair: tuple[list[Entry], list[Entry]], tokens: list[tuple[str, int]]
) -> None:
    openness = ".".join(f"{n}a" if mark == "a" else f"{mark}{n}" for mark, n in tokens)
    rows = merge(*both(*pair))
    runs = repeated(rows, words_of(rows, (), 0.25))
    visible = visible_rows(rows, runs, Shown(parse_openness(openness)))
    own = visible.row[visible.fold >= 0]
    assert (np.diff(own) > 0).all()
    assert own[0] == 0
    assert (visible.place >= 0).all()
    assert (visible.fold[visible.place] >= 0).all()
    assert (visible.row[visible.place] <= np.arange(len(rows))).all()
    assert (visible.place[own] == np.flatnonzero(visible.fold >= 0)).all()
    everything = visible_rows(rows, runs, Shown(parse_openness(f"{rows.key[0]}a")))
    assert (everything.fold <= 1).all()


EDGES = st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29), st.booleans()), max_size=40)


def edges(found: list[tuple[int, int, bool]], count: int) -> FlowEdges:
    cells = [(a % count, b % count, exact) for a, b, exact in found]
    columns = list(zip(*cells, strict=True)) or [(), (), ()]
    return FlowEdges(
        np.array(columns[0], dtype=np.int64),
        np.array(columns[1], dtype=np.int64),
        np.array(columns[2], dtype=bool),
    )


@settings(deadline=None)
@given(trees(30), EDGES)
def test_rails_join_the_rows_in_which_their_ends_are_seen(
    tree: list[Entry], found: list[tuple[int, int, bool]]
) -> None:
    matched = [entry._replace(match=index) for index, entry in enumerate(tree)]
    rows, visible = listed(matched, "1a")
    given_edges = edges(found, len(rows))
    rails = rails_of(rows, visible, given_edges)
    open_rows = visible.is_open & (rows.children > 0)
    wanted = {
        (int(visible.place[p]), int(visible.place[c]))
        for p, c in zip(given_edges.producer, given_edges.consumer, strict=True)
        if not open_rows[p] and not open_rows[c] and visible.place[p] != visible.place[c]
    }
    assert set(zip(rails.producer.tolist(), rails.consumer.tolist(), strict=True)) == wanted
    whole = rails.within(0, len(visible), 1000)
    assert len(whole) == len(wanted)


@settings(deadline=None)
@given(EDGES)
def test_rails_in_one_lane_do_not_overlap(found: list[tuple[int, int, bool]]) -> None:
    flat = [Entry("root", match=0)]
    flat += [Entry(f"Torch.op{n}.0.forward", 0, n + 1, kind="api") for n in range(30)]
    rows, visible = listed(flat)
    rails = rails_of(rows, visible, edges(found, len(rows)))
    spans: dict[int, list[tuple[int, int]]] = {}
    for producer in np.unique(rails.producer).tolist():
        own = rails.producer == producer
        ends = np.append(rails.consumer[own], producer)
        lane = int(rails.lane[own][0])
        assert (rails.lane[own] == lane).all()
        if 0 < lane < 8:
            spans.setdefault(lane, []).append((int(ends.min()), int(ends.max())))
    for listed_spans in spans.values():
        ordered = sorted(listed_spans)
        assert all(a[1] <= b[0] for a, b in pairwise(ordered))


def test_the_way_is_what_leads_from_the_cause_to_the_target() -> None:
    flat = [Entry("root", match=0)]
    flat += [Entry(f"Torch.{c}.0.forward", 0, n + 1, kind="api") for n, c in enumerate("abcdef")]
    rows, _ = listed(flat)
    flow = edges([(1, 2, True), (2, 4, True), (1, 3, True), (5, 4, True), (4, 6, True)], 7)
    everywhere = np.ones(7, dtype=bool)
    hidden = off_the_way(rows, read_edges(flow), everywhere, [1], 4)
    kept = np.flatnonzero(~hidden).tolist()
    assert names(rows, kept) == ["root", *(f"Torch.{c}.0.forward" for c in "abd")]
    runs = repeated(rows, words_of(rows, (), 0.25))
    visible = visible_rows(rows, runs, Shown(hidden=hidden))
    rails = rails_of(rows, visible, flow)
    # What leads from or to rows that are left out is left out, too.
    assert list(zip(rails.producer, rails.consumer, strict=True)) == [(1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("score", "match", "word"),
    [
        (0.9, 1, "differs"),
        (0.0, 1, "agrees"),
        (0.004, 1, "agrees"),
        (0.2, 1, "close"),
        (None, 1, "cannot_tell"),
        (None, None, "only_problem"),
    ],
)
def test_words_of_calls(score: float | None, match: int | None, word: str) -> None:
    problem = [Entry("root", match=0), Entry("Torch.a.0.forward", 0, match, score, "api")]
    benchmark = [Entry("root"), Entry("Torch.a.0.forward", 0, kind="api")]
    rows = merge(*both(problem, benchmark))
    row = int(rows.rows_of(np.array([2]))[0])
    assert WORDS[words_of(rows, (), 0.25).word[row]] == word
    assert WORDS[words_of(rows, (2,), 0.25).word[row]] == "begins"
    assert WORDS[words_of(rows, (), None).word[row]] == "none"


@pytest.mark.parametrize("reads", [0.0, 0.9])
def test_a_call_of_which_inputs_alone_were_compared_is_told_so(reads: float) -> None:
    """`__setitem__` puts nothing out: that no output was compared is no gap."""
    entries = matched(
        Entry("Module.m.Block.forward.0", 0),
        Entry("Tensor.__setitem__.0.forward", 1, kind="api", reads=reads),
        Entry("Tensor.detach.0.forward", 0, kind="api"),
    )
    said = words_by_name(entries)
    assert said["Tensor.__setitem__.0.forward"] == said["Module.m.Block.forward.0"] == "only_inputs"
    assert said["Tensor.detach.0.forward"] == "cannot_tell"


def words_by_name(entries: list[Entry], causes: tuple[int, ...] = ()) -> dict[str, str]:
    """What each row of two alike sides says, by the name of its node."""
    rows = merge(*both(entries, [e._replace(match=None) for e in entries]))
    words = words_of(rows, causes, 0.25).word
    said = [WORDS[word] for word in words.tolist()]
    return dict(zip(names(rows, range(len(rows))), said, strict=True))


def matched(*entries: Entry) -> list[Entry]:
    """Entries below a root, each matched with its like; their parents count from the root."""
    every = Entry("root"), *entries
    return [entry._replace(match=place) for place, entry in enumerate(every)]


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_call_carries_where_it_goes_back_to_a_cause(is_recorded: bool) -> None:
    """That what it reads differs is not enough: the count of what goes back to a cause says no."""
    entries = matched(
        Entry("Module.m.Block.forward.0", 0, score=0.9, reads=0.0),
        Entry("Torch.rand.0.forward", 1, score=0.9, kind="api", reads=0.0),
        Entry("Torch.add.0.forward", 0, score=0.9, kind="api", reads=0.9),
    )
    one = np.array([1], dtype=np.int64)
    read = [(one + 2, one + 3, np.array([True]))] if is_recorded else [NO_FLOW]
    index = index_of(*both(entries, entries), [3], 0.25, lambda: [*read, NO_FLOW])
    words = [WORDS[word] for word in index.words.word.tolist()]
    said = dict(zip(names(index.rows, range(len(index.rows))), words, strict=True))
    assert said["Torch.rand.0.forward"] == said["root"] == "begins"
    assert said["Torch.add.0.forward"] == ("carries" if is_recorded else "differs")


def test_what_differs_only_differs_where_no_cause_is_named() -> None:
    said = words_by_name(matched(Entry("Torch.add.0.forward", 0, score=0.9, kind="api", reads=0.9)))
    assert set(said.values()) == {"differs"}


def test_a_cause_begins_and_its_gradient_carries() -> None:
    call = Entry("Torch.a.0.forward", 0, score=0.0, kind="api", reads=0.0)
    gradient = Entry("Torch.a.0.backward", 0, None, 0.9, "api", "backward", 0.0)
    said = words_by_name(matched(call, gradient), causes=(2,))
    assert said["Torch.a.0.forward"] == "begins"
    assert said["Torch.a.0.backward"] == "carries"
