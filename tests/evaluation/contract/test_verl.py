"""verl: one debugger per worker, driven through the class in the stages that were chosen.

Each (global step, stage) gets a folder of its own: the debugger's `service.config.dump_path` is
assigned before start, and its step counter begins again after the stage.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.evaluation.contract.conftest import SmallModel, dumped

IDS, POSITIONS = torch.tensor([1, 2, 3]), torch.arange(3)


class StageProfiler:
    """Wraps the stages of a worker as the recipes' profiler does."""

    def __init__(self, config: Path, root: Path, stages: set[str], steps: set[int]) -> None:
        self.config, self.root, self.stages, self.steps = config, root, stages, steps
        self.debugger: Any = None

    def run(self, stage: str, step: int, model: SmallModel, work: Callable[[], object]) -> None:
        if stage not in self.stages or step not in self.steps:
            work()
            return
        from msprobe.pytorch import PrecisionDebugger

        folder = str(self.root / f"step_{step}" / stage)
        if self.debugger is None:
            self.debugger = PrecisionDebugger(config_path=str(self.config), dump_path=folder)
        self.debugger.service.config.dump_path = folder
        PrecisionDebugger.start(model=model)
        try:
            work()
        finally:
            PrecisionDebugger.stop()
            PrecisionDebugger.step()
            self.debugger.service._reset_status()


@pytest.fixture
def profiler(tmp_path: Path) -> StageProfiler:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"task": "statistics", "level": "mix", "rank": [], "step": []}))
    return StageProfiler(config, tmp_path / "dumps", {"actor_update", "compute_log_prob"}, {1, 2})


def test_chosen_stages_of_chosen_steps_have_dumps_of_their_own(
    profiler: StageProfiler, model: SmallModel, tmp_path: Path
) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def score() -> None:
        with torch.no_grad():
            model(IDS, POSITIONS)

    def update() -> None:
        optimizer.zero_grad()
        model(IDS, POSITIONS).square().mean().backward()
        optimizer.step()

    for step in range(3):
        profiler.run("generate", step, model, score)
        profiler.run("compute_log_prob", step, model, score)
        profiler.run("actor_update", step, model, update)
    folders = sorted(p.relative_to(tmp_path) for p in (tmp_path / "dumps").glob("*/*"))
    expected = [f"dumps/step_{s}/{k}" for s in (1, 2) for k in ("actor_update", "compute_log_prob")]
    assert [str(folder) for folder in folders] == expected
    for folder in folders:
        found = dumped(tmp_path / folder)
        assert [rank.step for rank in found.ranks] == [0]
    names = [
        set(json.loads((dumped(tmp_path / f).ranks[0].path / "dump.json").read_text())["data"])
        for f in folders
    ]
    assert "Module.mlp.Linear.backward.0" in names[0]
    assert "Module.mlp.Linear.forward.0" in names[1]
    assert "Module.mlp.Linear.backward.0" not in names[1]


def test_failing_stage_leaves_what_it_computed(
    profiler: StageProfiler, model: SmallModel, tmp_path: Path
) -> None:
    def fail() -> None:
        model(IDS, POSITIONS)
        raise ValueError("the reward is not a number")

    with pytest.raises(ValueError, match="reward"):
        profiler.run("actor_update", 1, model, fail)
    assert dumped(tmp_path / "dumps" / "step_1" / "actor_update").entries > 0
