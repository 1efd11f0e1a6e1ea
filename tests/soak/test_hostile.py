"""Hostile files and requests: nothing may be lost in a few of each kind either."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.soak import hostile_files, hostile_requests
from benchmarks.soak.outcome import Outcome
from tb_graph_ascend.server import create_app

FEW = 20


def hold(outcome: Outcome, at_least: int) -> None:
    assert outcome.lost == []
    assert outcome.tried >= at_least


def test_damaged_dump_files(tmp_path: Path) -> None:
    for outcome in hostile_files.dump_files(tmp_path, FEW):
        hold(outcome, FEW)


def test_structures_that_are_no_tree(tmp_path: Path) -> None:
    hold(hostile_files.structures(tmp_path, FEW, deep=5_000), FEW + 2)


def test_mappings(tmp_path: Path) -> None:
    for outcome in hostile_files.mappings(tmp_path, FEW):
        hold(outcome, FEW)


def test_tensor_files(tmp_path: Path) -> None:
    hold(hostile_files.tensors(tmp_path, FEW), FEW + 9)


def test_result_files(tmp_path: Path) -> None:
    hold(hostile_requests.databases(tmp_path, FEW), FEW)


def test_requests(tmp_path: Path) -> None:
    hold(hostile_requests.requests(tmp_path, 5 * FEW), 5 * FEW)


@pytest.mark.parametrize("below", ["", "/path", "/across", "/children", "/values/0/picture"])
def test_number_that_no_database_holds_is_no_such_node(tmp_path: Path, below: str) -> None:
    logs = tmp_path / "logs"
    hostile_requests.result(tmp_path, logs)
    client = create_app([logs]).test_client()
    db = client.get("/api/databases").json["databases"][0]["id"]
    for number in (2**63, 10**30):
        assert client.get(f"/api/databases/{db}/nodes/{number}{below}").status_code == 404


def test_trial_that_goes_wrong_is_counted(tmp_path: Path) -> None:
    outcome = Outcome("x")
    hostile_files.attempt(outcome, "zero", lambda: 1 // 0)
    assert outcome.lost == ["zero: ZeroDivisionError: integer division or modulo by zero"]


def test_pickle_that_runs_code_would_be_noticed(tmp_path: Path) -> None:
    import pickle

    canary = tmp_path / "canary"
    pickle.loads(pickle.dumps(hostile_files.Bomb(canary)))
    assert canary.exists()


@pytest.mark.parametrize("seed", range(3))
def test_damage_changes_something(seed: int) -> None:
    import random

    base = b'{"a": [1, 2, 3], "b": "text"}' * 5
    chance = random.Random(seed)
    assert sum(hostile_files.damage(base, chance) != base for _ in range(20)) > 10
