"""What is written of steps in Lightning, transformers' Trainer and accelerate, as installed: by
trends, by both monitors and by the dumper.
"""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from benchmarks.situations.followers import ByTrainerMon, ByTrainerMonitorV2
from builder.series.run import TrendRun
from evaluation.contract.trainer_loops import (
    Truth,
    accelerate_loop,
    lightning_loop,
    lightning_trainer,
    random_batches,
    transformers_loop,
)
from msprobe.pytorch import PrecisionDebugger, Trends

# What these libraries deprecate among themselves is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")
CLOSE = 1e-5
"""Relative: float32 sums of few elements, a clip factor that torch took in float32."""
MONITORS = [ByTrainerMon, ByTrainerMonitorV2]
IN_LIGHTNING = [
    {},
    {"clip": 0.1, "by": "norm"},
    {"clip": 0.01, "by": "value"},
    {"clip": 0.1, "by": "norm", "each": 2},
    {"kind": torch.optim.LBFGS},
    {"kind": partial(torch.optim.LBFGS, max_iter=2), "clip": 0.1, "by": "norm"},
]
IN_ACCELERATE = [
    {"by": by, "each": each, "precision": precision}
    for by, each, precision in (
        ("norm", 1, "no"),
        ("value", 1, "no"),
        (None, 1, "no"),
        ("norm", 3, "no"),
        ("value", 3, "no"),
        (None, 3, "no"),
        (None, 1, "bf16"),
        ("norm", 3, "bf16"),
    )
]


def assert_written(folder: Path, truth: Truth) -> None:
    run = TrendRun(folder)
    assert run.steps.tolist() == list(range(len(truth.steps)))
    written: list[dict[tuple[str, str], float]] = [{} for _ in truth.steps]
    for target in run.targets:
        if target.kind in ("grad", "grad_norm", "clip", "lr", "loss"):
            for step, value in zip(*(each.tolist() for each in run.line(target.key)), strict=True):
                written[step][target.key] = value
    wrong = [
        (step, key, there.get(key), wanted.get(key))
        for step, (there, wanted) in enumerate(zip(written, truth.steps, strict=True))
        for key in sorted(there.keys() | wanted.keys())
        if key not in there
        or key not in wanted
        or there[key] != pytest.approx(wanted[key], rel=CLOSE)
    ]
    assert not wrong


def assert_dumped(folder: Path, truth: Truth) -> None:
    """The gradients that the optimizer took, and what had clipped them."""
    for step, scalars in enumerate(truth.steps):
        [file] = folder.glob(f"step{step}/*/dump.json")
        [entry] = json.loads(file.read_text())["optimizer"].values()
        expected = {name: norm for (n, name), norm in truth.taken.norms.items() if n == step}
        taken = {name: record["Norm"] for name, record in entry["input"].items()}
        assert taken == pytest.approx(expected, rel=CLOSE)
        factor = scalars.get(("clip", "clip"))
        # Where elements are clipped one by one, no factor says it.
        if factor is not None and "factor" in entry.get("clipping", {}):
            assert entry["clipping"]["factor"]["Max"] == pytest.approx(factor, rel=CLOSE)


