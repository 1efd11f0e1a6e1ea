"""What trends write of steps in Lightning, transformers' Trainer and accelerate, as installed.

The truth is of the tensors themselves, in float64, taken by hooks of these libraries and of torch.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from builder.series.run import TrendRun
from msprobe.pytorch import Trends

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# What these libraries deprecate among themselves is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")
CLOSE = 1e-5
"""Relative: float32 sums of few elements, a clip factor that torch took in float32."""


class Truth:
    """Step by step: norms of gradients before clipping, what clipping made of them, rates, loss."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.steps: list[dict[tuple[str, str], float]] = []
        self._open: dict[tuple[str, str], float] = {}
        self._losses: list[float] = []

    def gradients(self, parts: nn.Module | None = None) -> None:
        own = {id(p) for p in (parts or self.model).parameters()}
        for name, parameter in self.model.named_parameters():
            if parameter.grad is not None and id(parameter) in own:
                self._open["grad", name] = float(parameter.grad.double().norm())
        self._open["grad_norm", "grad_norm"] = self._total()

    def clipped(self) -> None:
        grads = [p.grad.double().norm() for p in self.model.parameters() if p.grad is not None]
        self._open["clip", "clip"] = float(torch.stack(grads).norm()) / self._total()

    def loss(self, value: torch.Tensor) -> None:
        self._losses.append(float(value.detach().double()))

    def step(self, *optimizers: Any, loss: str | None = "loss", adds_up: bool = False) -> None:
        self.rates(*optimizers)
        if loss is not None:
            total = sum(self._losses)
            self._open["loss", loss] = total if adds_up else total / len(self._losses)
        self.steps.append(self._open)
        self._open, self._losses = {}, []

    def rates(self, *optimizers: Any) -> None:
        for number, optimizer in enumerate(optimizers):
            for index, group in enumerate(optimizer.param_groups):
                name = f"optimizer{number}.group{index}" if number else f"group{index}"
                self._open["lr", name] = float(group["lr"])

    def _total(self) -> float:
        return sum(v**2 for (kind, _), v in self._open.items() if kind == "grad") ** 0.5


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


# --- Lightning ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clip", "by", "each"),
    [(None, None, 1), (0.1, "norm", 1), (0.01, "value", 1), (0.1, "norm", 2)],
)
def test_lightning(tmp_path: Path, clip: float | None, by: str | None, each: int) -> None:
    lightning = pytest.importorskip("lightning.pytorch")

    class Model(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
            self.truth = Truth(self)

        def training_step(self, batch: torch.Tensor, number: int) -> torch.Tensor:
            loss: torch.Tensor = self.layers(batch * (number + 1)).square().mean()
            self.truth.loss(loss)
            return loss

        def on_before_optimizer_step(self, optimizer: Any) -> None:
            self.truth.gradients()
            self.truth.rates(optimizer)

        def configure_gradient_clipping(self, optimizer: Any, *given: Any, **named: Any) -> None:
            self.clip_gradients(optimizer, *given, **named)
            if clip is not None:
                self.truth.clipped()

        def on_train_batch_end(self, outputs: Any, batch: Any, number: int) -> None:
            if (number + 1) % each == 0:
                self.truth.step()

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), lr=0.1)
            schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
            return {
                "optimizer": optimizer,
                "lr_scheduler": {"scheduler": schedule, "interval": "step"},
            }

    torch.manual_seed(0)
    model = Model()
    _fit(
        lightning,
        model,
        tmp_path,
        6,
        accumulate_grad_batches=each,
        gradient_clip_val=clip,
        gradient_clip_algorithm=by,
    )
    assert len(model.truth.steps) == 6 // each
    assert_written(tmp_path / "run", model.truth)


def test_lightning_by_hand_with_two_optimizers(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch")

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
    _fit(lightning, model, tmp_path, 4, width=2)
    assert len(model.truth.steps) == 4
    assert_written(tmp_path / "run", model.truth)


def _fit(
    lightning: Any, model: Any, folder: Path, batches: int, width: int = 4, **options: Any
) -> None:
    from msprobe.pytorch.lightning import TrendsCallback

    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[TrendsCallback(folder / "run", alerts=False)],
        default_root_dir=folder,
        **options,
    )
    data = torch.utils.data.DataLoader(torch.randn(batches, 3, width), batch_size=None)
    trainer.fit(model, data)


# --- transformers -------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "each"), [(0.05, 1), (1000.0, 1), (0.05, 2), (0.0, 2)])
def test_transformers(tmp_path: Path, most: float, each: int) -> None:
    transformers = pytest.importorskip("transformers")
    from msprobe.pytorch.hugging_face import TrendsCallback

    torch.manual_seed(7)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=32,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
        )
    )
    truth = Truth(model)
    adds_up = []

    def told(_module: Any, _args: Any, given: dict[str, Any], output: Any) -> None:
        adds_up.append(given.get("num_items_in_batch") is not None)
        truth.loss(output.loss)

    model.register_forward_hook(told, with_kwargs=True)

    class Trainer(transformers.Trainer):  # type: ignore[misc,name-defined]
        def create_optimizer(self, *given: Any, **named: Any) -> Any:
            optimizer = super().create_optimizer(*given, **named)
            optimizer.register_step_pre_hook(self.before)
            optimizer.register_step_post_hook(
                lambda *_: truth.step(loss="output.loss", adds_up=adds_up[-1])
            )
            clip = self.accelerator.clip_grad_norm_

            def clip_and_tell(*given: Any, **named: Any) -> Any:
                truth.gradients()
                result = clip(*given, **named)
                truth.clipped()
                return result

            self.accelerator.clip_grad_norm_ = clip_and_tell
            return optimizer

        def before(self, optimizer: Any, *_: object) -> None:
            if not most:
                truth.gradients()
            truth.rates(optimizer)

    rows = [{"input_ids": [(n * n + k) % 32 for k in range(6)]} for n in range(16)]
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=4,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=each,
        max_grad_norm=most,
        warmup_steps=2,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
        seed=3,
    )
    Trainer(
        model,
        arguments,
        train_dataset=[{**row, "labels": row["input_ids"]} for row in rows],
        callbacks=[TrendsCallback(tmp_path / "run", alerts=False)],
    ).train()
    assert len(truth.steps) == 4
    assert_written(tmp_path / "run", truth)


# --- accelerate ---------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["norm", "value", None])
@pytest.mark.parametrize("each", [1, 3])
def test_accelerate(tmp_path: Path, by: str | None, each: int) -> None:
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=each)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    inner = torch.optim.AdamW(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(inner, 0.5)
    data = torch.utils.data.DataLoader(torch.randn(12, 3, 4), batch_size=None)
    model, optimizer, loader, rates = accelerator.prepare(net, inner, data, schedule)
    truth = Truth(net)
    with Trends(tmp_path, model, optimizer, alerts=False) as trends:
        for number, batch in enumerate(loader):
            with accelerator.accumulate(model):
                loss = model(batch * (number + 1)).square().mean()
                truth.loss(loss)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    truth.gradients()
                    truth.rates(inner)
                    if by == "norm":
                        accelerator.clip_grad_norm_(model.parameters(), 0.1)
                    elif by == "value":
                        accelerator.clip_grad_value_(model.parameters(), 0.01)
                    if by is not None:
                        truth.clipped()
                optimizer.step()
                if accelerator.sync_gradients:
                    trends.step(loss=sum(truth._losses) / len(truth._losses))
                    truth.step()
                rates.step()
                optimizer.zero_grad()
    assert len(truth.steps) == 12 // each
    assert_written(tmp_path, truth)
