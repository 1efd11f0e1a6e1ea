"""Dumps and results behind addresses: the rows are those of the same files at a path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import builder
from builder import BuildOptions, InputError
from builder.run.build import Request
from builder.run.executor import LocalProcesses
from builder.run.units.running import build_over, join_build, plan_build, run_units
from builder.storage.addresses import open_folder
from builder.storage.folder import Folder
from tests.builder.run.units.runs import Rows, layout, ranks, rows_of

pytest.importorskip("fsspec")


class InThisProcess:
    """Runs pairs here, since what lies at memory:// is of this process alone."""

    def run(self, pairs, work, report):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        outcomes = [work.attempt(pair, 1) for pair in pairs]
        for outcome in outcomes:
            report(outcome)
        return outcomes


@pytest.fixture
def memory() -> Iterator[str]:
    place = f"memory://{uuid4()}"
    yield place
    open_folder("memory://").remove(place.removeprefix("memory://"))


def upload(local: Path, folder: Folder) -> None:
    for path in local.rglob("*"):
        if path.is_file():
            folder.put(path, path.relative_to(local).as_posix())


def with_places(rows: Rows, local: Path, address: str) -> Rows:
    """Rows with one place in place of another."""
    return {
        table: [
            tuple(c.replace(str(local), address) if isinstance(c, str) else c for c in row)
            for row in found
        ]
        for table, found in rows.items()
    }


@pytest.mark.parametrize("kind", ["ranks", "layout"])
def test_rows_are_those_of_paths(tmp_path: Path, memory: str, kind: str) -> None:
    if kind == "ranks":
        ranks(tmp_path / "d" / "problem", fault=True)
        ranks(tmp_path / "d" / "benchmark")
        (tmp_path / "d" / "problem" / "step1" / "rank1" / "dump.json").write_text("{")
    else:
        layout(tmp_path / "d" / "problem", 2, fault=True)
        layout(tmp_path / "d" / "benchmark", 1)
    upload(tmp_path / "d", open_folder(f"{memory}/d"))
    sides = tmp_path / "d" / "problem", tmp_path / "d" / "benchmark"
    direct = builder.build(*sides, tmp_path / "o", BuildOptions(workers=1))
    out = f"{memory}/out"
    addresses = f"{memory}/d/problem", f"{memory}/d/benchmark"
    plan = plan_build(*addresses, out, BuildOptions())
    run_units(out, plan.units, InThisProcess())
    made = join_build(out)
    local = tmp_path / "joined.vis.db"
    open_folder(out).fetch(made.path.name, local)
    wanted = with_places(rows_of(direct.path), tmp_path / "d", f"{memory}/d")
    assert rows_of(local) == wanted
    assert "msprobe-" not in str(rows_of(local)), "no row names a folder that is gone"


def test_a_result_at_an_address_from_one_command(tmp_path: Path) -> None:
    problem = ranks(tmp_path / "p", steps=1, fault=True)
    benchmark = ranks(tmp_path / "b", steps=1)
    request = Request(f"file://{problem}", str(benchmark), BuildOptions())
    out = f"file://{tmp_path}/out"
    result = build_over(request, out, LocalProcesses(2))
    assert not result.failed
    assert result.path.parent == tmp_path / "out", "a file address is the path that it names"
    assert [path.name for path in (tmp_path / "out").iterdir()] == [result.path.name]
    assert builder.open(tmp_path / "out" / result.path.name).findings().findings


def test_a_single_rank_at_an_address(tmp_path: Path, memory: str) -> None:
    ranks(tmp_path / "d", steps=2, count=2)
    upload(tmp_path / "d", open_folder(memory))
    place = f"{memory}/step1/rank1"
    plan = plan_build(place, None, str(tmp_path / "out"), BuildOptions())
    assert [unit.id for unit in plan.units] == ["step1_rank1"]
    run_units(str(tmp_path / "out"), plan.units, InThisProcess())
    rows = rows_of(join_build(str(tmp_path / "out")).path)
    assert [row[7] for row in rows["graph"]] == [place]


def test_what_is_not_there_is_named_by_its_address(tmp_path: Path, memory: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"{memory}/nothing")):
        plan_build(f"{memory}/nothing", None, str(tmp_path), BuildOptions())
    open_folder(memory).write("step0/notes.txt", b"x")
    with pytest.raises(InputError, match=re.escape(memory)) as error:
        plan_build(memory, None, str(tmp_path), BuildOptions())
    assert "msprobe-" not in str(error.value)


def test_an_address_without_a_bucket_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="hdfs:///run: no host or bucket"):
        plan_build("hdfs:///run", None, str(tmp_path), BuildOptions())
