"""SGLang 0.5: `--msprobe-dump-config FILE` makes a debugger, the model runner drives it.

The debugger is made before the model is loaded. Each forward pass is start(model, rank_id),
stop(), step(); `gpu_id` names the rank because data-parallel workers share rank 0.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.evaluation.contract.conftest import SmallModel, dumped, generate


def create_msprobe_debugger(config: Path | None) -> object:
    """As a server does it at its start: the import fails loudly when no msprobe is installed."""
    if config is None:
        return None
    from msprobe.pytorch import PrecisionDebugger, seed_all

    seed_all(mode=True)
    return PrecisionDebugger(config_path=str(config))


class ModelRunner:
    """The part of a model runner that touches the debugger."""

    def __init__(self, model: SmallModel, config: Path | None, gpu_id: int) -> None:
        self.msprobe_debugger = create_msprobe_debugger(config)
        self.model, self.gpu_id = model, gpu_id

    @torch.inference_mode()
    def forward(self, input_ids: Tensor, positions: Tensor) -> Tensor:
        debugger = self.msprobe_debugger
        if debugger is not None:
            debugger.start(model=self.model, rank_id=self.gpu_id)  # type: ignore[attr-defined]
        output: Tensor = self.model(input_ids, positions)
        if debugger is not None:
            debugger.stop()  # type: ignore[attr-defined]
            debugger.step()  # type: ignore[attr-defined]
        return output


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The configuration of the guide's example: ranks and steps 0 and 1, level mix."""
    file = tmp_path / "msprobe-config.json"
    settings = {
        "task": "statistics",
        "dump_path": str(tmp_path / "problem_dump"),
        "rank": [0, 1],
        "step": [0, 1],
        "level": "mix",
        "async_dump": False,
        "statistics": {
            "scope": [],
            "list": [],
            "tensor_list": [],
            "data_mode": ["all"],
            "summary_mode": "statistics",
        },
    }
    file.write_text(json.dumps(settings))
    return file


@pytest.fixture(autouse=True)
def undone() -> object:
    yield
    torch.use_deterministic_algorithms(False)


def test_two_tokens_of_a_request_are_two_steps(
    config: Path, model: SmallModel, tmp_path: Path
) -> None:
    expected = generate(ModelRunner(model, None, 0).forward, 4)
    assert generate(ModelRunner(model, config, 0).forward, 4) == expected
    found = dumped(tmp_path / "problem_dump")
    assert [(rank.step, rank.rank) for rank in found.ranks] == [(0, 0), (1, 0)]
    assert {rank.level for rank in found.ranks} == {"mix"}
    folder = tmp_path / "problem_dump" / "step0" / "rank0"
    assert json.loads((folder / "construct.json").read_text())
    names = json.loads((folder / "dump.json").read_text())["data"]
    assert "Module.mlp.Linear.forward.0" in names


def test_gpu_id_names_and_selects_the_rank(config: Path, model: SmallModel, tmp_path: Path) -> None:
    generate(ModelRunner(model, config, 1).forward, 1)
    assert [rank.rank for rank in dumped(tmp_path / "problem_dump").ranks] == [1]
    generate(ModelRunner(model, config, 2).forward, 1)
    assert [rank.rank for rank in dumped(tmp_path / "problem_dump").ranks] == [1]


def test_asynchronous_tensors_of_named_entries(
    config: Path, model: SmallModel, tmp_path: Path
) -> None:
    settings = json.loads(config.read_text())
    settings |= {"task": "tensor", "async_dump": True, "tensor": {"list": ["relu"]}}
    del settings["statistics"]
    config.write_text(json.dumps(settings))
    generate(ModelRunner(model, config, 0).forward, 1)
    (rank,) = dumped(tmp_path / "problem_dump").ranks
    assert rank.task == "tensor"
    assert rank.tensor_files == 2
    assert rank.problems == ()
