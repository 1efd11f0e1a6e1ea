"""Ranks are the same whichever process reads them, and so is what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builder.dump.reader import read_dump
from builder.errors import DumpError
from builder.work.rank_reading import read_ranks

_CALL = "Functional.relu.0.forward"


def _rank(root: Path, rank: int, argument: object = 3) -> Path:
    folder = root / f"rank{rank}"
    folder.mkdir()
    tensor: dict[str, Any] = {
        "type": "torch.Tensor",
        "dtype": "torch.float32",
        "shape": [2, 8],
        "Max": "nan",
    }
    tensor |= {"Mean": 0.5 * rank, "Norm": float("inf"), "requires_grad": True}
    entry: dict[str, Any] = {"input_args": [tensor, {"type": "int", "value": argument}]}
    head = {"task": "statistics", "level": "mix", "framework": "pytorch"}
    (folder / "dump.json").write_text(json.dumps({**head, "data": {_CALL: entry}}))
    (folder / "construct.json").write_text(json.dumps({_CALL: None}))
    return folder


@pytest.mark.parametrize("cores", [1, 2, 8])
def test_dumps_come_in_the_order_of_their_folders(tmp_path: Path, cores: int) -> None:
    folders = [_rank(tmp_path, rank) for rank in range(5)]
    assert read_ranks(folders, {}, cores) == [read_dump(folder) for folder in folders]


def test_a_number_that_no_other_process_can_hand_over_is_read_here(tmp_path: Path) -> None:
    folders = [_rank(tmp_path, 0), _rank(tmp_path, 1, argument=2**70)]
    assert read_ranks(folders, {}, 2)[1].values.records[1].value == 2**70


def test_a_rank_that_another_process_cannot_read_is_named(tmp_path: Path) -> None:
    folders = [_rank(tmp_path, rank) for rank in range(2)]
    (folders[1] / "dump.json").write_text("{")
    with pytest.raises(DumpError, match="rank1"):
        read_ranks(folders, {}, 2)
