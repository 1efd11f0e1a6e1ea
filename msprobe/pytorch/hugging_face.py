"""Records the training of a Hugging Face `Trainer`: one step of the dump per optimizer step.

>>> trainer = Trainer(model, arguments, callbacks=[PrecisionDebuggerCallback("config.json")])
"""

from __future__ import annotations

from pathlib import Path

from torch import nn
from transformers import (
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from msprobe_core.debugger import PrecisionDebugger


class PrecisionDebuggerCallback(TrainerCallback):  # type: ignore[misc]
    """Starts with the first micro-batch of a step and ends after its optimizer; no evaluation.

    Takes a debugger, or the path of a configuration to make one from. Raises ConfigError.
    """

    def __init__(self, debugger: PrecisionDebugger | str | Path) -> None:
        if not isinstance(debugger, PrecisionDebugger):
            debugger = PrecisionDebugger(debugger)
        self.debugger = debugger

    def on_step_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: nn.Module | None = None,
        **_: object,
    ) -> None:
        """Called by the trainer before the forward pass."""
        self.debugger.start(model)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Called by the trainer after the optimizer."""
        self.debugger.stop()
        self.debugger.step()

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Called by the trainer when it returns."""
        self.debugger.close()
