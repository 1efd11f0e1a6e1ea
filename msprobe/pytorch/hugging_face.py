"""Records or follows the training of a Hugging Face `Trainer`: a step per optimizer step.

>>> trainer = Trainer(model, arguments, callbacks=[PrecisionDebuggerCallback("config.json")])
>>> trainer = Trainer(model, arguments, callbacks=[TrendsCallback("trends")])
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn
from transformers import (
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from msprobe.pytorch.trends import Trends
from msprobe_core.debugger import PrecisionDebugger


class PrecisionDebuggerCallback(TrainerCallback):  # type: ignore[misc]  # transformers may be missing
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


class TrendsCallback(TrainerCallback):  # type: ignore[misc]  # transformers may be missing
    """Follows a training into a folder; further arguments are those of `Trends`.

    The loss is the one that the model hands out with its output, of all micro-batches of a step.
    """

    def __init__(self, directory: str | Path, **settings: Any) -> None:
        self._directory, self._settings = directory, settings
        self.trends: Trends | None = None

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        model: nn.Module | None = None,
        optimizer: Any = None,
        **_: object,
    ) -> None:
        """Called by the trainer before the first step, also of a training that is resumed."""
        if model is not None:
            inner = getattr(optimizer, "optimizer", optimizer)
            self.trends = Trends(
                self._directory, model, inner, start_iteration=state.global_step, **self._settings
            )

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Called by the trainer after the optimizer."""
        if self.trends is not None:
            self.trends.step()

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: object
    ) -> None:
        """Called by the trainer when it returns."""
        if self.trends is not None:
            self.trends.close()
