"""The tree of modules: by paths, with sums of all that ran in each, in windows."""

from __future__ import annotations

import math

import numpy as np

from builder.results.flow_cells import NO_FLOW
from tb_graph_ascend.view.diff.index import DiffIndex, index_of
from tb_graph_ascend.view.diff.outline import OutlineWindow, OutlineWish, outline_of
from tests.builder.results.followers.sides import Entry, both


def _index() -> DiffIndex:
    """Two layers; the second diverges, backward too, and the benchmark calls its part otherwise."""
    problem = [
        Entry("Model"),
        Entry("Module.layers.0.Block.forward.0", 0, 1, 0.0),
        Entry("Torch.relu.0.forward", 1, 2, 0.0, "api"),
        Entry("Module.layers.1.Block.forward.0", 0, 3, 0.9),
        Entry("Module.layers.1.ffn.MLP.forward.0", 3, 4, 0.8),
        Entry("Torch.relu.1.forward", 4, 5, 0.7, "api"),
        Entry("Module.layers.1.Block.backward.0", 0, None, None),
    ]
    benchmark = [
        Entry("Model"),
        Entry("Module.layers.0.Block.forward.0", 0),
        Entry("Torch.relu.0.forward", 1, None, None, "api"),
        Entry("Module.layers.1.Block.forward.0", 0),
        Entry("Module.layers.1.mlp.MLP.forward.0", 3),
        Entry("Torch.relu.1.forward", 4, None, None, "api"),
    ]
    return index_of(*both(problem, benchmark), [6], 0.25, lambda: [NO_FLOW, NO_FLOW])


def _titles(window: OutlineWindow) -> list[str]:
    return [f"{'  ' * row.depth}{row.title}" for row in window.rows]


def test_modules_stand_by_their_paths_whatever_ran_when() -> None:
    window = outline_of(_index(), OutlineWish((1, 3)), 0, 100)
    assert _titles(window) == ["Model", "  layers", "    layers.0", "    layers.1", "      ffn"]
    assert (window.total, window.modules, window.divergent) == (5, 4, 3)


def test_each_module_sums_up_what_ran_in_it() -> None:
    rows = {row.title: row for row in outline_of(_index(), OutlineWish((1, 3)), 0, 100).rows}
    assert [rows["layers.1"].divergent, rows["layers.1"].alone, rows["layers.1"].nodes] == [3, 1, 4]
    assert rows["layers"].worst == 0.9
    assert rows["layers.0"].divergent == 0
    assert (rows["ffn"].other, rows["ffn"].type_name) == ("mlp", "MLP")
    assert rows["layers.1"].begins
    assert not rows["layers.0"].begins
    assert (rows["layers.1"].position, rows["layers.1"].siblings) == (1, 2)
    assert (rows["layers.1"].above, rows["Model"].above) == (1, None)


def test_a_title_leads_to_the_first_row_of_its_own_module() -> None:
    # Several are called `down`; all agree forward, and differ backward.
    entries = [
        Entry("Model"),
        Entry("Module.down.0.Stage.forward.0", 0, 1, 0.0),
        Entry("Module.down.0.down.Conv.forward.0", 1, 2, 0.0),
        Entry("Module.mid.Stage.forward.0", 0, 3, 0.0),
        Entry("Module.mid.down.Conv.forward.0", 3, 4, 0.0),
        Entry("Module.mid.Stage.backward.0", 0, 5, 0.9),
        Entry("Module.mid.down.Conv.backward.0", 5, 6, 0.9),
        Entry("Module.down.0.Stage.backward.0", 0, 7, 0.9),
        Entry("Module.down.0.down.Conv.backward.0", 7, 8, 0.9),
    ]
    index = index_of(*both(entries, entries), [], 0.25, lambda: [NO_FLOW, NO_FLOW])
    rows = outline_of(index, OutlineWish(tuple(range(1, 6))), 0, 100).rows
    names = [index.rows.problem.names[index.rows.rows_of(np.array([r.node]))[0]] for r in rows]
    assert dict(zip([(row.title, row.depth) for row in rows[1:]], names[1:], strict=True)) == {
        ("down", 1): "Module.down.0.Stage.forward.0",
        ("down.0", 2): "Module.down.0.Stage.forward.0",
        ("down", 3): "Module.down.0.down.Conv.forward.0",
        ("mid", 1): "Module.mid.Stage.forward.0",
        ("down", 2): "Module.mid.down.Conv.forward.0",
    }


def test_what_diverges_is_open_and_alone() -> None:
    index = _index()
    assert _titles(outline_of(index, OutlineWish(divergent=True), 0, 100)) == [
        "Model",
        "  layers",
        "    layers.1",
        "      ffn",
    ]
    closed = outline_of(index, OutlineWish((3,), divergent=True), 0, 100)
    assert _titles(closed) == ["Model", "  layers", "    layers.1"]


def test_what_differs_outside_of_all_modules_is_counted_by_itself() -> None:
    assert outline_of(_index(), OutlineWish(), 0, 100).outside == 0
    entries = [
        Entry("Model"),
        Entry("Module.layers.0.Block.forward.0", 0, 1, 0.0),
        Entry("Torch.add.0.forward", 0, 2, 0.9, "api"),
        Entry("Torch.mul.0.forward", 0, 3, 0.8, "api"),
    ]
    index = index_of(*both(entries, entries), [], 0.25, lambda: [NO_FLOW, NO_FLOW])
    window = outline_of(index, OutlineWish(divergent=True), 0, 100)
    assert (window.modules, window.divergent, window.outside) == (2, 0, 2)
    assert _titles(window) == ["Model"]


def test_a_node_is_found_in_its_module_or_in_what_that_is_closed_into() -> None:
    index = _index()
    relu = 6  # Torch.relu.1.forward, in layers.1.ffn
    assert outline_of(index, OutlineWish((1, 3), here=relu), 0, 100).here == 4
    assert outline_of(index, OutlineWish((1,), here=relu), 0, 100).here == 3
    assert outline_of(index, OutlineWish(here=relu), 0, 100).here == 1
    assert outline_of(index, OutlineWish(here=999), 0, 100).here is None
    agreeing = 3  # Torch.relu.0.forward, in layers.0, which is filtered out
    assert outline_of(index, OutlineWish(divergent=True, here=agreeing), 0, 100).here == 1


def test_titles_are_found_by_their_beginning_around_the_end() -> None:
    index = _index()
    assert outline_of(index, OutlineWish((1, 3), prefix="LAY", after=1), 0, 100).found == 2
    assert outline_of(index, OutlineWish((1, 3), prefix="lay", after=3), 0, 100).found == 1
    assert outline_of(index, OutlineWish((1, 3), prefix="zzz"), 0, 100).found is None


def test_a_window_is_a_part_of_the_same_rows() -> None:
    index = _index()
    whole = outline_of(index, OutlineWish((1, 3)), 0, 100)
    assert outline_of(index, OutlineWish((1, 3)), 2, 2).rows == whole.rows[2:4]
    assert outline_of(index, OutlineWish((1, 3)), 9, 2).rows == []


def test_without_scores_there_is_no_worst() -> None:
    single = index_of(*both([Entry("Model")], []), [], None, lambda: [NO_FLOW, NO_FLOW])
    window = outline_of(single, OutlineWish(), 0, 10)
    assert window.rows[0].worst is None
    assert math.isnan(single.modules.worst[0])
