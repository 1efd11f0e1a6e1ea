"""Records or follows the training of a Lightning `Trainer`.

>>> trainer = Trainer(callbacks=[PrecisionDebuggerCallback("config.json")])
>>> trainer = Trainer(callbacks=[TrendsCallback("trends")])
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError:  # the package has two names on the index
    from pytorch_lightning import Callback, LightningModule, Trainer

from msprobe.pytorch.trends import Trends
from msprobe_core.debugger import PrecisionDebugger


class PrecisionDebuggerCallback(Callback):  # type: ignore[misc]  # lightning may be missing
    """Starts before a training batch and ends after its optimizer; no validation.

    Takes a debugger, or the path of a configuration to make one from. Raises ConfigError.
    """

    def __init__(self, debugger: PrecisionDebugger | str | Path) -> None:
        if not isinstance(debugger, PrecisionDebugger):
            debugger = PrecisionDebugger(debugger)
        self.debugger = debugger

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: object, batch_idx: int
    ) -> None:
        """Called by the trainer before the training step."""
        self.debugger.start(pl_module)

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        """Called by the trainer after the optimizer."""
        self.debugger.stop()
        self.debugger.step()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Called by the trainer when all is done."""
        self.debugger.close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Called by the trainer instead of `on_train_end`: what was recorded is completed."""
        self.debugger.close()


class TrendsCallback(Callback):  # type: ignore[misc]  # lightning may be missing
    """Follows a training into a folder, by optimizer steps; settings are those of `Trends`.

    The loss of a step is the sum of its micro-batches' losses, which the trainer has divided by
    their number; of a batch that the optimizer asks for again (LBFGS), the first one, which is
    that of the gradients.
    """

    def __init__(self, directory: str | Path, **settings: Any) -> None:
        self._directory, self._settings = directory, settings
        self._steps = 0
        self._losses: list[torch.Tensor] = []
        self._of_batch: list[torch.Tensor] = []
        self.trends: Trends | None = None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Called by the trainer when its optimizers are there."""
        self._steps = trainer.global_step
        self.trends = Trends(
            self._directory, pl_module, start_iteration=self._steps, **self._settings
        )
        for optimizer in trainer.optimizers:
            self.trends.add(optimizer)

    def on_before_backward(
        self, trainer: Trainer, pl_module: LightningModule, loss: torch.Tensor
    ) -> None:
        """Called by the trainer for each loss of a batch; one that a scaler scales is alone."""
        if pl_module.automatic_optimization:
            self._of_batch.append(loss.detach())

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: object,
        batch: object,
        batch_idx: int,
    ) -> None:
        """Called by the trainer after each batch; several of them make a step where it says so."""
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if len(self._of_batch) > 1:
            loss = self._of_batch[0]
        self._of_batch.clear()
        if isinstance(loss, torch.Tensor):
            self._losses.append(loss.detach())
        if self.trends is not None and trainer.global_step > self._steps:
            self._steps = trainer.global_step
            self.trends.step(loss=torch.stack(self._losses).sum() if self._losses else None)
            self._losses.clear()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Called by the trainer when all is done."""
        if self.trends is not None:
            self.trends.close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Called by the trainer instead of `on_train_end`."""
        if self.trends is not None:
            self.trends.close()
