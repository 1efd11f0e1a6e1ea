"""The server over a result in volumes: one entry in the list, and what is missing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder import BuildOptions
from builder.run.executor import LocalProcesses
from builder.run.units.running import join_build, plan_build, run_units
from builder.write.result_writer import volumes_of
from tb_graph_ascend.server import create_app
from tests.builder.run.units.runs import GELU, ranks
from tests.tb_graph_ascend.conftest import Site


@pytest.fixture
def split(tmp_path: Path) -> Site:
    sides = ranks(tmp_path / "p", fault=True), ranks(tmp_path / "b")
    out = tmp_path / "out"
    plan = plan_build(*map(str, sides), str(out), BuildOptions())
    run_units(str(out), plan.units, LocalProcesses(1))
    folder = tmp_path / "logs"
    index = join_build(str(out), str(folder), split=True).path
    client = create_app([folder]).test_client()
    answer = client.get("/api/databases").json
    assert answer is not None
    (entry,) = answer["databases"]
    return Site(folder, index, client, entry["id"])


def test_a_result_in_volumes_opens_like_one_file(split: Site) -> None:
    told = split.get("")
    assert (len(told["pairs"]), told["writable"]) == (6, False)
    gelu = split.named(GELU, step=1, rank=1)
    details = split.get(f"/nodes/{gelu['id']}")
    assert details["partner"]["id"] == gelu["match"]
    assert [value["role"] for value in details["values"]] == ["input", "output"]
    first = split.get("/findings")["findings"][0]
    assert (first["node"]["name"], first["rank"]) == (GELU, 1)


def test_a_pair_whose_volume_is_missing_says_so(split: Site) -> None:
    gelu = split.named(GELU, step=0, rank=2)
    volume = volumes_of(split.file) / "step0_rank2.volume.db"
    volume.unlink()
    client = create_app([split.folder]).test_client()
    again = Site(split.folder, split.file, client, split.db)
    pairs = {(p["step"], p["rank"]): p for p in again.get("")["pairs"]}
    assert pairs[0, 2]["status"] == "failed"
    assert "step0_rank2.volume.db: no such file" in pairs[0, 2]["error"]
    assert pairs[1, 2]["status"] == "ok"
    answer = client.get(f"/api/databases/{split.db}/nodes/{gelu['id']}")
    assert answer.status_code < 500
    assert "no such file" in answer.text
    assert again.named(GELU, step=1, rank=2)["name"] == GELU
