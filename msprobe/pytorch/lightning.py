"""Records the training of a Lightning `Trainer`: one step of the dump per training batch.

>>> trainer = Trainer(callbacks=[PrecisionDebuggerCallback("config.json")])
"""

from __future__ import annotations

from pathlib import Path

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError:  # the package has two names on the index
    from pytorch_lightning import Callback, LightningModule, Trainer

from msprobe_core.debugger import PrecisionDebugger


class PrecisionDebuggerCallback(Callback):  # type: ignore[misc]
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
