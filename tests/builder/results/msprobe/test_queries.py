"""msprobe's own result files: everything they hold comes through the interface of our queries."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from builder.errors import UnknownNodeError
from builder.results import records
from builder.results.manual.patches import Patches
from builder.results.msprobe.node_values import measure
from builder.results.msprobe.queries import MsprobeDatabase
from tb_graph_ascend.view.search.node_filter import NodeFilter
from tb_graph_ascend.view.search.node_index import pair_index
from tests.told import facts


@pytest.fixture(scope="module")
def ranks(samples: Path) -> Iterator[MsprobeDatabase]:
    opened = MsprobeDatabase(samples / "vis-db" / "ranks.vis.db")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def overflow(samples: Path) -> Iterator[MsprobeDatabase]:
    opened = MsprobeDatabase(samples / "vis-db" / "nan-overflow.vis.db")
    yield opened
    opened.close()


def rows(database: MsprobeDatabase, query: str) -> list[Any]:
    connection = sqlite3.connect(f"{database.file.absolute().as_uri()}?mode=ro", uri=True)
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def everything(database: MsprobeDatabase, step: int = 0, rank: int = 0) -> list[records.Node]:
    ids = pair_index(database, step, rank).columns.id.tolist()
    return database.nodes_by_id(ids)


def named(database: MsprobeDatabase, name: str, side: str = "problem") -> records.Node:
    return next(n for n in everything(database) if (n.name, n.side) == (name, side))


def test_summary_counts_every_pair(ranks: MsprobeDatabase) -> None:
    said = ranks.summary()
    assert (said.task, said.comparison, said.overflow_checked) == ("statistics", True, False)
    places = [(pair.step, pair.rank) for pair in said.pairs]
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(pair.unmatched_problem == 2 and pair.unmatched_benchmark == 0 for pair in said.pairs)
    (divergent,) = rows(
        ranks, "SELECT count(*) FROM tb_nodes WHERE precision_index > 0 AND step = 0 AND rank = 0"
    )[0]
    assert said.pairs[0].divergent == divergent


@pytest.mark.parametrize("name", ["ranks", "nan-overflow"])
def test_every_row_is_a_node_in_its_place(name: str, samples: Path) -> None:
    database = MsprobeDatabase(samples / "vis-db" / f"{name}.vis.db")
    for pair in database.summary().pairs:
        place = f"step = {pair.step} AND rank = {pair.rank}"
        stored = {
            row[0]: row[1:]
            for row in rows(
                database,
                "SELECT rowid, node_name, up_node, precision_index, overflow_level, node_order "
                f"FROM tb_nodes WHERE {place}",
            )
        }
        nodes = {n.id: n for n in everything(database, pair.step, pair.rank)}
        assert nodes.keys() == stored.keys()
        for id_, (own, parent, precision, level, order) in stored.items():
            node = nodes[id_]
            assert (node.name, node.score, node.overflow, node.order) == (
                own,
                precision,
                level,
                order,
            )
            assert (nodes[node.parent].name if node.parent else "") == parent
            assert node.children == database.children(id_, 0, 1).total
            assert database.path(id_).path[-1] == node
            assert len(database.path(id_).path) == node.depth + 1
    database.close()


def test_partners_point_at_each_other(ranks: MsprobeDatabase) -> None:
    for node in everything(ranks):
        if node.match is not None:
            assert ranks.node(node.match).match == node.id
    unmatched = pair_index(ranks, 0, 0).select(NodeFilter(show="unmatched"), Patches(), 0.25)
    assert {ranks.node(i).label for i in unmatched.tolist()} == {"__mul__"}


def test_details_hold_all_values_and_measures(ranks: MsprobeDatabase) -> None:
    node = named(ranks, "Module.layers.1.mlp.fc2.Linear.forward.0")
    details = ranks.details(node.id)
    assert [(p.role, p.path) for p in details.values] == [
        ("input", "0"),
        ("parameters", "weight"),
        ("parameters", "bias"),
        ("output", "0"),
    ]
    first = details.values[0]
    assert first.problem is not None
    assert first.benchmark is not None
    assert first.measures["NormRelativeErr"] == pytest.approx(0.69999995)
    assert first.measures["Norm diff"] == pytest.approx(first.problem.norm - first.benchmark.norm)  # type: ignore[operator]
    assert (first.problem.dtype, first.problem.shape) == ("float32", [4, 8, 64])
    assert first.worst
    assert details.stack.problem is not None
    assert details.stack.problem[0].startswith("File ")
    assert details.partner is not None
    assert ranks.details(details.partner.id).values == details.values


def test_gradients_and_messages(overflow: MsprobeDatabase) -> None:
    node = named(overflow, "Module.layers.1.mlp.fc2.Linear.parameters_grad.0")
    details = overflow.details(node.id)
    assert {(p.role, p.path) for p in details.values} == {
        ("parameters_grad", "bias"),
        ("parameters_grad", "weight"),
    }
    assert details.values[0].measures["NormRelativeErr"] == "nan"
    assert details.node.verdict == "error"
    assert any("nan/inf" in str(facts(reason)["text"]) for reason in details.node.reasons)


def test_findings_are_the_deepest_errors_in_order(overflow: MsprobeDatabase) -> None:
    found = overflow.findings().findings
    assert found
    orders = [finding.node.order for finding in found]
    assert orders == sorted(orders)
    for finding in found:
        assert finding.node.verdict == "error"
        children = overflow.children(finding.node.id, 0, 100).children
        assert all(child.verdict != "error" for child in children)
    assert overflow.findings(step=7).findings == []


def test_a_node_across_ranks(ranks: MsprobeDatabase) -> None:
    across = ranks.across(named(ranks, "Module.layers.1.mlp.MLP.forward.0").id)
    assert [(c.step, c.rank) for c in across.cells] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(c.node is not None for c in across.cells)


def test_records_are_what_the_server_sends(ranks: MsprobeDatabase) -> None:
    node = named(ranks, "Module.layers.1.mlp.MLP.forward.0")
    for record in (
        ranks.summary(),
        ranks.pair(0, 0),
        ranks.details(node.id),
        ranks.findings(),
        ranks.across(node.id),
    ):
        assert msgspec.json.decode(msgspec.json.encode(record), type=type(record)) == record


def test_unknown_things_are_named(ranks: MsprobeDatabase) -> None:
    for ask in (lambda: ranks.node(10**9), lambda: ranks.pair(7, 7), lambda: ranks.path(-1)):
        with pytest.raises(UnknownNodeError, match=r"ranks\.vis\.db"):
            ask()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("70.000002%", 0.70000002),
        ("Nan", "nan"),
        ("inf", "inf"),
        ("-inf", "-inf"),
        ("N/A", None),
        ("None", None),
        (None, None),
        ("words", None),
        ("0.0", 0.0),
    ],
)
def test_measures_are_read_as_msprobe_writes_them(text: str | None, number: object) -> None:
    assert measure(text) == (pytest.approx(number) if isinstance(number, float) else number)


@pytest.fixture
def changed(samples: Path, tmp_path: Path) -> Iterator[Callable[[str], MsprobeDatabase]]:
    opened: list[MsprobeDatabase] = []

    def change(statement: str) -> MsprobeDatabase:
        path = tmp_path / "changed.vis.db"
        path.write_bytes((samples / "vis-db" / "ranks.vis.db").read_bytes())
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(statement)
        connection.close()
        opened.append(MsprobeDatabase(path))
        return opened[-1]

    yield change
    for database in opened:
        database.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tb_nodes SET input_data = '[1', output_data = '[]', stack_id = NULL",
        "UPDATE tb_nodes SET matched_node_link = '{broken', parallel_merge_info = '[1, 2]'",
        "UPDATE tb_nodes SET up_node = node_name WHERE node_type = '0'",
        "UPDATE tb_nodes SET up_node = 'gone' WHERE node_type = '1'",
        "UPDATE tb_nodes SET overflow_level = '<script>', node_type = 'x' WHERE node_type = '0'",
    ],
)
def test_broken_cells_are_survived(
    changed: Callable[[str], MsprobeDatabase], statement: str
) -> None:
    database = changed(statement)
    nodes = everything(database)
    assert nodes
    for node in nodes[::20]:
        json.loads(msgspec.json.encode(database.details(node.id)))


def spoiled(samples: Path, tmp_path: Path, *statements: str) -> MsprobeDatabase:
    """A copy of a file in which somebody changed cells."""
    path = tmp_path / "spoiled.vis.db"
    path.write_bytes((samples / "vis-db" / "ranks.vis.db").read_bytes())
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return MsprobeDatabase(path)


def test_cycle_of_parents_is_shown_at_the_root(samples: Path, tmp_path: Path) -> None:
    one, two = "Module.layers.0.Block.forward.0", "Module.layers.0.mlp.MLP.forward.0"
    database = spoiled(
        samples,
        tmp_path,
        f"UPDATE tb_nodes SET up_node = '{two}' WHERE node_name = '{one}'",
        "UPDATE tb_nodes SET precision_index = 1 WHERE step = 0 AND rank = 0",
    )
    stored = rows(database, "SELECT rowid FROM tb_nodes WHERE step = 0 AND rank = 0")
    shown = everything(database)
    assert {node.id for node in shown} == {row[0] for row in stored}
    for node in shown:
        path = database.path(node.id).path
        assert path[0].kind == "root"
        assert path[-1].id == node.id
    assert database.findings().findings
    database.close()


def test_unknown_nodes_are_skipped_as_promised(ranks: MsprobeDatabase) -> None:
    known = everything(ranks)[0]
    assert ranks.nodes_by_id([10**9, known.id, -1, 2**70]) == [known]