@pytest.fixture(params=MONITORS)
def monitor(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ByTrainerMon:
    # It writes into the environment where its tables belong.
    monkeypatch.setitem(os.environ, "MONITOR_OUTPUT_DIR", str(tmp_path))
    made: ByTrainerMon = request.param(tmp_path / "monitor")
    return made


def assert_measured(monitor: ByTrainerMon, truth: Truth) -> None:
    monitor.close()
    assert len(truth.taken.norms) >= 4 * len(truth.steps)
    assert monitor.wrong(truth.taken) == []


def dumper_config(folder: Path) -> Path:
    config = folder / "config.json"
    settings = {"task": "statistics", "level": "mix", "dump_path": str(folder / "dump")}
    config.write_text(json.dumps(settings))
    return config


# --- Lightning ----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", IN_LIGHTNING)
def test_trends_in_lightning(tmp_path: Path, options: dict[str, Any]) -> None:
    pytest.importorskip("lightning")
    from msprobe.pytorch.lightning import TrendsCallback

    callback = TrendsCallback(tmp_path / "run", alerts=False)
    assert_written(tmp_path / "run", lightning_loop(tmp_path, [callback], **options))


@pytest.mark.parametrize("options", IN_LIGHTNING)
def test_monitors_in_lightning(
    tmp_path: Path, monitor: ByTrainerMon, options: dict[str, Any]
) -> None:
    lightning = pytest.importorskip("lightning.pytorch")

    class Follow(lightning.Callback):  # type: ignore[misc,name-defined]
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            monitor.begin(pl_module, trainer.optimizers[0])

    assert_measured(monitor, lightning_loop(tmp_path, [Follow()], **options))


@pytest.mark.parametrize("options", [each for each in IN_LIGHTNING if "each" not in each])
def test_the_dumper_in_lightning(tmp_path: Path, options: dict[str, Any]) -> None:
    """A step of its callback is a batch."""
    pytest.importorskip("lightning")
    from msprobe.pytorch.lightning import PrecisionDebuggerCallback

    callback = PrecisionDebuggerCallback(dumper_config(tmp_path))
    assert_dumped(tmp_path / "dump", lightning_loop(tmp_path, [callback], **options))


def test_lightning_by_hand_with_two_optimizers(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch")
    from msprobe.pytorch.lightning import TrendsCallback

    class Adversaries(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.automatic_optimization = False
            self.makes, self.judges = nn.Linear(2, 4), nn.Linear(4, 1)
            self.truth = Truth(self)

        def training_step(self, batch: torch.Tensor, number: int) -> None:
            optimizers = self.optimizers()
            for optimizer, part, sign in zip(
                optimizers, (self.makes, self.judges), (-100, 1), strict=True
            ):
                self.toggle_optimizer(optimizer)
                optimizer.zero_grad()
                self.manual_backward(sign * self.judges(self.makes(batch)).mean())
                self.truth.gradients(part)
                optimizer.step()
                self.untoggle_optimizer(optimizer)
            self.truth.step(*optimizers, loss=None)

        def configure_optimizers(self) -> Any:
            parts = (self.makes, self.judges)
            return [torch.optim.SGD(part.parameters(), lr=0.1) for part in parts], []

    torch.manual_seed(0)
    model = Adversaries()
    callback = TrendsCallback(tmp_path / "run", alerts=False)
    lightning_trainer(tmp_path, [callback]).fit(model, random_batches(4, 2))
    assert len(model.truth.steps) == 4
    assert_written(tmp_path / "run", model.truth)


# --- transformers -------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "each"), [(0.05, 1), (1000.0, 1), (0.05, 2), (0.0, 2)])
def test_trends_in_transformers(tmp_path: Path, most: float, each: int) -> None:
    pytest.importorskip("transformers")
    from msprobe.pytorch.hugging_face import TrendsCallback

    callback = TrendsCallback(tmp_path / "run", alerts=False)
    assert_written(tmp_path / "run", transformers_loop(tmp_path, [callback], most, each))


@pytest.mark.parametrize(("most", "each"), [(0.05, 1), (0.05, 2), (0.0, 2)])
def test_monitors_in_transformers(
    tmp_path: Path, monitor: ByTrainerMon, most: float, each: int
) -> None:
    transformers = pytest.importorskip("transformers")

    class Follow(transformers.TrainerCallback):  # type: ignore[misc,name-defined]
        def on_train_begin(self, *_: Any, model: Any, optimizer: Any, **__: Any) -> None:
            monitor.begin(model, optimizer)

    assert_measured(monitor, transformers_loop(tmp_path, [Follow()], most, each))


@pytest.mark.parametrize(("most", "each"), [(0.05, 1), (0.05, 2), (0.0, 1)])
def test_the_dumper_in_transformers(tmp_path: Path, most: float, each: int) -> None:
    pytest.importorskip("transformers")
    from msprobe.pytorch.hugging_face import PrecisionDebuggerCallback

    callback = PrecisionDebuggerCallback(dumper_config(tmp_path))
    assert_dumped(tmp_path / "dump", transformers_loop(tmp_path, [callback], most, each))


# --- accelerate ---------------------------------------------------------------------------------


class WithTrends:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, model: nn.Module, optimizer: Any) -> None:
        self._trends = Trends(self._folder, model, optimizer, alerts=False)

    def start(self) -> None:
        pass

    def stop(self, loss: float) -> None:
        self._trends.step(loss=loss)

    def close(self) -> None:
        self._trends.close()


class WithMonitor:
    def __init__(self, monitor: ByTrainerMon) -> None:
        self._monitor = monitor

    def begin(self, model: nn.Module, optimizer: Any) -> None:
        self._monitor.begin(model, optimizer)

    def start(self) -> None:
        pass

    def stop(self, loss: float) -> None:
        pass

    def close(self) -> None:
        self._monitor.close()


class WithDumper:
    def __init__(self, config: Path) -> None:
        self._debugger = PrecisionDebugger(str(config))

    def begin(self, model: nn.Module, optimizer: Any) -> None:
        self._model = model

    def start(self) -> None:
        self._debugger.start(model=self._model)

    def stop(self, loss: float) -> None:
        self._debugger.stop()
        self._debugger.step()

    def close(self) -> None:
        self._debugger.close()


@pytest.mark.parametrize("options", IN_ACCELERATE)
def test_trends_in_accelerate(tmp_path: Path, options: dict[str, Any]) -> None:
    assert_written(tmp_path, accelerate_loop(WithTrends(tmp_path), **options))


@pytest.mark.parametrize("options", IN_ACCELERATE)
def test_monitors_in_accelerate(monitor: ByTrainerMon, options: dict[str, Any]) -> None:
    assert_measured(monitor, accelerate_loop(WithMonitor(monitor), **options))


@pytest.mark.parametrize("options", IN_ACCELERATE)
def test_the_dumper_in_accelerate(tmp_path: Path, options: dict[str, Any]) -> None:
    follower = WithDumper(dumper_config(tmp_path))
    assert_dumped(tmp_path / "dump", accelerate_loop(follower, **options))
