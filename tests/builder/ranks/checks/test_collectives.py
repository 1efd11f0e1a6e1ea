"""`msprobe check` on dumps of two ranks: what each collective promises, kept and broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from builder.dump.sources import find_sources
from builder.ranks.checks.self_check import check_dump
from builder.ranks.layout.coordinates import Sizes

Floats = NDArray[np.float64]
A, B = np.random.default_rng(0).normal(size=(2, 6, 4))
GROUP = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "77849d8c"}


def _value(item: Floats | int) -> dict[str, Any]:
    if isinstance(item, int):
        return {"type": "int", "value": item}
    return {
        "type": "torch.Tensor",
        "dtype": "torch.float32",
        "shape": list(item.shape),
        "Max": float(item.max()),
        "Min": float(item.min()),
        "Mean": float(item.mean()),
        "Norm": float(np.linalg.norm(item)),
        "requires_grad": False,
    }


def _listed(items: list[Any]) -> list[Any]:
    return [_listed(i) if isinstance(i, list) else None if i is None else _value(i) for i in items]


def _write(root: Path, kind: str, ranks: list[tuple[list[Any], list[Any]]], **options: Any) -> None:
    for rank, (given, made) in enumerate(ranks):
        folder = root / "step0" / f"rank{rank}"
        folder.mkdir(parents=True)
        entry = {
            "input_args": _listed(given),
            "input_kwargs": {"group": GROUP, **options},
            "output": _listed(made),
        }
        axes = {"tp": {"rank": rank, "size": 2, "ranks": [0, 1]}}
        dump = {
            "task": "statistics",
            "level": "mix",
            "framework": "pytorch",
            "parallel": {"version": 1, "world_size": 2, "rank": rank, "axes": axes},
            "data": {f"Distributed.{kind}.0.forward": entry},
        }
        (folder / "dump.json").write_text(json.dumps(dump))
        construct = {f"Distributed.{kind}.0.forward": None}
        (folder / "construct.json").write_text(json.dumps(construct))


BOTH = np.concatenate((A, B))
HALVES = (A[:3] + B[:3], A[3:] + B[3:])
# Per collective what either rank gives and gets.
CALLS: dict[str, list[tuple[list[Any], list[Any]]]] = {
    "all_reduce": [([A], [A + B]), ([B], [A + B])],
    "broadcast": [([A, 0], [A, 0]), ([B, 0], [A, 0])],
    "all_gather": [([None, A], [[A, B], A]), ([None, B], [[A, B], B])],
    "all_gather_into_tensor": [([None, A], [BOTH, A]), ([None, B], [BOTH, B])],
    "reduce_scatter": [
        ([None, [A[:3], A[3:]]], [HALVES[0]]),
        ([None, [B[:3], B[3:]]], [HALVES[1]]),
    ],
    "reduce_scatter_tensor": [([None, A], [HALVES[0]]), ([None, B], [HALVES[1]])],
    "all_to_all_single": [
        ([None, A], [np.concatenate((A[:2], B[:2]))]),
        ([None, B], [np.concatenate((A[2:], B[2:]))]),
    ],
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_collective_that_keeps_its_promise_is_no_finding(tmp_path: Path, kind: str) -> None:
    _write(tmp_path, kind, CALLS[kind])
    assert check_dump(find_sources(tmp_path), Sizes()).findings == []


@pytest.mark.parametrize("kind", CALLS)
def test_a_result_that_is_not_what_the_ranks_gave_is_named(tmp_path: Path, kind: str) -> None:
    first, (given, made) = CALLS[kind]
    head, *rest = made
    wrong = [head[0], head[1] * 1.1] if isinstance(head, list) else head * 1.1
    _write(tmp_path, kind, [first, (given, [wrong, *rest])])
    (finding,) = check_dump(find_sources(tmp_path), Sizes()).findings
    assert (finding.check, finding.axis, finding.ranks) == ("collective", "tp", (0, 1))
    assert "rank" in finding.text


@pytest.mark.parametrize(
    "changes",
    [
        {"Min": -20.0},
        {"Norm": "nan"},
        {"Max": "inf"},
        {"shape": [4, 6]},
        {"shape": []},
        {"dtype": "torch.float16"},
    ],
)
def test_all_ranks_get_one_sum_in_the_form_that_they_gave(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    _write(tmp_path, "all_reduce", CALLS["all_reduce"])
    file = tmp_path / "step0/rank1/dump.json"
    dump = json.loads(file.read_text())
    dump["data"]["Distributed.all_reduce.0.forward"]["output"][0].update(changes)
    file.write_text(json.dumps(dump))
    (finding,) = check_dump(find_sources(tmp_path), Sizes()).findings
    assert (finding.check, finding.ranks) == ("collective", (0, 1))
    assert "rank" in finding.text


@pytest.mark.parametrize("options", [{"op": None}, {"async_op": {"type": "bool", "value": True}}])
def test_unknown_operations_and_unfinished_calls_are_not_judged(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    largest = np.maximum(A, B)
    _write(tmp_path, "all_reduce", [([A], [largest]), ([B], [largest])], **options)
    assert check_dump(find_sources(tmp_path), Sizes()).findings == []


@pytest.mark.parametrize(("got", "findings"), [(B[:3], 0), (B[3:], 1)])
def test_lists_that_are_exchanged_arrive_where_they_were_sent(
    tmp_path: Path, got: Floats, findings: int
) -> None:
    blank = np.zeros((3, 4))
    ranks: list[tuple[list[Any], list[Any]]] = [
        ([[blank, blank], [A[:3], A[3:]]], [[A[:3], got]]),
        ([[blank, blank], [B[:3], B[3:]]], [[A[3:], B[3:]]]),
    ]
    _write(tmp_path, "all_to_all", ranks)
    found = check_dump(find_sources(tmp_path), Sizes()).findings
    assert [f.check for f in found] == ["collective"] * findings
    assert all("place 1 on rank 0 is not what rank 1 sent there" in f.text for f in found)
