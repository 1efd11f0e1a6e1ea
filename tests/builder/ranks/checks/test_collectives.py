"""`msprobe check` on dumps of two ranks: what each collective promises, kept and broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
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
        entry = {
            "input_args": _listed(given),
            "input_kwargs": {"group": GROUP, **options},
            "output": _listed(made),
        }
        axes = {"tp": {"rank": rank, "size": 2, "ranks": [0, 1]}}
        _write_rank(root, kind, rank, entry, {"world_size": 2, "axes": axes})


def _write_rank(
    root: Path, kind: str, rank: int, entry: dict[str, Any], parallel: dict[str, Any]
) -> None:
    folder = root / "step0" / f"rank{rank}"
    folder.mkdir(parents=True)
    dump = {
        "task": "statistics",
        "level": "mix",
        "framework": "pytorch",
        "parallel": {"version": 1, "rank": rank, **parallel},
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


# What stands before the group where a call is given it by position.
BEFORE_GROUP: dict[str, list[Any]] = {
    "all_reduce": [{"type": "str", "value": "SUM"}],
    "reduce_scatter": [{"type": "str", "value": "SUM"}],
    "reduce_scatter_tensor": [{"type": "str", "value": "SUM"}],
    "all_to_all_single": [None, None],
}


def _write_by_position(
    root: Path, kind: str, scale: float, then: list[Any], before: list[Any] | None = None
) -> None:
    """Two groups of two ranks each, of which the second has other values."""
    for rank in range(4):
        own, place = rank % 2, rank // 2
        given, made = (_listed(_times(side, 1.0 + own)) for side in CALLS[kind][place])
        if rank == 3:
            made = _listed(_times(CALLS[kind][place][1], (1.0 + own) * scale))
        group = {**GROUP, "group_ranks": [own, own + 2]}
        if kind == "broadcast":
            given[1] = made[1] = {"type": "int", "value": own}
        told = BEFORE_GROUP.get(kind, []) if before is None else before
        entry = {
            "input_args": [*given, *told, group, *then],
            "input_kwargs": {},
            "output": made,
        }
        axes = {
            "tp": {"rank": own, "size": 2, "ranks": [place * 2, place * 2 + 1]},
            "dp": {"rank": place, "size": 2, "ranks": [own, own + 2]},
        }
        _write_rank(root, kind, rank, entry, {"world_size": 4, "axes": axes})


def _times(item: Any, factor: float) -> Any:
    if isinstance(item, list):
        return [_times(inner, factor) for inner in item]
    return item if item is None or isinstance(item, int) else item * factor


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("scale", [1.0, 1.1])
def test_a_group_that_is_given_by_position_is_that_of_the_call(
    tmp_path: Path, kind: str, scale: float
) -> None:
    _write_by_position(tmp_path, kind, scale, [{"type": "bool", "value": False}])
    found = check_dump(find_sources(tmp_path), Sizes()).findings
    assert [(f.check, f.axis, f.ranks) for f in found] == [("collective", "dp", (1, 3))] * (
        scale != 1.0
    )


_NO_SUMS = ("ReduceOp.MAX", "ReduceOp.PREMUL_SUM", "avg", "RedOpType.AVG")


@pytest.mark.parametrize("op", ["ReduceOp.SUM", "sum", "RedOpType.SUM"])
def test_a_sum_that_says_so_is_judged(tmp_path: Path, op: str) -> None:
    said = [{"type": "str", "value": op}]
    _write_by_position(tmp_path, "all_reduce", 1.1, [{"type": "bool", "value": False}], said)
    found = check_dump(find_sources(tmp_path), Sizes()).findings
    assert [f.check for f in found] == ["collective"]


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "reduce_scatter_tensor"])
@pytest.mark.parametrize(
    "before", [None, [None], *([{"type": "str", "value": op}] for op in _NO_SUMS)]
)
def test_by_position_too_a_sum_alone_is_judged_and_only_when_it_is_there(
    tmp_path: Path, kind: str, before: list[Any] | None
) -> None:
    is_pending = {"type": "bool", "value": before is None}
    _write_by_position(tmp_path, kind, 1.1, [is_pending], before)
    assert check_dump(find_sources(tmp_path), Sizes()).findings == []


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter_tensor"])
def test_sums_are_rounded_in_the_format_of_what_is_scattered(tmp_path: Path, kind: str) -> None:
    """In bfloat16, whose sums miss those of single precision by some 10⁻³."""
    given = [torch.from_numpy(each).bfloat16() for each in (A, B)]
    total = (given[0] + given[1]).float().numpy().astype(np.float64)
    parts = [total, total] if kind == "all_reduce" else np.split(total, 2)
    sent = [each.float().numpy().astype(np.float64) for each in given]
    first: list[Any] = [] if kind == "all_reduce" else [None]
    _write(tmp_path, kind, [([*first, s], [p]) for s, p in zip(sent, parts, strict=True)])
    for file in tmp_path.rglob("dump.json"):
        file.write_text(file.read_text().replace("torch.float32", "torch.bfloat16"))
    assert check_dump(find_sources(tmp_path), Sizes()).findings == []
