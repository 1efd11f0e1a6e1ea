"""Nodes rated error for their form alone; what another kernel hands back is none of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import builder
from tests.builder.dumps import Json, backward, forward, tensor, write_dump
from tests.told import facts

CALL, GRADIENT = "Functional.attend.0.forward", "Functional.attend.0.backward"


def summary(tmp_path: Path, ours: list[Json], theirs: list[Json]) -> list[str]:
    for side, gradients in (("p", ours), ("b", theirs)):
        data = {
            CALL: forward([tensor(1.0)], [tensor(2.0)]),
            GRADIENT: backward([tensor(3.0)], gradients),
        }
        write_dump(tmp_path / side, data)
    found = builder.build(tmp_path / "p", tmp_path / "b", tmp_path / "out")
    return [facts(reason)["code"] for reason in found.summary]


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ([tensor(4.0, shape=[6, 4, 31])], [tensor(9.0, shape=[24, 31])], False),
        ([tensor(3.0, dtype="torch.float32")], [tensor(4.0, dtype="torch.bfloat16")] * 3, False),
        ([tensor(4.0, dtype="torch.bfloat16")], [tensor(4.0, dtype="torch.float32")], True),
        ([tensor(4.0)], [tensor(4.0)], False),
    ],
    ids=["another kernel's gradient", "fewer of another kernel", "another format", "the same"],
)
def test_what_another_kernel_hands_back_is_no_error(
    tmp_path: Path, ours: list[Json], theirs: list[Json], told: bool
) -> None:
    assert any("error" in code for code in summary(tmp_path, ours, theirs)) is told
