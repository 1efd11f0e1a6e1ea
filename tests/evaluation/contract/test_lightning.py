"""The callback in the real Lightning `Trainer`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from builder.series.run import TrendRun
from evaluation.contract.trainer_loops import lightning_trainer
from msprobe.pytorch import PrecisionDebugger
from tests.evaluation.contract.conftest import dumped

lightning = pytest.importorskip(
    "lightning.pytorch", reason="lightning is not installed; `make contract` installs it"
)
# What this library deprecates in others is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


class Classifier(lightning.LightningModule):  # type: ignore[misc,name-defined]
    """Two layers; validation uses a layer that training does not."""

    def __init__(self, fail_at: int | None = None) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.judge = nn.Linear(3, 1)
        self.fail_at = fail_at
        self.losses: list[float] = []

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        values, labels = batch
        loss = nn.functional.cross_entropy(self.layers(values), labels)
        if batch_idx == self.fail_at:
            raise ValueError("a bad batch")
        self.losses.append(float(loss))
        return loss

    def validation_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> None:
        self.judge(self.layers(batch[0]))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.layers.parameters(), lr=0.01)


def fit(model: Classifier, folder: Path, callbacks: list[Any], batches: int, each: int = 1) -> None:
    data = torch.utils.data.DataLoader(
        [(torch.randn(2, 4), torch.tensor([0, 2])) for _ in range(batches)],  # type: ignore[arg-type]
        batch_size=None,
    )
    trainer = lightning_trainer(folder, callbacks, accumulate_grad_batches=each)
    trainer.fit(model, data, data)


def train(folder: Path, callbacks: list[Any], fail_at: int | None = None) -> list[Tensor]:
    torch.manual_seed(0)
    model = Classifier(fail_at)
    fit(model, folder, callbacks, 3)
    return [parameter.detach().clone() for parameter in model.parameters()]


@pytest.fixture
def callback(tmp_path: Path) -> Any:
    from msprobe.pytorch.lightning import PrecisionDebuggerCallback

    config = tmp_path / "config.json"
    settings = {"task": "statistics", "level": "mix", "dump_path": str(tmp_path / "dump")}
    config.write_text(json.dumps(settings))
    return PrecisionDebuggerCallback(config)


def test_each_batch_is_a_step_and_training_is_the_same(callback: Any, tmp_path: Path) -> None:
    after = train(tmp_path, [callback])
    assert all(
        torch.equal(one, other) for one, other in zip(after, train(tmp_path, []), strict=True)
    )
    found = dumped(tmp_path / "dump")
    assert [rank.step for rank in found.ranks] == [0, 1, 2]
    for rank in found.ranks:
        names = set(json.loads((rank.path / "dump.json").read_text())["data"])
        assert {"Module.layers.0.Linear.forward.0", "Module.layers.0.Linear.backward.0"} <= names
        assert not any("judge" in name for name in names), "validation is not recorded"


def test_failing_batch_leaves_its_step_readable(callback: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bad batch"):
        train(tmp_path, [callback], fail_at=1)
    assert [rank.step for rank in dumped(tmp_path / "dump").ranks] == [0, 1]
    assert PrecisionDebugger.current is None


def test_trends_have_a_step_an_optimizer_step_and_its_whole_loss(tmp_path: Path) -> None:
    from msprobe.pytorch.lightning import TrendsCallback

    torch.manual_seed(0)
    model = Classifier()
    fit(model, tmp_path, [TrendsCallback(tmp_path / "run", activations="all")], 4, each=2)
    run = TrendRun(tmp_path / "run")
    assert run.steps.tolist() == [0, 1]
    one, other = model.losses[:2], model.losses[2:]
    assert run.line(("loss", "loss"))[1].tolist() == pytest.approx([sum(one) / 2, sum(other) / 2])
    last = run.line(("param", "layers.0.weight"))[1][-1]
    assert last == pytest.approx(float(model.layers[0].weight.norm()))
    assert run.line(("actv", "layers.0"), "size")[1].tolist() == [2 * 2 * 8] * 2
    assert not any(target.name.startswith("judge") for target in run.targets)


def test_trends_of_a_training_that_fails_are_whole_and_change_nothing(tmp_path: Path) -> None:
    from msprobe.pytorch.lightning import TrendsCallback

    with pytest.raises(ValueError, match="bad batch"):
        train(tmp_path, [TrendsCallback(tmp_path / "failed")], fail_at=2)
    assert TrendRun(tmp_path / "failed").steps.tolist() == [0, 1]
    after = train(tmp_path, [TrendsCallback(tmp_path / "run")])
    plain = train(tmp_path, [])
    assert all(torch.equal(one, other) for one, other in zip(after, plain, strict=True))
