"""Checksums of the integers that a model is fed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from msprobe.pytorch import PrecisionDebugger


class _Fed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(8, 3)
        self.outer = torch.nn.Sequential(torch.nn.Linear(3, 2))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.outer(self.embedding(input=tokens))


def _inputs(folder: Path, batches: list[torch.Tensor]) -> dict[str, dict[str, dict[str, Any]]]:
    model = _Fed()
    debugger = PrecisionDebugger(dump_path=folder, level="mix", task="statistics")
    debugger.start(model)
    for tokens in batches:
        model(tokens).sum().backward()
    debugger.stop()
    debugger.step()
    debugger.close()
    (path,) = folder.glob("step0/*/dump.json")
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(path.read_text()).get("inputs", {})
    return found


def test_equal_rows_have_equal_checksums_in_any_batch(tmp_path: Path) -> None:
    whole = torch.arange(12).remainder(8).reshape(4, 3)
    together = _inputs(tmp_path / "a", [whole])
    apart = _inputs(tmp_path / "b", [whole[2:], whole[:2]])
    entry = "Module.embedding.Embedding.forward"
    rows = [apart[f"{entry}.{call}"]["input"]["rows"] for call in (1, 0)]
    assert together[f"{entry}.0"]["input"]["rows"] == rows[0] + rows[1]
    assert together[f"{entry}.0"]["input"]["shape"] == [4, 3]
    assert len(set(together[f"{entry}.0"]["input"]["rows"])) == 4
    # Only calls that stand in no other call of a module are noted, and only their integers.
    assert list(together) == [f"{entry}.0"]


def test_a_tensor_that_was_written_in_between_is_read_anew(tmp_path: Path) -> None:
    tokens = torch.zeros(2, 3, dtype=torch.int64)
    model, debugger = _Fed(), PrecisionDebugger(dump_path=tmp_path, level="mix", task="statistics")
    debugger.start(model)
    model(tokens)
    tokens.add_(1)
    model(tokens)
    debugger.stop()
    debugger.step()
    debugger.close()
    (path,) = tmp_path.glob("step0/*/dump.json")
    first, second = json.loads(path.read_text())["inputs"].values()
    assert first["input"]["checksum"] != second["input"]["checksum"]


def test_integers_without_memory_have_no_checksum(tmp_path: Path) -> None:
    with torch.device("meta"):
        model, tokens = _Fed(), torch.zeros(2, 3, dtype=torch.int64)
    debugger = PrecisionDebugger(dump_path=tmp_path, level="mix", task="statistics")
    debugger.start(model)
    model(tokens)
    debugger.stop()
    debugger.step()
    (path,) = tmp_path.glob("step0/*/dump.json")
    assert "inputs" not in json.loads(path.read_text())
    assert not list(path.parent.glob("*error*"))
