"""No query goes over the values of a whole file, or over all nodes for each value of one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import ColumnElement, create_engine, select

from builder import build
from builder.results import equal_numbers, extent
from builder.results.manual.patches import NodePatch, NodeSource, Patches
from builder.results.schema import node
from tests.builder.dumps import forward, tensor, write_dump

QUERIES = {
    "weights": equal_numbers.WEIGHTS,
    "what is fed": equal_numbers.FED,
    "what reads weights": equal_numbers.READ_BESIDE,
    "gradients": equal_numbers.GRADIENTS,
    "what reads gradients": equal_numbers.READ_BY_UPDATES,
    "what an optimizer wrote": equal_numbers.WRITTEN,
    "what a step read": equal_numbers.READ,
    "formats": extent._FORMATS,
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plans")
    for side, norm in (("p", 2.0), ("b", 3.0)):
        write_dump(folder / side, {"Torch.op.0.forward": forward([tensor(1.0)], [tensor(norm)])})
    return build(folder / "p", folder / "b", folder / "out").path


@pytest.mark.parametrize("name", QUERIES)
def test_values_are_reached_from_their_nodes(result: Path, name: str) -> None:
    query = QUERIES[name]
    with closing(sqlite3.connect(result)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {query}", (0,) * query.count("?")).fetchall()
    steps = [step[-1] for step in plan]
    assert any("SEARCH record USING INTEGER PRIMARY KEY" in step for step in steps), steps
    assert not any(step.startswith(("SCAN record", "SCAN form")) for step in steps), steps


@pytest.mark.parametrize("wanted", [node.c.graph == 1, node.c.id.in_(range(900)), node.c.id > 0])
def test_patches_are_found_by_their_nodes(result: Path, wanted: ColumnElement[bool]) -> None:
    patch = NodePatch(None, "manual", 0.5, None, None, "pass", None, 0)
    source = NodeSource(Patches(dict.fromkeys(range(1, 400), patch)))
    query = select(source["score"]).select_from(source.table).where(wanted)
    engine = create_engine(f"sqlite:///{result}")
    with closing(engine.raw_connection()) as connection:
        compiled = query.compile(engine, compile_kwargs={"literal_binds": True})
        plan = connection.execute(f"EXPLAIN QUERY PLAN {compiled}").fetchall()
    engine.dispose()
    steps = [step[-1] for step in plan]
    assert any(step.startswith("SEARCH patch USING AUTOMATIC") for step in steps), steps
