"""Dumps that hold unlike things are compared on what both have, and that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.compare.modes import mode_of, unlike
from builder.dump.reader import Dump
from builder.dump.values import Record, Values

NUMBERS = {"Max": 1.0, "Min": 0.0, "Mean": 0.5, "Norm": 1.0}


def dump(task: str, **cells: object) -> Dump:
    record = Record(type="torch.Tensor", dtype="torch.float32", shape=(2,), **cells)  # type: ignore[arg-type]
    values = Values(["output.0"], [record]) if task != "structure" else Values()
    return Dump(Path("x"), task, "L1", "pytorch", values, {}, {}, {}, {}, [])


KINDS = {
    "statistics": dump("statistics", **NUMBERS),
    "tensor": dump("tensor", data_name="a.pt", **NUMBERS),
    "md5": dump("statistics", md5="bbbea56b", **NUMBERS),
    "bare md5": dump("statistics", md5="bbbea56b"),
    "xor": dump("statistics", md5="0x00000000bbbea56b"),
    "tensor with md5": dump("tensor", data_name="a.pt", md5="bbbea56b", **NUMBERS),
    "structure": dump("structure"),
}


@pytest.mark.parametrize("kind", list(KINDS))
def test_two_of_a_kind_are_not_unlike(kind: str) -> None:
    assert unlike(KINDS[kind], KINDS[kind]) is None


@pytest.mark.parametrize(
    ("problem", "benchmark", "mode", "code"),
    [
        ("tensor", "statistics", "statistics", "unlike_statistics"),
        ("md5", "statistics", "statistics", "unlike_statistics"),
        ("md5", "tensor", "statistics", "unlike_statistics"),
        ("tensor with md5", "md5", "md5", "unlike_checksums"),
        ("bare md5", "statistics", "statistics", "unlike_attributes"),
        ("md5", "xor", "statistics", "unlike_attributes"),
        ("structure", "tensor", "structure", "unlike_names"),
    ],
)
def test_finest_common_measure_is_taken(problem: str, benchmark: str, mode: str, code: str) -> None:
    for ours, theirs in ((problem, benchmark), (benchmark, problem)):
        assert mode_of(KINDS[ours], KINDS[theirs]) == mode
        said = unlike(KINDS[ours], KINDS[theirs])
        assert said is not None
        assert said.code == code
