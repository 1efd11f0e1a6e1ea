"""A trace goes from a divergent node to the finding behind it, by the values that were read."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from builder import build
from builder.errors import DatabaseError, UnknownNodeError
from builder.results.followers.step import step_followers
from builder.results.followers.told_way import told_way
from builder.results.open_results import open_results
from builder.results.trace import Trace
from tb_graph_ascend.view.explained_way import explained_way as explain
from tests.builder.dumps import Json, backward, forward, tensor, write_dump

A, B, C, D = (f"Torch.op{x}.0.forward" for x in "abcd")
MODULE = "Module.m.M.forward.0"


def compared(tmp_path: Path, ours: Mapping[str, object], theirs: Mapping[str, object]) -> Path:
    for side, data in (("p", ours), ("b", theirs)):
        inside = {C: MODULE, MODULE: None}
        write_dump(tmp_path / side, data, {name: inside.get(name) for name in data})
    return build(tmp_path / "p", tmp_path / "b", tmp_path / "out").path


def chain(*norms: float) -> dict[str, object]:
    values = [tensor(norm) for norm in norms]
    calls = {name: forward([x], [y]) for name, x, y in zip((A, B, C), values, values[1:])}
    gradient = {"Torch.opc.0.backward": backward([tensor(7)], [tensor(norms[-1] * 3)])}
    module = {MODULE: forward([values[2]], [values[3]])}
    return {**calls, **module, D: forward([values[3]], [tensor(norms[-1] * 2)]), **gradient}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return compared(tmp_path, chain(1, 2.5, 3.5, 4.5), chain(1, 2, 3, 4))


def hops(trace: Trace) -> list[tuple[str, str]]:
    return [(hop.link, hop.name) for hop in trace.hops]


def way_of(file: Path, node: int) -> Trace:
    with closing(open_results(file)) as results:
        return told_way(results, partial(step_followers, results), node)


def test_values_lead_from_call_to_call(file: Path) -> None:
    trace = explain(file, D)
    assert hops(trace) == [("start", D), ("input", C), ("input", B), ("input", A)]
    assert (trace.step, trace.rank, trace.finding) == (0, 0, 1)
    assert [hop.value for hop in trace.hops] == [None, "input.0", "input.0", "input.0"]
    assert [hop.output for hop in trace.hops] == [None, "output.0", "output.0", "output.0"]
    assert not any(hop.exact for hop in trace.hops)


def test_what_the_dump_says_comes_before_equal_numbers(tmp_path: Path) -> None:
    # B passes the same numbers on later; the dump says that C read those of A.
    def run(first: float, read: float) -> dict[str, object]:
        told = tensor(read, source=f"{A}.output.0")
        return {
            A: forward([tensor(1)], [tensor(first)]),
            B: forward([tensor(first, source=f"{A}.output.0")], [tensor(first)]),
            C: forward([told], [tensor(read * 3)]),
        }

    trace = explain(compared(tmp_path, run(2.5, 2.5), run(2.0, 2.0)), C)
    assert hops(trace) == [("start", C), ("input", A)]
    assert (trace.hops[1].value, trace.hops[1].output) == ("input.0", "output.0")
    assert trace.hops[1].exact


def test_a_node_of_the_benchmark_leads_to_its_partner(file: Path) -> None:
    query = "SELECT node.id FROM node JOIN graph ON graph.id = node.graph WHERE node.name = ? "
    with closing(sqlite3.connect(file)) as connection:
        (theirs,) = connection.execute(query + "AND graph.side = 'benchmark'", (D,)).fetchone()
    found = way_of(file, theirs)
    assert hops(found)[:3] == [("start", D), ("partner", D), ("input", C)]
    assert [hop.side for hop in found.hops[:2]] == ["benchmark", "problem"]
    assert found.finding == 1


def test_a_gradient_leads_to_its_forward_call(file: Path) -> None:
    trace = explain(file, "Torch.opc.0.backward")
    assert hops(trace)[:2] == [("start", "Torch.opc.0.backward"), ("forward", C)]
    assert trace.finding == 1


def test_a_module_leads_to_what_fed_it(file: Path) -> None:
    assert hops(explain(file, MODULE))[1] == ("input", B)


def test_a_module_whose_input_agrees_leads_inside(tmp_path: Path) -> None:
    file = compared(tmp_path, chain(1, 2, 3, 4.5), chain(1, 2, 3, 4))
    assert hops(explain(file, MODULE)) == [("start", MODULE), ("inside", C)]


def test_a_finding_is_its_own_way(file: Path) -> None:
    assert hops(explain(file, A)) == [("start", A)]


def test_what_agrees_leads_nowhere(tmp_path: Path) -> None:
    trace = explain(compared(tmp_path, chain(1, 2, 3, 4), chain(1, 2, 3, 4)), D)
    assert (hops(trace), trace.finding) == ([("start", D)], None)


def test_names_and_files_that_are_not_there(file: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNodeError, match=r"Torch\.none"):
        explain(file, "Torch.none.0.forward")
    with pytest.raises(UnknownNodeError):
        explain(file, A, step=3)
    with pytest.raises(DatabaseError, match="missing"):
        explain(tmp_path / "missing.vis.db", A)


def test_a_file_made_by_hand_may_go_in_circles(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DELETE FROM finding")
        ids = dict(connection.execute("SELECT name, id FROM node").fetchall())
        for one, other in ((A, B), (B, A)):
            connection.execute("UPDATE node SET source = ? WHERE id = ?", (ids[other], ids[one]))
        connection.commit()
    assert explain(file, A).finding is None


EMBEDDING, UPDATE = "Functional.embedding.0.forward", "Tensor.addcdiv_.0.forward"


def step_of(weight: dict[str, object], gradient: float, written: dict[str, object]) -> Json:
    """A step: the weight is read, its gradient comes back, the optimizer writes it."""
    return {
        EMBEDDING: forward([tensor(1), weight], [tensor(3)]),
        "Functional.embedding.0.backward": backward([tensor(gradient)], [tensor(gradient)]),
        UPDATE: forward([weight, tensor(gradient)], [written]),
    }


@pytest.mark.parametrize("written", [9.0, "nan"])
def test_a_way_goes_on_to_the_optimizer_of_the_step_before(
    tmp_path: Path, written: float | str
) -> None:
    # The second step begins with what the optimizer of the first left, NaN in this run, or not.
    numbers = ("Max", "Min", "Mean", "Norm")
    wrong = tensor(9) if written != "nan" else tensor(9, **dict.fromkeys(numbers, float("nan")))
    for side, left in (("p", wrong), ("b", tensor(5))):
        write_dump(tmp_path / side / "step0" / "rank0", step_of(tensor(4), 2, left))
        write_dump(
            tmp_path / side / "step1" / "rank0", step_of(left, 6 if side == "p" else 7, left)
        )
    result = build(tmp_path / "p", tmp_path / "b", tmp_path / "out").path
    query = "SELECT node.id FROM node JOIN graph ON graph.id = node.graph WHERE node.name = ? "
    with closing(sqlite3.connect(result)) as connection:
        here = connection.execute(
            query + "AND graph.side = 'problem' AND graph.step = 1", (EMBEDDING,)
        ).fetchone()
        connection.execute("DELETE FROM finding")  # a finding in this step would end the way
        connection.commit()
    found = way_of(result, here[0])
    assert hops(found)[:2] == [("start", EMBEDDING), ("before", UPDATE)]
    assert [(hop.step, hop.value, hop.output) for hop in found.hops[:2]] == [
        (None, None, None),
        (0, "input.1", "output.0"),
    ]
