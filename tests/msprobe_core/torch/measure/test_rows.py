"""Rows are what docs/formats.md says, in every format and layout, and where they are asked for."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from builder.dump.reader import read_dump
from builder.match.sequences.row_numbers import integers_of, row_numbers_of
from msprobe.pytorch import PrecisionDebugger
from msprobe_core.torch.measure.rows import MOST_ROWS, rows_text
from tests.msprobe_core.torch.measure.test_sketch import scrambled


def numbers(tensor: torch.Tensor) -> np.ndarray:
    text = json.loads("{" + rows_text(tensor).removeprefix(", ") + "}")["rows"]
    return np.frombuffer(b64decode(text), "<f4").reshape(-1, 8)


def by_definition(row: list[float]) -> list[float]:
    told = [max(row), min(row), sum(row) / len(row), sum(x * x for x in row) ** 0.5]
    signs = [[1 - 2 * (scrambled(c) >> k & 1) for c in range(len(row))] for k in range(4)]
    return [*told, *(sum(s * x for s, x in zip(each, row)) for each in signs)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_row_is_told_as_defined(dtype: torch.dtype) -> None:
    tensor = torch.randn(2, 3, 700, generator=torch.Generator().manual_seed(1)).to(dtype)
    wanted = [by_definition(row) for row in tensor.reshape(-1, 700).double().tolist()]
    assert np.allclose(numbers(tensor), wanted, rtol=1e-5, atol=1e-4)
    turned = tensor.transpose(0, 1)
    assert np.allclose(
        numbers(turned), np.array(wanted).reshape(2, 3, 8).swapaxes(0, 1).reshape(6, 8), atol=1e-4
    )


def test_what_has_no_rows_to_tell_has_none() -> None:
    for tensor in (torch.ones(5), torch.zeros(0, 4), torch.ones(2, 2) > 0, torch.ones(2, 2) * 1j):
        assert rows_text(tensor) == ""
    assert rows_text(torch.ones(MOST_ROWS, 1)) != ""
    assert rows_text(torch.ones(MOST_ROWS + 1, 1)) == ""
    assert rows_text(torch.ones(MOST_ROWS + 1, dtype=torch.int64)) == ""


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.act = nn.Embedding(9, 6), nn.ReLU()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.act(self.embed(ids))


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_a_dump_tells_of_each_token(task: str, tmp_path: Path) -> None:
    config = {"task": task, "level": "mix", "rows": True, "dump_path": str(tmp_path / "dump")}
    (tmp_path / "config.json").write_text(json.dumps(config))
    model, ids = Model(), torch.tensor([[3, 1, 4], [1, 5, 8]])
    with PrecisionDebugger(config_path=str(tmp_path / "config.json")).recording(model):
        made = model(ids)
        made.sum().backward()
    dump = read_dump(next((tmp_path / "dump" / "step0").iterdir()))
    values = {
        f"{name}:{dump.values.keys[index]}": dump.values.records[index]
        for name, place in dump.ranges.items()
        for index in range(*place)
    }
    fed = integers_of(values["Module.embed.Embedding.forward.0:input.0"], dump)
    assert fed is not None
    assert fed.tolist() == ids.flatten().tolist()
    told = row_numbers_of(values["Module.act.ReLU.forward.0:output.0"], dump, 6)
    assert told is not None
    assert np.allclose(told[:, :8], numbers(made.detach()), atol=1e-5)
    recorded = {name for name, record in values.items() if record.rows is not None}
    if task == "statistics":
        assert recorded == {
            f"Module.{call}.forward.0:{side}.0"
            for call in ("embed.Embedding", "act.ReLU")
            for side in ("input", "output")
        }
