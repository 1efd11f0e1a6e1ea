"""Two gloo processes: results are those of the moment when somebody has waited for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tests.msprobe_core.awaited_program import KINDS
from tests.msprobe_core.dump_reading import RankDump, read_rank_dumps, tensors
from tests.msprobe_core.two_ranks import run_two_ranks

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available(), reason="torch without torch.distributed"
)
EXPECTED = {
    **{f"reduced, {name}": [[3.0]] for name in ("wait", "future", "callback", "polled")},
    "gathered": [[1.0, 2.0]],
    "gathered at once": [[2.0]],
    "scattered": [[3.0]],
    "two at once": [[3.0], [23.0]],
    "block": [[3.0], [23.0]],
    "asynchronous block": [[3.0], [23.0]],
}
"""The largest elements of what arrives, by call and tensor."""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    run_two_ranks(Path(__file__).with_name("awaited_program.py"), str(folder))
    return folder


def dump_of(out: Path, name: str, rank: int) -> RankDump:
    dumps = [d for d in read_rank_dumps(out / name) if d.path.name == f"rank{rank}"]
    assert not list(dumps[-1].path.glob("*error*"))
    return dumps[-1]


@pytest.mark.parametrize("level", ["L1", "mix"])
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("kind", EXPECTED)
def test_what_arrived_is_recorded(kind: str, rank: int, level: str, out: Path) -> None:
    data = dump_of(out, f"{kind}.{level}", rank).data
    calls = [entry for name, entry in data.items() if name.startswith("Distributed.")]
    found = [[t["Max"] for t in tensors(entry["output"][0])] for entry in calls]
    assert found == EXPECTED[kind]


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("kind", EXPECTED)
def test_the_monitor_measures_what_arrived(kind: str, rank: int, out: Path) -> None:
    rows = json.loads((out / f"rows{rank}.json").read_text())[kind]
    # What had come before its caller waited stands before what had not: of two that run at once
    # either may be the first.
    arrived = [value for name, values in rows.items() if ".post.0" in name for value in values]
    assert sorted(arrived) == sorted(value for values in EXPECTED[kind] for value in values)


@pytest.mark.parametrize("level", ["L1", "mix"])
@pytest.mark.parametrize("rank", [0, 1])
def test_operations_of_one_rank_with_another_are_recorded(rank: int, level: str, out: Path) -> None:
    data = dump_of(out, f"one by one.{level}", rank).data
    sent, received = data["Distributed.isend.0.forward"], data["Distributed.irecv.0.forward"]
    assert [each.get("value") for each in sent["input_args"][1:]] == [1 - rank]
    assert sent["input_args"][0]["Max"] == 1.0 + rank
    assert received["input_args"] == [None]
    assert received["input_kwargs"]["src"]["value"] == 1 - rank
    assert next(tensors(received["output"]))["Max"] == 2.0 - rank
    for kind in ("by name", "by attribute"):
        names = dump_of(out, f"{kind}.{level}", rank).names
        called = [name for name in names if name.startswith("Distributed.")]
        assert called == ["Distributed.batch_isend_irecv.0.forward"]


def test_every_kind_has_an_expectation() -> None:
    assert {*KINDS} == {*EXPECTED, "by name", "by attribute", "one by one"}


@pytest.mark.parametrize("rank", [0, 1])
def test_what_nobody_has_waited_for_is_empty_or_what_has_come(rank: int, out: Path) -> None:
    entry = dump_of(out, "kept", rank).data["Distributed.all_reduce.0.forward"]
    assert entry["output"] == [] or entry["output"][0]["Max"] == 3.0
