"""A result in volumes beside an index answers as the same result in one file does."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

import builder
from builder import BuildOptions, DatabaseError, UnknownNodeError
from builder.results.followers.step import step_followers
from builder.results.followers.told_way import told_way
from builder.results.manual.patches import Patches
from builder.results.named_nodes import node_named
from builder.results.reading import Results
from builder.results.shards import node_shards
from builder.run.executor import LocalProcesses
from builder.run.units.running import join_build, plan_build, run_units
from builder.write.volume_files import volumes_of
from tb_graph_ascend.view.answer import answer
from tb_graph_ascend.view.search.node_filter import NodeFilter
from tb_graph_ascend.view.search.node_index import pair_index
from tests.builder.run.units.runs import GELU, LINEAR, REDUCE, layout, ranks

Both = tuple[Results, Results]


def _joined(root: Path, sides: tuple[Path, Path]) -> tuple[Path, Path]:
    out = root / "out"
    plan = plan_build(*map(str, sides), str(out), BuildOptions())
    run_units(str(out), plan.units, LocalProcesses(1))
    one = join_build(str(out), str(root / "one")).path
    return one, join_build(str(out), str(root / "split"), split=True).path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("ranks")
    problem, benchmark = ranks(root / "p", fault=True), ranks(root / "b")
    shutil.rmtree(benchmark / "step1" / "rank2")
    (problem / "step0" / "rank2" / "dump.json").write_text("{")
    return _joined(root, (problem, benchmark))


@pytest.fixture
def both(files: tuple[Path, Path]) -> Iterator[Both]:
    one, split = map(builder.open, files)
    yield one, split
    one.close()
    split.close()


def _plain(found: object) -> Any:
    """An answer without ids, which name other numbers in either file."""
    plain = msgspec.to_builtins(found)

    def without(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: without(v, k) for k, v in value.items() if k not in _IDS}
        if isinstance(value, list):
            return [without(v, "node" if key == "nodes" else "") for v in value]
        return True if key == "node" and isinstance(value, int) else value

    return without(plain)


_IDS = frozenset("id parent match graph peer_node node_id source last first_value value".split())


def _node(results: Results, name: str, step: int = 0, rank: int = 1) -> int:
    root = results.pair(step, rank).problem
    assert root is not None
    index = pair_index(results, step, rank)
    (id_,) = index.select(NodeFilter(name=name, side="problem", kind=KINDS[name]), Patches(), None)
    return int(id_)


def _beginnings(results: Results, step: int, rank: int) -> list[tuple[str, float | None]]:
    begins = results.beginnings(step, rank)
    return [(results.node(node).name, score) for node, score in begins.items()]


KINDS: dict[str, Any] = {LINEAR: "module", GELU: "api", REDUCE: "api"}
QUESTIONS: dict[str, Callable[[Results], object]] = {
    "summary": lambda r: {**msgspec.to_builtins(r.summary()), "created": None},
    "pair": lambda r: r.pair(1, 1),
    "pair that one side lacks": lambda r: r.pair(1, 2),
    "findings": lambda r: r.findings(),
    "findings of a step": lambda r: r.findings(1, 1),
    "children": lambda r: [r.node(_node(r, name)) for name in (LINEAR, GELU, REDUCE)],
    "path": lambda r: r.path(_node(r, GELU)),
    "way": lambda r: told_way(r, partial(step_followers, r), _node(r, GELU)),
    "details": lambda r: r.details(_node(r, GELU, 1)),
    "partners": lambda r: r.details(_node(r, REDUCE)),
    "flow": lambda r: r.flow(_node(r, GELU)),
    "across": lambda r: r.across(_node(r, REDUCE)),
    "across roots": lambda r: r.across(r.pair(0, 0).problem.root.id),  # type: ignore[union-attr]
    "beginnings": lambda r: [_beginnings(r, p.step, p.rank) for p in r.summary().pairs],
    "answer": answer,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_has_the_same_answer(both: Both, question: str) -> None:
    one, split = (QUESTIONS[question](results) for results in both)
    assert _plain(split) == _plain(one)
    assert _plain(one) not in (None, [], {})


def test_all_nodes_of_a_pair_and_their_rows_are_the_same(both: Both) -> None:
    pairs = [pair_index(results, 0, 1) for results in both]
    ids = [pair.select(NodeFilter(), Patches(), 0.5).tolist() for pair in pairs]
    assert len(ids[0]) == len(ids[1]) > 4
    first, second = (results.nodes_by_id(own) for results, own in zip(both, ids, strict=True))
    assert _plain(second) == _plain(first)
    edges = [step_followers(results, 0, 1).flow for results in both]
    for name in ("producer", "consumer", "exact"):
        assert getattr(edges[0], name).tolist() == getattr(edges[1], name).tolist()


def test_the_index_is_small_and_says_what_a_diagnosis_says(files: tuple[Path, Path]) -> None:
    one, split = map(builder.diagnose, files)
    told, wanted = split.as_json(), one.as_json()
    assert {**told, "database": None} == {**wanted, "database": None}
    assert [f.stack for f in split.findings] == [f.stack for f in one.findings]
    with sqlite3.connect(files[1]) as connection:
        counts = {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("record", "form", "flow", "volume")
        }
    connection.close()
    assert counts == {"record": 0, "form": 0, "flow": 0, "volume": 5}


@pytest.mark.parametrize(("step", "rank"), [(None, None), (1, 1)])
def test_a_node_is_found_by_its_name(
    files: tuple[Path, Path], both: Both, step: int | None, rank: int | None
) -> None:
    one, split = (
        results.node(node_named(file, GELU, step, rank))
        for file, results in zip(files, both, strict=True)
    )
    assert _plain(split) == _plain(one)
    assert one.name == GELU
    with pytest.raises(UnknownNodeError, match="Torch"):
        node_named(files[1], "Torch.none.0.forward")


def test_joined_values_keep_their_shards(tmp_path: Path) -> None:
    sides = layout(tmp_path / "p", 2, fault=True), layout(tmp_path / "b", 1)
    one, split = map(builder.open, _joined(tmp_path, sides))
    shards = [node_shards(r, _node(r, LINEAR, 1, 0)) for r in (one, split)]
    assert shards[0].values
    assert _plain(shards[1]) == _plain(shards[0])
    one.close()
    split.close()


@pytest.fixture
def copied(files: tuple[Path, Path], tmp_path: Path) -> Path:
    index = tmp_path / files[1].name
    shutil.copy(files[1], index)
    shutil.copytree(volumes_of(files[1]), volumes_of(index))
    return index


def test_a_volume_that_is_missing_is_said_and_costs_no_other(copied: Path) -> None:
    volume = volumes_of(copied) / "step0_rank1.volume.db"
    volume.unlink()
    results = builder.open(copied)
    (lost,) = [p for p in results.summary().pairs if (p.step, p.rank) == (0, 1)]
    assert (lost.status, f"{volume}: no such file" in str(lost.error)) == ("failed", True)
    assert results.pair(0, 1).problem is None
    assert results.pair(1, 1).status == "ok"
    assert [f.rank for f in results.findings().findings], "the index still names them"
    here = {(c.step, c.rank): c.node for c in results.across(_node(results, GELU, 1)).cells}
    assert here[0, 1] is None
    assert here[0, 0] is not None
    with pytest.raises(DatabaseError, match=r"step0_rank1\.volume\.db: no such file"):
        results.flow(results.findings().findings[0].node.id)
    results.close()
    told = {(f["step"], f["rank"]): str(f["error"]) for f in builder.diagnose(copied).failed}
    assert f"{volume}: no such file" in told[0, 1]


@pytest.mark.parametrize("harm", ["short", "other", "none"])
def test_a_volume_that_is_another_thing_is_named(copied: Path, harm: str) -> None:
    volume = volumes_of(copied) / "step0_rank1.volume.db"
    if harm == "short":
        volume.write_bytes(volume.read_bytes()[:-4096])
    elif harm == "other":
        shutil.copy(volumes_of(copied) / "step0_rank0.volume.db", volume)
    else:
        volume.write_bytes(b"nothing")
    results = builder.open(copied)
    with pytest.raises(DatabaseError, match=r"step0_rank1\.volume\.db: "):
        results.children(results.pair(0, 1).problem.root.id, 0, 1)  # type: ignore[union-attr]
    results.close()


def test_an_index_cannot_name_a_file_elsewhere(copied: Path) -> None:
    with sqlite3.connect(copied) as connection:
        connection.execute("UPDATE volume SET file = '../../secret.db' WHERE unit = 'step0_rank1'")
    connection.close()
    with pytest.raises(DatabaseError, match="is no name of a volume"):
        builder.open(copied).summary()
