"""Trainings by Lightning, transformers' Trainer and accelerate, with what is true of each step.

The truth is of the tensors themselves, in float64, taken by hooks of these libraries and of torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest
import torch
from torch import nn

from benchmarks.situations.truth import Truth as Taken

os.environ.setdefault("HF_HUB_OFFLINE", "1")


class Truth:
    """Step by step: norms of gradients before clipping, what clipping made of them, rates, loss;
    `taken` has the gradients as the optimizer takes them.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.steps: list[dict[tuple[str, str], float]] = []
        self.taken = Taken()
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

    def takes(self, optimizer: Any) -> None:
        self.taken.take(len(self.steps), self.model, optimizer)

    def took(self, optimizer: Any, *, clipped: bool) -> None:
        if clipped:
            self.clipped()
        self.takes(optimizer)

    def loss(self, value: torch.Tensor, again: bool = False) -> None:
        if not again:
            self._losses.append(float(value.detach().double()))

    def mean_loss(self) -> float:
        return sum(self._losses) / len(self._losses)

    def step(self, *optimizers: Any, loss: str | None = "loss", adds_up: bool = False) -> None:
        self.rates(*optimizers)
        if loss is not None:
            self._open["loss", loss] = sum(self._losses) if adds_up else self.mean_loss()
        self.steps.append(self._open)
        self._open, self._losses = {}, []

    def batch(self, each: int) -> None:
        """A batch is over; so many of them are a step."""
        if len(self._losses) == each:
            self.step()

    def rates(self, *optimizers: Any) -> None:
        for number, optimizer in enumerate(optimizers):
            for index, group in enumerate(optimizer.param_groups):
                name = f"optimizer{number}.group{index}" if number else f"group{index}"
                self._open["lr", name] = float(group["lr"])

    def _total(self) -> float:
        return sum(v**2 for (kind, _), v in self._open.items() if kind == "grad") ** 0.5


# --- Lightning ----------------------------------------------------------------------------------


def lightning_trainer(folder: Path, callbacks: Sequence[Any], **options: Any) -> Any:
    """A trainer that says nothing and writes nothing."""
    lightning = pytest.importorskip(
        "lightning.pytorch", reason="lightning is not installed; `make contract` installs it"
    )
    return lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=list(callbacks),
        default_root_dir=folder,
        **options,
    )


def random_batches(count: int, width: int) -> Any:
    return torch.utils.data.DataLoader(torch.randn(count, 3, width), batch_size=None)  # type: ignore[arg-type]


def _training(optimizer: Any) -> Any:
    """With a rate that halves after each step."""
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def lightning_loop(
    folder: Path,
    callbacks: Sequence[Any],
    clip: float | None = None,
    by: str | None = None,
    each: int = 1,
    kind: Callable[..., Any] = torch.optim.AdamW,
) -> Truth:
    """Six batches. What an optimizer asks for again within its step is another place's gradient."""
    lightning = pytest.importorskip("lightning.pytorch")
    torch.manual_seed(0)

    class Model(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
            self.truth = Truth(self)
            self.runs = 0

        def on_train_batch_start(self, batch: Any, number: int) -> None:
            self.runs = 0

        def training_step(self, batch: torch.Tensor, number: int) -> torch.Tensor:
            loss: torch.Tensor = self.layers(batch * (number + 1)).square().mean()
            self.truth.loss(loss, again=self.runs > 0)
            self.runs += 1
            return loss

        def on_before_optimizer_step(self, optimizer: Any) -> None:
            if self.runs == 1:
                self.truth.gradients()
                self.truth.rates(optimizer)

        def configure_gradient_clipping(self, optimizer: Any, *given: Any, **named: Any) -> None:
            self.clip_gradients(optimizer, *given, **named)
            if self.runs == 1:
                self.truth.took(optimizer, clipped=clip is not None)

        def on_train_batch_end(self, outputs: Any, batch: Any, number: int) -> None:
            self.truth.batch(each)

        def configure_optimizers(self) -> Any:
            return _training(kind(self.parameters(), lr=0.1))

    return _fitted(Model(), folder, callbacks, each, clip, by)


def _fitted(
    model: Any,
    folder: Path,
    callbacks: Sequence[Any],
    each: int,
    clip: float | None,
    by: str | None,
) -> Truth:
    trainer = lightning_trainer(
        folder,
        callbacks,
        accumulate_grad_batches=each,
        gradient_clip_val=clip,
        gradient_clip_algorithm=by,
    )
    trainer.fit(model, random_batches(6, 4))
    truth: Truth = model.truth
    assert len(truth.steps) == 6 // each
    return truth


# --- transformers -------------------------------------------------------------------------------


def transformers_loop(
    folder: Path, callbacks: Sequence[Any], most: float = 0.05, each: int = 1
) -> Truth:
    """Four steps of a small Llama."""
    transformers = pytest.importorskip("transformers")
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
            truth.takes(optimizer)

    rows = [{"input_ids": [(n * n + k) % 32 for k in range(6)]} for n in range(16)]
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
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
        callbacks=list(callbacks),
    ).train()
    assert len(truth.steps) == 4
    return truth


# --- accelerate ---------------------------------------------------------------------------------


class LoopFollower(Protocol):
    """Follows a loop that is written by hand."""

    def begin(self, model: nn.Module, optimizer: Any) -> None:
        """The loop begins."""

    def start(self) -> None:
        """An optimizer's step begins, with its first batch."""

    def stop(self, loss: float) -> None:
        """It has ended."""

    def close(self) -> None:
        """The loop has ended."""


def accelerate_loop(
    follower: LoopFollower, by: str | None = None, each: int = 1, precision: str = "no"
) -> Truth:
    """Twelve batches."""
    accelerate = pytest.importorskip("accelerate")
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)  # it keeps the first one's precision
    accelerator = accelerate.Accelerator(
        cpu=True, gradient_accumulation_steps=each, mixed_precision=precision
    )
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    inner = torch.optim.AdamW(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(inner, 0.5)
    model, optimizer, loader, rates = accelerator.prepare(
        net, inner, random_batches(12, 4), schedule
    )
    truth = Truth(net)
    follower.begin(model, optimizer)
    for number, batch in enumerate(loader):
        if number % each == 0:
            follower.start()
        with accelerator.accumulate(model):
            loss = model(batch * (number + 1)).float().square().mean()
            truth.loss(loss)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                truth.gradients()
                truth.rates(inner)
                if by == "norm":
                    accelerator.clip_grad_norm_(model.parameters(), 0.1)
                elif by == "value":
                    accelerator.clip_grad_value_(model.parameters(), 0.01)
                truth.took(inner, clipped=by is not None)
            optimizer.step()
            if accelerator.sync_gradients:
                follower.stop(truth.mean_loss())
                truth.step()
            rates.step()
            optimizer.zero_grad()
    follower.close()
    assert len(truth.steps) == 12 // each
    return truth
