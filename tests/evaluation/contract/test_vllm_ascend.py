"""vLLM-Ascend: `dump_config` (an object) or `dump_config_path` (a file) in --additional-config.

An object is written to a file for the debugger. The runner calls step() in every path, also where
it returns early; dummy runs (profiling, warm-up) end with step(dump=False).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.evaluation.contract.conftest import SmallModel, dumped, generate


class WorkerModelRunner:
    """The part of the worker's runner that touches the debugger."""

    def __init__(self, model: SmallModel, additional_config: dict[str, Any], cache: Path) -> None:
        self.model = model
        self.debugger: Any = None
        path = additional_config.get("dump_config_path")
        if "dump_config" in additional_config:
            file = cache / "dump_config.json"
            file.write_text(json.dumps(additional_config["dump_config"]))
            path = str(file)
        if path is not None:
            from msprobe.pytorch import PrecisionDebugger

            self.debugger = PrecisionDebugger(path)

    @torch.inference_mode()
    def execute_model(self, input_ids: Tensor | None, positions: Tensor) -> Tensor:
        if self.debugger is not None:
            self.debugger.start(model=self.model)
        if input_ids is None:  # nothing is scheduled
            self._end_step()
            return torch.empty(0)
        hidden: Tensor = self.model(input_ids, positions)
        self._end_step()
        return hidden

    @torch.inference_mode()
    def dummy_run(self, tokens: int) -> None:
        if self.debugger is not None:
            self.debugger.start(model=self.model)
        self.model(torch.zeros(tokens, dtype=torch.long), torch.arange(tokens))
        if self.debugger is not None:
            self.debugger.stop()
            self.debugger.step(dump=False)

    def _end_step(self) -> None:
        if self.debugger is not None:
            self.debugger.stop()
            self.debugger.step()


@pytest.fixture(params=["dump_config", "dump_config_path"])
def additional_config(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, Any]]:
    settings = {
        "task": "statistics",
        "level": "L1",
        "dump_path": str(tmp_path / "dump"),
        "statistics": {"list": []},
    }
    if request.param == "dump_config":
        yield {"dump_config": settings}
        return
    file = tmp_path / "msprobe_config.json"
    file.write_text(json.dumps(settings))
    yield {"dump_config_path": str(file)}


def test_each_pass_of_a_request_is_a_step(
    additional_config: dict[str, Any], model: SmallModel, tmp_path: Path
) -> None:
    expected = generate(WorkerModelRunner(model, {}, tmp_path).execute_model, 3)
    runner = WorkerModelRunner(model, additional_config, tmp_path)
    assert generate(runner.execute_model, 3) == expected
    found = dumped(tmp_path / "dump")
    assert sorted({rank.step for rank in found.ranks}) == [0, 1, 2]
    assert {rank.level for rank in found.ranks} == {"L1"}
    assert (found.ranks[0].path / "construct.json").is_file()


def test_dummy_runs_keep_nothing_and_the_request_comes_after_them(
    additional_config: dict[str, Any], model: SmallModel, tmp_path: Path
) -> None:
    runner = WorkerModelRunner(model, additional_config, tmp_path)
    runner.dummy_run(8)
    runner.dummy_run(4)
    folder = tmp_path / "dump"
    assert not folder.exists() or list(folder.rglob("dump.json")) == []
    generate(runner.execute_model, 1)
    assert {rank.step for rank in dumped(folder).ranks} == {2}


def test_pass_without_work_disturbs_nothing(
    additional_config: dict[str, Any], model: SmallModel, tmp_path: Path
) -> None:
    runner = WorkerModelRunner(model, additional_config, tmp_path)
    runner.execute_model(None, torch.empty(0))
    generate(runner.execute_model, 1)
    files = sorted((tmp_path / "dump").rglob("dump.json"))
    counts = [len(json.loads(file.read_text())["data"]) for file in files]
    assert counts[-1] > 0
    assert sum(count > 0 for count in counts) == 1
